#include "topo/graph.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace rondo::topo {
namespace {

constexpr const char* kNodeNames[kNodeKinds] = {"cpu", "numa",     "pci",   "gpu",
                                                "nic", "nvswitch", "switch"};
constexpr const char* kLinkNames[kLinkKinds] = {"memory", "socket", "pci",
                                                "nvlink", "c2c",    "network"};

[[noreturn]] void refuse(const std::string& what) { throw Error(rondoInvalidArgument, what); }

template <class Kind, int kinds>
bool findName(const char* const (&names)[kinds], std::string_view name, Kind* kind) {
  for (int i = 0; i < kinds; ++i) {
    if (name != names[i]) continue;
    *kind = static_cast<Kind>(i);
    return true;
  }
  return false;
}

void checkName(const std::string& name) {
  const bool plain = name.find_first_of(" /\t\r\n\"<>&,") == std::string::npos;
  if (!name.empty() && name.size() <= 128 && plain) return;
  refuse(
      format("\"%.40s\" is no name: allowed are 1 to 128 characters without blanks, / , \" < > &",
             name.c_str()));
}

}  // namespace

const char* nodeKindName(NodeKind kind) { return kNodeNames[static_cast<int>(kind)]; }
const char* linkKindName(LinkKind kind) { return kLinkNames[static_cast<int>(kind)]; }
bool findNodeKind(std::string_view name, NodeKind* kind) {
  return findName(kNodeNames, name, kind);
}
bool findLinkKind(std::string_view name, LinkKind* kind) {
  return findName(kLinkNames, name, kind);
}

bool passes(NodeKind kind) { return kind != NodeKind::Gpu && kind != NodeKind::Numa; }

int Graph::addHost(std::string name) {
  checkName(name);
  if (hosts_.size() >= kMostHosts) refuse(format("more than %zu hosts", kMostHosts));
  const int index = static_cast<int>(hosts_.size());
  if (!hostByName_.emplace(name, index).second) {
    refuse(format("host \"%s\" is there twice", name.c_str()));
  }
  hosts_.push_back(std::move(name));
  ofHost_.emplace_back();
  kindsOfHost_.push_back({});
  return index;
}

int Graph::addNode(Node node) {
  checkName(node.name);
  if (nodes_.size() >= kMostNodes) refuse(format("more than %zu nodes", kMostNodes));
  if (node.host >= static_cast<int>(hosts_.size())) refuse("a node of a host that is not there");
  if (node.cores < 0 || node.cores > kMostCores) {
    refuse(format("%s has %d cores; allowed: 0 to %d", node.name.c_str(), node.cores, kMostCores));
  }
  const int index = static_cast<int>(nodes_.size());
  const std::string full =
      node.host < 0 ? node.name : hosts_[static_cast<size_t>(node.host)] + "/" + node.name;
  if (!byName_.emplace(full, index).second) {
    refuse(format("node \"%s\" is there twice", full.c_str()));
  }
  if (node.host >= 0) {
    const auto host = static_cast<size_t>(node.host);
    node.number = kindsOfHost_[host][static_cast<size_t>(node.kind)]++;
    ofHost_[host].push_back(index);
  }
  nodes_.push_back(std::move(node));
  from_.emplace_back();
  return index;
}

int Graph::addLink(const Link& link) {
  const auto there = [this](int n) { return n >= 0 && n < static_cast<int>(nodes_.size()); };
  if (!there(link.a) || !there(link.b)) refuse("a link of nodes that are not there");
  const std::string what = format("the %s link of %s and %s", linkKindName(link.kind),
                                  fullName(link.a).c_str(), fullName(link.b).c_str());
  if (link.a == link.b) refuse(what + " joins a node with itself");
  if (links_.size() >= kMostLinks) refuse(format("more than %zu links", kMostLinks));
  if (link.bytesPerSecond < 1 || link.bytesPerSecond > kMostBandwidth) {
    refuse(what + format(" has a bandwidth of %llu bytes/s; allowed: 1 to %llu",
                         static_cast<unsigned long long>(link.bytesPerSecond),
                         static_cast<unsigned long long>(kMostBandwidth)));
  }
  if (link.picoseconds > kMostLatency) refuse(what + " has a latency above 1 second");
  if (link.count < 1 || link.count > kMostCount) {
    refuse(what + format(" has a count of %d; allowed: 1 to %d", link.count, kMostCount));
  }
  if (findLink(link.kind, link.a, link.b) >= 0) {
    refuse(what + " is there twice; several physical links are one with a count");
  }
  const int index = static_cast<int>(links_.size());
  links_.push_back(link);
  from_[static_cast<size_t>(link.a)].push_back(2 * index);
  from_[static_cast<size_t>(link.b)].push_back(2 * index + 1);
  return index;
}

void Graph::setRate(int node, uint64_t bytesPerSecond) {
  nodes_[static_cast<size_t>(node)].rate = std::min(bytesPerSecond, kMostBandwidth);
}

int Graph::findLink(LinkKind kind, int a, int b) const {
  const bool fewer = from(a).size() <= from(b).size();
  for (const Arc arc : from(fewer ? a : b)) {
    if (target(arc) == (fewer ? b : a) && link(arc / 2).kind == kind) return arc / 2;
  }
  return -1;
}

void Graph::setMeasuredBandwidth(int index, uint64_t bytesPerSecond) {
  Link& link = links_[static_cast<size_t>(index)];
  if (!link.claimedBytes) link.claimedBytes = link.bytesPerSecond;
  link.bytesPerSecond = std::clamp<uint64_t>(bytesPerSecond, 1, kMostBandwidth);
}

void Graph::setMeasuredLatency(int index, uint64_t picoseconds) {
  Link& link = links_[static_cast<size_t>(index)];
  if (!link.claimedPicoseconds) link.claimedPicoseconds = link.picoseconds;
  link.picoseconds = std::min(picoseconds, kMostLatency);
}

std::string Graph::fullName(int index) const {
  const Node& n = node(index);
  return n.host < 0 ? n.name : hosts_[static_cast<size_t>(n.host)] + "/" + n.name;
}

int Graph::find(const std::string& fullName) const {
  const auto found = byName_.find(fullName);
  return found == byName_.end() ? -1 : found->second;
}

int Graph::findHost(const std::string& name) const {
  const auto found = hostByName_.find(name);
  return found == hostByName_.end() ? -1 : found->second;
}

std::vector<int> Graph::all(NodeKind kind, int host) const {
  std::vector<int> out;
  if (host >= 0) {
    for (const int n : ofHost_[static_cast<size_t>(host)]) {
      if (node(n).kind == kind) out.push_back(n);
    }
    return out;
  }
  for (size_t n = 0; n < nodes_.size(); ++n) {
    if (nodes_[n].kind == kind) out.push_back(static_cast<int>(n));
  }
  return out;
}

}  // namespace rondo::topo
