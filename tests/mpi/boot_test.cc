// The MPI door under mpirun: what it makes, what it refuses on all ranks, and how it ends.
// Usage: mpirun -n N boot_test [SECTION...]; no section: all. Prints one line a failed check.

#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "rondo_mpi.h"

namespace {

int rank = 0, ranks = 1;
int failures = 0;

void check(bool good, const char* what, int line) {
  if (good) return;
  ++failures;
  std::printf("boot_test.cc:%d: rank %d of %d: %s; last error: \"%s\"\n", line, rank, ranks, what,
              rondoGetLastError(nullptr));
  std::fflush(stdout);
}
#define CHECK(condition) check((condition), #condition, __LINE__)

bool says(const std::string& part) {
  return std::string(rondoGetLastError(nullptr)).find(part) != std::string::npos;
}

double millis() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::milli>(now).count();
}

/// An environment variable for the time of a scope.
class Env {
 public:
  Env(const char* name, const std::string& value, bool set = true) : name_(set ? name : "") {
    if (set) setenv(name, value.c_str(), 1);
  }
  ~Env() {
    if (!name_.empty()) unsetenv(name_.c_str());
  }
  Env(const Env&) = delete;
  Env& operator=(const Env&) = delete;

 private:
  std::string name_;
};

void checkShape(rondoComm_t comm, MPI_Comm like) {
  int wantRank = -1, wantSize = -1, got = -1;
  MPI_Comm_rank(like, &wantRank);
  MPI_Comm_size(like, &wantSize);
  CHECK(rondoCommUserRank(comm, &got) == rondoSuccess && got == wantRank);
  CHECK(rondoCommCount(comm, &got) == rondoSuccess && got == wantSize);
  CHECK(rondoCommLocalRank(comm, &got) == rondoSuccess && got == wantRank);
  CHECK(rondoCommLocalSize(comm, &got) == rondoSuccess && got == wantSize);
}

void makeAndCheck(MPI_Comm from) {
  rondoComm_t comm = nullptr;
  CHECK(rondoCommInitMPI(&comm, from, nullptr) == rondoSuccess);
  if (comm == nullptr) return;
  checkShape(comm, from);
  CHECK(rondoCommDestroy(comm) == rondoSuccess);
}

void shapes() {
  makeAndCheck(MPI_COMM_WORLD);
  makeAndCheck(MPI_COMM_SELF);
  MPI_Comm other;
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  makeAndCheck(other);
  MPI_Comm_free(&other);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &other);  // two at once, ranks reversed
  makeAndCheck(other);
  MPI_Comm_free(&other);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &other);
  makeAndCheck(other);
  MPI_Comm_free(&other);
}

// Many at once, until the pool of shared memory is used up: an error on all ranks, and no more.
void many() {
  std::vector<rondoComm_t> all;
  rondoResult_t result = rondoSuccess;
  while (all.size() < 300) {
    rondoComm_t comm = nullptr;
    result = rondoCommInitMPI(&comm, MPI_COMM_WORLD, nullptr);
    if (result != rondoSuccess) break;
    all.push_back(comm);
  }
  CHECK(all.size() >= 4);
  CHECK(result == rondoSuccess || says("RONDO_POOL_BYTES"));
  long mine[2] = {static_cast<long>(all.size()), -static_cast<long>(all.size())}, most[2];
  MPI_Allreduce(mine, most, 2, MPI_LONG, MPI_MAX, MPI_COMM_WORLD);
  CHECK(most[0] == -most[1]);  // the same number everywhere
  if (rank == 0) std::printf("%zu communicators of %d ranks at once\n", all.size(), ranks);
  for (rondoComm_t comm : all) CHECK(rondoCommDestroy(comm) == rondoSuccess);
  makeAndCheck(MPI_COMM_WORLD);
}

