// hosts_rank's sums on device memory, without a GPU: the kernels' code runs on threads
// (tests/support/pretended_device.h), everything else is what a GPU has.
//
// far_rank FILE RANKS RANK COUNT [shrink|shrink-but-1]: as hosts_rank; with the second all but rank
// 1, which on a host of its own would need a real device.
// far_rank FILE RANKS RANK COUNT sends: instead, in three rounds, COUNT numbers to the next rank
// and from the one before, and says how often the network itself wrote a piece of them.
// far_rank FILE RANKS RANK COUNT leaves: rank 0 broadcasts COUNT numbers, and its process ends,
// with the communicator, as soon as its stream has; the others wait for them. A stream that has
// ended with wrong data while the communicator says that all is well is an error, and so are
// threads that do not sleep once the communicators are gone.

#include <dirent.h>

#include "api/device_group.h"
#include "api/handle.h"
#include "api/join.h"
#include "support/hosts_job.h"
#include "support/pretended_device.h"

namespace rondo::testing {
namespace {

rondoComm_t join(const Job& job, std::atomic<int>* arrived) {
  Joining joining = prepareJoining("far_rank", meet(job), job.ranks, job.rank, nullptr);
  joining.config.farDevice = [arrived](int) { return std::make_unique<PretendedDevice>(arrived); };
  rondoComm_t comm = nullptr;
  if (rondo::join("far_rank", &comm, joining, {}) != rondoSuccess) fail(job, "joining", nullptr);
  return comm;
}

/// What the program knows once its stream has ended.
rondoResult_t stateOf(rondoComm_t comm) {
  rondoResult_t state = rondoSuccess;
  const rondoResult_t asked = rondoCommGetAsyncError(comm, &state);
  return asked == rondoSuccess ? state : asked;
}

/// Of the threads that serve kernels, so far.
double farSeconds() {
  double ns = 0;
  DIR* const folder = opendir("/proc/self/task");
  while (const dirent* const entry = folder == nullptr ? nullptr : readdir(folder)) {
    const std::string task = std::string("/proc/self/task/") + entry->d_name;
    std::string name;
    double ran = 0;
    std::getline(std::ifstream(task + "/comm"), name);
    std::ifstream(task + "/schedstat") >> ran;
    if (name == "rondo-far") ns += ran;
  }
  if (folder != nullptr) closedir(folder);
  return ns * 1e-9;
}

int runSends(const Job& job) {
  std::atomic<int> arrived{0};
  rondoComm_t comm = join(job, &arrived);
  PretendedStream stream;
  const int next = (job.rank + 1) % job.ranks, before = (job.rank + job.ranks - 1) % job.ranks;
  for (int32_t round = 0; round < 3; ++round) {
    // Gone after the round, so that the next one's lie at the same place: a card that still knew
    // the old pages would send those.
    std::vector<int32_t> out(job.count), in(job.count, -1);
    for (size_t i = 0; i < job.count; ++i) {
      out[i] = job.rank * 1000 + round * 100 + static_cast<int32_t>(i);
    }
    const uint64_t bytes = job.count * sizeof(int32_t);
    const Transfer both[] = {{next, true, reinterpret_cast<char*>(out.data()), bytes},
                             {before, false, reinterpret_cast<char*>(in.data()), bytes}};
    if (runOnDevice(comm, {"rondoSendRecv", both, stream.handle()}) != rondoSuccess) {
      fail(job, "a send", comm);
    }
    stream.synchronize();
    if (stateOf(comm) != rondoSuccess) fail(job, "what was sent", comm);
    for (size_t i = 0; i < job.count; ++i) {
      if (in[i] != before * 1000 + round * 100 + static_cast<int32_t>(i)) {
        fail(job, "wrong data", comm);
      }
    }
  }
  rondoCommDestroy(comm);
  std::printf("rank %d: the network wrote %d pieces\n", job.rank, arrived.load());
  std::fflush(stdout);
  return 0;
}

int runLeaves(const Job& job) {
  rondoComm_t comm = join(job, nullptr);
  PretendedStream stream;
  std::vector<int32_t> data(job.count), got(job.count, -1);
  for (size_t i = 0; i < job.count; ++i) data[i] = static_cast<int32_t>(i * 7 + 1);
  if (job.rank == 0) usleep(300'000);
  const rondoResult_t started =
      runOnDevice(comm, DeviceCall{"rondoBroadcast", Collective::Broadcast, data.data(), got.data(),
                                   job.count, rondoInt32, rondoSum, 0, stream.handle(), nullptr});
  if (started != rondoSuccess) fail(job, "a broadcast", comm);
  stream.synchronize();
  if (got != data) fail(job, "wrong data", comm);  // that rank 0 has ended may be known by now
  std::printf("rank %d: has it\n", job.rank);
  std::exit(0);
}

int run(const Job& job) {
  if (job.then == "sends") return runSends(job);
  if (job.then == "leaves") return runLeaves(job);
  rondoComm_t comm = join(job, nullptr);
  PretendedStream stream;
  const auto sumOf = [&](rondoComm_t on, const std::vector<int32_t>& in,
                         std::vector<int32_t>& out) {
    const rondoResult_t started =
        runOnDevice(on, DeviceCall{"rondoAllReduce", Collective::AllReduce, in.data(), out.data(),
                                   in.size(), rondoInt32, rondoSum, 0, stream.handle(), nullptr});
    stream.synchronize();
    return started == rondoSuccess ? stateOf(on) : started;
  };
  uint64_t calls = 0;
  Clock::time_point last;
  const auto start = Clock::now();
  const rondoResult_t result = sumUntil(job, comm, sumOf, job.file + ".stop", &calls, &last);
  if (result != rondoSuccess) {
    sayError(job, result, last, comm);
    if (job.then == "shrink" || (job.then == "shrink-but-1" && job.rank != 1)) {
      goOn(job, comm, sumOf);
    }
  } else {
    std::printf("rank %d: %llu sums in %.1f s\n", job.rank, static_cast<unsigned long long>(calls),
                secondsSince(start));
  }
  rondoCommDestroy(comm);
  usleep(100'000);  // they look on for a moment
  const double before = farSeconds();
  usleep(300'000);
  const double spent = farSeconds() - before;
  if (spent > 0.01) {
    std::printf("rank %d: WRONG: threads took %.3f s of a core for nothing\n", job.rank, spent);
    return 1;
  }
  std::fflush(stdout);
  return 0;
}

}  // namespace
}  // namespace rondo::testing

int main(int count, char** words) {
  return rondo::testing::run(rondo::testing::readJob(count, words));
}
