#include "topo/search.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "topo/flow_bound.h"
#include "topo/host_plan.h"
#include "topo/quantities.h"

namespace rondo::topo {
namespace {

size_t at(int i) { return static_cast<size_t>(i); }

template <class Channel>
uint64_t sum(const std::vector<Channel>& channels) {
  uint64_t bytes = 0;
  for (const Channel& channel : channels) bytes += channel.bytesPerSecond;
  return bytes;
}

class Searcher {
 public:
  explicit Searcher(const Graph& graph) : graph_(graph), finder_(graph) {}

  Channels run() {
    out_.places = placesOf(graph_);
    if (out_.places.empty()) {
      throw Error(rondoInvalidArgument, "the machine has neither GPUs nor CPUs");
    }
    hosts_ = planHosts(graph_, &out_.insideKinds);
    if (hosts_.size() == 1)
      oneHost();
    else
      manyHosts();
    setSpeeds();
    return std::move(out_);
  }

 private:
  Path pathBetween(int from, int to, unsigned kinds) {
    Path path;
    if (finder_.find(from, to, &path, 0, kinds)) return path;
    throw Error(rondoInvalidArgument,
                format("the machine is not joined: there is no way from %s to %s",
                       graph_.fullName(from).c_str(), graph_.fullName(to).c_str()));
  }

  /// In a host over its own links; between hosts through a NIC of each, by their numbers.
  Path hop(int from, int to, int nicOut, int nicIn) {
    const int a = graph_.node(from).host, b = graph_.node(to).host;
    if (a == b) return pathBetween(from, to, out_.insideKinds);
    const std::vector<int> outs = graph_.all(NodeKind::Nic, a), ins = graph_.all(NodeKind::Nic, b);
    if (outs.empty() || ins.empty()) return pathBetween(from, to, kAllLinks);
    Path path;
    int here = from;
    for (const int stop : {outs[at(nicOut)], ins[at(nicIn)], to}) {
      const bool cables = here != from && stop != to;
      const Path part = pathBetween(here, stop, cables ? linkBit(LinkKind::Network) : kInsideHost);
      path.bytesPerSecond = path.arcs.empty() ? part.bytesPerSecond
                                              : std::min(path.bytesPerSecond, part.bytesPerSecond);
      path.picoseconds += part.picoseconds;
      path.arcs.insert(path.arcs.end(), part.arcs.begin(), part.arcs.end());
      here = stop;
    }
    return path;
  }

  /// `channel` says by which NICs it passes between hosts.
  void addRing(std::vector<int> places, size_t channel) {
    Ring ring{std::move(places), {}, 0};
    const size_t n = ring.places.size();
    for (size_t i = 0, host = 0; i < n && n > 1; ++i) {
      const int from = ring.places[i], to = ring.places[(i + 1) % n];
      const size_t next = graph_.node(from).host == graph_.node(to).host ? host
                          : i + 1 == n                                   ? 0
                                                                         : host + 1;
      const Door out = door(hosts_[host], channel), in = door(hosts_[next], channel);
      ring.hops.push_back(
          hop(from, to, host % 2 == 0 ? out.nicOut : out.nic, next % 2 == 0 ? in.nic : in.nicOut));
      host = next;
    }
    out_.rings.push_back(std::move(ring));
  }

  void addTree(std::vector<int> places, std::vector<int> parents, size_t channel) {
    Tree tree{std::move(places), std::move(parents), {}, {}, 0};
    for (size_t i = 0; i < tree.places.size(); ++i) {
      const int parent = tree.parents[i];
      tree.up.emplace_back();
      tree.down.emplace_back();
      if (parent < 0) continue;
      // Everywhere by the NIC of the same number: on one rail.
      const int nic = door(hosts_[0], channel).nic;
      tree.up.back() = hop(tree.places[i], tree.places[at(parent)], nic, nic);
      tree.down.back() = hop(tree.places[at(parent)], tree.places[i], nic, nic);
    }
    out_.trees.push_back(std::move(tree));
  }

  /// A cycle's places from `first` on.
  static std::vector<int> walk(const HostPlan& host, size_t channel, int first) {
    std::vector<int> cycle = host.cycles[channel % host.cycles.size()];
    std::rotate(cycle.begin(), std::find(cycle.begin(), cycle.end(), first), cycle.end());
    for (int& index : cycle) index = host.places[at(index)];
    return cycle;
  }

