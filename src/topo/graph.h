#pragma once
// The machine as a graph: what there is, and which links join it. A link carries its bandwidth in
// each direction at the same time.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace rondo::topo {

enum class NodeKind : uint8_t { Cpu, Numa, Pci, Gpu, Nic, NvSwitch, Switch };
constexpr int kNodeKinds = 7;
enum class LinkKind : uint8_t { Memory, Socket, Pci, NvLink, C2c, Network };
constexpr int kLinkKinds = 6;

/// As in XML: "cpu", "nvswitch", "socket".
const char* nodeKindName(NodeKind kind);
const char* linkKindName(LinkKind kind);
bool findNodeKind(std::string_view name, NodeKind* kind);
bool findLinkKind(std::string_view name, LinkKind* kind);

struct Node {
  NodeKind kind;
  int host = -1;      ///< Number in Graph::hosts; -1: between hosts (network switches).
  int number = 0;     ///< Among those of its kind in its host.
  std::string name;   ///< Unique in its host: "gpu3".
  int cores = 0;      ///< Cpu: its cores, on each of which a rank may sit.
  int numa = -1;      ///< The kernel's number of its NUMA node; -1: unknown.
  std::string model;  ///< As its maker calls it; may be empty.
  std::string busId;  ///< Of a PCI device; may be empty.
  uint64_t rate = 0;  ///< Nic: bytes/s of its ports, joined to a network or not; 0: unknown.
};

struct Link {
  LinkKind kind;
  int a, b;                 ///< Nodes.
  uint64_t bytesPerSecond;  ///< In each direction, all physical links together.
  uint64_t picoseconds;
  int count = 1;  ///< Physical links.
  /// What the machine claimed, where something else was measured and stands above.
  std::optional<uint64_t> claimedBytes = {}, claimedPicoseconds = {};
  bool measured() const { return claimedBytes || claimedPicoseconds; }
};

/// One direction of a link: 2 x link, and 1 more from b to a.
using Arc = int;

class Graph {
 public:
  // Far above any cluster that is planned for, far below what hurts.
  static constexpr size_t kMostNodes = 1 << 18, kMostLinks = 1 << 20, kMostHosts = 1 << 16;
  static constexpr uint64_t kMostBandwidth = 1'000'000'000'000'000;  ///< 1 PB/s
  static constexpr uint64_t kMostLatency = 1'000'000'000'000;        ///< 1 s
  static constexpr int kMostCount = 1024;                            ///< Physical links of one.
  static constexpr int kMostCores = 65536;

  /// All add functions throw Error(rondoInvalidArgument) for a name that is there already, more
  /// than the limits, and links of nodes that are not there.
  int addHost(std::string name);
  int addNode(Node node);
  int addLink(const Link& link);
  void setRate(int node, uint64_t bytesPerSecond);
  /// From now on a link has what was measured; what it had is kept as claimed, by the first call.
  /// Figures above the limits become these.
  void setMeasuredBandwidth(int link, uint64_t bytesPerSecond);
  void setMeasuredLatency(int link, uint64_t picoseconds);

  const std::vector<std::string>& hosts() const { return hosts_; }
  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<Link>& links() const { return links_; }
  const Node& node(int index) const { return nodes_[static_cast<size_t>(index)]; }
  const Link& link(int index) const { return links_[static_cast<size_t>(index)]; }

  /// Arcs that leave a node, in the order of their links.
  const std::vector<Arc>& from(int node) const { return from_[static_cast<size_t>(node)]; }
  int source(Arc arc) const { return (arc & 1) != 0 ? link(arc / 2).b : link(arc / 2).a; }
  int target(Arc arc) const { return (arc & 1) != 0 ? link(arc / 2).a : link(arc / 2).b; }
  size_t arcs() const { return 2 * links_.size(); }

  /// "host0/gpu3", or "leaf1" where it belongs to no host.
  std::string fullName(int node) const;
  /// By full name; -1: none.
  int find(const std::string& fullName) const;
  int findHost(const std::string& name) const;

  /// The link of a kind between two nodes, whichever end is which; -1: none.
  int findLink(LinkKind kind, int a, int b) const;

  /// Nodes of a kind, of one host or of all (host < 0), in the order they were added.
  std::vector<int> all(NodeKind kind, int host = -1) const;
  /// How many of a kind a host has.
  int count(NodeKind kind, int host) const {
    return kindsOfHost_[static_cast<size_t>(host)][static_cast<size_t>(kind)];
  }

 private:
  std::vector<std::string> hosts_;
  std::vector<Node> nodes_;
  std::vector<Link> links_;
  std::vector<std::vector<Arc>> from_;
  std::vector<std::vector<int>> ofHost_;                  // nodes, by host
  std::vector<std::array<int, kNodeKinds>> kindsOfHost_;  // how many of each kind
  std::unordered_map<std::string, int> byName_, hostByName_;
};

/// Whether data may pass through a node on their way. Through GPUs they may not, nor through
/// memory.
bool passes(NodeKind kind);

}  // namespace rondo::topo
