#include "base/own_thread.h"

#include <sched.h>
#include <signal.h>

#include <string>
#include <system_error>
#include <utility>

#include "base/error.h"

namespace rondo {

namespace {

/// All signals, for as long as it lives: a thread that is made meanwhile never has any.
struct SignalsHeld {
  SignalsHeld() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
  }
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;
  ~SignalsHeld() { pthread_sigmask(SIG_SETMASK, &before, nullptr); }
  sigset_t before;
};

}  // namespace

std::thread ownThread(const char* what, std::function<void()> body) {
  const SignalsHeld held;
  try {
    return std::thread(std::move(body));
  } catch (const std::system_error& error) {
    throw systemError(std::string("starting ") + what, error.code().value());
  }
}

bool boundToOneCore() {
  cpu_set_t allowed;
  return sched_getaffinity(0, sizeof allowed, &allowed) == 0 && CPU_COUNT(&allowed) == 1;
}

}  // namespace rondo
