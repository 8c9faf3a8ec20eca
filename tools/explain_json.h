#pragma once
// rondo-explain --json.

#include <string>
#include <vector>

#include "coll/explain.h"

namespace rondo {

/// What explainTable shows, as JSON: {collective, algorithm, header, ranks, root, geometry{}, hops,
/// period, lane, steps[{rank, step, verb, from, to, room, offset, count}], totals[{rank, steps,
/// messages, elements_sent, ...}]}. Throws as explainTable does.
std::string explainJson(const std::vector<Plan>& plans, const ExplainOptions& options = {});

}  // namespace rondo
