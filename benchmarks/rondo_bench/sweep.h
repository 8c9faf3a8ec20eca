#pragma once
// Goes through types, operators and sizes of one benchmark, measures each, and hands out the rows.

#include <functional>
#include <memory>
#include <vector>

#include "environment.h"
#include "meter.h"
#include "output.h"

namespace rondo::bench {

/// One size of a benchmark, its buffers laid out and ready.
struct Spot {
  const Benchmark& benchmark;
  const Seat& seat;
  size_t bytes;
  const ElementType& type;
  const Operator& op;
  rondoRedOp_t handle;  ///< Of the operator, at Rondo.
  bool peer;            ///< The peer has type and operator, too.
  const BufferRing& ring;

  /// Everything of a call but the buffers.
  CallArgs args(const Environment& environment) const;
  std::string name() const;
  /// What all rows of this size say.
  Row row() const;
  /// Those of the libraries that can be called here.
  std::vector<Contender> able(const std::vector<Contender>& contenders) const;
  /// Of a call, for choosing the number of iterations.
  size_t callBytes() const;
  /// That a call moves, for the bus bandwidth.
  double busBytes() const;
};

/// Calls `visit` for each type, operator and size that the options ask for.
void forEachSpot(const Environment& environment, const Benchmark& benchmark,
                 const std::function<void(const Spot&)>& visit);

/// Measures all of a benchmark.
void runSweep(const Environment& environment, const Benchmark& benchmark,
              const std::vector<Contender>& contenders, Output& output);

}  // namespace rondo::bench
