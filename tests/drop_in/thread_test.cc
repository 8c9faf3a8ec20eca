// MPI_THREAD_MULTIPLE: threads of a process, each with communicators of its own, whose collectives
// run at once while others are made and freed; or MPI_THREAD_SERIALIZED and one after the other.
// Or, with "alike", threads whose calls on one communicator come in any order: MPI has programs
// order them, but they are alike. Makes 180 all-reduces, 360 non-blocking ones, 180 broadcasts and
// 9 barriers a rank. Usage: mpirun -n N -x LD_PRELOAD=... thread_test [serialized|alike]

#include <atomic>
#include <thread>
#include <vector>

#include "drop_in/check.h"

using namespace drop_in_test;

namespace {

std::atomic<int> wrong{0};

/// Two calls under way while other threads have theirs, ended out of order.
void workLater(MPI_Comm comm, int in) {
  int sums[2] = {-1, -1};
  MPI_Request requests[2];
  for (int i = 0; i < 2; ++i) {
    MPI_Iallreduce(&in, &sums[i], 1, MPI_INT, MPI_SUM, comm, &requests[i]);
  }
  MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
  for (int index = MPI_UNDEFINED; index == MPI_UNDEFINED;) {
    MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
  }
  if (sums[0] != in * ranks || sums[1] != in * ranks) ++wrong;
}

void work(MPI_Comm comm, int which) {
  for (int round = 0; round < 60; ++round) {
    int in = which + round, sum = 0;
    MPI_Allreduce(&in, &sum, 1, MPI_INT, MPI_SUM, comm);
    if (sum != in * ranks) ++wrong;
    double value = rank == round % ranks ? in : 0;
    MPI_Bcast(&value, 1, MPI_DOUBLE, round % ranks, comm);
    if (value != in) ++wrong;
    workLater(comm, in);
    if (round % 20 != 0) continue;
    MPI_Comm dup;
    MPI_Comm_dup(comm, &dup);
    MPI_Barrier(dup);
    MPI_Comm_free(&dup);
  }
}

/// `call` by three threads at once, over and over.
template <class Call>
void together(const Call& call) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&call] {
      for (int round = 0; round < 100; ++round) call();
    });
  }
  for (std::thread& thread : threads) thread.join();
}

void alike() {
  const int in = 7;
  together([in] {
    int sum = 0;
    MPI_Allreduce(&in, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (sum != in * ranks) ++wrong;
  });
  together([] { MPI_Barrier(MPI_COMM_WORLD); });
  together([in] {
    int value = rank == 0 ? in : 0;
    MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (value != in) ++wrong;
  });
  together([in] {
    std::vector<int> ins(8192, in), sums(ins.size());
    MPI_Request request;
    MPI_Iallreduce(ins.data(), sums.data(), 8192, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (sums[0] != in * ranks || sums.back() != in * ranks) ++wrong;
  });
}

}  // namespace

int main(int argc, char** argv) {
  const bool serialized = argc > 1 && std::strcmp(argv[1], "serialized") == 0;
  const int wanted = serialized ? MPI_THREAD_SERIALIZED : MPI_THREAD_MULTIPLE;
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, wanted, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  expect(provided == wanted, "MPI gives the thread level");
  if (argc > 1 && std::strcmp(argv[1], "alike") == 0) {
    alike();
    expect(wrong == 0, "collectives of several threads on one communicator");
    return finish();
  }
  constexpr int kThreads = 3;
  MPI_Comm comms[kThreads];
  for (MPI_Comm& comm : comms) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back(work, comms[i], i);
    if (serialized) threads.back().join();
  }
  for (std::thread& thread : threads) {
    if (thread.joinable()) thread.join();
  }
  for (MPI_Comm& comm : comms) MPI_Comm_free(&comm);
  expect(wrong == 0, "collectives of several threads");
  return finish();
}
