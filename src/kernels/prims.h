#pragma once
// The executors that algorithms meet inside a kernel. One CUDA block is one lane; all its threads
// call every verb. Bodies are in impl/.

#include <type_traits>

#include "coll/algo/verbs.h"
#include "kernels/impl/protocols.h"
#include "kernels/impl/reducers.h"
#include "kernels/launch.h"

namespace rondo {

/// Whether an exchange tells every rank by itself that all others have begun it, and so have read
/// all of the one before; that frees its places, of which two alternate. Where only some ranks hear
/// of each other (from or to a root), every rank says hello to all, and waits for all hellos at the
/// end.
enum class Meets : bool { kByData, kByHello };

/// Windows whose data announce themselves. Puts to single ranks are collected and made together by
/// the first verb that waits, fetches by end(): their loads and polls then overlap, which is most
/// of what these kernels' time is made of. kRanks 0: any number.
template <class Wire, class Reducer, int kRanks, Meets kMeets = Meets::kByData>
class Window : public algo::Windows {
 public:
  using Call = std::conditional_t<kMeets == Meets::kByHello, HelloCall, WindowCall>;
  __device__ Window(const Call& call, int lane);

  /// Around every exchange. Nobody begins the next one before the whole block has read this one.
  __device__ void begin();
  __device__ void end();
  /// Writes the lane's epoch back for the next kernel.
  __device__ void finish();

  __device__ void copy(algo::Block b);
  __device__ void put(algo::Block b, int to);
  __device__ void put(algo::Block b, algo::Everyone);
  __device__ void signal(int) {}            // the flags say it
  __device__ void wait(int, algo::Room) {}  // who reads polls
  __device__ void reduce(algo::Block b, algo::Room room);
  /// `lo` is 0.
  __device__ void reduceRange(algo::Block b, algo::Room room, int lo, int hi);
  __device__ void reducePut(algo::Block b, algo::Room room);
  __device__ void fetch(algo::Block b, int from, algo::Room room);

 private:
  static constexpr int kMost = kRanks == 0 ? kMaxWindowRanks : kRanks;
  static constexpr int kWords = Wire::kWords;
  using Flag = typename Wire::Flag;
  struct Piece {  // of the caller's memory, and the place it goes to or comes from
    unsigned char* mine;
    device::Pair64* place;
    uint32_t bytes;
  };

  __device__ int size() const { return kRanks == 0 ? call_.args.size : kRanks; }
  __device__ int after(int k) const {
    return call_.args.rank + k < size() ? call_.args.rank + k : call_.args.rank + k - size();
  }
  __device__ const unsigned char* src(algo::Block b) const;
  __device__ unsigned char* dst(algo::Block b) const;
  __device__ uint32_t bytes(algo::Block b) const;
  __device__ device::Pair64* places(int owner, algo::Room room) const;
  __device__ device::Pair64* place(int owner, int source, algo::Room room) const;
  __device__ unsigned long long* hello(int owner, int source) const;
  __device__ void sayHello() const;
  __device__ void waitForHellos();

  __device__ static uint32_t vectors(uint32_t bytes) { return Wire::vectors((bytes + 7) / 8); }
  __device__ void load(const unsigned char* from, uint32_t bytes, uint32_t vector,
                       unsigned long long (&word)[kWords]) const;
  __device__ void store(unsigned char* to, uint32_t bytes, uint32_t vector,
                        const unsigned long long (&word)[kWords]) const;
  __device__ void putEveryone(uint32_t vector, device::Pair64 packet) const;
  enum class Then { kStore, kPublish, kStorePrefix };
  template <Then kThen>
  __device__ void reduceBlock(algo::Block b, algo::Room room, int prefix);
  __device__ void flushPuts();
  __device__ void flushFetches();
  template <class Ready>
  __device__ bool poll(Ready ready);

  const Call& call_;
  const typename Reducer::Source source_;
  const int lane_;
  Flag epoch_;
  bool gaveUp_ = false;  // of this thread: from then on it only goes through the motions
  int puts_ = 0;
  int fetches_ = 0;
  Piece put_[kMost];
  Piece fetch_[kMost];
};

/// What the threads of a ring's lane tell each other. Counters are touched by atomic operations
/// only.
struct RingDesk {
  uint32_t sent[kRingThreads / 32];   ///< By warp: slots sent since the kernel began.
  uint32_t taken[kRingThreads / 32];  ///< The same of slots read.
  uint32_t announced;                 ///< Of those sent by all warps, to the next rank.
  uint32_t working;                   ///< Warps that have not finished.
  uint64_t next;                      ///< As RingView::decisions.
};

/// A lane of a ring: what its neighbours and its threads tell each other. All warps but the last
/// work, each at its own pace; the last one tells the neighbours what all of them have done, so
/// that nobody stops for the fence. But nobody is far ahead of what has been announced: the fence
/// waits for all that is on its way, and links that are full would have megabytes of it in front of
/// them, so that ranks further on begin late (all-reduces of 16 MiB 84 us instead of 88, 4 x H200,
/// 2026-11). Counters are of slots, kSlots for each slice or piece. kAsks: calls may ask whether
/// they go straight.
template <uint32_t kSlots, bool kAsks>
class RingLane {
 public:
  /// All threads; `desk` is the block's shared memory.
  __device__ RingLane(const RingCall& call, int lane, RingDesk* desk);