// The application's communicator may abort on errors; the door must see the handle is bad first.
void badHandles() {
  rondoComm_t comm = reinterpret_cast<rondoComm_t>(&failures);
  const rondoComm_t before = comm;
  CHECK(rondoCommInitMPI(&comm, MPI_COMM_NULL, nullptr) == rondoInvalidArgument);
  CHECK(says("MPI_COMM_NULL"));
  CHECK(rondoCommFromMPI(MPI_COMM_NULL, &comm) == rondoInvalidArgument);
  CHECK(rondoCommInitMPI(nullptr, MPI_COMM_WORLD, nullptr) == rondoInvalidArgument);
  CHECK(says("comm is NULL"));
  CHECK(rondoCommFromMPI(MPI_COMM_WORLD, nullptr) == rondoInvalidArgument);
  // On one rank only: told to all, nobody waits.
  rondoComm_t* const out = rank == ranks - 1 ? nullptr : &comm;
  CHECK(rondoCommInitMPI(out, MPI_COMM_WORLD, nullptr) == rondoInvalidArgument);
  CHECK(ranks == 1 || says("rank " + std::to_string(ranks - 1) + ": "));
  if (ranks > 1) {
    MPI_Comm half, inter;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank % 2 == 0 ? 1 : 0, 5, &inter);
    CHECK(rondoCommInitMPI(&comm, inter, nullptr) == rondoInvalidArgument);
    CHECK(says("inter-communicator"));
    CHECK(rondoCommFromMPI(inter, &comm) == rondoInvalidArgument);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
  }
  CHECK(comm == before);  // an output is written on success only
}

void disagreements() {
  const int last = ranks - 1;
  rondoComm_t comm = nullptr;
  {
    Env bad("RONDO_EXPLAIN", "maybe", rank == last);
    CHECK(rondoCommInitMPI(&comm, MPI_COMM_WORLD, nullptr) == rondoInvalidArgument);
    CHECK(says("RONDO_EXPLAIN") && says("maybe"));
    CHECK(ranks == 1 || says("rank " + std::to_string(last) + ": "));
  }
  {
    rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
    if (rank == last) config.device = -77;
    CHECK(rondoCommInitMPI(&comm, MPI_COMM_WORLD, &config) == rondoInvalidArgument);
    CHECK(says("-77"));
  }
  if (ranks > 1) {
    Env differs("RONDO_POOL_BYTES", "8M", rank == last);
    CHECK(rondoCommInitMPI(&comm, MPI_COMM_WORLD, nullptr) == rondoInvalidUsage);
    CHECK(says("rank " + std::to_string(last) + " has RONDO_POOL_BYTES=\"8388608\""));
    CHECK(says("RONDO_POOL_BYTES=\"16777216\""));
  }
  if (ranks > 1) {
    Env host("RONDO_HOSTID", "elsewhere", rank == last);
    CHECK(rondoCommInitMPI(&comm, MPI_COMM_WORLD, nullptr) == rondoSuccess);
    int localSize = 0, device = 0;
    CHECK(rondoCommLocalSize(comm, &localSize) == rondoSuccess);
    CHECK(localSize == (rank == last ? 1 : ranks - 1));
    CHECK(rondoCommCuDevice(comm, &device) == rondoSuccess && device == RONDO_DEVICE_NONE);
    CHECK(rondoBarrier(comm, nullptr) == rondoSuccess);
    CHECK(rondoCommDestroy(comm) == rondoSuccess);
    comm = nullptr;
    makeAndCheck(MPI_COMM_SELF);
  }
  if (ranks > 1) {  // a rank that would use another network than the others
    Env host("RONDO_HOSTID", "elsewhere", rank == last);
    Env network("UCX_NET_DEVICES", "none7", rank == last);
    CHECK(rondoCommInitMPI(&comm, MPI_COMM_WORLD, nullptr) == rondoInvalidUsage);
    CHECK(says("rank " + std::to_string(last) + " has UCX_NET_DEVICES=\"none7\""));
  }
  CHECK(comm == nullptr);
  makeAndCheck(MPI_COMM_WORLD);  // none of it left anything behind
}

