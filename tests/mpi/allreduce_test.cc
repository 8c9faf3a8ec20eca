// All-reduce on communicators made from MPI's, equal in every bit to MPI_Allreduce on numbers that
// are exact; then what it costs: descriptors and shared memory.
// Usage: mpirun -n N allreduce_test [die]; die: rank 1 kills itself between two calls.

#include <dirent.h>
#include <mpi.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "rondo_mpi.h"

namespace {

int rank = 0, ranks = 1;
int failures = 0;

void check(bool good, const std::string& what, int line) {
  if (good) return;
  ++failures;
  std::printf("allreduce_test.cc:%d: rank %d of %d: %s; last error: \"%s\"\n", line, rank, ranks,
              what.c_str(), rondoGetLastError(nullptr));
  std::fflush(stdout);
}
#define CHECK(condition) check((condition), #condition, __LINE__)

struct Pair {
  rondoDataType_t type;
  MPI_Datatype mpi;
  size_t bytes;
};
const Pair kTypes[] = {{rondoInt8, MPI_INT8_T, 1},   {rondoUint8, MPI_UINT8_T, 1},
                       {rondoInt16, MPI_INT16_T, 2}, {rondoUint16, MPI_UINT16_T, 2},
                       {rondoInt32, MPI_INT32_T, 4}, {rondoUint32, MPI_UINT32_T, 4},
                       {rondoInt64, MPI_INT64_T, 8}, {rondoUint64, MPI_UINT64_T, 8},
                       {rondoFloat32, MPI_FLOAT, 4}, {rondoFloat64, MPI_DOUBLE, 8}};
const struct {
  rondoRedOp_t op;
  MPI_Op mpi;
} kOps[] = {{rondoSum, MPI_SUM}, {rondoProd, MPI_PROD}, {rondoMax, MPI_MAX}, {rondoMin, MPI_MIN}};

/// Small numbers: sums and products of a few ranks are exact in every type.
void fill(std::vector<char>& bytes, const Pair& type, int seed) {
  const size_t count = bytes.size() / type.bytes;
  for (size_t i = 0; i < count; ++i) {
    const auto value = static_cast<int>((i * 3 + static_cast<size_t>(seed) * 5) % 4);
    char* at = bytes.data() + i * type.bytes;
    if (type.type == rondoFloat32) {
      const float x = static_cast<float>(value);
      std::memcpy(at, &x, 4);
    } else if (type.type == rondoFloat64) {
      const double x = value;
      std::memcpy(at, &x, 8);
    } else {
      std::memset(at, 0, type.bytes);
      *at = static_cast<char>(value);  // little endian
    }
  }
}

void compare(rondoComm_t comm, MPI_Comm mpi, size_t count, bool inPlace) {
  int me = 0;
  MPI_Comm_rank(mpi, &me);
  for (const Pair& type : kTypes) {
    std::vector<char> in(count * type.bytes), expected(in.size()), out(in.size(), 0x77);
    fill(in, type, me);
    for (const auto& op : kOps) {
      MPI_Allreduce(in.data(), expected.data(), static_cast<int>(count), type.mpi, op.mpi, mpi);
      if (inPlace) out = in;
      const void* send = inPlace ? out.data() : in.data();
      const rondoResult_t result =
          rondoAllReduce(send, out.data(), count, type.type, op.op, comm, nullptr);
      CHECK(result == rondoSuccess);
      check(out == expected,
            "type " + std::to_string(type.type) + " op " + std::to_string(op.op) + " count " +
                std::to_string(count) + (inPlace ? " in place" : "") + " differs from MPI",
            __LINE__);
    }
  }
}

void compareOver(MPI_Comm mpi, std::initializer_list<size_t> counts) {
  rondoComm_t comm = nullptr;
  CHECK(rondoCommInitMPI(&comm, mpi, nullptr) == rondoSuccess);
  if (comm == nullptr) return;
  for (const size_t count : counts) {
    compare(comm, mpi, count, false);
    compare(comm, mpi, count, true);
  }
  CHECK(rondoBarrier(comm, nullptr) == rondoSuccess);
  CHECK(rondoCommDestroy(comm) == rondoSuccess);
}

void communicators() {
  MPI_Comm other;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &other);
  compareOver(other, {1, 1000});
  MPI_Comm_free(&other);
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  compareOver(other, {17, 20000});
  // Two at once, used in turn, of different shapes.
  rondoComm_t all = nullptr, cached = nullptr;
  CHECK(rondoCommInitMPI(&all, MPI_COMM_WORLD, nullptr) == rondoSuccess);
  CHECK(rondoCommFromMPI(other, &cached) == rondoSuccess);
  for (const size_t count : {3, 5000, 40}) {
    compare(all, MPI_COMM_WORLD, count, false);
    compare(cached, other, count, true);
  }
  CHECK(rondoCommDestroy(all) == rondoSuccess);
  MPI_Comm_free(&other);
}

