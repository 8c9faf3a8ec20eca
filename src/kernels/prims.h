#pragma once
// The executors that algorithms meet inside a kernel. One CUDA block is one lane; all its threads
// call every verb. Bodies are in impl/.

#include "coll/algo/verbs.h"
#include "kernels/launch.h"

namespace rondo {

/// Windows under the LL protocol: 4 bytes of data and a 4-byte flag travel as one 8-byte store,
/// two of them in a 16-byte vector, so that data announces itself. There is no fence and no
/// separate signal, which makes it the protocol of least latency, at twice the bytes.
///
/// Two places alternate between exchanges. That needs no credits in the one-shot exchange: a rank
/// reaches exchange e + 2 only after it has received e + 1 of everyone, and whoever sends e + 1 has
/// read all of e.
template <int kRanks>
class WindowLL : public algo::Windows {
 public:
  __device__ WindowLL(const WindowCall& call, int lane);

  /// Around every exchange. Nobody begins the next one before the whole block has read this one.
  __device__ void begin();
  __device__ void end();
  /// Writes the lane's epoch back for the next kernel.
  __device__ void finish();

  __device__ void copy(algo::Block b);
  __device__ void put(algo::Block b, int to);
  __device__ void signal(int) {}            // the flags say it
  __device__ void wait(int, algo::Room) {}  // reduce() polls where it reads
  __device__ void reduce(algo::Block b, algo::Room room);

 private:
  __device__ unsigned char* place(int owner, int source) const;

  const WindowCall& call_;
  const int lane_;
  uint32_t epoch_;
  bool gaveUp_ = false;  // of this thread: from then on it only goes through the motions
};

/// Primitives under the Simple protocol: blocks go through FIFO slots in the receiver's memory and
/// are announced by a flag behind a release; credits come back the same way.
class PrimsSimple : public algo::Primitives<PrimsSimple> {
 public:
  __device__ PrimsSimple(const RingCall& call, int lane);

  template <int bits>
  __device__ void move(algo::Block b, int from, int to);

  __device__ bool gaveUp() const { return gaveUp_; }
  /// Writes the lane's steps back for the next kernel.
  __device__ void finish();

 private:
  template <int bits>
  __device__ bool ready();
  template <int bits>
  __device__ void announce();

  const RingCall& call_;
  FifoView in_;   // of this lane
  FifoView out_;  // of this lane
  uint32_t* steps_;
  uint32_t received_;
  uint32_t sent_;
  bool gaveUp_ = false;
};

}  // namespace rondo

#include "kernels/impl/prims_simple.h"
#include "kernels/impl/window_ll.h"
