#include "coll/sim/fair_links.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/error.h"

namespace rondo::sim {
namespace {

size_t at(int i) { return static_cast<size_t>(i); }
constexpr double kPerPicosecond = 1e-12;

Time endOf(Time now, double left) {
  if (left > static_cast<double>(kMostTime)) refuseTime("the call");
  const Time end = now + static_cast<Time>(std::ceil(left));
  if (end > kMostTime) refuseTime("the call");
  return end;
}

}  // namespace

void refuseTime(const char* what) {
  throw Error(rondoInvalidArgument, std::string(what) + " takes longer than 53 days");
}

FairLinks::FairLinks(std::vector<uint64_t> capacities, bool record)
    : arcs_(capacities.size()), courses_(record ? capacities.size() : 0) {
  for (size_t arc = 0; arc < arcs_.size(); ++arc) {
    arcs_[arc].capacity = static_cast<double>(capacities[arc]) * kPerPicosecond;
  }
}

void FairLinks::start(const std::vector<topo::Arc>* arcs, uint64_t bytes, uint64_t tag, Time now) {
  int index = static_cast<int>(flows_.size());
  if (free_.empty()) {
    flows_.emplace_back();
  } else {
    index = free_.back();
    free_.pop_back();
  }
  Flow& flow = flows_[at(index)];
  flow.arcs = arcs;
  flow.left = static_cast<double>(bytes);
  flow.rate = 0;
  flow.since = now;
  flow.end = kNever;
  flow.tag = tag;
  for (const topo::Arc arc : *arcs) {
    arcs_[at(arc)].flows.push_back(index);
    dirty_.push_back(arc);
  }
}

/// All flows and arcs that what has changed can reach.
void FairLinks::collect() {
  ++epoch_;
  touched_.clear();
  shared_.clear();
  const auto see = [this](topo::Arc arc) {
    ArcState& state = arcs_[at(arc)];
    if (state.seen == epoch_) return;
    state.seen = epoch_;
    state.left = state.capacity;
    state.used = 0;
    state.open = static_cast<uint32_t>(state.flows.size());
    shared_.push_back(arc);
  };
  for (const topo::Arc arc : dirty_) see(arc);
  dirty_.clear();
  for (size_t i = 0; i < shared_.size(); ++i) {
    for (const int index : arcs_[at(shared_[i])].flows) {
      Flow& flow = flows_[at(index)];
      if (flow.seen == epoch_) continue;
      flow.seen = epoch_;
      flow.fixed = false;
      touched_.push_back(index);
      for (const topo::Arc arc : *flow.arcs) see(arc);
    }
  }
}

void FairLinks::fix(int index, double rate) {
  Flow& flow = flows_[at(index)];
  flow.fixed = true;
  rates_.emplace_back(index, rate);
  for (const topo::Arc arc : *flow.arcs) {
    ArcState& state = arcs_[at(arc)];
    state.left -= rate;
    state.used += rate;
    --state.open;
  }
}

/// Fills up all flows alike; where a link is full, its flows have what they get.
void FairLinks::share() {
  using Share = std::pair<double, topo::Arc>;
  std::priority_queue<Share, std::vector<Share>, std::greater<>> shares;
  const auto shareOf = [this](topo::Arc arc) {
    const ArcState& state = arcs_[at(arc)];
    return std::max(state.left, 0.0) / state.open;
  };
  for (const topo::Arc arc : shared_) {
    if (arcs_[at(arc)].open > 0) shares.emplace(shareOf(arc), arc);
  }
  rates_.clear();
  while (!shares.empty()) {
    const auto [share, arc] = shares.top();
    shares.pop();
    ArcState& state = arcs_[at(arc)];
    if (state.open == 0) continue;
    const double now = shareOf(arc);
    // Others have taken their part since: its flows get more than it seemed.
    if (now > share * (1 + 1e-12)) {
      shares.emplace(now, arc);
      continue;
    }
    for (const int flow : state.flows) {
      if (!flows_[at(flow)].fixed) fix(flow, share);
    }
  }
}

void FairLinks::apply(int index, Time now) {
  Flow& flow = flows_[at(index)];
  flow.left = std::max(0.0, flow.left - flow.rate * static_cast<double>(now - flow.since));
  flow.since = now;
}

void FairLinks::settle(Time now) {
  if (dirty_.empty()) return;
  collect();
  share();
  for (const auto& [index, rate] : rates_) {
    Flow& flow = flows_[at(index)];
    if (flow.rate == rate && flow.end != kNever) continue;
    apply(index, now);
    flow.rate = rate;
    ++flow.version;
    flow.end = rate > 0 ? endOf(now, flow.left / rate) : kNever;
    if (flow.end != kNever) ends_.push({flow.end, order_++, index, flow.version});
  }
  if (courses_.empty()) return;
  for (const topo::Arc arc : shared_) courses_[at(arc)].change(now, arcs_[at(arc)].used);
}

Time FairLinks::nextEnd() {
  while (!ends_.empty()) {
    const End& end = ends_.top();
    const Flow& flow = flows_[at(end.flow)];
    if (flow.arcs != nullptr && flow.version == end.version) return end.time;
    ends_.pop();
  }
  return kNever;
}

bool FairLinks::takeEnded(Time now, uint64_t* tag) {
  if (nextEnd() > now) return false;
  const int index = ends_.top().flow;
  ends_.pop();
  Flow& flow = flows_[at(index)];
  *tag = flow.tag;
  const double over = flow.rate * static_cast<double>(now - flow.since) - flow.left;
  for (const topo::Arc arc : *flow.arcs) {
    std::vector<int>& flows = arcs_[at(arc)].flows;
    *std::find(flows.begin(), flows.end(), index) = flows.back();
    flows.pop_back();
    dirty_.push_back(arc);
    if (!courses_.empty()) courses_[at(arc)].lessen(over);
  }
  flow.arcs = nullptr;
  ++flow.version;
  free_.push_back(index);
  return true;
}

double FairLinks::rateOf(uint64_t tag) const {
  for (const Flow& flow : flows_) {
    if (flow.arcs != nullptr && flow.tag == tag) return flow.rate / kPerPicosecond;
  }
  return 0;
}

}  // namespace rondo::sim