  void oneHost() {
    const HostPlan& host = hosts_[0];
    for (size_t c = 0; c < host.cycles.size(); ++c) addRing(walk(host, c, 0), 0);
    // A chain along each ring; or chains that begin at each place in turn, because their ends work
    // half as much. Where links are shared, as PCIe's are, the first ones are better.
    std::vector<int> parents;
    for (size_t i = 0; i < host.places.size(); ++i) parents.push_back(static_cast<int>(i) - 1);
    for (size_t c = 0; c < host.cycles.size(); ++c) addTree(walk(host, c, 0), parents, 0);
    std::vector<Tree> along = std::move(out_.trees);
    out_.trees.clear();
    for (size_t first = 0; first < host.places.size(); ++first) {
      addTree(walk(host, first, static_cast<int>(first)), parents, 0);
    }
    uniform(&along, treeLoads(graph_, counted(along)));
    uniform(&out_.trees, treeLoads(graph_, counted(out_.trees)));
    if (sum(along) >= sum(out_.trees)) out_.trees = std::move(along);
  }

  void manyHosts() {
    size_t channels = 0;
    for (const HostPlan& host : hosts_) {
      channels = channels == 0 ? host.doors.size() : std::min(channels, host.doors.size());
    }
    channels = std::max<size_t>(channels, 1);
    for (size_t c = 0; c < channels; ++c) {
      addRing(longRing(c), c);
      for (const bool mirrored : {false, true}) {
        std::vector<int> parents;
        const std::vector<int> places = doubleTree(c, mirrored, &parents);
        addTree(places, parents, c);
      }
    }
  }

  static Door door(const HostPlan& host, size_t channel) {
    return channel < host.doors.size() ? host.doors[channel] : Door{0, 0, 0};
  }

  /// Even hosts are entered at a channel's own NIC and left at its neighbour's, odd ones the other
  /// way round: so hosts meet on one rail, and every NIC is used once each way.
  std::vector<int> longRing(size_t channel) {
    std::vector<int> ring;
    for (size_t h = 0; h < hosts_.size(); ++h) {
      std::vector<int> inside = walk(hosts_[h], channel, door(hosts_[h], channel).place);
      if (h % 2 == 1) std::reverse(inside.begin(), inside.end());
      ring.insert(ring.end(), inside.begin(), inside.end());
    }
    return ring;
  }

  /// A binary tree over the hosts, in which those with an odd number are its leaves; `mirrored`,
  /// the others are. In each host a chain from the channel's own place. Source: Sanders, Speck and
  /// Traeff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan", 2009.
  std::vector<int> doubleTree(size_t channel, bool mirrored, std::vector<int>* parents) {
    const int n = static_cast<int>(hosts_.size());
    const auto hostAt = [&](int position) {
      if (!mirrored) return position;
      return n % 2 == 0 ? n - 1 - position : (position + 1) % n;
    };
    std::vector<int> places;
    std::vector<int> doorAt(hosts_.size());
    for (int position = 0; position < n; ++position) {
      const HostPlan& host = hosts_[at(hostAt(position))];
      doorAt[at(position)] = static_cast<int>(places.size());
      for (const int place : walk(host, channel, door(host, channel).place)) {
        parents->push_back(static_cast<int>(places.size()) - 1);
        places.push_back(place);
      }
    }
    for (int position = 0; position < n; ++position) {
      const int parent = treeParent(position, n);
      (*parents)[at(doorAt[at(position)])] = parent < 0 ? -1 : doorAt[at(parent)];
    }
    return places;
  }

  /// Of an in-order binary tree: a node's lowest set bit is its height. Position 0 is the root.
  static int treeParent(int position, int n) {
    if (position == 0) return -1;
    const int bit = position & -position;
    const int parent = (position ^ bit) | (bit << 1);
    return parent < n ? parent : position ^ bit;
  }

  /// Between hosts all of a kind are equally fast; the link that is used most, for its bandwidth,
  /// says how fast.
  void setSpeeds() {
    if (hosts_.size() == 1) {
      residualSpeeds();
    } else {
      uniform(&out_.rings, ringLoads(graph_, counted(out_.rings)));
      uniform(&out_.trees, treeLoads(graph_, counted(out_.trees)));
    }
  }

  template <class Channel>
  static std::vector<Channel> counted(std::vector<Channel>& channels) {
    for (Channel& channel : channels) channel.bytesPerSecond = 1;
    return channels;
  }
  template <class Channel>
  void uniform(std::vector<Channel>* channels, const std::vector<uint64_t>& uses) {
    uint64_t speed = std::numeric_limits<uint64_t>::max();
    for (size_t arc = 0; arc < uses.size(); ++arc) {
      if (uses[arc] > 0)
        speed = std::min(speed, graph_.links()[arc / 2].bytesPerSecond / uses[arc]);
    }
    for (Channel& channel : *channels) {
      channel.bytesPerSecond = speed == std::numeric_limits<uint64_t>::max() ? 0 : speed;
    }
  }

