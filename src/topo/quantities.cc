#include "topo/quantities.h"

#include "base/error.h"
#include "topo/graph.h"

namespace rondo::topo {
namespace {

struct Unit {
  const char* name;
  uint64_t size;
};
constexpr Unit kBandwidths[] = {{"GB/s", 1'000'000'000},
                                {"TB/s", 1'000'000'000'000},
                                {"MB/s", 1'000'000},
                                {"kB/s", 1'000},
                                {"B/s", 1},
                                {"", 1'000'000'000}};
constexpr Unit kLatencies[] = {{"ns", 1'000}, {"us", 1'000'000},        {"ms", 1'000'000'000},
                               {"ps", 1},     {"s", 1'000'000'000'000}, {"", 1'000}};

bool isDigit(char c) { return c >= '0' && c <= '9'; }

/// A decimal number times a unit, exactly; false where it is none, or no whole multiple, or above
/// `most`.
bool parse(std::string_view text, uint64_t unit, uint64_t most, uint64_t* value) {
  size_t i = 0;
  unsigned __int128 whole = 0;
  for (; i < text.size() && isDigit(text[i]); ++i) {
    whole = whole * 10 + static_cast<unsigned>(text[i] - '0');
    if (whole > most) return false;
  }
  if (i == 0) return false;
  whole *= unit;
  if (i < text.size()) {
    if (text[i] != '.' || i + 1 == text.size()) return false;
    for (++i; i < text.size(); ++i) {
      if (!isDigit(text[i]) || unit % 10 != 0) return false;
      unit /= 10;
      whole += static_cast<unsigned>(text[i] - '0') * static_cast<unsigned __int128>(unit);
    }
  }
  if (whole > most) return false;
  *value = static_cast<uint64_t>(whole);
  return true;
}

template <size_t units>
bool parseUnit(std::string_view text, const Unit (&table)[units], uint64_t most, uint64_t* value) {
  for (const Unit& unit : table) {
    const std::string_view name = unit.name;
    if (!text.ends_with(name)) continue;
    std::string_view number = text.substr(0, text.size() - name.size());
    while (number.ends_with(' ')) number.remove_suffix(1);
    if (!number.empty() && isDigit(number.back())) return parse(number, unit.size, most, value);
  }
  return false;
}

/// With at most three decimals, or in the smallest unit.
std::string text(uint64_t value, uint64_t unit, const char* name) {
  std::string out = std::to_string(value / unit);
  uint64_t rest = value % unit;
  if (rest != 0) {
    std::string decimals = std::to_string(rest + unit).substr(1);
    while (decimals.back() == '0') decimals.pop_back();
    out += "." + decimals;
  }
  return out + name;
}

}  // namespace

const char* const kBandwidthAllowed =
    "a bandwidth from 1B/s to 1000TB/s, as in 50, 12.5GB/s or 800MB/s";
const char* const kLatencyAllowed = "a latency up to 1s, as in 600ns, 1.5us or 250000ps";

bool parseBandwidth(std::string_view text, uint64_t* bytesPerSecond) {
  return parseUnit(text, kBandwidths, Graph::kMostBandwidth, bytesPerSecond) && *bytesPerSecond > 0;
}

bool parseLatency(std::string_view text, uint64_t* picoseconds) {
  return parseUnit(text, kLatencies, Graph::kMostLatency, picoseconds);
}

bool parseWhole(std::string_view text, uint64_t least, uint64_t most, uint64_t* value) {
  uint64_t number = 0;
  return text.size() < 20 && text.find('.') == std::string_view::npos &&
         parse(text, 1, most, &number) && number >= least && ((*value = number), true);
}

std::string bandwidthText(uint64_t bytesPerSecond) {
  if (bytesPerSecond >= 1'000'000) return text(bytesPerSecond, 1'000'000'000, "GB/s");
  return text(bytesPerSecond, 1, "B/s");
}

uint64_t fourDigits(uint64_t value) {
  uint64_t unit = 1;
  while (value / unit >= 10'000) unit *= 10;
  return (value + unit / 2) / unit * unit;
}

std::string shortBandwidth(uint64_t bytesPerSecond) {
  return format("%.4g GB/s", static_cast<double>(bytesPerSecond) * 1e-9);
}

std::string latencyText(uint64_t picoseconds) {
  if (picoseconds >= 1'000'000) return text(picoseconds, 1'000'000, "us");
  return text(picoseconds, 1'000, "ns");
}

}  // namespace rondo::topo
