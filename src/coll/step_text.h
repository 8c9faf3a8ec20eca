#pragma once
// Steps in words, for tables and findings.

#include <string>

#include "coll/plan.h"

namespace rondo {

/// The verb of algo/verbs.h that records this step ("recvReduceSend"); for bits that no verb has,
/// the bits themselves ("move{Recv,Send}").
std::string verbName(const Step& step);

/// Where a step's data or signal comes from and goes to, around `block`: "4> b3 >1". Everyone is
/// "*", and a room is named where the step reads one: "1(all)> b0".
std::string peersText(const Step& step, const std::string& block);

/// "3", "3-6", or "3,7..15" for every fourth slot.
std::string slotsText(const Step& step);

/// The whole step with its elements, relative to the period: "recvReduceSend 4> [10,15) >1".
std::string describeStep(const Step& step);

/// "[10,15)".
std::string rangeText(Count offset, Count count);

}  // namespace rondo
