#pragma once
// The kernels as the host sees them: a table, and how to load and launch its rows. Needs no CUDA
// header.

#include <cstdint>
#include <vector>

#include "kernels/cut.h"
#include "kernels/direct_call.h"
#include "kernels/exchange_call.h"
#include "kernels/launching.h"
#include "kernels/reduce_units.h"
#include "p2p/channel_view.h"

struct CUstream_st;

namespace rondo {

/// A CUDA block is a lane, and has at most this many threads.
constexpr int kBlockThreads = 512;
/// Those of a ring have always as many: seven warps that work and one that announces. Few, because
/// each has six loads of 16 bytes under way at once, or eight, which takes registers.
constexpr int kRingThreads = 256;

/// What a rank multiplies its own elements by, for kernels that Reduces::kScaled.
struct Scale {
  const unsigned char* scalar;  ///< One element, read when the kernel runs; nullptr: value.
  unsigned long long value;     ///< One element, at its beginning.
};

/// What every kernel is told of its call.
struct CallArgs {
  const unsigned char* src;
  unsigned char* dst;
  int32_t rank;
  int32_t size;
  uint32_t elementBytes;
  int32_t root;
  Reduction reduction;  ///< Of a value that is complete.
  int32_t close;        ///< kFollows, kLets
  Cut cut;
  FaultView fault;
  uint64_t srcSlot;  ///< Bytes from a slot to the next; 0: there is one only, whatever its number.
  uint64_t dstSlot;
  Scale scale;
};

/// The argument of a window kernel. What every kernel reads comes first: a line of constants that
/// is not in the cache yet costs a tenth of a microsecond.
struct WindowCall {
  WindowView window;
  CallArgs args;
};

/// The argument of a window kernel whose ranks say hello; a WindowCall in front, so that the host
/// can always hand over one of these.
struct HelloCall : WindowCall {
  HelloView hello;
};

/// How a long call goes round a ring if every rank knows where the next one has its dst: blocks are
/// written there, past the slots, those of several periods in one hop. When their kernels begin all
/// ranks tell all others whether the one before can write there, and if it cannot anywhere all take
/// the slots: what is reduced in which order is the same either way.
struct StraightRing {
  uint64_t there;    ///< Where the previous rank has this one's dst, as DirectPiece::there has it.
  uint32_t periods;  ///< In one hop; 0: nobody asks.
  uint32_t announced;  ///< At once, of them.
  GraphPlacesView places;
};

/// The argument of a ring kernel.
struct RingCall {
  CallArgs args;
  RingView ring;
  StraightRing straight;
  uint32_t ahead;  ///< Slots that a lane may be sending that are not announced yet.
};

enum class Protocol : uint8_t { kLL, kLL128, kSimple };
constexpr const char* protocolName(Protocol p) {
  return p == Protocol::kLL ? "LL" : p == Protocol::kLL128 ? "LL128" : "Simple";
}

/// Which reductions a kernel can do.
enum class Reduces : uint8_t {
  kNothing,
  kHot,  ///< isHot()
  kAll,
  kScaled  ///< Sums of isHot() types, of inputs that each rank multiplies by a scalar of its own.
};

/// One instantiated kernel. `algorithm` names the registry's row whose header it is made of.
struct Kernel {
  const char* collective;
  const char* algorithm;
  Protocol protocol;
  Reduces reduces;
  int ranks;    ///< The number of ranks it is for; 0: any that the protocol can serve.
  int threads;  ///< Of a block, at most.
  const void* function;
  const void* standing = nullptr;  ///< Its twin that waits for more calls, if any.
  const void* anywhere = nullptr;  ///< A ring's twin for blocks that are not aligned to 16 bytes.
  bool straight = false;           ///< A ring's: it may go straight.
};

/// All kernels there are (instantiate.cu).
const std::vector<Kernel>& kernels();

/// The one for so many ranks, or for any; nullptr if there is none.
const Kernel* findKernel(const char* collective, const char* algorithm, Protocol protocol,
                         Reduces reduces, int ranks);

/// Loads every kernel into the current context, so that no launch has to, and says how many blocks
/// of the most threads of any of them the device, which has so many multiprocessors, holds at
/// once: no block takes more than that part of one. The context has the stack that they need from
/// then on. Returns a cudaError_t.
int loadKernels(int* blocksAtOnce, int* processors);

/// Whether the current device and its driver can place a kernel's blocks while the kernel before it
/// in the stream still runs, in graphs too (programmatic dependent launch), and the kernels were
/// compiled for it. After loadKernels().
bool launchesClose();

/// Where a stream's capture is: the one node that what comes next depends on; nullptr: there are
/// none, or several.
struct CaptureTip {
  unsigned long long capture = 0;
  const void* node = nullptr;
};
CaptureTip captureTip(CUstream_st* stream);
/// Of which capture the stream is; 0: of none.
uint64_t captureId(CUstream_st* stream);
/// Gives a captured kernel another call, of the same length, while its stream still captures.
/// Returns a cudaError_t.
int recall(const CaptureTip& tip, const void* call);

/// Enqueues `kernel` with its one argument. Allowed while `stream` captures. Returns a cudaError_t.
int launchKernel(const Kernel& kernel, const void* call, int blocks, int threads,
                 CUstream_st* stream, const Launching& how);

/// The same of a ring's, or of its twin where slots of the call's buffers are not all aligned to 16
/// bytes. Ranks need not do the same.
int launchRing(const Kernel& kernel, const RingCall& call, int blocks, int threads,
               CUstream_st* stream, const Launching& how);

/// What is wrong with a stream, or its context; 0: nothing, whether it is idle or not.
int streamError(CUstream_st* stream);

const char* cudaErrorName(int error);
const char* cudaErrorText(int error);

}  // namespace rondo
