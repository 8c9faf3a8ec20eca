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

void readMode(const char* name, Settings* to) {
  const std::string_view text = env(name);
  if (text.empty()) return;
  for (const Mode mode : {Mode::Off, Mode::Host, Mode::Device, Mode::Both}) {
    if (text != modeName(mode)) continue;
    to->mode = mode;
    return;
  }
  refuse(name, "off, host, device or both");
}

struct Reader {
  const char* name;
  void (*read)(const char* name, Settings* to);
};
constexpr Reader kReaders[] = {
    {"RONDO_MPI", readMode},
    {"RONDO_MPI_STATS", [](const char* name, Settings* to) { readSwitch(name, &to->stats); }},
    {"RONDO_MPI_MEASURE", [](const char* name, Settings* to) { readSwitch(name, &to->measure); }},
    {"RONDO_MPI_LINGER",
     [](const char* name, Settings* to) { readNumber(name, RONDO_MOST_LINGER, &to->linger); }},
};

}  // namespace

const char* modeName(Mode mode) {
  static constexpr const char* kNames[] = {"off", "host", "device", "both"};
  return kNames[static_cast<int>(mode)];
}

Settings readSettings() {
  Settings settings;
  for (const Reader& reader : kReaders) reader.read(reader.name, &settings);
  return settings;
}

std::string faultOfSetting(const char* name) {
  Settings settings;
  try {
    for (const Reader& reader : kReaders) {
      if (std::string_view(name) == reader.name) reader.read(reader.name, &settings);
    }
  } catch (const Error& error) {
    return error.sentence();
  }
  return "";
}

}  // namespace rondo::drop_in