void cached() {
  MPI_Comm mine;
  MPI_Comm_dup(MPI_COMM_WORLD, &mine);
  rondoComm_t first = nullptr, second = nullptr, other = nullptr;
  CHECK(rondoCommFromMPI(mine, &first) == rondoSuccess);
  checkShape(first, mine);
  usleep(static_cast<useconds_t>(rank) * 1000);
  CHECK(rondoCommFromMPI(mine, &second) == rondoSuccess && second == first);  // local now
  CHECK(rondoCommDestroy(first) == rondoInvalidUsage);
  CHECK(says("belongs to an MPI communicator"));
  checkShape(first, mine);  // still good
  MPI_Comm copy;
  MPI_Comm_dup(mine, &copy);  // does not inherit it
  CHECK(rondoCommFromMPI(copy, &other) == rondoSuccess && other != first);
  MPI_Comm_free(&copy);
  MPI_Comm_free(&mine);
  // Freed at different times: nobody waits for anybody inside. Of three times the shortest counts,
  // for others may keep the machine busy.
  double least = 1e9;
  for (int i = 0; i < 3; ++i) {
    MPI_Comm_dup(MPI_COMM_WORLD, &mine);
    CHECK(rondoCommFromMPI(mine, &first) == rondoSuccess);
    MPI_Barrier(MPI_COMM_WORLD);
    usleep(static_cast<useconds_t>(rank) * 100000);
    const double start = millis();
    MPI_Comm_free(&mine);
    least = std::min(least, millis() - start);
  }
  CHECK(least < 80);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < 50; ++i) {
    MPI_Comm_dup(MPI_COMM_WORLD, &mine);
    CHECK(rondoCommFromMPI(mine, &first) == rondoSuccess);
    MPI_Comm_free(&mine);
  }
}

