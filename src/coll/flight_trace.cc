#include "coll/flight_trace.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <mutex>
#include <new>

#include "api/types.h"
#include "base/error.h"
#include "base/log.h"
#include "base/ticks.h"

namespace rondo {
namespace {

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte >= 0x7f) {
      out += format("\\u%04x", byte);  // names need not be UTF-8
    } else {
      out += c;
    }
  }
  return out + "\"";
}

/// The events, in microseconds since the oldest one.
class Trace {
 public:
  explicit Trace(int64_t origin, int64_t now) : origin_(origin), now_(now) {}

  void nameTrack(int pid, int tid, const char* what, const std::string& name) {
    add(format("{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%d,\"tid\":%d,\"args\":{\"name\":%s}}", what,
               pid, tid, quoted(name).c_str()));
  }
  void addOps(int pid, int tid, const FlightComm& comm, const std::vector<FlightOp>& ops) {
    for (const FlightOp& op : ops) {
      const int64_t end = op.running() ? std::max(now_, op.started) : op.ended;
      add(
          format("{\"ph\":\"X\",\"name\":%s,\"cat\":\"%s\",\"pid\":%d,\"tid\":%d,\"ts\":%s,"
                 "\"dur\":%s,\"args\":{%s}}",
                 quoted(op.facts.name()).c_str(), opOriginName(op.facts.origin), pid, tid,
                 micros(op.started - origin_).c_str(), micros(end - op.started).c_str(),
                 arguments(comm, op).c_str()));
    }
  }
  const std::string& events() const { return events_; }

 private:
  void add(const std::string& event) {
    if (!events_.empty()) events_ += ",\n";
    events_ += event;
  }
  static std::string micros(int64_t ns) {
    return format("%lld.%03d", static_cast<long long>(ns / 1000), static_cast<int>(ns % 1000));
  }
  static std::string arguments(const FlightComm& comm, const FlightOp& op) {
    const OpFacts& facts = op.facts;
    std::string out = format(
        "\"communicator\":\"%016llx\",\"rank\":%d,\"sequence\":%llu,\"bytes\":%llu,\"call\":%s",
        static_cast<unsigned long long>(comm.id), comm.rank,
        static_cast<unsigned long long>(facts.sequence),
        static_cast<unsigned long long>(facts.bytes()), quoted(flightText(facts)).c_str());
    const std::string algorithm = facts.algorithm();
    if (!algorithm.empty()) {
      out += format(",\"algorithm\":%s,\"lanes\":%d", quoted(algorithm).c_str(), facts.lanes());
    }
    const std::string way = facts.wayText();
    if (!way.empty()) out += ",\"by\":" + quoted(way);
    const bool rooted = !facts.isTransfers() && isRooted(static_cast<Collective>(facts.collective));
    if (rooted) out += format(",\"root\":%d", facts.root);
    if (op.started > op.enqueued) {
      out += ",\"queued_us\":" + micros(op.started - op.enqueued);
    }
    if (op.running()) {
      out += ",\"state\":\"has not ended\"";
      if (!comm.waits.empty()) out += ",\"waits\":" + quoted(comm.waits);
    }
    return out;
  }

  int64_t origin_, now_;
  std::string events_;
};

int64_t oldest(const std::vector<FlightProcess>& processes, int64_t now) {
  int64_t first = now;
  for (const FlightProcess& process : processes) {
    for (const FlightComm& comm : process.comms) {
      for (const auto* ops : {&comm.host, &comm.device}) {
        for (const FlightOp& op : *ops) first = std::min(first, op.started);
      }
    }
  }
  return first;
}

std::string trackName(const FlightComm& comm) {
  return format("%s rank %d of %d", comm.name.c_str(), comm.rank, comm.size) +
         (comm.alive ? "" : " (destroyed)");
}

std::string wallClock(int64_t monotonic) {
  timespec real;
  clock_gettime(CLOCK_REALTIME, &real);
  const int64_t ns = static_cast<int64_t>(real.tv_sec) * 1'000'000'000 + real.tv_nsec;
  return std::to_string(ns - static_cast<int64_t>(monotonicNs()) + monotonic);
}

/// Equal for processes whose CLOCK_MONOTONIC is one and the same.
std::string clockName() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  char space[64] = {};
  if (readlink("/proc/self/ns/time", space, sizeof space - 1) <= 0) space[0] = '\0';
  return boot + " " + space;
}

/// Beside the file first: who reads it finds a whole one.
void writeFile(const std::string& name, const std::string& text) {
  const std::string beside = format("%s.%d", name.c_str(), static_cast<int>(getpid()));
  std::FILE* const file = std::fopen(beside.c_str(), "we");
  if (file == nullptr) throw systemError("cannot write \"" + beside + "\"", errno);
  const bool wrote = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const bool closed = std::fclose(file) == 0;
  if (!wrote || !closed || std::rename(beside.c_str(), name.c_str()) != 0) {
    const int cause = errno;
    std::remove(beside.c_str());
    throw systemError("cannot write \"" + name + "\"", cause);
  }
}

}  // namespace

std::string flightTrace(const std::vector<FlightProcess>& processes, const std::string& why) {
  const auto now = static_cast<int64_t>(monotonicNs());
  const int64_t origin = oldest(processes, now);
  Trace trace(origin, now);
  int tid = 0;
  for (const FlightProcess& process : processes) {
    trace.nameTrack(process.pid, 0, "process_name",
                    format("%s on %s", process.program.c_str(), process.host.c_str()));
    for (const FlightComm& comm : process.comms) {
      trace.nameTrack(process.pid, ++tid, "thread_name", trackName(comm));
      trace.addOps(process.pid, tid, comm, comm.host);
      if (comm.device.empty()) continue;
      trace.nameTrack(process.pid, ++tid, "thread_name", trackName(comm) + ", launches");
      trace.addOps(process.pid, tid, comm, comm.device);
    }
  }
  return format(
      "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"why\":%s,\"host\":%s,\"clock\":%s,"
      "\"origin_realtime_ns\":%s,\"origin_monotonic_ns\":%lld,\"written_monotonic_ns\":%lld},\n"
      "\"traceEvents\":[\n%s\n]}\n",
      quoted(why).c_str(), quoted(processes.empty() ? "" : processes[0].host).c_str(),
      quoted(clockName()).c_str(), wallClock(origin).c_str(), static_cast<long long>(origin),
      static_cast<long long>(now), trace.events().c_str());
}

void dumpFlights(const std::string& file, const std::string& why) noexcept {
  if (file.empty()) return;
  // Of one process's writers.
  static std::mutex* const mutex = new (std::nothrow) std::mutex;
  if (mutex == nullptr) return;
  try {
    const std::lock_guard<std::mutex> lock(*mutex);
    std::string name;
    if (!expandFileName(file, &name)) return;
    writeFile(name, flightTrace(readNearFlights(), why));
    logLine(LogPart::Watch, LogLevel::Info, -1, [&] { return "the record is in " + name; });
  } catch (const std::exception& error) {
    logLine(LogPart::Watch, LogLevel::Error, -1,
            [&] { return std::string("RONDO_RECORD: ") + error.what(); });
  }
}

}  // namespace rondo
