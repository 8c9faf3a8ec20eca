#include "pair.h"

#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <new>
#include <stdexcept>
#include <system_error>

namespace rondo::bare {
namespace {

constexpr long kLooksBeforeYield = 200000;

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

void* mapShared(size_t bytes) {
  void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE,
                 -1, 0);
  if (p == MAP_FAILED) fail("mmap");
  return p;
}

/// The rank'th of the cores that this process may use.
void bindTo(int rank) {
  cpu_set_t allowed, one;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) fail("sched_getaffinity");
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed) || rank-- != 0) continue;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    if (sched_setaffinity(0, sizeof one, &one) != 0) fail("sched_setaffinity");
    return;
  }
  throw std::runtime_error("two cores are needed");
}

}  // namespace

Pair::Pair(size_t areaBytes) : parent_(getpid()) {
  shared = new (mapShared(sizeof(Shared))) Shared;
  for (int r = 0; r < 2; ++r) {
    sendArea_[r] = static_cast<float*>(mapShared(areaBytes));
    recvArea_[r] = static_cast<float*>(mapShared(areaBytes));
  }
  turnTo(0);
  child_ = fork();
  if (child_ < 0) fail("fork");
  rank = child_ == 0 ? 1 : 0;
  // The other one would wait for ever.
  if (rank == 1) prctl(PR_SET_PDEATHSIG, SIGKILL);
  bindTo(rank);
}

Pair::~Pair() {
  if (rank == 0 && child_ > 0) kill(child_, SIGKILL);
}

void Pair::meet() {
  ++epoch_;
  shared->arrived[rank].value.store(epoch_, std::memory_order_release);
  long looks = 0;
  while (shared->arrived[1 - rank].value.load(std::memory_order_acquire) < epoch_) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
    if (++looks % kLooksBeforeYield != 0) continue;
    sched_yield();
    // A child that ended early, or a parent that did, never comes.
    if (rank == 0 && waitpid(child_, nullptr, WNOHANG) != 0) {
      child_ = -1;
      throw std::runtime_error("the other process ended");
    }
  }
}

void Pair::turnTo(size_t bytes) {
  for (int r = 0; r < 2; ++r) {
    send[r] = sendArea_[r] + bytes / sizeof(float);
    recv[r] = recvArea_[r] + bytes / sizeof(float);
  }
}

bool Pair::joined() {
  int status = 0;
  const int child = child_;
  child_ = -1;
  return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

}  // namespace rondo::bare
