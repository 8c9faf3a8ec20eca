#include "drop_in/mpi/device_path.h"

#include <algorithm>
#include <bit>
#include <chrono>

#include "base/error.h"
#include "drop_in/mpi/comms.h"
#include "drop_in/mpi/launcher.h"
#include "drop_in/mpi/mpi_progress.h"

namespace rondo::drop_in {
namespace {

// What a rank tells the others; the words are or-ed.
constexpr uint32_t kUnfit = 1;   ///< This call: memory that is not a device's, or not for kernels.
constexpr uint32_t kDevice = 2;  ///< This call: memory that is a device's.
constexpr uint32_t kSeen = 4;    ///< The same since the last agreement.
/// And a number of the call's, with its complement: if all have the same, no bit is in both.
constexpr int kCallBits = 14, kCallShift = 3;
constexpr uint32_t kCallMask = (1u << kCallBits) - 1;

uint32_t callWord(uint64_t call) {
  const auto number = static_cast<uint32_t>((call * 0x9e3779b97f4a7c15u) >> (64 - kCallBits));
  return (number | (~number & kCallMask) << kCallBits) << kCallShift;
}
bool callsDiffer(uint32_t all) {
  return ((all >> kCallShift) & (all >> (kCallShift + kCallBits)) & kCallMask) != 0;
}

/// Programs without device buffers pay 12 instead of 200 ns a call: after so many calls without any
/// ranks agree in every 16th call only. Meanwhile a device buffer goes by way of the host, which is
/// right whatever the others have.
constexpr int kQuietAfter = 16, kCallsPerLook = 16;

/// How often MPI progresses while a kernel runs: at once, as a kernel takes 6 us to begin and end
/// (H200), then again when it takes long. In between the 0.5 us would be late to see the end.
constexpr std::chrono::microseconds kBetweenProgress{5}, kFirstPause{15};

constexpr const char* kEnded = "an earlier error has ended the communicator";

Error onDevices(rondoResult_t result, const std::string& said) {
  return Error(result, "on device memory: " + (said.empty() ? rondoGetErrorString(result) : said));
}

bool onOneHost(MPI_Comm comm) {
  MPI_Comm near = MPI_COMM_NULL;
  int size = 0, nearSize = -1;
  PMPI_Comm_size(comm, &size);
  if (PMPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &near) != MPI_SUCCESS) {
    return false;
  }
  PMPI_Comm_size(near, &nearSize);
  PMPI_Comm_free(&near);
  return nearSize == size;
}

/// Why the ranks' kernels would not run at once: the same sentence on all ranks. Empty: they would.
std::string takeTurns(const KnownComm& known, int device) {
  const DeviceSharing mine = sharingOf(device);
  std::vector<DeviceSharing> all(static_cast<size_t>(known.size));
  if (rondoAllGather(&mine, all.data(), sizeof mine, rondoUint8, known.rondo, nullptr) !=
      rondoSuccess) {
    return rondoGetLastError(known.rondo);
  }
  for (size_t b = 1; b < all.size(); ++b) {
    for (size_t a = 0; a < b; ++a) {
      if (all[a].device != all[b].device || (all[a].together && all[b].together)) continue;
      return format(
          "ranks %zu and %zu share a GPU, which takes processes in turns of some milliseconds; "
          "allowed: MPS (nvidia-cuda-mps-control -d), or a GPU for each rank",
          a, b);
    }
  }
  return "";
}

}  // namespace

void OwnMemory::add(const Elements& elements, size_t alignment) {
  if (elements.bytes() == 0) return;
  if (!elements.device) return refuse();
  DeviceSpot spot;
  try {
    spot = prepareAsked(elements.begin);
  } catch (const Error&) {
    refuse();  // the copy to the host meets the same, and says so
  }
  if (any_ && (spot.device != spot_.device || spot.context != spot_.context)) refuse();
  any_ = true;
  spot_ = spot;
  const bool aligned = reinterpret_cast<uintptr_t>(elements.begin) % alignment == 0;
  if (!elements.layout.dense || !aligned) refuse();
}

