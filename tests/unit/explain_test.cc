// Step tables against the golden files, docs/algorithms.md against what generates it.

#include "coll/explain.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "coll/step_text.h"
#include "plan_helpers.h"

namespace rondo {
namespace {

using namespace test;

std::string readFile(const std::string& path) {
  const char* top = std::getenv("TEST_SRCDIR");
  const std::string full = std::string(top != nullptr ? top : ".") + "/" + path;
  std::ifstream file(full);
  EXPECT_TRUE(file.good()) << full << " cannot be read; TEST_SRCDIR names the source tree";
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

struct Golden {
  const char* file;
  Collective collective;
  const char* algorithm;
  int ranks;
  const char* command;
  std::vector<int> groups = {};
};
const Golden kGolden[] = {
    {"allreduce_ring_5.txt", Collective::AllReduce, "ring", 5, "allreduce ring -n 5"},
    {"allreduce_oneshot_3.txt", Collective::AllReduce, "oneshot", 3, "allreduce oneshot -n 3"},
    {"allreduce_twoshot_4.txt", Collective::AllReduce, "twoshot", 4, "allreduce twoshot -n 4"},
    {"allreduce_doubling_6.txt", Collective::AllReduce, "doubling", 6, "allreduce doubling -n 6"},
    {"allreduce_tree_5.txt", Collective::AllReduce, "tree", 5, "allreduce tree -n 5"},
    {"allgather_pat_5.txt", Collective::AllGather, "pat", 5, "allgather pat -n 5"},
    {"allreduce_hier_6.txt",
     Collective::AllReduce,
     "hier",
     6,
     "allreduce hier -n 6 --groups 2x3",
     {0, 0, 0, 1, 1, 1}},
    {"allreduce_stripes_6.txt",
     Collective::AllReduce,
     "stripes",
     6,
     "allreduce stripes -n 6 --groups 2x3",
     {0, 0, 0, 1, 1, 1}},
    {"allgather_hier_5.txt",
     Collective::AllGather,
     "hier",
     5,
     "allgather hier -n 5 --groups 0,1,0,1,1",
     {0, 1, 0, 1, 1}},
    {"broadcast_ring_3.txt", Collective::Broadcast, "ring", 3, "broadcast ring -n 3"},
};

std::vector<Plan> onePeriod(Collective collective, const char* name, int ranks, Count chunk,
                            const RankGroups& groups = {}) {
  const Algorithm& algorithm = *findAlgorithm(collective, name);
  const Count count = static_cast<Count>(blocksOf(algorithm, ranks, groups)) * chunk;
  return recordAllRanks(algorithm, ranks, 0, {count, 1, 0, chunk, 1}, groups);
}

TEST(Explain, TablesAreTheGoldenOnes) {
  for (const Golden& golden : kGolden) {
    const RankGroups groups = golden.groups.empty() ? RankGroups() : RankGroups(golden.groups);
    const auto plans = onePeriod(golden.collective, golden.algorithm, golden.ranks, 1024, groups);
    ExplainOptions options;
    options.groups = groups.text();
    options.elementBytes = 4;
    EXPECT_EQ(explainTable(plans, options), readFile(std::string("tests/golden/") + golden.file))
        << "if the new table is right: rondo-explain " << golden.command << " > tests/golden/"
        << golden.file;
  }
}

TEST(Explain, TheDocsShowWhatTheAlgorithmsDo) {
  const std::string page = readFile("docs/algorithms.md");
  const std::string begin = "<!-- generated: rondo-explain --docs -->\n";
  const size_t from = page.find(begin), to = page.find("<!-- end of generated -->");
  ASSERT_NE(from, std::string::npos);
  ASSERT_NE(to, std::string::npos);
  EXPECT_EQ(page.substr(from + begin.size(), to - from - begin.size()), algorithmsDoc())
      << "put the output of rondo-explain --docs between the markers of docs/algorithms.md";
}

TEST(Explain, TheDocsExampleIsTheOneThatIsTested) {
  const std::string test = readFile("tests/unit/new_algorithm_test.cc");
  const size_t from = test.find("// [example]\n") + 13, to = test.find("// [end of example]");
  ASSERT_LT(from, to);
  const std::string example = "```cpp\n" + test.substr(from, to - from) + "```";
  EXPECT_NE(readFile("docs/adding-an-algorithm.md").find(example), std::string::npos) << example;
}

TEST(Explain, TotalsOfAWholeCall) {
  // 2 full periods of 4 ranks x 5 elements, and a last one of 7 in blocks of 2, 2, 2, 1.
  const Algorithm& ring = *findAlgorithm(Collective::AllReduce, "ring");
  const auto plans = recordAllRanks(ring, 4, 0, {47, 1, 0, 5, 1});
  const RankTotals totals = totalsOf(plans[0]);
  EXPECT_EQ(totals.steps, 3u * 7);
  EXPECT_EQ(totals.messages, 3u * 6);
  EXPECT_EQ(totals.sent, 2u * 30 + 2 * 7 - 2 - 2);  // all blocks twice but b0 and b1 once
  Count sent = 0, received = 0, reduced = 0;
  for (const Plan& plan : plans) {
    sent += totalsOf(plan).sent;
    received += totalsOf(plan).received;
    reduced += totalsOf(plan).reduced;
  }
  EXPECT_EQ(sent, 2u * 3 * 47);
  EXPECT_EQ(received, sent);
  EXPECT_EQ(reduced, 3u * 47);
}

TEST(Explain, EverythingSentIsReceived) {
  for (const Algorithm& algorithm : registry()) {
    if (algorithm.collective == Collective::Barrier) continue;
    for (const int ranks : {1, 2, 3, 7}) {
      for (const Count count : awkwardCounts(algorithm, ranks, 2, 3)) {
        Count sent = 0, received = 0;
        for (const Plan& plan : recordAllRanks(algorithm, ranks, 0, {count, 2, 0, 3, 1})) {
          sent += totalsOf(plan).sent;
          received += totalsOf(plan).received;
        }
        EXPECT_EQ(sent, received) << nameOf(algorithm) << ", " << ranks << " ranks, " << count;
      }
    }
  }
}

TEST(Explain, WrongOptionsGetASentence) {
  const auto plans = onePeriod(Collective::AllReduce, "ring", 3, 4);
  const auto sentence = [&](const ExplainOptions& options) -> std::string {
    try {
      explainTable(plans, options);
    } catch (const Error& error) {
      return error.sentence();
    }
    return "no error";
  };
  ExplainOptions lane, rank, last;
  lane.lane = 1;
  rank.ranks = {3};
  last.last = true;
  EXPECT_EQ(sentence(lane), "lane 1 does not exist; allowed: 0 to 0");
  EXPECT_EQ(sentence(rank), "rank 3 does not exist; allowed: 0 to 2");
  EXPECT_EQ(sentence(last), "a call of 12 elements has no shorter last period");
}

TEST(StepText, BitsWithoutAVerbAreSpelled) {
  Step step{StepKind::Move, algo::kRecv | algo::kSend | algo::kFinal, Room::Pair, 1, 2, 4, 3};
  EXPECT_EQ(describeStep(step), "move{Recv,Send,Final} 1> [4,7) >2");
  step.bits = algo::kRecv | algo::kSrc | algo::kDst | algo::kSend | algo::kFinal;
  EXPECT_EQ(describeStep(step), "recvReduceCopySend 1> [4,7) >2");
}

}  // namespace
}  // namespace rondo
