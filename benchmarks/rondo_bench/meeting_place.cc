#include "meeting_place.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

namespace rondo::bench {
namespace {

using Path = std::array<char, 64>;

/// Whether something holds on all ranks.
bool all(bool here, MPI_Comm comm) {
  int yes = here ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &yes, 1, MPI_INT, MPI_LAND, comm);
  return yes != 0;
}

bool oneHost(MPI_Comm comm, int ranks) {
  MPI_Comm near = MPI_COMM_NULL;
  MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &near);
  int there = 0;
  MPI_Comm_size(near, &there);
  MPI_Comm_free(&near);
  return all(there == ranks, comm);
}

/// Whether the cores that the ranks may use, together, are as many as they.
bool coreForEach(MPI_Comm comm, int ranks) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  sched_getaffinity(0, sizeof cores, &cores);
  MPI_Allreduce(MPI_IN_PLACE, &cores, static_cast<int>(sizeof cores), MPI_BYTE, MPI_BOR, comm);
  return CPU_COUNT(&cores) >= ranks;
}

/// A new file of zeros in memory, or -1; its name goes to `path`.
int makeFile(size_t bytes, Path& path) {
  path = {"/dev/shm/rondo-bench-XXXXXX"};
  const int file = mkostemp(path.data(), O_CLOEXEC);
  if (file >= 0 && ftruncate(file, static_cast<off_t>(bytes)) == 0) return file;
  if (file >= 0) {
    unlink(path.data());
    close(file);
  }
  path[0] = '\0';
  return -1;
}

/// The others wait for what this rank's MPI still has to do, or for its core.
void letOthersGoOn() {
  int any = 0;
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &any, MPI_STATUS_IGNORE);
  sched_yield();
}

}  // namespace

MeetingPlace::MeetingPlace(MPI_Comm comm, bool wanted) {
  int rank = 0, ranks = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  std::string why;
  const bool near = oneHost(comm, ranks);
  crowded_ = near && !coreForEach(comm, ranks);
  if (!wanted) {
    why = ", as asked for";
  } else if (!near) {
    why = ": several hosts";
  } else if (crowded_) {
    why = ": more ranks than cores";
  } else if (map(comm, rank, ranks); lines_ == nullptr) {
    why = ": no shared memory";
  }
  text_ = "MPI_Barrier" + why;
  if (lines_ == nullptr) return;
  meeting_.emplace(lines_, rank, ranks, letOthersGoOn);
  text_ = "flags in shared memory, then one start by the clock";
}

MeetingPlace::~MeetingPlace() {
  if (lines_ != nullptr) munmap(lines_, bytes_);
}

/// Leaves lines_ at nullptr on all ranks if one of them cannot have them.
void MeetingPlace::map(MPI_Comm comm, int rank, int ranks) {
  bytes_ = (static_cast<size_t>(ranks) + 1) * sizeof(MeetingLine);
  Path path{};
  int file = rank == 0 ? makeFile(bytes_, path) : -1;
  MPI_Bcast(path.data(), static_cast<int>(path.size()), MPI_CHAR, 0, comm);
  if (rank != 0 && path[0] != '\0') file = open(path.data(), O_RDWR | O_CLOEXEC);
  if (file >= 0) {
    void* const memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory != MAP_FAILED) lines_ = static_cast<MeetingLine*>(memory);
    close(file);
  }
  const bool have = all(lines_ != nullptr, comm);
  if (rank == 0 && path[0] != '\0') unlink(path.data());
  if (have || lines_ == nullptr) return;
  munmap(lines_, bytes_);
  lines_ = nullptr;
}

}  // namespace rondo::bench