// One rank is still inside an MPI operation that needs another's progress, and that other is
// already making a communicator.
void lateRank() {
  std::vector<char> data(8u << 20, static_cast<char>(rank));
  const auto bytes = static_cast<int>(data.size());
  rondoComm_t comm = nullptr;
  for (int round = 0; round < 3; ++round) {
    if (rank == ranks - 1) usleep(50000);
    MPI_Bcast(data.data(), bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
    CHECK(rondoCommInitMPI(&comm, MPI_COMM_WORLD, nullptr) == rondoSuccess);
    CHECK(rondoCommDestroy(comm) == rondoSuccess);
    // The sender of a rendezvous message goes ahead into the door; its receiver comes late.
    MPI_Request request = MPI_REQUEST_NULL;
    if (rank == 0 && ranks > 1) {
      MPI_Isend(data.data(), bytes, MPI_BYTE, ranks - 1, 3, MPI_COMM_WORLD, &request);
    }
    if (rank == ranks - 1 && ranks > 1) {
      usleep(50000);
      MPI_Recv(data.data(), bytes, MPI_BYTE, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    CHECK(rondoCommInitMPI(&comm, MPI_COMM_WORLD, nullptr) == rondoSuccess);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(rondoCommDestroy(comm) == rondoSuccess);
  }
}

// The same, but the sender waits inside a collective of Rondo: its wait must poll MPI.
void lateInBarrier() {
  std::vector<char> data(8u << 20);
  const auto bytes = static_cast<int>(data.size());
  rondoComm_t comm = nullptr;
  CHECK(rondoCommInitMPI(&comm, MPI_COMM_WORLD, nullptr) == rondoSuccess);
  MPI_Request request = MPI_REQUEST_NULL;
  if (rank == 0 && ranks > 1) {
    MPI_Isend(data.data(), bytes, MPI_BYTE, ranks - 1, 4, MPI_COMM_WORLD, &request);
  }
  if (rank == ranks - 1 && ranks > 1) {
    MPI_Recv(data.data(), bytes, MPI_BYTE, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  CHECK(rondoBarrier(comm, nullptr) == rondoSuccess);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(rondoCommDestroy(comm) == rondoSuccess);
}

void threads() {
  int level = 0;
  MPI_Query_thread(&level);
  rondoComm_t comm = nullptr;
  rondoResult_t result = rondoSuccess;
  if (level < MPI_THREAD_SERIALIZED) {
    std::thread([&] { result = rondoCommInitMPI(&comm, MPI_COMM_WORLD, nullptr); }).join();
    CHECK(result == rondoInvalidUsage && comm == nullptr);
  }
  CHECK(rondoCommInitMPI(&comm, MPI_COMM_WORLD, nullptr) == rondoSuccess);
  // Another thread may wait in Rondo; below MPI_THREAD_MULTIPLE it leaves MPI alone.
  std::thread([&] { result = rondoBarrier(comm, nullptr); }).join();
  CHECK(result == rondoSuccess);
  CHECK(rondoCommDestroy(comm) == rondoSuccess);
}

void bootTime() {
  constexpr int kTimes = 5;
  double least = 1e9;
  for (int i = 0; i < kTimes; ++i) {
    rondoComm_t comm = nullptr;
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = millis();
    CHECK(rondoCommInitMPI(&comm, MPI_COMM_WORLD, nullptr) == rondoSuccess);
    double mine = millis() - start, worst = 0;
    MPI_Allreduce(&mine, &worst, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0) std::printf("boot of %d ranks: %.2f ms\n", ranks, worst);
    if (worst < least) least = worst;
    CHECK(rondoCommDestroy(comm) == rondoSuccess);
  }
  CHECK(least < 250);
}

double finalizeBegan = 0;

// Set on MPI_COMM_SELF before Rondo's own: MPI deletes it after Rondo's.
int afterRondo(MPI_Comm, int, void*, void*) {
  const double took = millis() - finalizeBegan;
  // Had it waited for rank 0, it were 600 ms and more; a slow day takes less.
  if (took > 80) {
    if (rank > 0 && took > 500) ++failures;
    std::printf("rank %d: Rondo's end held MPI_Finalize up for %.1f ms\n", rank, took);
  }
  rondoComm_t comm = nullptr;
  const rondoResult_t result = rondoCommInitMPI(&comm, MPI_COMM_WORLD, nullptr);
  if (finalizeBegan > 0 && result != rondoInvalidUsage) {
    ++failures;
    std::printf("rank %d: a communicator was made inside MPI_Finalize\n", rank);
  }
  return MPI_SUCCESS;
}

// Ranks reach MPI_Finalize at different times, with communicators left of both kinds.
void leaveSomeBehind() {
  rondoComm_t comm = nullptr;
  for (int i = 0; i < 3; ++i) {
    CHECK(rondoCommInitMPI(&comm, MPI_COMM_WORLD, nullptr) == rondoSuccess);
  }
  MPI_Comm leaked;
  MPI_Comm_dup(MPI_COMM_WORLD, &leaked);
  for (MPI_Comm from : {MPI_COMM_WORLD, MPI_COMM_SELF, leaked}) {
    CHECK(rondoCommFromMPI(from, &comm) == rondoSuccess);
  }
}

struct Section {
  const char* name;
  std::function<void()> run;
};
const Section kSections[] = {{"shapes", shapes},          {"many", many},
                             {"bad-handles", badHandles}, {"disagree", disagreements},
                             {"cached", cached},          {"late", lateRank},
                             {"barrier", lateInBarrier},  {"threads", threads},
                             {"time", bootTime},          {"leave", leaveSomeBehind}};

}  // namespace

int main(int argc, char** argv) {
  rondoComm_t comm = nullptr;
  CHECK(rondoCommInitMPI(&comm, MPI_COMM_WORLD, nullptr) == rondoInvalidUsage);
  CHECK(says("not initialised"));
  // Open MPI then moves large messages in pieces that both sides push, as over a network: what the
  // sections `late` and `barrier` are about.
  setenv("OMPI_MCA_btl_vader_single_copy_mechanism", "none", 0);
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int key = MPI_KEYVAL_INVALID;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, afterRondo, &key, nullptr);
  MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr);

  for (const Section& section : kSections) {
    bool wanted = argc == 1;
    for (int i = 1; i < argc; ++i) wanted = wanted || section.name == std::string(argv[i]);
    if (!wanted) continue;
    section.run();
    MPI_Barrier(MPI_COMM_WORLD);
  }
  int all = 0;
  MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) std::printf("boot_test on %d ranks: %d failed checks\n", ranks, all);
  std::fflush(stdout);
  if (rank == 0 && ranks > 1) usleep(600000);
  finalizeBegan = millis();
  MPI_Finalize();
  CHECK(rondoCommInitMPI(&comm, MPI_COMM_WORLD, nullptr) == rondoInvalidUsage);
  CHECK(says("finalised"));
  return failures > 0 ? 1 : 0;
}