  /// One host's rings were found one after the other, each in what was left.
  void residualSpeeds() {
    std::vector<uint64_t> left(graph_.arcs());
    for (size_t arc = 0; arc < left.size(); ++arc)
      left[arc] = graph_.links()[arc / 2].bytesPerSecond;
    for (Ring& ring : out_.rings) {
      ring.bytesPerSecond = 1;
      const std::vector<uint64_t> uses = ringLoads(graph_, {ring});
      uint64_t speed = std::numeric_limits<uint64_t>::max();
      for (size_t arc = 0; arc < uses.size(); ++arc) {
        if (uses[arc] > 0) speed = std::min(speed, left[arc] / uses[arc]);
      }
      if (speed == std::numeric_limits<uint64_t>::max()) speed = 0;
      for (size_t arc = 0; arc < uses.size(); ++arc) left[arc] -= speed * uses[arc];
      ring.bytesPerSecond = speed;
    }
  }

  const Graph& graph_;
  PathFinder finder_;
  std::vector<HostPlan> hosts_;
  Channels out_;
};

void load(const Path& path, uint64_t bytes, std::vector<uint64_t>* loads) {
  for (const Arc arc : path.arcs) (*loads)[at(arc)] += bytes;
}

}  // namespace

std::vector<int> placesOf(const Graph& graph) {
  const NodeKind kind = graph.all(NodeKind::Gpu).empty() ? NodeKind::Cpu : NodeKind::Gpu;
  std::vector<int> out;
  for (size_t h = 0; h < graph.hosts().size(); ++h) {
    for (const int place : graph.all(kind, static_cast<int>(h))) out.push_back(place);
  }
  return out;
}

uint64_t Channels::ringBytes() const { return sum(rings); }
uint64_t Channels::treeBytes() const { return sum(trees); }

Channels searchChannels(const Graph& graph) { return Searcher(graph).run(); }

uint64_t channelBound(const Graph& graph, const Channels& channels) {
  const int first = graph.node(channels.places.front()).host;
  const bool oneHost = first == graph.node(channels.places.back()).host;
  return flowBound(graph, channels.places, oneHost ? channels.insideKinds : kAllLinks);
}

std::vector<uint64_t> ringLoads(const Graph& graph, const std::vector<Ring>& rings) {
  std::vector<uint64_t> loads(graph.arcs());
  for (const Ring& ring : rings) {
    for (const Path& hop : ring.hops) load(hop, ring.bytesPerSecond, &loads);
  }
  return loads;
}

std::vector<uint64_t> treeLoads(const Graph& graph, const std::vector<Tree>& trees) {
  std::vector<uint64_t> loads(graph.arcs());
  for (const Tree& tree : trees) {
    for (size_t i = 0; i < tree.places.size(); ++i) {
      load(tree.up[i], tree.bytesPerSecond, &loads);
      load(tree.down[i], tree.bytesPerSecond, &loads);
    }
  }
  return loads;
}

std::string channelsText(const Graph& graph, const Channels& channels) {
  constexpr size_t kShown = 32;
  const bool oneHost = graph.hosts().size() == 1;
  const auto name = [&](int place) {
    return oneHost ? graph.node(place).name : graph.fullName(place);
  };
  std::string out;
  for (size_t c = 0; c < channels.rings.size(); ++c) {
    const Ring& ring = channels.rings[c];
    out += format("ring %zu  %s ", c, shortBandwidth(ring.bytesPerSecond).c_str());
    for (size_t i = 0; i < std::min(kShown, ring.places.size()); ++i) {
      out += " " + name(ring.places[i]);
    }
    out += ring.places.size() > kShown ? " ...\n" : "\n";
  }
  for (size_t c = 0; c < channels.trees.size(); ++c) {
    const Tree& tree = channels.trees[c];
    out += format("tree %zu  %s ", c, shortBandwidth(tree.bytesPerSecond).c_str());
    for (size_t i = 0; i < std::min(kShown, tree.places.size()); ++i) {
      const int parent = tree.parents[i];
      out += " " + name(tree.places[i]);
      if (parent >= 0) out += "<" + name(tree.places[at(parent)]);
    }
    out += tree.places.size() > kShown ? " ...\n" : "\n";
  }
  return out;
}

}  // namespace rondo::topo
