#pragma once
// What a collective on device memory must leave, by the host's reductions in the order of the plan
// that the device has: of calls on random bits.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "api/rondo_types.h"
#include "coll/device_planner.h"
#include "kernels/reduce_units.h"

namespace rondo::test {

using Bytes = std::vector<unsigned char>;

/// One call. Where a buffer begins is this rank's own matter, all else is agreed.
struct Problem {
  Collective collective;
  const char* name;
  rondoDataType_t type;
  rondoRedOp_t op;
  size_t count;
  int root;
  bool inPlace;
  size_t sendAt = 0;    ///< Bytes that the buffers are off their alignment; the larger one
  size_t recvAt = 0;    ///< is off as the send buffer is, in place.
  bool scaled = false;  ///< Every rank multiplies what it gives by its scalarOf().

  /// This rank's bytes.
  size_t sendBytes(int rank, int ranks) const;
  size_t recvBytes(int rank, int ranks) const;
  /// Where in the larger buffer the smaller one lies, in place.
  size_t ownAt(int rank) const;
};

/// The collectives that have kernels, and whether these work in place.
constexpr struct {
  Collective collective;
  const char* name;
  bool inPlace;
} kCollectivesHere[] = {
    {Collective::AllReduce, "rondoAllReduce", true},
    {Collective::Reduce, "rondoReduce", true},
    {Collective::ReduceScatter, "rondoReduceScatter", true},
    {Collective::AllGather, "rondoAllGather", true},
    {Collective::Broadcast, "rondoBroadcast", true},
    {Collective::AllToAll, "rondoAllToAll", false},
    {Collective::Scan, "rondoScan", true},
    {Collective::Exscan, "rondoExscan", true},
};

/// What a kernel must be able to do among so many ranks.
Reduces reducesOf(const Problem& p, int ranks);
/// What a runner is asked to choose for it.
DeviceRequest requestOf(const Problem& p, int ranks);

/// 1/3 or 1.6, of integers 3 or 5.
Unit scalarOf(rondoDataType_t type, int rank);

/// What the ranks give and must find. `p` outlives it.
class Reference {
 public:
  Reference(const Problem& p, const DeviceChoice& choice, int size, uint32_t seed);
  const Bytes& input(int rank) const { return inputs_[static_cast<size_t>(rank)]; }
  /// What `rank` must find; empty where it has no result.
  Bytes output(int rank) const;

 private:
  void reduce(Bytes* out, size_t at, size_t begin, size_t end, int first) const;
  void fold(Bytes* out, size_t at, size_t begin, size_t end, int first, int ranks) const;
  void allReduce(Bytes* out) const;

  const Problem& p_;
  const bool ring_;
  const algo::Geometry geometry_;
  const int size_;
  const size_t element_;
  std::vector<Bytes> inputs_;
  std::vector<Bytes> products_;  // where they are scaled
};

}  // namespace rondo::test
