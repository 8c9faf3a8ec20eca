// An NCCL program that a script spreads over hosts; its buffers are host memory, so that it needs
// no GPU.
//
// hosts_nccl FILE RANKS RANK COUNT: rank 0 writes the id to FILE. All collectives and sends of
// COUNT numbers, compared; then a split, and all-reduces until FILE.stop exists, or one fails: that
// must be ncclRemoteError, which ncclCommGetAsyncError knows, too, and after ncclCommShrink the
// others go on until FILE.end exists. Says "rank R: ..." and writes its process id to FILE.pid.RANK
// once the first part is over. Exit status 1 when something was wrong.

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "drop_in/nccl_calls.h"

namespace {

using nccl_test::kInt32;
using nccl_test::kSum;
using Ints = std::vector<int32_t>;

constexpr int kDead = 2;         // who is killed
constexpr int kShrinkAbort = 1;  // NCCL_SHRINK_ABORT

std::string file;
int ranks = 0, rank = 0;
size_t count = 0;

[[noreturn]] void fail(const std::string& what) {
  std::printf("rank %d: WRONG: %s: %s\n", rank, what.c_str(), ncclGetLastError(nullptr));
  std::fflush(stdout);
  _exit(1);
}
void good(ncclResult_t result, const char* what) {
  if (result != ncclSuccess) fail(what);
}
bool exists(const std::string& name) { return access(name.c_str(), F_OK) == 0; }
void write(const std::string& name, const void* bytes, size_t length) {
  std::ofstream(name + ".new").write(static_cast<const char*>(bytes), static_cast<long>(length));
  if (std::rename((name + ".new").c_str(), name.c_str()) != 0) fail(name);
}

ncclComm_t join() {
  ncclUniqueId id{};
  if (rank == 0) {
    good(ncclGetUniqueId(&id), "ncclGetUniqueId");
    write(file, &id, sizeof id);
  } else {
    for (int i = 0; i < 4000 && !exists(file); ++i) usleep(5000);
    std::ifstream(file).read(reinterpret_cast<char*>(&id), sizeof id);
  }
  ncclComm_t comm = nullptr;
  good(ncclCommInitRank(&comm, ranks, id, rank), "ncclCommInitRank");
  return comm;
}

int32_t element(int of, size_t i) { return of * 1'000'003 + static_cast<int32_t>(i) * 7; }
int32_t sum(size_t i) {
  int32_t all = 0;
  for (int r = 0; r < ranks; ++r) all += element(r, i);
  return all;
}

void expect(const char* what, const Ints& got, const std::function<int32_t(size_t)>& wanted) {
  for (size_t i = 0; i < got.size(); ++i) {
    if (got[i] != wanted(i)) fail(std::string(what) + " at " + std::to_string(i));
  }
}

void collectives(ncclComm_t comm) {
  const auto n = static_cast<size_t>(ranks), mine = static_cast<size_t>(rank);
  const int root = ranks - 1;
  Ints in(n * count), one(count), all(n * count);
  for (size_t i = 0; i < in.size(); ++i) in[i] = element(rank, i);
  const auto slotOf = [](size_t i) { return element(static_cast<int>(i / count), i % count); };
  good(ncclAllReduce(in.data(), one.data(), count, kInt32, kSum, comm, nullptr), "ncclAllReduce");
  expect("ncclAllReduce", one, sum);
  good(ncclBroadcast(in.data(), one.data(), count, kInt32, root, comm, nullptr), "ncclBroadcast");
  expect("ncclBroadcast", one, [root](size_t i) { return element(root, i); });
  good(ncclReduceScatter(in.data(), one.data(), count, kInt32, kSum, comm, nullptr),
       "ncclReduceScatter");
  expect("ncclReduceScatter", one, [&](size_t i) { return sum(mine * count + i); });
  good(ncclAllGather(in.data(), all.data(), count, kInt32, comm, nullptr), "ncclAllGather");
  expect("ncclAllGather", all, slotOf);
  good(ncclAlltoAll(in.data(), all.data(), count, kInt32, comm, nullptr), "ncclAlltoAll");
  expect("ncclAlltoAll", all,
         [&](size_t i) { return element(static_cast<int>(i / count), mine * count + i % count); });
  good(ncclGather(in.data(), all.data(), count, kInt32, root, comm, nullptr), "ncclGather");
  if (rank == root) expect("ncclGather", all, slotOf);
  const int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
  good(ncclGroupStart(), "ncclGroupStart");
  good(ncclSend(in.data(), count, kInt32, next, comm, nullptr), "ncclSend");
  good(ncclRecv(one.data(), count, kInt32, before, comm, nullptr), "ncclRecv");
  good(ncclGroupEnd(), "ncclGroupEnd");
  expect("ncclRecv", one, [before](size_t i) { return element(before, i); });
}

/// Every second rank, on whichever host.
void split(ncclComm_t comm) {
  ncclComm_t part = nullptr;
  good(ncclCommSplit(comm, rank % 2, rank, &part, nullptr), "ncclCommSplit");
  int32_t value = rank, wanted = 0;
  for (int r = rank % 2; r < ranks; r += 2) wanted += r;
  good(ncclAllReduce(&value, &value, 1, kInt32, kSum, part, nullptr), "a sum of a part");
  if (value != wanted) fail("a sum of a part");
  good(ncclCommDestroy(part), "ncclCommDestroy");
}

/// Until `stop` exists as the first rank of `comm` sees it, or a call fails.
ncclResult_t sumUntil(ncclComm_t comm, const std::string& stop) {
  int me = 0, size = 0;
  good(ncclCommUserRank(comm, &me), "ncclCommUserRank");
  good(ncclCommCount(comm, &size), "ncclCommCount");
  for (;;) {
    const Ints in(count + 1, me == 0 && exists(stop) ? 2 : 1);
    Ints out(count + 1);
    const ncclResult_t result =
        ncclAllReduce(in.data(), out.data(), in.size(), kInt32, kSum, comm, nullptr);
    if (result != ncclSuccess) return result;
    const int32_t first = out[0];
    expect("a sum", out, [first](size_t) { return first; });
    if (first == size + 1) return ncclSuccess;
    if (first != size) fail("a sum");
  }
}

void goOn(ncclComm_t comm) {
  ncclResult_t state = ncclSuccess;
  good(ncclCommGetAsyncError(comm, &state), "ncclCommGetAsyncError");
  if (state != ncclRemoteError) fail("ncclCommGetAsyncError says " + std::to_string(state));
  ncclComm_t rest = nullptr;
  int dead = kDead;
  good(ncclCommShrink(comm, &dead, 1, &rest, nullptr, kShrinkAbort), "ncclCommShrink");
  int left = 0;
  good(ncclCommCount(rest, &left), "ncclCommCount");
  good(sumUntil(rest, file + ".end"), "a sum of those who are left");
  std::printf("rank %d: shrunk to %d in some time, then sums\n", rank, left);
  good(ncclCommDestroy(rest), "ncclCommDestroy");
}

}  // namespace

int main(int words, char** word) {
  if (words != 5) return 2;
  file = word[1];
  ranks = std::atoi(word[2]);
  rank = std::atoi(word[3]);
  count = std::strtoull(word[4], nullptr, 10);
  ncclComm_t comm = join();
  collectives(comm);
  split(comm);
  const std::string pid = std::to_string(getpid());
  write(file + ".pid." + std::to_string(rank), pid.data(), pid.size());
  const ncclResult_t result = sumUntil(comm, file + ".stop");
  if (result == ncclSuccess) {
    std::printf("rank %d: some sums in some time\n", rank);
  } else {
    if (result != ncclRemoteError) fail("a sum");
    std::printf("rank %d: error: %s\n", rank, ncclGetLastError(comm));
    std::fflush(stdout);
    goOn(comm);
  }
  std::fflush(stdout);
  return ncclCommDestroy(comm) == ncclSuccess ? 0 : 1;
}
