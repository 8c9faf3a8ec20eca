// Memory, which is Rondo's, and its registration. Rondo takes buffers as they are, so registering
// one makes a handle and nothing else; a symmetric window is registered for the copy engines.

#include <cstdlib>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "drop_in/nccl/failure.h"
#include "drop_in/nccl/group.h"
#include "drop_in/nccl/jobs.h"
#include "drop_in/nccl/rehearsal.h"
#include "drop_in/nccl/settings.h"

namespace rondo::nccl {
namespace {

/// A rehearsal touches no buffer: where there is no device, the host's memory does.
bool hostMemoryDoes() { return rehearsing() && !hasDevices(); }

/// A buffer that a program registered.
struct Registration {
  ncclComm_t comm;
  bool window;
  rondoRegistration_t number = 0;  ///< Rondo's; 0: none, a handle only.
};

/// All there are, by their handle.
struct Registrations {
  std::mutex mutex;
  std::unordered_map<void*, Registration> all;
  uintptr_t last = 0;
};
Registrations& registrations() {
  static Registrations* const one = new Registrations;  // outlives every static
  return *one;
}

void* handleFor(const Registration& registration) {
  Registrations& known = registrations();
  const std::lock_guard<std::mutex> lock(known.mutex);
  known.last += 16;  // no address, but as one: programs compare with NULL only
  void* const handle = reinterpret_cast<void*>(known.last);
  known.all[handle] = registration;
  return handle;
}

ncclResult_t checkEnrolled(const char* name, ncclComm_t comm, const void* buff, size_t size,
                           const void* handle) {
  if (const ncclResult_t bad = usable(comm, name)) return bad;
  if (buff != nullptr && size != 0 && handle != nullptr) return ncclSuccess;
  return fail(comm, ncclInvalidArgument,
              format("%s: argument buff is %p, size %zu, the handle's place %p; allowed: memory, "
                     "and where to write the handle",
                     name, buff, size, handle));
}

/// What Rondo says on all ranks of memory that it cannot register; such a window is a handle.
bool staysHandle(rondoResult_t result) {
  return result == rondoUnsupported || result == rondoInvalidArgument ||
         result == rondoInvalidUsage || result == rondoOutOfMemory;
}

Job jobOn(ncclComm_t comm, const char* name) {
  Job job;
  job.name = name;
  job.on = comm;
  job.place = comm->place;
  return job;
}

/// A window of NCCL_WIN_COLL_SYMMETRIC, on all ranks.
ncclResult_t makeWindow(const char* name, ncclComm_t comm, void* buff, size_t size,
                        ncclWindow_t* win) {
  Job job = jobOn(comm, name);
  job.blocking = comm->blocking;
  job.run = [=](rondoComm_t*) {
    rondoRegistration_t number = 0;
    const rondoResult_t result =
        rondoCommRegister(comm->inner, buff, size, RONDO_REGISTER_WINDOW, &number);
    if (result != rondoSuccess && !staysHandle(result)) return result;
    if (result != rondoSuccess) {
      logLine(Loud::Info, format("%s: the window is used as memory that is not registered: %s",
                                 name, rondoGetLastError(nullptr)));
    }
    *win = static_cast<ncclWindow_t>(handleFor({comm, true, number}));
    return rondoSuccess;
  };
  return submit(std::move(job));
}

void forget(void* handle) {
  Registrations& known = registrations();
  const std::lock_guard<std::mutex> lock(known.mutex);
  known.all.erase(handle);
}

ncclResult_t strike(const char* name, ncclComm_t comm, void* handle, bool window) {
  if (const ncclResult_t bad = usable(comm, name)) return bad;
  if (handle == nullptr) return ncclSuccess;
  Registrations& known = registrations();
  rondoRegistration_t number = 0;
  {
    const std::lock_guard<std::mutex> lock(known.mutex);
    const auto at = known.all.find(handle);
    if (at == known.all.end() || at->second.comm != comm || at->second.window != window) {
      return fail(comm, ncclInvalidUsage,
                  format("%s: argument handle is %p; allowed: one of %s on this communicator that "
                         "was not given back",
                         name, handle, window ? "ncclCommWindowRegister" : "ncclCommRegister"));
    }
    number = at->second.number;
    if (number == 0) known.all.erase(at);
  }
  if (number == 0) return ncclSuccess;
  Job job = jobOn(comm, name);
  job.run = [comm, number, handle](rondoComm_t*) {
    const rondoResult_t result = rondoCommDeregister(comm->inner, number);
    // As another thread is in a call. Of a finalized communicator all end with it; one whose memory
    // was freed has ended by itself, as have those of a broken communicator.
    const bool stays = result == rondoInvalidUsage && !comm->finalized;
    if (!stays) forget(handle);
    return stays ? result : rondoSuccess;
  };
  return submit(std::move(job));
}

}  // namespace
}  // namespace rondo::nccl

