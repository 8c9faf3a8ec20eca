#include "environment.h"

#include <sched.h>
#include <unistd.h>

#include "device_timer.h"
#include "errors.h"
#include "kinds.h"
#include "library_mpi.h"
#include "library_rondo.h"
#include "nccl_memory.h"

namespace rondo::bench {
namespace {

constexpr int kEagerCalls = 20;  // calls between two events, as nccl-tests has it
/// As many as make the first ones, before which a kernel does not stay, count little.
constexpr int kAwaitedCalls = 200;

int usableCpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
}

void requireRanks(const Benchmark& benchmark, const Options& options, int ranks) {
  const std::string name = benchmark.name;
  const std::string have = std::to_string(ranks);
  if (benchmark.has(kPairs) && ranks < 2) {
    throw UsageError(name + ": " + have + " rank; allowed are 2 or more (mpirun -n 2)");
  }
  if (benchmark.has(kAllPairs) && ranks % 2 != 0) {
    throw UsageError(name + ": " + have + " ranks; allowed is an even number, for pairs");
  }
  if (benchmark.has(kRooted) && options.root >= ranks) {
    throw UsageError("--root " + std::to_string(options.root) + ": allowed is a rank from 0 to " +
                     std::to_string(ranks - 1));
  }
  if (benchmark.has(kNoData) && options.memory == MemoryKind::kDevice) {
    throw UsageError(name + ": has no buffers, so --memory device has no meaning");
  }
}

}  // namespace

Environment::Environment(const Options& options) : options_(options) {
  if (options.memory != MemoryKind::kDevice) {
    memory_ = makeHostMemory(options.memory);
    place_ = std::make_unique<MeetingPlace>(session_.mpi(), !options.meetInBarrier);
    timer_ = std::make_unique<HostTimer>(place_->meeting());
    return;
  }
  device_ = std::make_unique<Device>(session_);
  if (isNccl(options.peer)) nccl_ = std::make_unique<Nccl>(session_, peerName(options.peer));
  const rondoComm_t registersWith = options.registered ? session_.rondo() : nullptr;
  const int flags = options.windows       ? RONDO_REGISTER_WINDOW
                    : options.copyEngines ? RONDO_REGISTER_COPY_ENGINES
                                          : RONDO_REGISTER_DEFAULT;
  if (options.peer == Peer::kNcclSymmetric) {
    memory_ = std::make_unique<NcclMemory>(*device_, registersWith, flags, *nccl_);
    memory_->release(memory_->allocate(1, options.align));  // refused before a table is begun
  } else {
    memory_ = std::make_unique<DeviceMemory>(*device_, registersWith, flags);
  }
  const int calls = options.graph     ? options.callsPerSample
                    : options.awaited ? kAwaitedCalls
                                      : kEagerCalls;
  const Launch how = options.graph     ? Launch::kGraph
                     : options.awaited ? Launch::kAwaited
                                       : Launch::kEager;
  timer_ = std::make_unique<DeviceTimer>(*device_, calls, how);
  stagedMpi_ = std::make_unique<StagedMpi>(*device_);
}

std::string Environment::versions() const {
  std::string text = "Rondo " + rondoVersion() + ", " + mpiVersion();
  if (nccl_) text += ", NCCL " + nccl_->version();
  return text;
}

std::string Environment::machine() const {
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  std::string text = std::string(host) + ", " + std::to_string(sysconf(_SC_NPROCESSORS_ONLN)) +
                     " CPUs (" + std::to_string(usableCpus()) + " usable by rank 0)";
  if (device_) text += ", " + device_->name();
  return text;
}

Seat seatOf(const Options& options, const Session& session) {
  return {session.ranks(), session.rank(), options.root, options.window, options.group};
}

std::vector<Contender> contendersOf(const Benchmark& benchmark, const Environment& environment) {
  const Session& session = environment.session();
  if (environment.options().library == Library::kMpi) {
    return {mpiContender(benchmark, session.mpi())};
  }
  std::vector<Contender> result{rondoContender(benchmark, session.rondo())};
  if (environment.options().peer == Peer::kMpi) {
    StagedMpi* const staged = environment.stagedMpi();
    result.push_back(staged != nullptr ? staged->contender(benchmark, session.mpi())
                                       : mpiContender(benchmark, session.mpi()));
  }
  if (environment.nccl() != nullptr) result.push_back(environment.nccl()->contender(benchmark));
  return result;
}

void requirePossible(const Benchmark& benchmark, const Options& options, int ranks) {
  requireRanks(benchmark, options, ranks);
  if (options.peer == Peer::kMpi || options.library == Library::kMpi) {
    requireMpiCan(benchmark, options, ranks);
  }
  if (isNccl(options.peer)) requireNcclCan(benchmark, options, ranks);
  kindsOf(benchmark, options, ranks);
}

}  // namespace rondo::bench