int openDescriptors() {
  int count = 0;
  DIR* dir = opendir("/proc/self/fd");
  while (readdir(dir) != nullptr) ++count;
  closedir(dir);
  return count;
}

/// KiB of this process's own segment that are there at all, whoever touched them: the file's
/// blocks.
uint64_t ownSharedKiB() {
  uint64_t most = 0;
  DIR* dir = opendir("/proc/self/fd");
  while (const dirent* entry = readdir(dir)) {
    const std::string path = std::string("/proc/self/fd/") + entry->d_name;
    char target[256] = "";
    if (readlink(path.c_str(), target, sizeof target - 1) <= 0) continue;
    if (std::string(target).find("memfd:rondo") == std::string::npos) continue;
    struct stat status;
    if (stat(path.c_str(), &status) == 0) {
      most = std::max(most, static_cast<uint64_t>(status.st_blocks) / 2);
    }
  }
  closedir(dir);
  return most;
}

void costs() {
  const int before = openDescriptors();
  std::vector<rondoComm_t> comms(4);
  for (rondoComm_t& comm : comms) {
    CHECK(rondoCommInitMPI(&comm, MPI_COMM_WORLD, nullptr) == rondoSuccess);
  }
  std::vector<float> in(4 << 20, 1), out(in.size());
  for (rondoComm_t comm : comms) {
    for (const size_t count : {1, 1000, 65536, 1 << 20, 4 << 20}) {
      CHECK(rondoAllReduce(in.data(), out.data(), count, rondoFloat32, rondoSum, comm, nullptr) ==
            rondoSuccess);
      CHECK(out[count - 1] == static_cast<float>(ranks));
    }
  }
  const int grown = openDescriptors() - before;
  check(grown <= 2 + 2 * ranks, "opened " + std::to_string(grown) + " descriptors", __LINE__);
  const uint64_t shared = ownSharedKiB();
  check(ranks == 1 || (shared > 0 && shared <= 16 << 10),
        "holds " + std::to_string(shared) + " KiB of shared memory; allowed: 16 MiB", __LINE__);
  for (rondoComm_t comm : comms) CHECK(rondoCommDestroy(comm) == rondoSuccess);
  if (rank == 0) {
    std::printf("descriptors of 4 communicators: %d, shared memory of a rank: %llu KiB\n", grown,
                static_cast<unsigned long long>(shared));
  }
}

void die() {
  rondoComm_t comm = nullptr;
  CHECK(rondoCommInitMPI(&comm, MPI_COMM_WORLD, nullptr) == rondoSuccess);
  std::vector<float> data(100000, 1);
  for (int i = 0;; ++i) {
    if (rank == 1 && i == 20) {
      std::printf("rank 1 dies now\n");
      std::fflush(stdout);
      usleep(100000);  // mpirun forwards the line
      kill(getpid(), SIGKILL);
    }
    if (rondoAllReduce(data.data(), data.data(), data.size(), rondoFloat32, rondoMax, comm,
                       nullptr) != rondoSuccess) {
      break;
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc > 1 && std::string(argv[1]) == "die") {
    die();
  } else {
    compareOver(MPI_COMM_WORLD, {1, 2, 3, 17, 1000, 8191, 8192, 8193, 65537, 300001});
    communicators();
    costs();
  }
  MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return failures == 0 ? 0 : 1;
}