rondoResult_t DevicePath::agree(const KnownComm& known, MPI_Comm comm, const OwnMemory& mine,
                                uint64_t call, Way* way) {
  *way = Way::Host;
  if (state_ == State::Ready) meet(known, comm);
  seen_ |= mine.any();
  if (quiet_ >= kQuietAfter && !devicesOnly && ++unasked_ < kCallsPerLook) return rondoSuccess;
  unasked_ = 0;
  uint32_t word = wordOf(mine, call) | (seen_ ? kSeen : 0);
  if (threadsBeside && fits(mine) && !turn_.take(known)) word = byHost(word);
  seen_ = false;
  uint32_t all = 0;
  const rondoResult_t result =
      rondoAllReduce(&word, &all, 1, rondoUint32, rondoBitOr, known.rondo, nullptr);
  if (result == rondoSuccess) *way = wayOf(known, comm, mine, all);
  if (*way != Way::Device) turn_.release();
  return result;
}

Way DevicePath::wayOf(const KnownComm& known, MPI_Comm comm, const OwnMemory& mine, uint32_t all) {
  quiet_ = (all & kSeen) != 0 ? 0 : std::min(quiet_ + 1, kQuietAfter);
  if (callsDiffer(all)) return Way::Host;
  if ((all & kUnfit) == 0) {
    if (state_ == State::Untried) make(known, comm, mine.spot());
    return state_ == State::Ready ? Way::Device : Way::Host;
  }
  return devicesOnly && (all & kDevice) == 0 ? Way::Mpi : Way::Host;
}

char* DevicePath::scratch(const void* beside, size_t bytes) {
  constexpr size_t kLeast = size_t{64} << 10;
  if (bytes == 0 || bytes > kMostScratch || state_ == State::Refused) return nullptr;
  try {
    const DeviceSpot at = prepareAsked(beside);
    if (!scratch_.empty() && at.device != scratchDevice_) return nullptr;
    if (bytes > scratchBytes_) {
      const ContextScope scope(at.context);
      const size_t whole = std::bit_ceil(std::max(bytes, kLeast));
      scratch_.emplace_back(whole);
      scratchBytes_ = whole;
      scratchDevice_ = at.device;
    }
  } catch (const Error&) {
    return nullptr;
  }
  return scratch_.back().get();
}

bool DevicePath::fits(const OwnMemory& mine) const {
  // The communicator cannot be made by a rank that does not know where.
  if (state_ != State::Ready) return mine.fits();
  return mine.none() || (mine.fits() && mine.spot().device == at_.device);
}

uint32_t DevicePath::wordOf(const OwnMemory& mine, uint64_t call) const {
  return (fits(mine) ? 0 : kUnfit) | (mine.any() ? kDevice : 0) | callWord(call);
}

uint32_t DevicePath::byHost(uint32_t word) { return word | kUnfit; }

void DevicePath::noteLater(const OwnMemory& mine) {
  wantsLater_ = true;
  laterFits_ = mine.fits();
  laterSpot_ = mine.spot();
}

void DevicePath::meet(const KnownComm& known, MPI_Comm comm) {
  if (!wantsLater_ || laterTried_) return;
  wantsLater_ = false;
  if (state_ == State::Untried) {
    const uint32_t word = laterFits_ ? 0 : kUnfit;
    uint32_t all = 0;
    // If that fails the call does, too.
    if (rondoAllReduce(&word, &all, 1, rondoUint32, rondoBitOr, known.rondo, nullptr) !=
            rondoSuccess ||
        all != 0) {
      return;
    }
    make(known, comm, laterSpot_);
  }
  laterTried_ = true;
  if (state_ != State::Ready) return;
  const std::string why = startLauncher();
  const rondoComm_t asking = makeAskingRondo(comm, known.rank, why);
  if (asking == nullptr) return;
  later_.open(asking);
  watchQueue(known);
}

bool DevicePath::beginLater(uint32_t answer, const Asked& asked, DeviceEvent* end) {
  if ((answer & kUnfit) != 0 || callsDiffer(answer)) return false;
  const rondoComm_t comm = comm_;
  if (comm == nullptr) throw Error(rondoRemoteError, kEnded);
  const rondoResult_t result = asked.run(comm, stream_->get());
  if (result == rondoUnsupported) return false;
  if (result != rondoSuccess) throw onDevices(result, rondoGetLastError(nullptr));
  end->record(stream_->get());
  return true;
}

