#pragma once
// What the doors' rehearsals have in common: the environment's wish, a virtual communicator whose
// predictions are kept, and its end.

#include <string>

#include "api/rondo.h"
#include "api/rondo_virtual.h"

namespace rondo::drop_in {

/// What edges other ranks give to a graph of MPI's.
enum class OthersEdges {
  Unknown,
  None,     ///< RONDO_VIRTUAL_GRAPH=whole: one rank gives them all.
  Mirrored  ///< =mutual: each gives its own, and whom it tells tells it.
};

/// A machine that need not be there, as RONDO_VIRTUAL, _RANK and _OUT give it.
struct Wish {
  std::string topology;                  ///< A file or a description.
  std::string output = "rondo-virtual";  ///< What the files' names begin with.
  int ranks = 0;                         ///< 0: one on every place of the machine.
  int rank = 0;                          ///< Which one a process is that does not say it itself.
  std::string splits;                    ///< What all ranks say where communicators are split.
  OthersEdges edges = OthersEdges::Unknown;
};

/// Whether the environment asks for a rehearsal.
bool wantsRehearsal();
/// Throws Error: the variable, its value, what is allowed.
Wish readWish();
/// Why a rehearsal would refuse this variable; empty: it would not. Of RONDO_VIRTUAL also what is
/// wrong with the machine, and with this rank and these splits on it: then it is made.
std::string faultOfWish(const char* name);

/// A virtual communicator, and a handle on it that stays for its time and its files.
struct Machine {
  rondoComm_t made = nullptr;
  rondoComm_t kept = nullptr;
};
/// Ranks of the wish's machine, of which this is `rank`; both nullptr: rondoGetLastError(nullptr)
/// says why. `output` empty: nothing is written. `ownData`: a rank's own part of a result is put in
/// its place, else no buffer is touched.
Machine makeMachine(const Wish& wish, int ranks, int rank, const std::string& output, bool ownData);
/// The same for a virtual communicator that was made of another one; nullptr: it is none.
Machine keepMachine(rondoComm_t made);

rondoPrediction_t predictionOf(rondoComm_t comm);

/// Says what was predicted, and for which communicator, in a line that begins with `door`, on
/// standard error.
void reportMachine(const char* door, rondoComm_t kept);
/// Writes the files, when `made` is gone. What cannot be written is said, and false returned.
bool endMachine(const char* door, rondoComm_t kept);

}  // namespace rondo::drop_in
