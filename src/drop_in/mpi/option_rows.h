#pragma once
// The environment variables of librondo_mpi.so, which settings.cc reads, for rondo-info.

#include "base/options.h"

namespace rondo::drop_in {

inline constexpr OptionRow kOptionRows[] = {
    {"RONDO_MPI", "text", "host",
     "which calls the layer answers: off, host (host memory), device or both", false},
    {"RONDO_MPI_STATS", "switch", "0",
     "1: in MPI_Finalize rank 0 prints how often each call was answered or handed on, and why",
     false},
};

}  // namespace rondo::drop_in
