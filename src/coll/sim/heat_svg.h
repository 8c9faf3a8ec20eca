#pragma once
// Link utilisation over time, as a picture.

#include <string>

#include "coll/sim/job.h"

namespace rondo::sim {

/// A row for each link and direction that carries something, the busiest ones; where there are more
/// than fit, those that are alike are one row with their mean. Colours say which part of the link's
/// bandwidth is used, from 0 to the call's end; beside each row is its share of the whole time, as
/// busiestLinks() has it. Needs Job::recordLinks.
std::string heatSvg(const Job& job, const Result& result, const std::string& title);

}  // namespace rondo::sim
