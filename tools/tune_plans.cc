#include "tune_plans.h"

#include "base/error.h"

namespace rondo::tune {
namespace {

using C = Collective;

constexpr TimedPlan kHostPlans[] = {
    {C::AllReduce, "oneshot", "/1/32K", false},
    {C::AllReduce, "oneshot", "/2/32K", false},
    {C::AllReduce, "twoshot", "/1/32K", false},
    {C::AllReduce, "twoshot", "/2/32K", false},
    {C::AllReduce, "twoshot", "/2/16K", false},
    {C::AllReduce, "ring", "/1/32K", false},
    {C::AllReduce, "ring", "/2/32K", false},
    {C::AllReduce, "ring", "/2/16K", false},
    {C::AllReduce, "doubling", "/1/32K", false},
    {C::AllReduce, "halving", "/1/32K", false},
    {C::AllReduce, "halving", "/2/32K", false},
    {C::Broadcast, "oneshot", "/1/32K", false},
    {C::AllGather, "direct", "/1/32K", false},
    {C::AllGather, "ring", "/2/32K", false},
    {C::ReduceScatter, "direct", "/1/32K", false},
    {C::Barrier, "oneshot", "", false},
    {C::AllReduce, "ring", "", true},
    {C::AllReduce, "twoshot", "", true},
};
constexpr uint64_t kHostSizes[] = {8,        512,      4u << 10,  16u << 10, 64u << 10, 256u << 10,
                                   1u << 20, 4u << 20, 16u << 20, 64u << 20, 256u << 20};
/// Between the others.
constexpr uint64_t kHostHeldOut[] = {96u << 10, 512u << 10, 2u << 20,
                                     8u << 20,  32u << 20,  128u << 20};

/// Few communicators: each takes long to make over a network, and all of them must find room in the
/// pool for messages as long as a job's.
constexpr TimedPlan kNetworkPlans[] = {
    {C::AllReduce, "oneshot", "/1/256K", false, 0},
    {C::AllGather, "direct", "/1/256K", false, 0},
    {C::AllToAll, "direct", "/1/256K", false, 0},
    {C::Barrier, "oneshot", "", false, 0},
    {C::AllReduce, "twoshot", "/1/256K", false, 1},
    {C::ReduceScatter, "direct", "/1/256K", false, 1},
    {C::AllGather, "ring", "/1/256K", false, 1},
    {C::AllReduce, "ring", "/1/256K", false, 2},
    {C::AllReduce, "twoshot", "/2/64K", false, 3},
    {C::AllReduce, "doubling", "/1/256K", false, 4},
};
constexpr TimedPlan kFlatHeldOut[] = {
    {C::AllReduce, "ring", "", true, 5},
    {C::AllReduce, "halving", "", true, 6},
};
constexpr TimedPlan kLayeredHeldOut[] = {
    {C::AllReduce, "stripes", "", true, 5},
    {C::AllGather, "hier", "", true, 5},
    {C::ReduceScatter, "hier", "", true, 5},
    {C::AllReduce, "hier", "", true, 6},
};
constexpr uint64_t kNetworkSizes[] = {8,          4u << 10, 32u << 10, 128u << 10,
                                      512u << 10, 4u << 20, 16u << 20};
constexpr uint64_t kNetworkHeldOut[] = {8, 16u << 10, 256u << 10, 2u << 20, 8u << 20};

/// Other collectives tell what a copy is and what a reduction; all-reduce covers the sizes.
constexpr uint64_t kMostOfOthers = 4u << 20;

}  // namespace

Program hostProgram() {
  return {{std::begin(kHostPlans), std::end(kHostPlans)},
          kHostSizes,
          kHostHeldOut,
          256u << 20,
          kMostOfOthers,
          false};
}

Program networkProgram(bool layered) {
  Program program{{std::begin(kNetworkPlans), std::end(kNetworkPlans)},
                  kNetworkSizes,
                  kNetworkHeldOut,
                  16u << 20,
                  kMostOfOthers,
                  true};
  const std::span<const TimedPlan> heldOut = layered ? std::span<const TimedPlan>(kLayeredHeldOut)
                                                     : std::span<const TimedPlan>(kFlatHeldOut);
  program.plans.insert(program.plans.end(), heldOut.begin(), heldOut.end());
  return program;
}

std::string ruleOf(const TimedPlan& plan) {
  return format("%s:host:0-:%s%s", collectiveName(plan.collective), plan.algorithm, plan.cut);
}

std::string rulesOf(const Program& program, int comm) {
  std::string rules;
  for (const TimedPlan& plan : program.plans) {
    if (plan.comm == comm) rules += (rules.empty() ? "" : ",") + ruleOf(plan);
  }
  return rules;
}

}  // namespace rondo::tune
