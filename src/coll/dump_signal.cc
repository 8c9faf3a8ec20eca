#include "coll/dump_signal.h"

#include <semaphore.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <mutex>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "base/own_thread.h"
#include "base/signal_name.h"
#include "base/ticks.h"
#include "coll/flight_trace.h"
#include "coll/status_report.h"

namespace rondo {
namespace {

/// So many of a rank's operations are written in words.
constexpr size_t kOperations = 16;

/// What a handler may touch: nothing of it is ever destroyed or closed.
sem_t asked;
std::atomic<int> askedBy{0};

void handle(int signal) {
  const int before = errno;
  askedBy.store(signal, std::memory_order_relaxed);
  sem_post(&asked);
  errno = before;
}

/// Handlers of this process. Outlives every static: so does the thread.
struct Desk {
  std::mutex mutex;
  pid_t threadOf = 0;  ///< The process that has the thread; a forked one has not.
  int users[NSIG] = {};
  struct sigaction before[NSIG] = {};
  std::string record;
};
Desk& desk() {
  static Desk* const one = new Desk;
  return *one;
}

std::vector<LocalProcess> nearProcesses() {
  std::vector<LocalProcess> all;
  for (FlightProcess& process : readNearFlights()) {
    LocalProcess each;
    each.pid = process.pid;
    if (process.pid == getpid() || isProcess(process.pid, process.token)) {
      each.state = readProcessState(process.pid);
    } else {
      each.state.text = "not to be seen from here, or has ended";
    }
    each.flights = std::move(process);
    all.push_back(std::move(each));
  }
  return all;
}

std::string ownOperations(const LocalProcess& own, int64_t now) {
  std::string out;
  for (const FlightComm& comm : own.flights.comms) {
    if (!comm.alive) continue;
    out += format("  rank %d of communicator \"%s\", the last operations first:\n", comm.rank,
                  comm.name.c_str()) +
           lastOperations(comm, kOperations, now);
  }
  return out;
}

void dump(int signal) {
  const std::vector<LocalProcess> all = nearProcesses();  // the own process first
  const auto now = static_cast<int64_t>(monotonicNs());
  const std::string why = "signal " + signalName(signal) + " (RONDO_DUMP_SIGNAL)";
  logReport("dump: " + why,
            reportOn(all.front().pid, all, now).text + ownOperations(all.front(), now));
  std::string record;
  {
    const std::lock_guard<std::mutex> lock(desk().mutex);
    record = desk().record;
  }
  dumpFlights(record, why);
}

void listen() {
  pthread_setname_np(pthread_self(), "rondo-dump");
  for (;;) {
    if (sem_wait(&asked) != 0) continue;
    while (sem_trywait(&asked) == 0) {  // asked several times before it could answer: one answer
    }
    try {
      dump(askedBy.load(std::memory_order_relaxed));
    } catch (const std::exception& error) {
      logLine(LogPart::Watch, LogLevel::Error, -1,
              [&] { return std::string("RONDO_DUMP_SIGNAL: ") + error.what(); });
    }
  }
}

void startThread(Desk& at) {
  if (at.threadOf == getpid()) return;
  sem_init(&asked, 0, 0);
  ownThread("the thread that answers RONDO_DUMP_SIGNAL", listen).detach();
  at.threadOf = getpid();
}

bool handledHere(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == handle;
}

/// Set by the program: not the default, nor that it is ignored.
bool handledElsewhere(const struct sigaction& action) {
  return !handledHere(action) && ((action.sa_flags & SA_SIGINFO) != 0 ||
                                  (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN));
}

}  // namespace

DumpSignal::DumpSignal(int signal, const std::string& record) {
  if (signal == 0) return;
  Desk& at = desk();
  const std::lock_guard<std::mutex> lock(at.mutex);
  startThread(at);
  if (at.users[signal] == 0) {
    struct sigaction now {};
    sigaction(signal, nullptr, &now);
    if (handledElsewhere(now)) {
      throw Error(rondoInvalidUsage,
                  format("environment variable RONDO_DUMP_SIGNAL is \"%s\", which the program "
                         "handles by itself; allowed: a signal without a handler",
                         signalName(signal).c_str()));
    }
    struct sigaction own {};
    own.sa_handler = handle;
    own.sa_flags = SA_RESTART;
    sigfillset(&own.sa_mask);
    if (sigaction(signal, &own, nullptr) != 0) throw systemError("sigaction", errno);
    if (!handledHere(now)) at.before[signal] = now;  // else: left in place by a program's own
  }
  ++at.users[signal];
  at.record = record;
  signal_ = signal;
}

DumpSignal::~DumpSignal() {
  if (signal_ == 0) return;
  Desk& at = desk();
  const std::lock_guard<std::mutex> lock(at.mutex);
  if (--at.users[signal_] != 0) return;
  struct sigaction now {};
  sigaction(signal_, nullptr, &now);
  if (handledHere(now)) sigaction(signal_, &at.before[signal_], nullptr);
}

DumpSignal& DumpSignal::operator=(DumpSignal&& other) noexcept {
  std::swap(signal_, other.signal_);
  return *this;
}

}  // namespace rondo
