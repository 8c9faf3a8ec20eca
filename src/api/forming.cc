#include "api/forming.h"

#include <sched.h>

#include <thread>

#include "base/error.h"
#include "base/own_thread.h"
#include "p2p/cuda_device.h"

namespace rondo {

/// What is left of the making until somebody takes note of its end.
struct Forming {
  Interrupt interrupt;
  std::thread thread;
};

namespace {

void form(rondoComm* comm, const char* call, const Make& make) {
  std::unique_ptr<Communicator> impl;
  const rondoResult_t result = guarded(nullptr, call, [&] { impl = make(); });
  if (result == rondoSuccess) {
    comm->impl = std::move(impl);
    comm->state.store(rondoComm::kAlive, std::memory_order_release);
    return;
  }
  comm->brokenCode = result;
  comm->broken = rondoGetLastError(nullptr);
  comm->noteError(comm->broken);
  comm->state.store(rondoComm::kUnmade, std::memory_order_release);
}

}  // namespace

rondoComm* formInBackground(const char* call, const std::shared_ptr<const Config>& config,
                            Make make, const std::function<void(rondoComm&)>& adopt) {
  auto forming = std::make_unique<Forming>();
  rondoComm* const comm = newHandle();
  comm->config = config;
  if (adopt) adopt(*comm);
  comm->state.store(rondoComm::kForming, std::memory_order_release);
  try {
    forming->thread = ownThread("the thread that makes the communicator",
                                [comm, call, context = currentCudaContext(),
                                 interrupt = &forming->interrupt, make = std::move(make)] {
                                  const ContextScope scope(context);
                                  const BootWait wait(interrupt, {});
                                  form(comm, call, make);
                                });
  } catch (...) {
    comm->state.store(rondoComm::kUnmade, std::memory_order_release);
    destroyHandle(comm);
    throw;
  }
  comm->forming.store(forming.release(), std::memory_order_release);
  return comm;
}

bool isUnready(const rondoComm* comm) {
  if (comm == nullptr) return false;
  const uint32_t state = comm->state.load(std::memory_order_acquire);
  return state == rondoComm::kForming || state == rondoComm::kUnmade;
}

void stopForming(rondoComm* comm) {
  Forming* const forming = comm->forming.exchange(nullptr, std::memory_order_acq_rel);
  if (forming == nullptr) {  // another thread ends it
    while (comm->state.load(std::memory_order_acquire) == rondoComm::kForming) sched_yield();
    return;
  }
  forming->interrupt.raise();
  forming->thread.join();
  delete forming;
}

void endForming(rondoComm* comm) {
  Forming* const forming = comm->forming.exchange(nullptr, std::memory_order_acq_rel);
  if (forming == nullptr) return;
  forming->thread.join();
  delete forming;
}

rondoResult_t makeNowOrInBackground(const char* call, rondoComm_t* comm, const Config& config,
                                    Make make, const std::function<void(rondoComm&)>& adopt) {
  const auto kept = std::make_shared<const Config>(config);
  const rondoResult_t result = guarded(nullptr, call, [&] {
    if (!config.blocking) {
      *comm = formInBackground(call, kept, std::move(make), adopt);
      return;
    }
    rondoComm* const made = makeHandle(make());
    made->config = kept;
    if (adopt) adopt(*made);
    *comm = made;
  });
  return result == rondoSuccess && !config.blocking ? rondoInProgress : result;
}

}  // namespace rondo
