#pragma once
// What ranks of other hosts have said that they wait in, over all communicators of this process.

#include <string>
#include <vector>

#include "coll/flight_view.h"
#include "p2p/fabric.h"

namespace rondo {

/// Process-wide and thread safe.
class FarCalls {
 public:
  FarCalls(const FarCalls&) = delete;
  FarCalls& operator=(const FarCalls&) = delete;
  static FarCalls& one();

  /// A communicator over several hosts; until remove(fabric), which comes before its end.
  void add(const Fabric* fabric, FlightComm identity);
  void remove(const Fabric* fabric);

  /// A process for each of them, with its rank in each communicator and, as an operation that has
  /// not ended, the last collective that it told of: who waits for long tells, and who is told
  /// nothing more may have gone on since. Without FlightComm::members: of each, all ranks' would be
  /// as many as ranks times ranks.
  std::vector<FlightProcess> read() const;

 private:
  struct Entry {
    const Fabric* fabric;
    FlightComm identity;
  };
  FarCalls() = default;

  mutable std::mutex mutex_;
  std::vector<Entry> entries_;
};

}  // namespace rondo
