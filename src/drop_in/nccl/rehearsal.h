#pragma once
// RONDO_VIRTUAL: an unmodified program of NCCL's interface on a machine that need not be there. Its
// communicators are virtual: calls are planned and timed, buffers are not touched, streams are not
// looked at. The program says itself which rank it is, so a process may be one rank or several.

#include <functional>

#include "api/rondo.h"
#include "drop_in/nccl/abi.h"

namespace rondo::nccl {

/// Whether the environment asks for it; the answer is that of the first question.
bool rehearsing();

/// An id that needs no other process.
ncclUniqueId rehearsedId();

/// What makes rank `rank` of `nranks` of the communicator of `id`. Of the ranks of one communicator
/// that a process makes, the first for which this is called writes files. Throws Error: the
/// environment's wish is wrong, or smaller.
std::function<rondoResult_t(rondoComm_t* made)> rehearsal(const ncclUniqueId& id, int nranks,
                                                          int rank);

/// After `child` was made of `parent`, which is rehearsed: its prediction is kept too.
void rehearseChild(rondoComm_t parent, rondoComm_t child);

/// Stands around the end of a communicator: afterwards its prediction is said, and its files are
/// written. Those that are alive when the process exits end then.
class EndOfRehearsal {
 public:
  explicit EndOfRehearsal(rondoComm_t ending);
  EndOfRehearsal(const EndOfRehearsal&) = delete;
  EndOfRehearsal& operator=(const EndOfRehearsal&) = delete;
  ~EndOfRehearsal();

 private:
  size_t which_ = 0;  ///< From 1; 0: none.
};

}  // namespace rondo::nccl
