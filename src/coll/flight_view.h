#pragma once
// A status area as its reader sees it: what a process and each of its communicators were last at.

#include <cstdint>
#include <string>
#include <vector>

#include "coll/flight_recorder.h"
#include "p2p/wait_note.h"

namespace rondo {

/// One recorded operation; times in nanoseconds of CLOCK_MONOTONIC.
struct FlightOp {
  OpFacts facts;
  int64_t enqueued = 0, started = 0;
  int64_t ended = -1;  ///< -1: it has not.
  bool running() const { return ended < 0; }
};

/// "allreduce with count 8, datatype float32, op sum", "a send of 8 bytes to rank 3".
std::string flightText(const OpFacts& facts);

/// One rank of a communicator.
struct FlightComm {
  uint64_t id = 0;
  std::string name;
  int rank = 0, size = 1, localSize = 1;
  bool alive = true;  ///< False: it was destroyed.
  int64_t born = 0;
  uint64_t stallSeconds = 0;
  std::string broken;
  std::string waits;         ///< What its last long wait was for...
  int64_t waitsSeen = -1;    ///< ... and when that was written; -1: never.
  int64_t kernelWaits = -1;  ///< When a kernel of it last said that it waits; -1: never.
  std::vector<MemberText> members;
  std::vector<FlightOp> host, device;  ///< The oldest first.

  const FlightOp* last() const { return host.empty() ? nullptr : &host.back(); }
  /// The last host collective, not an exchange; nullptr: none, or too many exchanges came since.
  const FlightOp* lastCollective() const;
  /// So many host collectives so far.
  uint64_t collectives() const { return host.empty() ? 0 : host.back().facts.collectivesSoFar(); }
};

struct FlightProcess {
  std::string host, program;
  int pid = 0;  ///< In its own pid name space.
  int library = 0;
  uint64_t token = 0;
  std::vector<FlightComm> comms;
  std::vector<WaitNote> notes;  ///< Of itself and of others.
};

/// Whether a segment that is mapped at `base` has a status area that this version can read; if not,
/// why.
bool canReadFlights(char* base, std::string* why);

/// Reads it; texts are printable(). `base` stays mapped meanwhile; whoever writes it may be
/// running, stopped or dead.
FlightProcess readFlights(char* base);

/// This process, and all peers whose segments it maps, dead ones among them.
std::vector<FlightProcess> readNearFlights();

}  // namespace rondo