  /// Whether this thread runs the algorithm, and finish(), or serve().
  __device__ bool works() const { return threadIdx.x < workers(); }
  __device__ static uint32_t workers() { return blockDim.x - 32; }

  /// Where the next rank's dst is, if the call goes straight; else nullptr.
  __device__ unsigned char* next() const { return next_; }

  /// Waits until a slice has come in and there is a slot to send into, as bits ask for it; false if
  /// the wait was given up, now or before.
  template <int bits>
  __device__ bool ready();
  /// The slots of it.
  __device__ const unsigned char* slotIn() const;
  __device__ unsigned char* slotOut() const;
  /// This warp has done what it waited for.
  template <int bits>
  __device__ void done();

  /// Writes the lane's steps back for the next kernel.
  __device__ void finish();
  /// Announces until all have finished.
  __device__ void serve();

 private:
  template <int bits>
  __device__ bool enough() const;
  __device__ bool waitUntilNear();
  template <int bits>
  __device__ void tellDesk();
  const FaultView& fault_;
  RingDesk* desk_;
  FifoView in_;   // of this lane
  FifoView out_;  // of this lane
  uint32_t* steps_;
  unsigned char* next_ = nullptr;
  uint32_t received_;
  uint32_t sent_;
  uint32_t head_;    // of in_, as last seen by this warp
  uint32_t credit_;  // of out_, likewise
  uint32_t firstReceived_;
  uint32_t firstSent_;
  uint32_t ahead_;
  bool gaveUp_ = false;
};

/// Primitives under the Simple protocol: blocks go in slices of kSlots FIFO slots in the receiver's
/// memory and are announced by a flag behind a release; credits come back without one. kAnywhere:
/// blocks of the caller's memory may begin at any element; without it, those that are not aligned
/// to 16 bytes go element by element.
template <class Reducer, uint32_t kSlots, bool kAnywhere, bool kAsks>
class PrimsSimple : public algo::Primitives<PrimsSimple<Reducer, kSlots, kAnywhere, kAsks>> {
 public:
  using Lane = RingLane<kSlots, kAsks>;
  __device__ PrimsSimple(const RingCall& call, Lane& lane)
      : call_(call), source_(call.args), lane_(lane) {}

  template <int bits>
  __device__ void move(algo::Block b, int from, int to);

 private:
  const RingCall& call_;
  const typename Reducer::Source source_;
  Lane& lane_;
};

/// The same from dst to dst: a block is written where the next rank has it in its dst, also while
/// it is a partial result; those of several periods in one hop, and announced together, as each
/// announcement takes 0.8 us of a lane. Nobody waits for room: who writes a block there a second
/// time has heard of what became of the first (tests/unit/straight_rings_test.cc).
template <class Reducer, uint32_t kSlots>
class PrimsStraight : public algo::Primitives<PrimsStraight<Reducer, kSlots>> {
 public:
  using Lane = RingLane<kSlots, true>;
  __device__ PrimsStraight(const RingCall& call, Lane& lane)
      : call_(call), source_(call.args), lane_(lane) {}

  /// As rondo::forEachPart; body(part) stands for as many periods as the call says.
  template <class Body>
  __device__ void forEachPart(int lane, Body body);

  template <int bits>
  __device__ void move(algo::Block b, int from, int to);

 private:
  __device__ algo::Block lastOf(algo::Block b) const;
  template <int bits>
  __device__ bool moveBlock(algo::Block b, bool halves, bool begins, bool ends);

  const RingCall& call_;
  const typename Reducer::Source source_;
  Lane& lane_;
  algo::Part part_;  ///< The first period of this hop, ...
  algo::Part last_;
  uint32_t periods_;  ///< ... how many full ones it has, ...
  bool joins_;        ///< ... and whether the last one goes with them.
};

}  // namespace rondo

#include "kernels/impl/prims_simple.h"
#include "kernels/impl/prims_straight.h"
#include "kernels/impl/ring_lane.h"
#include "kernels/impl/window.h"