using rondo::format;
using rondo::nccl::fail;
using rondo::nccl::failInGroup;
using rondo::nccl::guarded;

RONDO_NCCL_CALL(ncclResult_t, ncclMemAlloc, (void** ptr, size_t size)) {
  const char* name = "ncclMemAlloc";
  if (ptr == nullptr || size == 0) {
    return fail(nullptr, ncclInvalidArgument,
                format("%s: argument ptr is %p and size %zu; allowed: where to write the address, "
                       "and from 1 byte",
                       name, static_cast<void*>(ptr), size));
  }
  return guarded(name, [&] {
    if (rondo::nccl::hostMemoryDoes()) {
      *ptr = std::malloc(size);
      return *ptr == nullptr ? fail(nullptr, ncclSystemError, std::string(name) + ": no memory")
                             : ncclSuccess;
    }
    const rondoResult_t result = rondoMemAllocDevice(ptr, size, RONDO_DEVICE_AUTO);
    if (result == rondoSuccess) return ncclSuccess;
    if (result != rondoUnsupported) return rondo::nccl::failAs(nullptr, name, result);
    // A librondo.so without CUDA, or a rehearsal's driver that has little more than memory.
    *ptr = rondo::nccl::allocate(size);
    return ncclSuccess;
  });
}

RONDO_NCCL_CALL(ncclResult_t, ncclMemFree, (void* ptr)) {
  if (ptr == nullptr) return ncclSuccess;
  return guarded("ncclMemFree", [&] {
    if (rondo::nccl::hostMemoryDoes()) {
      std::free(ptr);
    } else if (rondoMemFree(ptr) != rondoSuccess) {
      rondo::nccl::release(ptr);  // the driver says so if it isn't its memory either
    }
    return ncclSuccess;
  });
}

RONDO_NCCL_CALL(ncclResult_t, ncclCommRegister,
                (const ncclComm_t comm, void* buff, size_t size, void** handle)) {
  const char* name = "ncclCommRegister";
  return guarded(name, [&] {
    const ncclResult_t bad = rondo::nccl::checkEnrolled(name, comm, buff, size, handle);
    if (bad == ncclSuccess) *handle = rondo::nccl::handleFor({comm, false});
    return bad;
  });
}

RONDO_NCCL_CALL(ncclResult_t, ncclCommDeregister, (const ncclComm_t comm, void* handle)) {
  return rondo::nccl::strike("ncclCommDeregister", comm, handle, false);
}

RONDO_NCCL_CALL(ncclResult_t, ncclCommWindowRegister,
                (ncclComm_t comm, void* buff, size_t size, ncclWindow_t* win, int winFlags)) {
  const char* name = "ncclCommWindowRegister";
  if (winFlags < 0 || winFlags > rondo::nccl::kSymmetricWindow) {
    return failInGroup(fail(nullptr, ncclInvalidArgument,
                            format("%s: argument winFlags is %d; allowed: NCCL_WIN_DEFAULT (0) or "
                                   "NCCL_WIN_COLL_SYMMETRIC (1)",
                                   name, winFlags)));
  }
  return guarded(name, [&] {
    if (const ncclResult_t bad = rondo::nccl::checkEnrolled(name, comm, buff, size, win)) {
      return failInGroup(bad);
    }
    if (winFlags == rondo::nccl::kSymmetricWindow) {
      return rondo::nccl::makeWindow(name, comm, buff, size, win);
    }
    *win = static_cast<ncclWindow_t>(rondo::nccl::handleFor({comm, true}));
    return ncclSuccess;
  });
}

RONDO_NCCL_CALL(ncclResult_t, ncclCommWindowDeregister, (ncclComm_t comm, ncclWindow_t win)) {
  const char* name = "ncclCommWindowDeregister";
  return guarded(name, [&] { return rondo::nccl::strike(name, comm, win, true); });
}
