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

/// One collective call about memory. Whether there is a registry is the same on all ranks.
rondoResult_t onAllRanks(rondoComm* comm, const char* call,
                         const std::function<void(MemoryRegistry&, Bootstrap&)>& body) {
  const Use use(comm, call);
  if (use.result() != rondoSuccess) return use.result();
  const rondoResult_t result = guarded(comm, call, [&] {
    if (comm->rehearsal != nullptr) {
      throw Error(rondoUnsupported, "a virtual communicator has no device memory");
    }
    requireIdle(*comm);
    MemoryRegistry& registry = registryOf(*comm->impl);
    std::vector<int> everyone(static_cast<size_t>(comm->impl->place().size));
    std::iota(everyone.begin(), everyone.end(), 0);
    CommBootstrap boot(*comm->impl, everyone);
    body(registry, boot);
  });
  if (comm->impl && comm->impl->aborted() && comm->broken.empty()) breakComm(comm, *comm->impl);
  return result;
}

void checkRegister(int flags, const rondoRegistration_t* registration, size_t bytes) {
  if (registration == nullptr) {
    throw Error(rondoInvalidArgument,
                "argument registration is NULL; allowed: where to write the number");
  }
  if (flags != RONDO_REGISTER_DEFAULT && flags != RONDO_REGISTER_COPY_ENGINES) {
    throw Error(rondoInvalidArgument,
                format("argument flags is %d; allowed: RONDO_REGISTER_DEFAULT (%d) or "
                       "RONDO_REGISTER_COPY_ENGINES (%d)",
                       flags, RONDO_REGISTER_DEFAULT, RONDO_REGISTER_COPY_ENGINES));
  }
  if (flags == RONDO_REGISTER_COPY_ENGINES && bytes == 0) {
    throw Error(
        rondoInvalidArgument,
        "argument bytes is 0; allowed with RONDO_REGISTER_COPY_ENGINES: 1 or more, the same "
        "on all ranks");
  }
}

}  // namespace
}  // namespace rondo

rondoResult_t rondoCommRegister(rondoComm_t comm, void* ptr, size_t bytes, int flags,
                                rondoRegistration_t* registration) {
  return rondo::onAllRanks(
      comm, "rondoCommRegister", [&](rondo::MemoryRegistry& registry, rondo::Bootstrap& boot) {
        rondo::together(boot, [&] { rondo::checkRegister(flags, registration, bytes); });
        *registration =
            registry.addMemory(boot, ptr, bytes, (flags & RONDO_REGISTER_COPY_ENGINES) != 0);
      });
}

rondoResult_t rondoCommDeregister(rondoComm_t comm, rondoRegistration_t registration) {
  return rondo::onAllRanks(comm, "rondoCommDeregister",
                           [&](rondo::MemoryRegistry& registry, rondo::Bootstrap& boot) {
                             registry.removeMemory(boot, registration);
                           });
}
