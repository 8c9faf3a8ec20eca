// rondo-status: what the ranks of a running job are at, read from outside. See docs/observing.md.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>
#include <vector>

#include "base/error.h"
#include "base/ticks.h"
#include "coll/flight_trace.h"
#include "command_line.h"
#include "status/merge.h"
#include "status/processes.h"
#include "status/survey.h"

namespace {

using namespace rondo;
using namespace rondo::status;

/// Documented: scripts ask for them.
enum Exit { kFine = 0, kTrouble = 1, kUsage = 2, kUnreadable = 3, kUnwritable = 4 };
constexpr ExitStatuses kEnds = {kUsage, kUnreadable, kUnreadable, kUnwritable};

/// The processes that share a communicator with `pid`.
std::vector<FlightProcess> jobOf(int pid, const std::vector<LocalProcess>& all) {
  std::set<uint64_t> ids;
  for (const LocalProcess& process : all) {
    if (process.pid != pid) continue;
    for (const FlightComm& comm : process.flights.comms) ids.insert(comm.id);
  }
  std::vector<FlightProcess> job;
  for (const LocalProcess& process : all) {
    const bool shares =
        std::any_of(process.flights.comms.begin(), process.flights.comms.end(),
                    [&ids](const FlightComm& comm) { return ids.contains(comm.id); });
    if (!shares) continue;
    job.push_back(process.flights);
    job.back().pid = process.pid;
  }
  return job;
}

int writeRecord(const std::string& name, const std::string& text) {
  std::FILE* const file = std::fopen(name.c_str(), "we");
  const bool wrote =
      file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const bool closed = file != nullptr && std::fclose(file) == 0;
  if (wrote && closed) return kFine;
  std::fprintf(stderr, "rondo-status: cannot write \"%s\": %s\n", name.c_str(),
               std::strerror(errno));
  return kUnwritable;
}

int run(int pid, const std::string& record) {
  std::string why;
  if (mapArea(pid, &why) == nullptr) {
    std::fprintf(stderr, "rondo-status: process %d %s\n", pid, why.c_str());
    return kUnreadable;
  }
  const FarSurvey far = surveyFrom(pid);
  const std::vector<LocalProcess> all = findProcesses();
  const Report report = reportOn(pid, all, static_cast<int64_t>(monotonicNs()), far);
  if (report.text.empty()) {
    std::fprintf(stderr, "rondo-status: process %d has ended meanwhile\n", pid);
    return kUnreadable;
  }
  std::fputs(report.text.c_str(), stdout);
  if (!record.empty()) {
    const std::string why2 = report.trouble ? report.text : "";
    if (const int bad = writeRecord(record, flightTrace(jobOf(pid, all), why2))) return bad;
  }
  return report.trouble ? kTrouble : kFine;
}

std::string readRecord(const std::string& name) {
  std::ifstream file(name, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file) throw systemError("cannot read \"" + name + "\"", errno);
  return text;
}

int merge(const std::vector<std::string>& names, const std::string& to) {
  std::vector<RecordFile> files;
  for (const std::string& name : names) files.push_back({name, readRecord(name)});
  const Merged merged = mergeRecords(files);
  if (const int bad = writeRecord(to, merged.trace)) return bad;
  std::fputs(merged.summary.c_str(), stdout);
  return kFine;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Says what the ranks of a running job are at: who has not entered which call, and since "
      "when. Reads the processes of this host; of other hosts PID asks theirs, as for a stall.",
      "rondo-status");
  int pid = 0;
  std::string record;
  std::vector<std::string> files;
  CLI::Option* const whose =
      app.add_option("PID", pid, "A rank of the job")->check(CLI::Range(1, INT_MAX));
  app.add_option("--record", record,
                 "File for the last operations of the job's ranks on this host, as a trace for "
                 "ui.perfetto.dev");
  app.add_option("--merge", files,
                 "Records of several hosts, which go into the file of --record as one, their "
                 "clocks brought together; instead of PID")
      ->excludes(whose)
      ->needs("--record");
  app.footer(
      "Exit status: 0 nobody is missing; 1 a rank is missing, stopped or dead, or a communicator "
      "is broken; 2 wrong arguments; 3 the process or a record cannot be read; 4 the file or "
      "standard output cannot be written.");
  return runTool(app, argc, argv, kEnds, [&] {
    if (pid == 0 && files.empty()) throw CLI::RequiredError("PID (or --merge)");
    return files.empty() ? run(pid, record) : merge(files, record);
  });
}
