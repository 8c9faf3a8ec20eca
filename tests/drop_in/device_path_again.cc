// device_path_test: calls that come again and again, which are launched as graphs, and times.

#include <algorithm>
#include <array>

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

namespace {

/// Seconds of each call in the middle of `rounds`, on the slowest rank, the calls in turns.
template <size_t n, class Calls>
std::array<double, n> secondsOf(int rounds, const Calls& calls) {
  constexpr int kBefore = 20;
  std::array<std::vector<double>, n> times;
  for (int i = 0; i < rounds + kBefore; ++i) {
    for (size_t which = 0; which < n; ++which) {
      PMPI_Barrier(MPI_COMM_WORLD);
      const double begin = PMPI_Wtime();
      calls(which, i);
      double seconds = PMPI_Wtime() - begin;
      PMPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
      if (i >= kBefore) times[which].push_back(seconds);
    }
  }
  std::array<double, n> middle;
  for (size_t which = 0; which < n; ++which) {
    std::sort(times[which].begin(), times[which].end());
    middle[which] = times[which][times[which].size() / 2];
  }
  return middle;
}

}  // namespace

/// A call is kept as a graph when it has come 16 times: `launched` has another address each time,
/// `again` always the same.
void timing() {
  constexpr size_t kMost = size_t{16} << 20, kPlaces = 256, kApart = 64;
  Buffer<float> in(true, kMost / 4 + kPlaces * kApart, 1), out(true, kMost / 4, 0);
  std::vector<float> host(kMost / 4), result(kMost / 4);
  void *const hostIn = host.data(), *const hostOut = result.data();
  const auto from = reinterpret_cast<DevicePointer>(in.data());
  const auto to = reinterpret_cast<DevicePointer>(out.data());
  if (rank == 0) {
    std::printf("%10s %12s %12s %12s %22s\n", "bytes", "copies us", "launched us", "again us",
                "times quicker than copies");
  }
  for (size_t bytes = 8; bytes <= kMost; bytes *= bytes < 1024 ? 8 : 4) {
    const auto count = static_cast<int>(bytes / 4);
    const int rounds = bytes < (1 << 20) ? 200 : 30;
    const auto copies = [&] {
      driverCall("cuMemcpyDtoH_v2", hostIn, from, bytes);
      PMPI_Allreduce(hostIn, hostOut, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
      driverCall("cuMemcpyHtoD_v2", to, static_cast<const void*>(hostOut), bytes);
    };
    const auto [byCopies, launched, again] = secondsOf<3>(rounds, [&](size_t which, int round) {
      if (which == 0) return copies();
      const size_t place = which == 2 ? 0 : 1 + static_cast<size_t>(round) % (kPlaces - 1);
      MPI_Allreduce(in.data() + place * kApart, out.data(), count, MPI_FLOAT, MPI_SUM,
                    MPI_COMM_WORLD);
    });
    if (rank == 0) {
      std::printf("%10zu %12.2f %12.2f %12.2f %14.2f %7.2f\n", bytes, byCopies * 1e6,
                  launched * 1e6, again * 1e6, byCopies / launched, byCopies / again);
    }
  }
  expect(true, "time");
}

}  // namespace drop_in_test
