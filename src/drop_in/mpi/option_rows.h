#pragma once
// The environment variables of librondo_mpi.so, which settings.cc reads, and those of rehearsals,
// for rondo-info.

#include "base/options.h"

namespace rondo::drop_in {

inline constexpr OptionRow kOptionRows[] = {
    {"RONDO_MPI", "text", "host",
     "which calls the layer answers: off, host (host memory), device (device memory) or both",
     false},
    {"RONDO_MPI_STATS", "switch", "0",
     "1: in MPI_Finalize rank 0 prints how often each call was answered or handed on, and why",
     false},
    {"RONDO_MPI_MEASURE", "switch", "1",
     "0: movements that come often are not tried with MPI too, and stay Rondo's", false},
    {"RONDO_MPI_LINGER", "number", "30",
     "for how many microseconds the kernel of a short all-reduce on devices waits for the next "
     "one, where they follow each other soon enough; 0: it does not",
     false},
};

/// Those of both doors, which rehearsed_machine.cc reads.
inline constexpr OptionRow kRehearsalRows[] = {
    {"RONDO_VIRTUAL", "text", "",
     "TOPOLOGY:N, a file or a description and ranks: the program is rehearsed on that machine, its "
     "calls planned and timed instead of moved",
     false},
    {"RONDO_VIRTUAL_RANK", "number", "0", "which rank a rehearsed MPI program is", false},
    {"RONDO_VIRTUAL_OUT", "text", "rondo-virtual",
     "what the names of a rehearsal's files begin with: calls, flows, timeline", false},
    {"RONDO_VIRTUAL_SPLIT", "text", "",
     "RULE;RULE...: what all ranks of a rehearsal say in each split, as \"rank / 8\" or \"local\"",
     false},
    {"RONDO_VIRTUAL_GRAPH", "text", "",
     "what a rehearsal takes MPI_Dist_graph_create for: whole (this rank gives all edges) or "
     "mutual "
     "(each gives its own, and hears from whom it tells)",
     false},
};

}  // namespace rondo::drop_in
