// rondo-topo: what a machine is made of, as a tree, a matrix and a picture.

#include <CLI/CLI.hpp>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <memory>

#include "base/config_files.h"
#include "base/error.h"
#include "command_line.h"
#include "topo/discover.h"
#include "topo/draw_svg.h"
#include "topo/draw_text.h"
#include "topo/graph_xml.h"
#include "topo/load.h"
#include "topo/nccl_xml.h"
#include "topo/quantities.h"
#include "topo/search.h"

namespace {

using namespace rondo;

/// The flow bound of larger machines takes minutes.
constexpr size_t kMostBoundPlaces = 256;

struct Arguments {
  std::string topology, svg, xml, ncclXml, path, host;
  bool channels = false, measure = false, dryRun = false;
};

void writeFile(const std::string& path, const std::string& text) {
  if (path == "-") {
    std::fputs(text.c_str(), stdout);
    return;
  }
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "wb"), &std::fclose);
  if (file == nullptr) throw systemError(path, errno);
  if (std::fwrite(text.data(), 1, text.size(), file.get()) != text.size() ||
      std::fflush(file.get()) != 0) {
    throw systemError(path, errno);
  }
}

topo::Loaded load(const Arguments& a) {
  if (!a.topology.empty()) return topo::loadTopology(a.topology);
  topo::Loaded out;
  out.source = "this host";
  out.graph = a.measure ? topo::measureHost(&out.warnings) : topo::discoverHost(&out.warnings);
  return out;
}

/// Later jobs find it there.
void keepMeasured(const topo::Graph& graph, bool dryRun) {
  const std::string path = topo::measuredLinksPath();
  if (!dryRun) writeConfigFile(topo::writeGraphXml(graph), path);
  std::fprintf(stderr, "%s: %s\n", dryRun ? "Not written (--dry-run)" : "Written", path.c_str());
}

int hostOf(const topo::Graph& graph, const std::string& name) {
  if (graph.hosts().empty()) throw Error(rondoInvalidArgument, "the machine has no hosts");
  if (name.empty()) return 0;
  const int host = graph.findHost(name);
  if (host >= 0) return host;
  throw Error(rondoInvalidArgument,
              format("--host is \"%s\"; there are %zu hosts, the first one is %s", name.c_str(),
                     graph.hosts().size(), graph.hosts()[0].c_str()));
}

/// "host0/gpu0,host1/gpu3": the way between them.
void printPath(const topo::Graph& graph, const std::string& ends) {
  const size_t comma = ends.find(',');
  const int from = graph.find(ends.substr(0, comma));
  const int to = comma == std::string::npos ? -1 : graph.find(ends.substr(comma + 1));
  if (from < 0 || to < 0) {
    throw Error(
        rondoInvalidArgument,
        format("--path is \"%s\"; allowed: the names of two nodes, as in host0/gpu0,host0/nic0",
               ends.c_str()));
  }
  topo::Path path;
  if (!topo::PathFinder(graph).find(from, to, &path)) {
    std::printf("no way from %s to %s\n", graph.fullName(from).c_str(), graph.fullName(to).c_str());
    return;
  }
  std::printf(
      "%s: %s, %s\n", pathText(graph, from, path).c_str(),
      path.arcs.empty() ? "nothing to cross" : topo::shortBandwidth(path.bytesPerSecond).c_str(),
      topo::latencyText(path.picoseconds).c_str());
}

void printChannels(const topo::Graph& graph, const topo::Channels& channels, double seconds) {
  std::fputs(channelsText(graph, channels).c_str(), stdout);
  std::printf("rings: %zu, %s together; trees: %zu, %s up and as much down (searched in %.1f ms)\n",
              channels.rings.size(), topo::shortBandwidth(channels.ringBytes()).c_str(),
              channels.trees.size(), topo::shortBandwidth(channels.treeBytes()).c_str(),
              seconds * 1e3);
  if (channels.places.size() < 2 || channels.places.size() > kMostBoundPlaces) return;
  std::printf("the narrowest cut between two of them is %s\n",
              topo::shortBandwidth(channelBound(graph, channels)).c_str());
}

void writeNccl(const topo::Graph& graph, int host, const std::string& file) {
  std::vector<std::string> left;
  writeFile(file, topo::writeNcclXml(graph, host, &left));
  for (const std::string& what : left) std::fprintf(stderr, "rondo-topo: %s\n", what.c_str());
}

void show(const Arguments& a) {
  const topo::Loaded loaded = load(a);
  for (const std::string& warning : loaded.warnings) {
    std::fprintf(stderr, "rondo-topo: %s\n", warning.c_str());
  }
  const topo::Graph& graph = loaded.graph;
  const int host = hostOf(graph, a.host);
  const bool quiet = a.xml == "-" || a.ncclXml == "-" || a.svg == "-" || !a.path.empty();
  if (!a.path.empty()) printPath(graph, a.path);
  if (!quiet) {
    std::printf("%s\n%s", treeText(graph).c_str(), matrixText(graph, host).c_str());
  }
  topo::Channels channels;
  const bool search = a.channels || !a.svg.empty();
  if (search) {
    const auto start = std::chrono::steady_clock::now();
    channels = topo::searchChannels(graph);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    if (a.channels) printChannels(graph, channels, took.count());
  }
  if (!a.xml.empty()) writeFile(a.xml, topo::writeGraphXml(graph));
  if (!a.ncclXml.empty()) writeNccl(graph, host, a.ncclXml);
  if (!a.svg.empty()) writeFile(a.svg, drawSvg(graph, &channels, loaded.source));
  if (a.measure) keepMeasured(graph, a.dryRun);
}

void declare(CLI::App& app, Arguments& a) {
  app.add_option("--topology", a.topology,
                 "A file (Rondo's, NCCL's or hwloc's XML) or a description, as in "
                 "\"16 x (2 cpu, 8 gpu nvlink=450 nvswitch, 8 nic=50) rail\" (default: this host)");
  app.add_option("--host", a.host,
                 "The host whose matrix and NCCL XML is written (default: the first)");
  app.add_flag("--channels", a.channels, "Print the rings and trees that are found");
  app.add_option("--path", a.path, "Print the way between two nodes: host0/gpu0,host1/gpu3");
  app.add_option("--svg", a.svg, "Draw the machine and its rings to this file; -: standard output");
  app.add_option("--xml", a.xml, "Write the machine as Rondo's XML");
  app.add_flag("--measure", a.measure,
               "Measure this host's memory, sockets and GPUs' links, for later jobs; on an idle "
               "machine, unbound, with all GPUs. Takes seconds");
  app.add_flag("--dry-run", a.dryRun, "With --measure: show, write nothing");
  app.add_option("--nccl-xml", a.ncclXml, "Write a host as NCCL's XML, for NCCL_TOPO_FILE");
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app("Shows a machine: a tree, a matrix, rings and trees, a picture.", "rondo-topo");
  declare(app, arguments);
  return runTool(app, argc, argv, {.failed = 1, .unwritten = 1}, [&] {
    if (app.count("--topology") > 0 && arguments.topology.empty()) {
      throw Error(rondoInvalidArgument, "--topology is \"\"; allowed: a file or a description");
    }
    if (arguments.measure && !arguments.topology.empty()) {
      throw Error(rondoInvalidArgument,
                  "--measure and --topology; allowed: --measure alone, for this host");
    }
    if (arguments.dryRun && !arguments.measure) {
      throw Error(rondoInvalidArgument, "--dry-run; allowed: with --measure");
    }
    show(arguments);
    return 0;
  });
}
