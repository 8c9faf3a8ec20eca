#pragma once
// What the files of device_path_test share.

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

/// Arguments of device_path_test: see there.
void again();
void differing();
void timing();

}  // namespace drop_in_test
