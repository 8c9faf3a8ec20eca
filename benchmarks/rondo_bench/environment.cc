#include "environment.h"

#include <sched.h>
#include <unistd.h>

#include "device_timer.h"
#include "errors.h"
#include "peer_mpi.h"
#include "values.h"

namespace rondo::bench {
namespace {

constexpr int kEagerCalls = 20;  // calls between two events, as nccl-tests has it

int usableCpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
}

}  // namespace

Environment::Environment(const Options& options) : options_(options) {
  if (options.memory != MemoryKind::kDevice) {
    memory_ = makeHostMemory(options.memory);
    timer_ = std::make_unique<HostTimer>();
    return;
  }
  device_ = std::make_unique<Device>(session_);
  memory_ = std::make_unique<DeviceMemory>(*device_);
  const int calls = options.graph ? options.callsPerSample : kEagerCalls;
  timer_ = std::make_unique<DeviceTimer>(*device_, calls, options.graph);
  if (options.peer == Peer::kNccl) nccl_ = std::make_unique<Nccl>(session_);
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

void requirePossible(const Options& options, int ranks) {
  if (options.peer == Peer::kMpi) requireMpiCan(options);
  if (options.peer == Peer::kNccl) requireNcclCan(options, ranks);
  if (options.noCheck) return;
  for (const ElementType* type : options.types) {
    for (const Operator* op : options.ops) {
      std::string why;
      if (!exactValuesExist({type, op, ranks}, &why)) {
        throw UsageError(std::string("--type ") + type->name + ": " + why);
      }
    }
  }
}

}  // namespace rondo::bench
