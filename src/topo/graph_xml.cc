#include "topo/graph_xml.h"

#include "topo/quantities.h"

namespace rondo::topo {
namespace {

class Reader {
 public:
  explicit Reader(XmlSource& source) : source_(source) {}

  Graph read(const XmlElement& root) {
    const std::string& version = source_.need(root, "version");
    if (version != "1") source_.refuse(root, "version is \"" + version + "\"; allowed: 1");
    // Nodes first: a link may name nodes that stand below it.
    for (const XmlElement& child : root.children) {
      NodeKind kind{};
      if (child.name == "host") {
        addHost(child);
      } else if (findNodeKind(child.name, &kind)) {
        addNode(child, kind, -1);
      } else if (child.name != "link") {
        source_.unknown(child, root.name);
      }
    }
    int host = 0;
    for (const XmlElement& child : root.children) {
      if (child.name == "link") addLink(child, -1);
      if (child.name != "host") continue;
      for (const XmlElement& inner : child.children) {
        if (inner.name == "link") addLink(inner, host);
      }
      ++host;
    }
    return std::move(graph_);
  }

 private:
  /// What the graph refuses is said with the element's line.
  template <class Add>
  int checked(const XmlElement& at, Add add) {
    try {
      return add();
    } catch (const Error& error) {
      source_.refuse(at, error.sentence());
    }
  }

  void addHost(const XmlElement& element) {
    const int host =
        checked(element, [&] { return graph_.addHost(source_.need(element, "name")); });
    for (const XmlElement& child : element.children) {
      NodeKind kind{};
      if (findNodeKind(child.name, &kind)) {
        addNode(child, kind, host);
      } else if (child.name != "link") {
        source_.unknown(child, element.name);
      }
    }
  }

  void addNode(const XmlElement& element, NodeKind kind, int host) {
    if ((kind == NodeKind::Switch) != (host < 0)) {
      source_.refuse(element, format("<%s> belongs %s a host", element.name.c_str(),
                                     host < 0 ? "into" : "beside"));
    }
    Node node{kind, host, 0, source_.need(element, "name"), 0, -1, "", "", 0};
    node.cores = static_cast<int>(source_.whole(element, "cores", 1, Graph::kMostCores, 0));
    node.numa = static_cast<int>(source_.whole(element, "numa", 0, 65535, 65536));
    if (node.numa == 65536) node.numa = -1;
    if (const std::string* model = element.find("model")) node.model = *model;
    if (const std::string* busId = element.find("busid")) node.busId = *busId;
    if (const std::string* rate = element.find("rate")) {
      node.rate = bandwidth(element, "rate", *rate);
    }
    checked(element, [&] { return graph_.addNode(node); });
  }

  /// A name is looked for in the link's own host first.
  int findEnd(const XmlElement& element, const std::string& name, int host) {
    int node = -1;
    if (host >= 0) node = graph_.find(graph_.hosts()[static_cast<size_t>(host)] + "/" + name);
    if (node < 0) node = graph_.find(name);
    if (node < 0) source_.refuse(element, format("there is no node \"%.80s\"", name.c_str()));
    return node;
  }

  void addLink(const XmlElement& element, int host) {
    Link link{};
    const std::string& kind = source_.need(element, "kind");
    if (!findLinkKind(kind, &link.kind)) {
      source_.refuse(element,
                     format("kind is \"%.40s\"; allowed: memory, socket, pci, nvlink, c2c, "
                            "network",
                            kind.c_str()));
    }
    const std::string& between = source_.need(element, "between");
    const size_t blank = between.find(' ');
    if (blank == std::string::npos) {
      source_.refuse(element, format("between is \"%.80s\"; allowed: the names of two nodes with a "
                                     "blank between them",
                                     between.c_str()));
    }
    link.a = findEnd(element, between.substr(0, blank), host);
    link.b = findEnd(element, between.substr(blank + 1), host);
    link.bytesPerSecond = bandwidth(element, "bandwidth", source_.need(element, "bandwidth"));
    link.picoseconds = latency(element, "latency", source_.need(element, "latency"));
    link.count = static_cast<int>(source_.whole(element, "count", 1, Graph::kMostCount, 1));
    const int index = checked(element, [&] { return graph_.addLink(link); });
    if (const std::string* found = element.find("measured_bandwidth")) {
      graph_.setMeasuredBandwidth(index, bandwidth(element, "measured_bandwidth", *found));
    }
    if (const std::string* found = element.find("measured_latency")) {
      graph_.setMeasuredLatency(index, latency(element, "measured_latency", *found));
    }
  }

