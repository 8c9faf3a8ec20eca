// What rondo-status says of ranks of other hosts, by what their hosts answered.

#include "coll/status_report.h"

#include <gtest/gtest.h>

#include "p2p/far_news.h"

namespace rondo {
namespace {

constexpr int64_t kSecond = 1'000'000'000, kNow = 100 * kSecond;

FlightOp collective(uint64_t sequence, int64_t started, int64_t ended) {
  FlightOp op;
  op.facts.sequence = sequence;
  op.started = started;
  op.ended = ended;
  return op;
}

/// Rank 0, on host "a"; ranks 1 and 2 are on "b". It is in collective 5, or has ended that one.
std::vector<LocalProcess> processOf(bool inside) {
  LocalProcess process;
  process.pid = process.flights.pid = 11;
  process.flights.host = "a";
  FlightComm comm;
  comm.id = 7;
  comm.name = "dp";
  comm.size = 3;
  comm.members = {{"a", 11}, {"b", 21}, {"b", 22}};
  comm.host = {collective(5, kNow - 4 * kSecond, inside ? -1 : kNow - 3 * kSecond)};
  process.flights.comms = {comm};
  process.state.there = true;
  return {process};
}

FarPlace place(int rank, uint32_t flags, uint64_t sequence, uint32_t ageMs) {
  return {7, rank, true, flags, ageMs, sequence, "rank " + std::to_string(rank) + " is there"};
}

/// Nothing is known of it.
FarPlace silent(uint64_t comm, int rank) { return {comm, rank, false, 0, 0, 0, ""}; }

constexpr uint32_t kAfter = PlaceAnswer::kCalled, kIn = kAfter | PlaceAnswer::kRunning;

void expectIn(const std::string& text, const std::string& wanted) {
  EXPECT_NE(text.find(wanted), std::string::npos) << "wanted: " << wanted << "\nsaid:\n" << text;
}

TEST(StatusReport, ALateRankOfAnotherHostIsNamed) {
  FarSurvey far;
  far.places = {place(1, kAfter, 4, 0), place(2, kIn, 5, 6000)};
  const Report report = reportOn(11, processOf(true), kNow, far);
  expectIn(report.text, "  rank 1 (host \"b\", pid 21), as its host says: is there; NOT IN THAT");
  expectIn(report.text, "  rank 2 (host \"b\", pid 22), as its host says: is there\n");
  expectIn(report.text, "  Waited 6 s in collective 5, ");
  expectIn(report.text, ", for: rank 1.\n");
  EXPECT_TRUE(report.trouble);
}

/// After some hours of short calls.
TEST(StatusReport, NumbersGoOnBeyondFourBillion) {
  constexpr uint64_t kLast = 0xffffffff;
  std::vector<LocalProcess> all = processOf(true);
  all[0].flights.comms[0].host.front().facts.sequence = kLast + 1;
  FarSurvey far;
  far.places = {place(1, kAfter, kLast, 0), place(2, kIn, kLast + 1, 6000)};
  const Report report = reportOn(11, all, kNow, far);
  expectIn(report.text, "  Waited 6 s in collective 4294967296, ");
  expectIn(report.text, ", for: rank 1.\n");
}

TEST(StatusReport, TheAskedRankMayBeTheLateOne) {
  FarSurvey far;
  far.places = {place(1, kIn, 6, 2500), place(2, kAfter | PlaceAnswer::kStopped, 5, 0)};
  const Report report = reportOn(11, processOf(false), kNow, far);
  expectIn(report.text, "; NOT IN THAT CALL YET; its process is ");
  expectIn(report.text, "  Waited 2.5 s in collective 6, for: rank 0, rank 2 (stopped).\n");
  EXPECT_TRUE(report.trouble);
}

TEST(StatusReport, EverybodyMayBeKnown) {
  FarSurvey far;
  far.places = {place(1, kAfter, 5, 10), place(2, kAfter, 5, 10)};
  const Report report = reportOn(11, processOf(false), kNow, far);
  expectIn(report.text, "  Nobody is in a collective.\n");
  EXPECT_FALSE(report.trouble);
}

/// It has made its calls: nobody waits for it, and nothing is wrong.
TEST(StatusReport, ARankThatHasLetGoIsNotMissed) {
  FarSurvey far;
  far.places = {{7, 1, true, PlaceAnswer::kGone, 0, 0, "has let go of it, or has ended"},
                place(2, kIn, 5, 10)};
  const Report report = reportOn(11, processOf(true), kNow, far);
  expectIn(report.text, "  rank 1 (host \"b\", pid 21) has let go of it, or has ended\n");
  expectIn(report.text, "  Everybody is in collective 5, ");
  EXPECT_FALSE(report.trouble);
}

/// It has called so much since that the collective is no longer recorded.
TEST(StatusReport, ARankThatWentOnToManyExchangesIsNotMissed) {
  std::vector<LocalProcess> all = processOf(true);
  all.push_back(all[0]);
  all[1].pid = all[1].flights.pid = 21;
  FlightComm& other = all[1].flights.comms[0];
  other.rank = 1;
  FlightOp exchange = collective(3000, kNow - kSecond, kNow);
  exchange.facts.collective = OpFacts::kTransfers;
  exchange.facts.collectives = 5;
  other.host = {exchange};
  const Report report = reportOn(11, all, kNow, {});
  expectIn(report.text, "  Everybody here is in collective 5, ");
  other.host.back().facts.collectives = 4;
  expectIn(reportOn(11, all, kNow, {}).text, "  Waited 4 s in collective 5, ");
}

/// As images of one container have it.
TEST(StatusReport, HostsMayHaveOneName) {
  std::vector<LocalProcess> all = processOf(true);
  for (MemberText& each : all[0].flights.comms[0].members) each.host = "a";
  FarSurvey far;
  far.places = {place(1, kIn, 5, 10), place(2, kIn, 5, 10)};
  const Report report = reportOn(11, all, kNow, far);
  expectIn(report.text, "  rank 1 (host \"a\", pid 21), as its host says: is there\n");
  EXPECT_FALSE(report.trouble);
}

TEST(StatusReport, SilenceIsSaid) {
  FarSurvey far;
  far.silence = "no answer";
  far.places = {place(1, kIn, 5, 10), silent(7, 2), silent(8, 1), silent(7, 99), silent(7, -1)};
  const Report report = reportOn(11, processOf(true), kNow, far);
  expectIn(report.text, "  rank 2 (host \"b\", pid 22): no answer\n");
  expectIn(report.text, "  Everybody here is in collective 5, ");
  EXPECT_TRUE(report.trouble);
  far = {};
  far.why = "because";
  const Report none = reportOn(11, processOf(true), kNow, far);
  expectIn(none.text,
           "  rank 2 (host \"b\", pid 22) is on another host: ask rondo-status there "
           "(because)\n");
  EXPECT_FALSE(none.trouble);
}

}  // namespace
}  // namespace rondo
