// device_path_test: calls that come again and again, which are launched as graphs.

#include "drop_in/device_path.h"

namespace drop_in_test {
namespace {

/// The value differs each time, and so does what is there before.
template <class T>
void reduceAgain(Buffer<T>& in, Buffer<T>& out, int count, MPI_Op op, bool inPlace, int turn,
                 MPI_Comm comm) {
  const int most = ranks - 1 + turn;
  const auto expected = static_cast<T>(op == MPI_MAX ? most : sumOfRanks() + ranks * turn);
  in.fill(static_cast<T>(rank + turn));
  out.fill(static_cast<T>(inPlace ? rank + turn : -1 - turn));
  MPI_Allreduce(inPlace ? MPI_IN_PLACE : in.data(), out.data(), count, typeOf<T>(), op, comm);
  const std::vector<T>& now = out.read();
  bool right = true;
  for (size_t i = 0; i < now.size(); ++i) {
    const bool reached = i < static_cast<size_t>(count);
    const int kept = inPlace ? rank + turn : -1 - turn;
    right &= now[i] == (reached ? expected : static_cast<T>(kept));
  }
  expect(right, "allreduce that comes again");
}

/// Everything that tells calls apart, on the same memory, in turns.
void againInTurns(int turns, MPI_Comm comm) {
  Buffer<float> in(true, 1000, 0), out(true, 1000, 0), other(true, 1000, 0);
  Buffer<int> ints(true, 1000, 0), intsOut(true, 1000, 0);
  for (int turn = 0; turn < turns; ++turn) {
    reduceAgain(in, out, 1000, MPI_SUM, false, turn, comm);
    reduceAgain(in, out, 1000, MPI_MAX, false, turn, comm);
    reduceAgain(in, out, 999, MPI_SUM, false, turn, comm);
    reduceAgain(in, out, 1000, MPI_SUM, true, turn, comm);
    reduceAgain(in, other, 1000, MPI_SUM, false, turn, comm);
    reduceAgain(other, out, 1000, MPI_SUM, false, turn, comm);
    reduceAgain(ints, intsOut, 1000, MPI_SUM, false, turn, comm);
  }
}

/// Nothing else on the communicator: what is launched how is known.
void againAlone(MPI_Comm comm) {
  constexpr int kOften = 40, kBefore = 15;
  const int before = counted("fakeGraphLaunches");
  Buffer<int> in(true, 1000, 0), out(true, 1000, 0);
  for (int turn = 0; turn < kOften; ++turn) {
    reduceAgain(in, out, 1000, MPI_SUM, false, turn, comm);
  }
  const int launches = counted("fakeGraphLaunches") - before;
  const bool none = rank == 1 && std::getenv("FAKE_GRAPHS") != nullptr;
  expect(before < 0 || launches == (none ? 0 : kOften - kBefore), "launches of graphs");
}

}  // namespace

void again() {
  constexpr int kOften = 40;
  MPI_Comm copy;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  againInTurns(kOften, MPI_COMM_WORLD);
  const int kept = counted("fakeGraphs");
  againAlone(copy);
  againInTurns(kOften, copy);
  MPI_Comm_free(&copy);
  expect(kept < 0 || counted("fakeGraphs") == kept, "a communicator's graphs end with it");
  // Memory that is freed comes again at the same place, often, and with other neighbours.
  for (int round = 0; round < 3; ++round) {
    Buffer<int> in(true, 100000, 0), out(true, 100000, 0);
    for (int turn = 0; turn < kOften; ++turn) {
      reduceAgain(in, out, 100000, MPI_SUM, false, turn + round, MPI_COMM_WORLD);
    }
    Buffer<char> between(true, 4096, 0);
  }
  // More calls than are kept, some so often that they are.
  constexpr int kPlaces = 100;
  Buffer<int> in(true, 64 * kPlaces, rank), out(true, 64 * kPlaces, 0);
  for (int turn = 0; turn < kOften * 10; ++turn) {
    const int place = turn < kOften * 5 ? turn % kPlaces : turn % 3;
    MPI_Allreduce(in.data() + 64 * place, out.data() + 64 * place, 64, MPI_INT, MPI_SUM,
                  MPI_COMM_WORLD);
  }
  expect(out.all(sumOfRanks()), "allreduce of many addresses");
  expect(counted("fakeGraphs") <= 16, "there are not more graphs than places for them");
}

/// Ranks that give different counts get an error, however often the call was right before.
void differing() {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  Buffer<int> in(true, 100, rank), out(true, 100, -1);
  for (int i = 0; i < 30; ++i) {
    MPI_Allreduce(in.data(), out.data(), 100, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  }
  expect(out.all(sumOfRanks()), "allreduce before one that differs");
  const int count = rank == 0 ? 100 : 50;
  const int code = MPI_Allreduce(in.data(), out.data(), count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  expect(code != MPI_SUCCESS, "different counts are an error");
  char said[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, said, &length);
  expect(std::strstr(said, "on device memory") == nullptr, said);
}

/// One call right after the other, as solvers and benchmarks make them, each of other memory: their
/// kernels stay for the next one. Now and then something else comes in between.
void row() {
  constexpr int kRows = 60, kCalls = 100, kCount = 500;
  Buffer<float> in(true, kCount + kCalls, 0), out(true, kCalls * 8, 0);
  Buffer<int> ints(true, kCount, rank), intsOut(true, kCount, 0);
  std::vector<float> values(kCount + kCalls);
  for (int turn = 0; turn < kRows; ++turn) {
    const int count = turn % 3 == 0 ? 1 : turn % 3 == 1 ? 8 : kCount;
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>(static_cast<int>(i) % 50 * (rank + 1) + turn);
    }
    in.write(values);
    out.fill(-1);
    for (int call = 0; call < kCalls; ++call) {
      const int to = count == kCount ? 0 : 8 * call;
      MPI_Allreduce(in.data() + call, out.data() + to, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
      if (turn % 4 == 3 && call % 50 == 49) {
        MPI_Allreduce(ints.data(), intsOut.data(), kCount, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        MPI_Bcast(ints.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
      }
    }
    const std::vector<float>& now = out.read();
    bool right = true;
    const int first = count == kCount ? kCalls - 1 : 0;
    for (int call = first; call < kCalls; ++call) {
      const int to = count == kCount ? 0 : 8 * call;
      for (int i = 0; i < count; ++i) {
        const int all = (call + i) % 50 * (sumOfRanks() + ranks) + ranks * turn;
        right &= now[static_cast<size_t>(to + i)] == static_cast<float>(all);
      }
    }
    expect(right, "all-reduces in a row");
    if (turn % 4 == 3) expect(intsOut.read()[7] == sumOfRanks(), "all-reduce between them");
  }
}

}  // namespace drop_in_test
