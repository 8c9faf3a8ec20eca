#pragma once
// What rondo-status, and a rank that is asked by a signal, say of communicators: who is where, and
// whom it waits for.

#include <cstdint>
#include <string>
#include <vector>

#include "coll/flight_view.h"
#include "p2p/process_state.h"

namespace rondo {

/// A process of this host whose status area was read.
struct LocalProcess {
  int pid = 0;  ///< In this name space.
  ProcessState state;
  FlightProcess flights;
};

struct Report {
  std::string text;
  bool trouble = false;  ///< Somebody is missing, stopped, dead, or the communicator is broken.
};

/// A rank of another host, as its host answers.
struct FarPlace {
  uint64_t comm = 0;
  int rank = 0;
  bool answered = false;          ///< The rest is known.
  uint32_t flags = 0, ageMs = 0;  ///< As of PlaceAnswer, as the next one.
  uint64_t sequence = 0;
  std::string text;  ///< printable()
};

/// What other hosts were asked.
struct FarSurvey {
  std::vector<FarPlace> places;
  std::string silence;  ///< What is said of a rank whose host has not answered.
  std::string why;      ///< Why nobody was asked; "": no reason is given.
};

/// On every communicator that process `pid` (of `all`) is in and has not destroyed. `now`: of
/// CLOCK_MONOTONIC, when `all` was read.
Report reportOn(int pid, const std::vector<LocalProcess>& all, int64_t now,
                const FarSurvey& far = {});

/// The last operations of this rank, up to `most` on host and as many on device memory, the newest
/// first, one a line.
std::string lastOperations(const FlightComm& comm, size_t most, int64_t now);

}  // namespace rondo