  uint64_t bandwidth(const XmlElement& element, const char* attribute, const std::string& text) {
    uint64_t value = 0;
    if (parseBandwidth(text, &value)) return value;
    source_.refuse(element, format("%s is \"%.40s\"; allowed: %s", attribute, text.c_str(),
                                   kBandwidthAllowed));
  }
  uint64_t latency(const XmlElement& element, const char* attribute, const std::string& text) {
    uint64_t value = 0;
    if (parseLatency(text, &value)) return value;
    source_.refuse(
        element, format("%s is \"%.40s\"; allowed: %s", attribute, text.c_str(), kLatencyAllowed));
  }

  XmlSource& source_;
  Graph graph_;
};

std::string nodeText(const Node& node) {
  std::string out =
      format("<%s name=\"%s\"", nodeKindName(node.kind), xmlEscape(node.name).c_str());
  if (node.cores > 0) out += format(" cores=\"%d\"", node.cores);
  if (node.numa >= 0) out += format(" numa=\"%d\"", node.numa);
  if (!node.model.empty()) out += format(" model=\"%s\"", xmlEscape(node.model).c_str());
  if (!node.busId.empty()) out += format(" busid=\"%s\"", xmlEscape(node.busId).c_str());
  if (node.rate > 0) out += format(" rate=\"%s\"", bandwidthText(node.rate).c_str());
  return out + "/>\n";
}

std::string linkText(const Graph& graph, const Link& link, bool inside) {
  const auto name = [&](int node) {
    return xmlEscape(inside ? graph.node(node).name : graph.fullName(node));
  };
  std::string out = format("<link kind=\"%s\" between=\"%s %s\" bandwidth=\"%s\" latency=\"%s\"",
                           linkKindName(link.kind), name(link.a).c_str(), name(link.b).c_str(),
                           bandwidthText(link.claimedBytes.value_or(link.bytesPerSecond)).c_str(),
                           latencyText(link.claimedPicoseconds.value_or(link.picoseconds)).c_str());
  if (link.count > 1) out += format(" count=\"%d\"", link.count);
  if (link.claimedBytes) {
    out += format(" measured_bandwidth=\"%s\"", bandwidthText(link.bytesPerSecond).c_str());
  }
  if (link.claimedPicoseconds) {
    out += format(" measured_latency=\"%s\"", latencyText(link.picoseconds).c_str());
  }
  return out + "/>\n";
}

/// The host that both ends belong to, or -1.
int hostOf(const Graph& graph, const Link& link) {
  const int a = graph.node(link.a).host;
  return a == graph.node(link.b).host ? a : -1;
}

}  // namespace

Graph readGraphXml(const XmlElement& root, XmlSource& source) { return Reader(source).read(root); }

std::string writeGraphXml(const Graph& graph) {
  std::vector<std::string> inside(graph.hosts().size());
  std::string outside;
  for (const Node& node : graph.nodes()) {
    if (node.host >= 0)
      inside[static_cast<size_t>(node.host)] += "    " + nodeText(node);
    else
      outside += "  " + nodeText(node);
  }
  for (const Link& link : graph.links()) {
    const int host = hostOf(graph, link);
    if (host >= 0)
      inside[static_cast<size_t>(host)] += "    " + linkText(graph, link, true);
    else
      outside += "  " + linkText(graph, link, false);
  }
  std::string out = "<?xml version=\"1.0\"?>\n<rondo-topology version=\"1\">\n";
  for (size_t h = 0; h < inside.size(); ++h) {
    out += format("  <host name=\"%s\">\n", xmlEscape(graph.hosts()[h]).c_str());
    out += inside[h] + "  </host>\n";
  }
  return out + outside + "</rondo-topology>\n";
}

}  // namespace rondo::topo
