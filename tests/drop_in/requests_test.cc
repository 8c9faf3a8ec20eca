// Requests of non-blocking collectives as MPI defines them, and beside MPI's own in one array.
// Knows MPI only. Usage: mpirun -n N -x LD_PRELOAD=... requests_test [long | threads | progress]
// long: of vectors that are Rondo's whatever RONDO_MPI is; threads: by two threads at once;
// progress: MPI's own messages beside calls in which a rank, of three, never waits.

#include <array>
#include <atomic>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "drop_in/check.h"

using namespace drop_in_test;

namespace {

int sumOfRanks() { return ranks * (ranks - 1) / 2; }

/// Every rank's value is to it `rank`, so that results are known.
MPI_Request sumLater(MPI_Comm comm, int* sum) {
  MPI_Request request;
  *sum = -1;
  MPI_Iallreduce(&rank, sum, 1, MPI_INT, MPI_SUM, comm, &request);
  return request;
}

/// Many under way, ended in another order than they began in.
void outOfOrder(MPI_Comm comm) {
  constexpr int kMany = 40;
  std::array<int, kMany> sums;
  std::array<MPI_Request, kMany> requests;
  std::vector<double> large(50000, rank);
  MPI_Request big;
  MPI_Iallreduce(MPI_IN_PLACE, large.data(), 50000, MPI_DOUBLE, MPI_SUM, comm, &big);
  for (size_t i = 0; i < kMany; ++i) requests[i] = sumLater(comm, &sums[i]);
  for (size_t n = 0; n < kMany; ++n) {
    const size_t i = (n * 7 + static_cast<size_t>(rank) * 3) % kMany;
    MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    expect(sums[i] == sumOfRanks() && requests[i] == MPI_REQUEST_NULL, "a sum out of order");
  }
  MPI_Wait(&big, MPI_STATUS_IGNORE);
  expect(large.front() == sumOfRanks() && large.back() == sumOfRanks(), "a large sum");
}

/// Blocking and non-blocking calls of one communicator keep MPI's order.
void mixedOrder(MPI_Comm comm) {
  for (int round = 0; round < 5; ++round) {
    int first, third, second = 0, from = rank == 0 ? round : -1;
    MPI_Request requests[3];
    requests[0] = sumLater(comm, &first);
    MPI_Allreduce(&rank, &second, 1, MPI_INT, MPI_MAX, comm);
    requests[1] = sumLater(comm, &third);
    MPI_Ibcast(&from, 1, MPI_INT, 0, comm, &requests[2]);
    MPI_Barrier(comm);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    expect(first == sumOfRanks() && second == ranks - 1 && third == first && from == round,
           "blocking and non-blocking calls in turn");
  }
}

/// Two communicators, in another order on every other rank.
void crossed(MPI_Comm one, MPI_Comm other) {
  int sums[2];
  MPI_Request requests[2];
  const int begin = rank % 2;
  for (const int which : {begin, 1 - begin}) {
    requests[which] = sumLater(which == 0 ? one : other, &sums[which]);
  }
  MPI_Wait(&requests[begin], MPI_STATUS_IGNORE);
  MPI_Wait(&requests[1 - begin], MPI_STATUS_IGNORE);
  expect(sums[0] == sumOfRanks() && sums[1] == sumOfRanks(), "two communicators, crossed");
}

/// Null, inactive, MPI's own and non-blocking collectives in one array.
struct Mixture {
  static constexpr int kNumber = 6;
  std::array<MPI_Request, kNumber> requests;
  std::vector<double> out, in;
  int sum = -1, from, inactiveTarget = 0;
  explicit Mixture(MPI_Comm comm) : out(60000, rank), in(60000, -1), from(rank == 0 ? 42 : 0) {
    const int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
    requests[0] = MPI_REQUEST_NULL;
    MPI_Irecv(in.data(), 60000, MPI_DOUBLE, before, 3, comm, &requests[1]);
    requests[2] = sumLater(comm, &sum);
    MPI_Recv_init(&inactiveTarget, 1, MPI_INT, before, 9, comm, &requests[3]);
    MPI_Isend(out.data(), 60000, MPI_DOUBLE, next, 3, comm, &requests[4]);
    MPI_Ibcast(&from, 1, MPI_INT, 0, comm, &requests[5]);
  }
  bool right() const {
    return sum == sumOfRanks() && from == 42 && in.back() == (rank + ranks - 1) % ranks;
  }
  /// The receive's status is MPI's, also in a mixture.
  static bool statusOfReceive(const MPI_Status& status) {
    int number = 0;
    MPI_Get_count(&status, MPI_DOUBLE, &number);
    return status.MPI_SOURCE == (rank + ranks - 1) % ranks && status.MPI_TAG == 3 &&
           number == 60000;
  }
  void finish(const char* how) {
    expect(right(), std::string("results after ") + how);
    for (const int i : {0, 1, 2, 4, 5}) {
      expect(requests[static_cast<size_t>(i)] == MPI_REQUEST_NULL,
             std::string("null after ") + how);
    }
    expect(requests[3] != MPI_REQUEST_NULL, std::string("persistent after ") + how);
    MPI_Request_free(&requests[3]);
  }
};

void mixtures(MPI_Comm comm) {
  MPI_Status statuses[Mixture::kNumber];
  int indices[Mixture::kNumber], flag = 0, number = 0, seen = 0, index = -1;
  {
    Mixture m(comm);
    expect(MPI_Waitall(6, m.requests.data(), statuses) == MPI_SUCCESS, "Waitall");
    expect(Mixture::statusOfReceive(statuses[1]), "status of a receive by Waitall");
    m.finish("Waitall");
  }
  {
    Mixture m(comm);
    while (!flag) MPI_Testall(6, m.requests.data(), &flag, statuses);
    expect(Mixture::statusOfReceive(statuses[1]), "status of a receive by Testall");
    m.finish("Testall");
  }
  {
    Mixture m(comm);
    for (seen = 0; seen < 4; ++seen) {
      MPI_Waitany(6, m.requests.data(), &index, statuses);
      expect(index != 0 && index != 3 && index != MPI_UNDEFINED, "an index of Waitany");
      if (index == 1) expect(Mixture::statusOfReceive(statuses[0]), "status by Waitany");
    }
    MPI_Waitany(6, m.requests.data(), &index, statuses);
    expect(index == MPI_UNDEFINED, "Waitany of nothing active");
    m.finish("Waitany");
  }
  {
    Mixture m(comm);
    for (seen = 0; seen < 4; seen += number) {
      MPI_Waitsome(6, m.requests.data(), &number, indices, statuses);
      expect(number >= 1 && number + seen <= 4, "a number of Waitsome");
      for (int k = 0; k < number; ++k) {
        if (indices[k] == 1) expect(Mixture::statusOfReceive(statuses[k]), "status by Waitsome");
      }
    }
    MPI_Waitsome(6, m.requests.data(), &number, indices, statuses);
    expect(number == MPI_UNDEFINED, "Waitsome of nothing active");
    MPI_Testsome(6, m.requests.data(), &number, indices, statuses);
    expect(number == MPI_UNDEFINED, "Testsome of nothing active");
    m.finish("Waitsome");
  }
  {
    Mixture m(comm);
    for (seen = 0; seen < 4;) {
      MPI_Testany(6, m.requests.data(), &index, &flag, statuses);
      if (flag) ++seen;
      MPI_Testsome(6, m.requests.data(), &number, indices, statuses);
      if (number != MPI_UNDEFINED) seen += number;
    }
    MPI_Testany(6, m.requests.data(), &index, &flag, statuses);
    expect(flag && index == MPI_UNDEFINED, "Testany of nothing active");
    m.finish("Testany and Testsome");
  }
}

/// What a non-blocking call says while it cannot be done, and what its status is then.
void tested(MPI_Comm comm) {
  if (ranks == 1) return;
  MPI_Request request = MPI_REQUEST_NULL;
  int flag = 1, token = 0;
  MPI_Status status;
  if (rank == 0) {
    MPI_Ibarrier(comm, &request);
    for (int i = 0; i < 50; ++i) {
      MPI_Test(&request, &flag, &status);
      expect(!flag && request != MPI_REQUEST_NULL, "Test of what cannot be done");
      MPI_Request_get_status(request, &flag, &status);
      expect(!flag, "Request_get_status of what cannot be done");
    }
    expect(classOf(MPI_Request_free(&request)) == MPI_ERR_REQUEST, "freed under way");
    expect(classOf(MPI_Cancel(&request)) == MPI_ERR_REQUEST, "cancelled under way");
    MPI_Send(&token, 1, MPI_INT, 1, 1, comm);
  } else {
    if (rank == 1) MPI_Recv(&token, 1, MPI_INT, 0, 1, comm, MPI_STATUS_IGNORE);
    MPI_Ibarrier(comm, &request);
  }
  for (flag = 0; !flag;) MPI_Request_get_status(request, &flag, &status);
  expect(request != MPI_REQUEST_NULL, "Request_get_status leaves the request");
  MPI_Wait(&request, &status);
  int number = -1, cancelled = -1;
  MPI_Get_count(&status, MPI_BYTE, &number);
  MPI_Test_cancelled(&status, &cancelled);
  expect(number == 0 && cancelled == 0, "an empty status");
  MPI_Wait(&request, &status);
  expect(status.MPI_SOURCE == MPI_ANY_SOURCE && request == MPI_REQUEST_NULL, "Wait for null");
}

/// A collective is done while its ranks wait for messages only.
void behindMessages(MPI_Comm comm) {
  if (ranks == 1) return;
  int sum, token = rank;
  MPI_Request request = sumLater(comm, &sum);
  const int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
  if (rank == 0) {  // the others answer when their sum is there
    MPI_Recv(&token, 1, MPI_INT, before, 2, comm, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else {
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (rank > 1) MPI_Recv(&token, 1, MPI_INT, before, 2, comm, MPI_STATUS_IGNORE);
    MPI_Send(&token, 1, MPI_INT, next, 2, comm);
  }
  expect(sum == sumOfRanks(), "a sum that one rank waits for in MPI_Recv");
}

/// MPI lets a program free communicator and type as soon as the call has returned.
void freedEarly() {
  MPI_Comm comm = duplicate();
  MPI_Datatype pairs;
  MPI_Type_vector(8, 1, 2, MPI_INT, &pairs);
  MPI_Type_commit(&pairs);
  std::vector<int> all(static_cast<size_t>(ranks) * 32, -1), mine(32, rank);
  MPI_Request requests[3];
  int sum;
  MPI_Iallgather(mine.data(), 1, pairs, all.data(), 2, pairs, MPI_COMM_SELF, &requests[0]);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);  // MPI's own, one rank: a warm-up
  all.assign(all.size(), -1);
  MPI_Datatype spread;  // one block a rank: 16 ints apart
  MPI_Type_create_resized(pairs, 0, 64, &spread);
  MPI_Type_commit(&spread);
  MPI_Iallgather(mine.data(), 1, spread, all.data(), 1, spread, comm, &requests[0]);
  MPI_Type_free(&pairs);
  MPI_Type_free(&spread);
  requests[1] = sumLater(comm, &sum);
  MPI_Ibarrier(comm, &requests[2]);
  MPI_Comm_free(&comm);
  expect(comm == MPI_COMM_NULL, "a communicator is freed under way");
  MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
  bool right = sum == sumOfRanks();
  for (int r = 0; r < ranks; ++r) {
    const auto at = static_cast<size_t>(r) * 16;
    for (size_t i = 0; i < 16; ++i) right &= all[at + i] == (i % 2 == 0 ? r : -1);
  }
  expect(right, "results on a freed communicator by a freed type");
}

/// Argument errors are MPI's, at the call; the communicator goes on.
void mistakes(MPI_Comm comm) {
  int in = 1, out = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  const auto same = [](int layers, int mpis, const char* what) {
    expect(layers != MPI_SUCCESS && classOf(layers) == classOf(mpis), what);
  };
  same(MPI_Iallreduce(&in, &out, -1, MPI_INT, MPI_SUM, comm, &request),
       PMPI_Iallreduce(&in, &out, -1, MPI_INT, MPI_SUM, comm, &request), "a negative count");
  same(MPI_Ibcast(&in, 1, MPI_INT, ranks, comm, &request),
       PMPI_Ibcast(&in, 1, MPI_INT, ranks, comm, &request), "a root too large");
  // With one of Rondo's under way the wait family goes another way.
  request = sumLater(comm, &out);
  int flag = 0, index = 0;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  same(MPI_Waitall(-1, &request, MPI_STATUSES_IGNORE),
       PMPI_Waitall(-1, &request, MPI_STATUSES_IGNORE), "Waitall of -1");
  same(MPI_Waitany(2, nullptr, &index, MPI_STATUS_IGNORE),
       PMPI_Waitany(2, nullptr, &index, MPI_STATUS_IGNORE), "Waitany of NULL");
  same(MPI_Test(&request, nullptr, MPI_STATUS_IGNORE),
       PMPI_Test(&request, nullptr, MPI_STATUS_IGNORE), "Test without a flag");
  same(MPI_Wait(nullptr, MPI_STATUS_IGNORE), PMPI_Wait(nullptr, MPI_STATUS_IGNORE),
       "Wait for NULL");
  expect(MPI_Waitall(0, nullptr, MPI_STATUSES_IGNORE) == MPI_SUCCESS, "Waitall of none");
  expect(MPI_Testall(0, nullptr, &flag, MPI_STATUSES_IGNORE) == MPI_SUCCESS && flag,
         "Testall of none");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  expect(out == sumOfRanks(), "a sum after mistakes");
}

/// A failing receive of MPI's beside a collective of Rondo's.
void truncated(MPI_Comm comm) {
  if (ranks == 1) return;
  MPI_Request requests[2];
  MPI_Status statuses[2];
  int small = 0, sum, large[4] = {1, 2, 3, 4};
  const int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
  MPI_Irecv(&small, 1, MPI_INT, before, 4, comm, &requests[0]);
  requests[1] = sumLater(comm, &sum);
  MPI_Send(large, 4, MPI_INT, next, 4, comm);
  const int code = MPI_Waitall(2, requests, statuses);
  expect(classOf(code) == MPI_ERR_IN_STATUS, "Waitall with a message too long");
  expect(classOf(statuses[0].MPI_ERROR) == MPI_ERR_TRUNCATE, "the message's status");
  expect(statuses[1].MPI_ERROR == MPI_SUCCESS && sum == sumOfRanks(), "the sum's status");
}

/// Of more requests at a time than the layer keeps, ended by calls of every kind, so that those of
/// one round are partly those of the round before. Says how many sums or statuses were wrong.
int overAndOver(MPI_Comm comm) {
  constexpr int kMany = 90, kLong = 2048, kRounds = 12;
  std::vector<int> mine(kLong, rank), sums(size_t{kMany} * kLong);
  std::array<MPI_Request, kMany> requests;
  int wrong = 0;
  for (int round = 0; round < kRounds; ++round) {
    const size_t many = round % 3 == 2 ? 1 : kMany;
    for (size_t i = 0; i < many; ++i) {
      MPI_Iallreduce(mine.data(), &sums[i * kLong], kLong, MPI_INT, MPI_SUM, comm, &requests[i]);
    }
    size_t left = many;
    while (left > (round % 2 == 1 ? many / 2 : 0)) {
      MPI_Status status;
      status.MPI_SOURCE = status.MPI_TAG = status.MPI_ERROR = 17;
      --left;
      MPI_Wait(&requests[left], left % 2 == 0 ? &status : MPI_STATUS_IGNORE);
      int number = -1, cancelled = -1;
      if (left % 2 == 0) {
        MPI_Get_count(&status, MPI_BYTE, &number);
        MPI_Test_cancelled(&status, &cancelled);
        wrong += number != 0 || cancelled != 0 || status.MPI_SOURCE != MPI_ANY_SOURCE ||
                 status.MPI_TAG != MPI_ANY_TAG || status.MPI_ERROR != 17;
      }
      wrong += requests[left] != MPI_REQUEST_NULL;
    }
    for (int flag = 0; left > 0 && !flag;) MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
    MPI_Waitall(static_cast<int>(left), requests.data(), MPI_STATUSES_IGNORE);
    for (size_t i = 0; i < many * kLong; ++i) wrong += std::exchange(sums[i], -1) != sumOfRanks();
  }
  return wrong;
}

int longOnes(int* argc, char*** argv, bool threads) {
  start(argc, argv, threads);
  MPI_Comm one = duplicate(), other = duplicate();
  std::atomic<int> wrong{0};
  if (threads) {
    std::thread beside([&] { wrong += overAndOver(other); });
    wrong += overAndOver(one);
    beside.join();
  } else {
    wrong += overAndOver(one) + overAndOver(other);
  }
  expect(wrong == 0, "requests that come again and again");
  MPI_Comm_free(&one);
  MPI_Comm_free(&other);
  return finish();
}

/// Rank 0 always comes last, and so never waits in a collective; its message to rank 2 arrives all
/// the same, after which rank 1 ends the loop. Counted in calls, as days may be slow.
bool arrivesBeside(MPI_Comm pair, bool later) {
  constexpr size_t kBytes = size_t{16} << 20, kLong = 4096;
  constexpr int kMostCalls = 8000;
  constexpr double kLate = 1e-3;  // seconds
  std::vector<char> message(kBytes, static_cast<char>(rank + 1));
  MPI_Request request = MPI_REQUEST_NULL;
  int told = 0;
  if (rank == 2) {
    MPI_Recv(message.data(), kBytes, MPI_CHAR, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(&rank, 1, MPI_INT, 1, 4, MPI_COMM_WORLD);
    return message.back() == 1;
  }
  if (rank == 0) MPI_Isend(message.data(), kBytes, MPI_CHAR, 2, 3, MPI_COMM_WORLD, &request);
  if (rank == 1) MPI_Irecv(&told, 1, MPI_INT, 2, 4, MPI_COMM_WORLD, &request);
  std::vector<int> mine(kLong), sum(kLong);
  int calls = 0;
  for (; sum[0] == 0 && calls < kMostCalls; ++calls) {
    int over = 0;
    if (rank == 1) MPI_Test(&request, &over, MPI_STATUS_IGNORE);
    const double now = MPI_Wtime();
    while (rank == 0 && MPI_Wtime() < now + kLate) {
    }
    mine[0] = over;
    MPI_Request reduction = MPI_REQUEST_NULL;
    later ? MPI_Iallreduce(mine.data(), sum.data(), kLong, MPI_INT, MPI_SUM, pair, &reduction)
          : MPI_Allreduce(mine.data(), sum.data(), kLong, MPI_INT, MPI_SUM, pair);
    MPI_Wait(&reduction, MPI_STATUS_IGNORE);
  }
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (rank == 0) std::printf("a message arrived beside %d calls\n", calls);
  return sum[0] != 0;
}

int progress(int* argc, char*** argv) {
  start(argc, argv);
  MPI_Comm pair;
  MPI_Comm_split(MPI_COMM_WORLD, rank == 2 ? 1 : 0, rank, &pair);
  for (const bool later : {false, true}) {
    expect(arrivesBeside(pair, later),
           later ? "a message beside MPI_Iallreduce" : "a message beside MPI_Allreduce");
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Comm_free(&pair);
  return finish();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "progress") return progress(&argc, &argv);
  if (!what.empty()) return longOnes(&argc, &argv, what == "threads");
  start(&argc, &argv);
  MPI_Comm one = duplicate(), other = duplicate();
  outOfOrder(one);
  mixedOrder(one);
  for (int i = 0; i < 10; ++i) crossed(one, other);
  mixtures(one);
  for (int i = 0; i < 3; ++i) tested(one);
  for (int i = 0; i < 5; ++i) behindMessages(other);
  for (int i = 0; i < 5; ++i) freedEarly();
  mistakes(one);
  truncated(other);
  MPI_Comm_free(&one);
  MPI_Comm_free(&other);
  return finish();
}
