// What rondo-sim says of a DGX-like machine and of a training step, word for word.
// RONDO_WRITE_GOLDEN=1 writes the files anew, to be read before they are kept.

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "coll/sim/choices.h"
#include "coll/sim/workload_run.h"
#include "topo/load.h"
#include "topo/synthetic.h"
#include "topo/xml.h"

namespace {

using namespace rondo;
using namespace rondo::sim;

std::string folder() {
  const char* const root = std::getenv("TEST_SRCDIR");
  return std::string(root != nullptr ? root : "..") + "/tests/";
}

void expectGolden(const std::string& name, const std::string& found) {
  const std::string path = folder() + "golden/" + name;
  if (std::getenv("RONDO_WRITE_GOLDEN") != nullptr) std::ofstream(path) << found;
  EXPECT_EQ(found, topo::readFile(path));
}

TEST(SimGolden, ChoicesOnADgx) {
  const topo::Graph graph = topo::loadTopology(folder() + "topologies/dgx_h100.nccl.xml").graph;
  Rehearsal on(graph, 0, {});
  std::string text = choicesHead();
  for (int c = 0; c < kCollectives; ++c) {
    for (const uint64_t bytes : {uint64_t{4} << 10, uint64_t{1} << 20, uint64_t{64} << 20}) {
      text += choiceLine(on, {static_cast<Collective>(c), bytes});
      if (static_cast<Collective>(c) == Collective::Barrier) break;
    }
  }
  expectGolden("sim_choices_dgx_h100.txt", text);
}

TEST(SimGolden, ATrainingStepOnFourHosts) {
  const topo::Graph graph =
      topo::parseSynthetic("4 x (2 cpu, 8 gpu nvlink=450 nvswitch, 8 nic=50) rail");
  const std::string path = folder() + "golden/sim_workload.txt";
  const Workload workload = parseWorkload(topo::readFile(path), path);
  expectGolden("sim_workload_times.txt",
               workloadText(workload, timeWorkload(workload, graph, 0, {})));
}

}  // namespace
