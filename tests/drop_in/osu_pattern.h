#pragma once
// What the programs in the manner of OSU's share: options, buffers and what they send.

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "drop_in/device_buffers.h"

namespace drop_in_test {

struct Options {
  bool device = false, checks = false, copies = false;
  int iterations = 0, skip = -1, before = 5;  // 0, -1: what OSU takes for the size
  size_t least = 1, most = size_t{1} << 20;
  MPI_Datatype type = MPI_CHAR;
  char places[2] = {'H', 'H'};
};
inline Options options;
inline int rounds = 0, skip = 0;

constexpr size_t kLarge = 8192;

/// OSU does large sizes less often.
inline void setRounds(size_t bytes, int small, int large, int skipSmall, int skipLarge) {
  rounds = options.iterations > 0 ? options.iterations : bytes > kLarge ? large : small;
  skip = options.skip >= 0 ? options.skip : bytes > kLarge ? skipLarge : skipSmall;
}

/// Memory where the options want it, and its copy on the host.
class Area {
 public:
  Area(bool device, size_t bytes) : device_(device), host_(bytes + 1, 0) {
    if (device_) driverCall("cuMemAlloc_v2", &address_, bytes + 1);
  }
  Area(const Area&) = delete;
  Area& operator=(const Area&) = delete;
  ~Area() {
    if (device_) driverCall("cuMemFree_v2", address_);
  }
  char* data() { return device_ ? reinterpret_cast<char*>(address_) : host_.data(); }
  char* host() { return host_.data(); }
  void up(size_t bytes) {
    const void* const from = host_.data();
    if (device_ && bytes > 0) driverCall("cuMemcpyHtoD_v2", address_, from, bytes);
  }
  void down(size_t bytes) {
    void* const to = host_.data();
    if (device_ && bytes > 0) driverCall("cuMemcpyDtoH_v2", to, address_, bytes);
  }

 private:
  bool device_;
  DevicePointer address_ = 0;
  std::vector<char> host_;
};

inline size_t typeBytes() {
  int bytes = 0;
  PMPI_Type_size(options.type, &bytes);
  return static_cast<size_t>(bytes);
}

/// What a rank sends to another one (or all) at a place: small, so that sums of characters fit.
inline int valueOf(int from, int to, size_t place, int round) {
  return (from * 3 + to * 5 + static_cast<int>(place % 251) + round) % 7;
}

inline void put(char* at, size_t place, int value) {
  if (options.type == MPI_CHAR) at[place] = static_cast<char>(value);
  if (options.type == MPI_INT) reinterpret_cast<int*>(at)[place] = value;
  if (options.type == MPI_FLOAT) reinterpret_cast<float*>(at)[place] = static_cast<float>(value);
}
inline int get(const char* at, size_t place) {
  if (options.type == MPI_CHAR) return at[place];
  if (options.type == MPI_INT) return reinterpret_cast<const int*>(at)[place];
  return static_cast<int>(std::lround(reinterpret_cast<const float*>(at)[place]));
}

inline int asInt(size_t value) { return static_cast<int>(value); }

/// One of OSU's programs on pairs of so many ranks by its name without "osu_"; false: there is
/// none.
bool isPair(const std::string& name);
/// Whether all that came was right.
bool runPair(const std::string& name);
/// The same of those on neighbours, and of those with threads or processes.
bool isOfNeighbours(const std::string& name);
bool runNeighbours(const std::string& name);
bool isOfThreads(const std::string& name);
bool runThreads(const std::string& name);

/// Whether all sizes were right; a wrong one is the last, as in OSU's.
template <class Measure>
bool everySize(const Measure& measure) {
  for (size_t bytes = std::max(options.least, typeBytes()); bytes <= options.most; bytes *= 2) {
    if (!measure(bytes)) return false;
  }
  return true;
}

}  // namespace drop_in_test
