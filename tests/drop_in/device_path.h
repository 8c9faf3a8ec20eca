#pragma once
// What the files of device_path_test share.

#include <optional>
#include <type_traits>

#include "drop_in/device_buffers.h"

namespace drop_in_test {

inline size_t n() { return static_cast<size_t>(ranks); }
inline int sumOfRanks() { return ranks * (ranks - 1) / 2; }

template <class T>
MPI_Datatype typeOf() {
  if constexpr (std::is_same_v<T, float>) return MPI_FLOAT;
  if constexpr (std::is_same_v<T, double>) return MPI_DOUBLE;
  return MPI_INT;
}

/// What the fake driver counts; -1: the driver is a real one.
inline int counted(const char* what) {
  static void* const library = dlopen("libcuda.so.1", RTLD_NOW);
  const auto function = reinterpret_cast<int (*)()>(dlsym(library, what));
  return function == nullptr ? -1 : function();
}

/// The first call and the barrier make what later ones need.
void openTheWay(MPI_Comm comm);

/// Arguments of device_path_test: see there.
void again();
void differing();
void row();
void timing();
void timingRow();
void timingLater();
void timingScattered();
void scattered();
void later();
void laterThreads();
void laterFree();
void laterFailing();
void laterDiffering();
void laterLonely();

}  // namespace drop_in_test