bool DevicePath::ended(const DeviceEvent& end) {
  const ContextScope scope(context_);
  if (!end.reached()) return false;
  check();
  return true;
}

/// A rank that fails by itself goes through the making all the same, for the others wait in it.
void DevicePath::make(const KnownComm& known, MPI_Comm comm, const DeviceSpot& spot) {
  std::string why;
  std::unique_ptr<ContextScope> scope;
  try {
    scope = std::make_unique<ContextScope>(spot.context);
    stream_ = std::make_unique<DeviceStream>();
  } catch (const std::exception& error) {
    why = error.what();
  }
  if (const std::string turns = takeTurns(known, spot.device); !turns.empty()) {
    refuseDevices(known.rank, turns);
  } else {
    comm_ = makeDeviceRondo(comm, known.rank, spot.device, why);
  }
  state_ = comm_ != nullptr ? State::Ready : State::Refused;
  if (state_ == State::Refused) stream_.reset();
  at_ = spot;
  context_ = spot.context != nullptr ? spot.context : currentContext();
  near_ = onOneHost(comm);
  graphs_ = std::make_unique<KeptGraphs>();
}

/// Lets MPI progress meanwhile.
template <class Ended>
void DevicePath::waitUntil(const Ended& ended) {
  using Clock = std::chrono::steady_clock;
  progressMpi();
  Clock::time_point next = Clock::now() + kFirstPause;
  while (!ended()) {
    if (Clock::now() < next) continue;
    progressMpi();
    next = Clock::now() + kBetweenProgress;
  }
}

void DevicePath::wait() {
  waitUntil([this] { return stream_->idle(); });
  check();
}

bool DevicePath::mayLinger(const CallKey& key) {
  const rondoComm_t comm = comm_;
  if (lingerMicroseconds == 0 || key.bytes == 0 || comm == nullptr) return false;
  // A graph would wait for a kernel that stays.
  const bool isShort = key.bytes <= kMostLingering;
  const auto most = static_cast<unsigned>(isShort ? lingerMicroseconds : 0);
  int willing = 0;
  return rondoCommAwaitNext(comm, most, &willing) == rondoSuccess && willing != 0;
}

void DevicePath::waitForKernel(bool launched) {
  bool onStream = false;
  if (!launched) {  // the question ends the announcement
    int state = 0;
    static_cast<void>(rondoCommAwaited(comm_, &state));
    return;
  }
  waitUntil([&] {
    const rondoComm_t comm = comm_;
    if (comm == nullptr) throw Error(rondoRemoteError, kEnded);
    int state = RONDO_AWAITED_RUNS;
    const rondoResult_t result = rondoCommAwaited(comm, &state);
    if (result != rondoSuccess) throw onDevices(result, rondoGetLastError(comm));
    onStream = state == RONDO_AWAITED_ON_STREAM;
    return onStream || state == RONDO_AWAITED_DONE;
  });
  onStream ? wait() : check();
}

/// Kernels end without a result when a rank has died or the communicator was revoked.
void DevicePath::check() {
  const rondoComm_t comm = comm_;
  if (comm == nullptr) throw Error(rondoRemoteError, kEnded);
  rondoResult_t state = rondoSuccess;
  const rondoResult_t asked = rondoCommGetAsyncError(comm, &state);
  if (asked != rondoSuccess) state = asked;
  if (state != rondoSuccess) throw onDevices(state, rondoGetLastError(comm));
}

/// What is left of the context's.
void DevicePath::letGo() {
  if (stream_ == nullptr) return;
  try {
    const ContextScope scope(context_);
    graphs_->clear();
    scratch_.clear();
    stream_.reset();
  } catch (const Error&) {
    // The context is gone, and what was in it.
    graphs_->clear(true);
    for (DeviceMemory& memory : scratch_) memory.leave();
    static_cast<void>(stream_.release());
  }
}

void DevicePath::destroy() {
  later_.destroy();
  if (const rondoComm_t comm = comm_.exchange(nullptr)) rondoCommDestroy(comm);
  letGo();
}

void DevicePath::abort() {
  later_.abort();
  if (const rondoComm_t comm = comm_.exchange(nullptr)) rondoCommAbort(comm);
}

}  // namespace rondo::drop_in
