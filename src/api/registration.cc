// Registering device memory with a communicator.

#include "api/rondo_register.h"

#include <functional>
#include <numeric>
#include <vector>

#include "api/children.h"
#include "api/comm_bootstrap.h"
#include "api/comm_create.h"
#include "api/group.h"
#include "api/handle.h"
#include "base/error.h"
#include "coll/memory_registry.h"

namespace rondo {
namespace {

MemoryRegistry& registryOf(Communicator& comm) {
  auto* const registry = dynamic_cast<MemoryRegistry*>(comm.deviceRunner());
  if (registry != nullptr) return *registry;
  throw Error(rondoUnsupported,
              comm.deviceRunner() == nullptr
                  ? format("communicator \"%s\" has host memory only: %s", comm.name().c_str(),
                           comm.whyNoDevice().c_str())
                  : format("communicator \"%s\" spans hosts; allowed: ranks of one host",
                           comm.name().c_str()));
}

/// One call about memory. Whether there is a registry is the same on all ranks.
rondoResult_t withRegistry(rondoComm* comm, const char* call,
                           const std::function<void(MemoryRegistry&)>& body) {
  const Use use(comm, call);
  if (use.result() != rondoSuccess) return use.result();
  const rondoResult_t result = guarded(comm, call, [&] {
    if (comm->rehearsal != nullptr) {
      throw Error(rondoUnsupported, "a virtual communicator has no device memory");
    }
    requireIdle(*comm);
    body(registryOf(*comm->impl));
  });
  if (comm->impl && comm->impl->aborted() && comm->broken.empty()) breakComm(comm, *comm->impl);
  return result;
}

CommBootstrap everyone(rondoComm* comm) {
  std::vector<int> ranks(static_cast<size_t>(comm->impl->place().size));
  std::iota(ranks.begin(), ranks.end(), 0);
  return CommBootstrap(*comm->impl, ranks);
}

MemoryUse useOf(int flags) {
  return flags == RONDO_REGISTER_WINDOW         ? MemoryUse::kWindow
         : flags == RONDO_REGISTER_COPY_ENGINES ? MemoryUse::kSymmetric
                                                : MemoryUse::kStraight;
}

void checkRegister(int flags, const rondoRegistration_t* registration, size_t bytes) {
  if (registration == nullptr) {
    throw Error(rondoInvalidArgument,
                "argument registration is NULL; allowed: where to write the number");
  }
  if (flags != RONDO_REGISTER_DEFAULT && flags != RONDO_REGISTER_COPY_ENGINES &&
      flags != RONDO_REGISTER_WINDOW) {
    throw Error(
        rondoInvalidArgument,
        format("argument flags is %d; allowed: RONDO_REGISTER_DEFAULT (%d), "
               "RONDO_REGISTER_COPY_ENGINES (%d) or RONDO_REGISTER_WINDOW (%d)",
               flags, RONDO_REGISTER_DEFAULT, RONDO_REGISTER_COPY_ENGINES, RONDO_REGISTER_WINDOW));
  }
  if (flags != RONDO_REGISTER_DEFAULT && bytes == 0) {
    throw Error(rondoInvalidArgument,
                format("argument bytes is 0; allowed with %s: 1 or more, the same on all ranks",
                       flags == RONDO_REGISTER_WINDOW ? "RONDO_REGISTER_WINDOW"
                                                      : "RONDO_REGISTER_COPY_ENGINES"));
  }
}

}  // namespace
}  // namespace rondo

rondoResult_t rondoCommRegister(rondoComm_t comm, void* ptr, size_t bytes, int flags,
                                rondoRegistration_t* registration) {
  return rondo::withRegistry(comm, "rondoCommRegister", [&](rondo::MemoryRegistry& registry) {
    rondo::CommBootstrap boot = rondo::everyone(comm);
    rondo::together(boot, [&] { rondo::checkRegister(flags, registration, bytes); });
    *registration = registry.addMemory(boot, ptr, bytes, rondo::useOf(flags));
  });
}

rondoResult_t rondoCommDeregister(rondoComm_t comm, rondoRegistration_t registration) {
  return rondo::withRegistry(comm, "rondoCommDeregister", [&](rondo::MemoryRegistry& registry) {
    if (rondo::MemoryRegistry::isWindow(registration)) return registry.removeWindow(registration);
    rondo::CommBootstrap boot = rondo::everyone(comm);
    registry.removeMemory(boot, registration);
  });
}
