#pragma once
// What MPI's reductions have in common where Rondo answers them.

#include <mpi.h>

#include <algorithm>

#include "drop_in/mpi/answers.h"
#include "drop_in/mpi/device_memory.h"
#include "drop_in/mpi/layout.h"
#include "drop_in/mpi/rehearsed_reductions.h"
#include "drop_in/mpi/types.h"

namespace rondo::drop_in {

/// Opens the call to Rondo if it knows type and operator and nothing is wrong. `number`: elements
/// of the whole vector.
template <class Answer>
bool openReduction(Attempt& call, const Answer& answer, bool good, size_t number, MPI_Datatype type,
                   MPI_Op op, Reduction* how) {
  if (!call.need(good && answer.good(), Why::Arguments)) return false;
  *how = reductionOf(type, op);
  if (rehearsing && how->why != Why::Taken) [[unlikely]]
    *how = reductionOfBytes(type, op);
  return call.need(how->why == Why::Taken, how->why) &&
         call.need(answer.worth(number * how->size), Why::Small);
}

/// The arguments that MPI's calls of this kind have in common.
struct Vectors {
  const void* send;
  void* recv;
  MPI_Datatype type;
  MPI_Op op;
};

/// Of a reduction whose result is not this rank's whole vector, and that is not Rondo's: MPI's. In
/// a rehearsal MPI's one process would take this rank for another one.
template <class Pass>
int handOn(Attempt& call, const Pass& pass, const Vectors& of) {
  const bool arguments = call.why() == Why::Arguments;
  if (rehearsing && call.rondo() != nullptr && !arguments && isMpis(of.type, of.op)) {
    return call.unknown("how long an operator of the program's takes on a type with gaps",
                        "types without gaps");
  }
  return call.passed(pass());
}

/// Elements of Rondo's type as they follow each other.
inline Elements vectorOf(const void* buffer, size_t count, const Vectors& of,
                         const Reduction& how) {
  const Layout layout{true, true, how.size, static_cast<ptrdiff_t>(how.size)};
  return {static_cast<char*>(const_cast<void*>(buffer)), count, of.type, layout, onDevice(buffer)};
}
/// What a rank has on a side that is in place, or not significant.
inline constexpr Elements kNone{nullptr, 0, MPI_Datatype{}, {true, true, 1, 1}};

/// The input is in the receive buffer, or in its own.
constexpr auto loadInput(bool inPlace) {
  return [inPlace](Bytes& sent, auto& received) {
    if constexpr (requires { received.load(); }) {
      if (inPlace) return received.load();
    }
    sent.load();
  };
}

/// What this rank brings to a call of the devices: kernels want whole elements, up to 8 bytes.
inline auto memoryOf(const Elements& send, const Elements& recv, const Reduction& how,
                     bool fits = true) {
  return [&, fits, alignment = std::min<size_t>(how.size, 8)](OwnMemory& mine) {
    mine.add(send, alignment);
    mine.add(recv, alignment);
    if (!fits) mine.refuse();
  };
}

}  // namespace rondo::drop_in
