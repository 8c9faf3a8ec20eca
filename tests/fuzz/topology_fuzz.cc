// libFuzzer target for descriptions of machines: Rondo's and NCCL's XML and the synthetic line.
// What is read must be told apart from what is not by a sentence, and what was read must come back
// the same from its own XML. hwloc's XML is left out: it is read in a process of its own, and by
// hwloc. ./dev fuzz builds it with clang and runs it.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/error.h"
#include "topo/draw_svg.h"
#include "topo/draw_text.h"
#include "topo/graph_xml.h"
#include "topo/nccl_xml.h"
#include "topo/paths.h"
#include "topo/search.h"
#include "topo/synthetic.h"
#include "topo/xml.h"

namespace {

using namespace rondo;
using namespace rondo::topo;

/// What is done with larger graphs takes too long for a fuzzer.
constexpr size_t kMostNodes = 64;

[[noreturn]] void wrong(const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  std::abort();
}

Graph read(const std::string& text) {
  if (text.empty() || text[0] != '<') return parseSynthetic(text);
  const XmlElement root = parseXml(text, "FUZZ");
  XmlSource source("FUZZ");
  if (root.name == "rondo-topology") return readGraphXml(root, source);
  if (root.name == "system") return readNcclXml(root, source);
  throw Error(rondoInvalidArgument, "FUZZ:1: another root");
}

void use(const Graph& graph) {
  const std::string xml = writeGraphXml(graph);
  try {
    if (writeGraphXml(read(xml)) != xml) wrong("another graph comes back:\n" + xml);
  } catch (const Error& error) {
    wrong("its own XML is refused: " + error.sentence() + "\n" + xml);
  }
  if (graph.nodes().size() > kMostNodes) return;
  treeText(graph);
  const Channels channels = searchChannels(graph);
  channelsText(graph, channels);
  drawSvg(graph, &channels, "FUZZ");
  for (int host = 0; host < static_cast<int>(graph.hosts().size()); ++host) {
    matrixText(graph, host);
    try {
      writeNcclXml(graph, host);
    } catch (const Error&) {  // a host without CPUs has none
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const std::string text(reinterpret_cast<const char*>(bytes), size);
  try {
    use(read(text));
  } catch (const Error& error) {
    if (error.code() != rondoInvalidArgument || error.sentence().empty()) {
      wrong("not refused as it should be: " + error.sentence());
    }
  }
  return 0;
}
