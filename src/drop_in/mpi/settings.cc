#include "drop_in/mpi/settings.h"

#include <charconv>
#include <cstdlib>
#include <string_view>

#include "api/rondo.h"
#include "base/error.h"

namespace rondo::drop_in {
namespace {

std::string_view env(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : value;
}

[[noreturn]] void refuse(const char* name, const char* allowed) {
  throw Error(rondoInvalidArgument, format("environment variable %s is \"%s\"; allowed: %s", name,
                                           env(name).data(), allowed));
}

void readSwitch(const char* name, bool* value) {
  const std::string_view text = env(name);
  if (text.empty()) return;
  if (text != "0" && text != "1") refuse(name, "0 or 1");
  *value = text == "1";
}

void readNumber(const char* name, int most, int* value) {
  const std::string_view text = env(name);
  if (text.empty()) return;
  int read = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), read);
  if (error != std::errc() || end != text.data() + text.size() || read < 0 || read > most) {
    refuse(name, format("0 to %d", most).c_str());
  }
  *value = read;
}

}  // namespace

const char* modeName(Mode mode) {
  static constexpr const char* kNames[] = {"off", "host", "device", "both"};
  return kNames[static_cast<int>(mode)];
}

Settings readSettings() {
  Settings settings;
  if (const std::string_view mode = env("RONDO_MPI"); !mode.empty()) {
    bool known = false;
    for (const Mode one : {Mode::Off, Mode::Host, Mode::Device, Mode::Both}) {
      if (mode != modeName(one)) continue;
      settings.mode = one;
      known = true;
    }
    if (!known) refuse("RONDO_MPI", "off, host, device or both");
  }
  readSwitch("RONDO_MPI_STATS", &settings.stats);
  readSwitch("RONDO_MPI_MEASURE", &settings.measure);
  readNumber("RONDO_MPI_LINGER", RONDO_MOST_LINGER, &settings.linger);
  return settings;
}

}  // namespace rondo::drop_in
