// rondo-status on real jobs: a rank that is stopped, one that never calls, one that is dead.

#include <gtest/gtest.h>

#include <fstream>

#include "chaos/job.h"

namespace rondo::chaos {
namespace {

std::string statusProgram() {
  const char* const folder = std::getenv("TEST_BUILDDIR");
  return std::string(folder != nullptr ? folder : ".") + "/rondo-status";
}

/// What rondo-status says and its exit status.
struct Said {
  std::string text;
  int status = -1;
};

Said ask(const std::string& arguments) {
  Said out;
  std::FILE* const pipe = popen((statusProgram() + " " + arguments + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return out;
  char line[1024];
  while (std::fgets(line, sizeof line, pipe) != nullptr) out.text += line;
  const int status = pclose(pipe);
  if (WIFEXITED(status)) out.status = WEXITSTATUS(status);
  return out;
}

/// Until it says `wanted`: the job is on its way there. What it said last.
Said askUntil(const std::string& arguments, const std::string& wanted) {
  Said said;
  const int64_t limit = nowMs() + 20'000;
  do {
    usleep(100'000);
    said = ask(arguments);
  } while (said.text.find(wanted) == std::string::npos && nowMs() < limit);
  return said;
}

void expectIn(const std::string& text, const std::string& wanted) {
  EXPECT_NE(text.find(wanted), std::string::npos) << "wanted: " << wanted << "\nsaid:\n" << text;
}

/// The launcher cannot fail a test: it leaves what was said in files.
std::string fileOf(const char* what) {
  return format("/tmp/rondo-status-test-%d-%s", static_cast<int>(getpid()), what);
}
std::string take(const std::string& name) {
  std::ifstream file(name);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::remove(name.c_str());
  return text;
}
void leave(const std::string& name, const Said& said) {
  std::ofstream(name) << said.text << "exit status " << said.status << "\n";
}

void allReduce(const Me& me, rondoComm_t comm) {
  const int one = 1;
  int sum = 0;
  me.ok(rondoAllReduce(&one, &sum, 1, rondoInt32, rondoSum, comm, nullptr), comm, "all-reduce");
  me.check(sum == me.size, "a wrong sum");
}

class Status : public ::testing::Test {
 protected:
  void SetUp() override {
    if (access(statusProgram().c_str(), X_OK) != 0) GTEST_SKIP() << "rondo-status is not built";
  }
};

TEST_F(Status, NamesTheStoppedRankAndTheOneThatNeverCalls) {
  const std::string during = fileOf("during"), after = fileOf("after"), trace = fileOf("trace");
  const Outcome outcome = run(
      4,
      [](const Me& me) {
        const rondoComm_t comm = me.join();
        for (int i = 0; i < 3; ++i) allReduce(me, comm);
        ++me.shared->ready;
        if (me.rank == 2) raise(SIGSTOP);
        if (me.rank == 3) {  // computes, as far as Rondo knows
          while (me.shared->done == 0) usleep(10'000);
        }
        me.ok(rondoBarrier(comm, nullptr), comm, "barrier");
        ++me.shared->done;
        while (me.shared->done < me.size + 2) usleep(10'000);
        me.ok(rondoCommDestroy(comm), nullptr, "destroy");
      },
      [&](Shared& shared) {
        while (shared.ready < 4) usleep(1000);
        usleep(1'200'000);  // longer than anybody is missed for
        const std::string pid = std::to_string(shared.pids[0]);
        leave(during, askUntil("--record " + trace + " " + pid, "rank 2 (stopped), rank 3."));
        ++shared.done;
        kill(shared.pids[2], SIGCONT);
        leave(after, askUntil(pid, "Nobody here is in a collective"));
        ++shared.done;
      });
  EXPECT_EQ(outcome.failure, "") << outcome.errors;
  const std::string said = take(during);
  expectIn(said, "communicator \"comm\" (");
  expectIn(said, "rank 0 (pid ");
  expectIn(said, "in collective 4, barrier, for ");
  expectIn(said, "after collective 3, allreduce with count 1, datatype int32, op sum, ");
  expectIn(said, "NOT IN THAT CALL YET; its process is stopped");
  expectIn(said, "has no message of rank 2");
  expectIn(said, "in collective 4, barrier, for: rank 2 (stopped), rank 3.\n");
  expectIn(said, "exit status 1");
  const std::string later = take(after);
  expectIn(later, "Nobody here is in a collective.\nexit status 0");
  const std::string record = take(trace);
  expectIn(record, "\"traceEvents\":[");
  for (int rank = 0; rank < 4; ++rank) {
    expectIn(record, format("\"name\":\"comm rank %d of 4\"", rank));
  }
  expectIn(record, "\"state\":\"has not ended\"");
}

TEST_F(Status, ADeadRankIsNamedAndSurvivorsSayWhy) {
  const std::string during = fileOf("during");
  const Outcome outcome = run(
      3,
      [](const Me& me) {
        const rondoComm_t comm = me.join();
        allReduce(me, comm);
        if (me.rank == 1) me.die();
        int in = 0, out = 0;
        me.check(
            rondoAllReduce(&in, &out, 1, rondoInt32, rondoSum, comm, nullptr) == rondoRemoteError,
            "no error");
        ++me.shared->ready;
        while (me.shared->done == 0) usleep(10'000);
        me.ok(rondoCommDestroy(comm), nullptr, "destroy");
      },
      [&](Shared& shared) {
        while (shared.ready < 2) usleep(1000);
        leave(during, ask(std::to_string(shared.pids[0])));
        ++shared.done;
      });
  EXPECT_EQ(outcome.failure, "") << outcome.errors;
  const std::string said = take(during);
  expectIn(said, ": broken: rank 1 (");
  expectIn(said, "was killed by signal 9 (Killed)");
  expectIn(said, "has no process here that can be read: it has ended");
  expectIn(said, "exit status 1");
}

TEST_F(Status, SaysWhyAProcessCannotBeRead) {
  const Said none = ask("999999999");
  EXPECT_EQ(none.status, 3);
  expectIn(none.text, "rondo-status: process 999999999 does not exist");
  const Said other = ask(std::to_string(getppid()));
  EXPECT_EQ(other.status, 3);
  expectIn(other.text, "has no Rondo communicator");
  EXPECT_EQ(ask("").status, 2);
  const Said negative = ask("-5");
  EXPECT_EQ(negative.status, 2);
  expectIn(negative.text, "rondo-status: PID: Value -5 not in range 1 to 2147483647");
  EXPECT_EQ(ask("--help").status, 0);
}

}  // namespace
}  // namespace rondo::chaos
