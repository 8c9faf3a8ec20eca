#pragma once
// What a simulation says, as text, CSV and JSON.

#include <string>
#include <vector>

#include "coll/sim/job.h"

namespace rondo::sim {

/// Bytes per second that a collective is compared by: the call's bytes over its time, times what
/// every rank has to send of them at least (as nccl-tests has it). `bytes` as in busFactor's call.
double busBandwidth(Collective collective, int ranks, uint64_t bytes, Time time);

/// "host*/gpu* to nvs*": what links have in common that are alike.
std::string namePattern(const std::string& name);

/// The links that work the most, those that are alike on one line, at most `lines` of them.
std::string busiestLinks(const topo::Graph& graph, const Result& result, size_t lines);

/// One line a transfer: flow_id, src, dest, flow_size, channel_id, chunk_id, conn_type, prev,
/// start_ps, end_ps, route (node names). Needs Job::record, as the others do.
std::string flowsCsv(const Job& job, const Result& result);
std::string flowsJson(const Job& job, const Result& result);

/// The head of flowsCsv(), and its lines for flows that are numbered from `first` and happen
/// `later`. `ranks`: what the job's numbers stand for; empty: themselves. Both end with a further
/// column where `more` is not empty.
std::string flowsHead(const std::string& more = "");
std::string flowsLines(const Job& job, const Result& result, uint64_t first, Time later,
                       const std::vector<int>& ranks, const std::string& more = "");

/// For Perfetto or chrome://tracing: a process for each rank, a thread for each lane, a slice for
/// each step and one for what it waited before it.
std::string traceJson(const Result& result);

/// Throws Error(rondoSystemError) that names the file.
void writeFile(const std::string& path, const std::string& text);

}  // namespace rondo::sim
