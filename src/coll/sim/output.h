#pragma once
// What a simulation says, as text, CSV and JSON.

#include <string>

#include "coll/sim/job.h"

namespace rondo::sim {

/// Bytes per second that a collective is compared by: the call's bytes over its time, times what
/// every rank has to send of them at least (as nccl-tests has it). `bytes` as in busFactor's call.
double busBandwidth(Collective collective, int ranks, uint64_t bytes, Time time);

/// The links that work the most, those that are alike on one line, at most `lines` of them.
std::string busiestLinks(const topo::Graph& graph, const Result& result, size_t lines);

/// One line a transfer: flow_id, src, dest, flow_size, channel_id, chunk_id, conn_type, prev,
/// start_ps, end_ps, route (node names). Needs Job::record, as the others do.
std::string flowsCsv(const Job& job, const Result& result);
std::string flowsJson(const Job& job, const Result& result);

/// For Perfetto or chrome://tracing: a process for each rank, a thread for each lane, a slice for
/// each step and one for what it waited before it.
std::string traceJson(const Result& result);

}  // namespace rondo::sim
