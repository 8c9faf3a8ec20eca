// One-sided calls from and to device buffers; the windows themselves are host memory, and one of a
// device is refused.

#include <cstdio>
#include <numeric>
#include <utility>

#include "drop_in/device_calls.h"

namespace drop_in_test {
namespace {

constexpr int kCount = 900;

int next() { return (rank + 1) % ranks; }
int before() { return (rank + ranks - 1) % ranks; }

/// A window of ints, and the buffers at its origin, whose elements are `stride` ints apart.
struct Case {
  std::vector<int> memory;
  MPI_Win win;
  MPI_Datatype type;
  size_t stride;
  Buffer<int> from, to;
  Case(bool device, MPI_Datatype of, size_t apart)
      : memory(kCount, -5),
        type(of),
        stride(apart),
        from(device, kCount * apart, -1),
        to(device, kCount * apart, -1) {
    MPI_Win_create(memory.data(), kCount * 4, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    from.write(spread(rank));
  }
  Case(const Case&) = delete;
  ~Case() { MPI_Win_free(&win); }
  std::vector<int> spread(int first) const {
    std::vector<int> all(kCount * stride, -1);
    for (size_t i = 0; i < kCount; ++i) all[i * stride] = first + static_cast<int>(i);
    return all;
  }
  bool has(int first) const {
    std::vector<int> wanted(kCount);
    std::iota(wanted.begin(), wanted.end(), first);
    return memory == wanted;
  }
  void put() { MPI_Put(from.data(), kCount, type, next(), 0, kCount, MPI_INT, win); }
  void get() { MPI_Get(to.data(), kCount, type, next(), 0, kCount, MPI_INT, win); }
  void arrived(int first, const char* how) {
    expect(to.read() == spread(first), how);
    to.fill(-1);
  }
};

void fenced(Case& with) {
  MPI_Win_fence(0, with.win);
  with.put();
  MPI_Win_fence(0, with.win);
  expect(with.has(before()), "what was put");
  with.get();
  MPI_Win_fence(0, with.win);
  with.arrived(rank, "what was got");
  MPI_Accumulate(with.from.data(), kCount, with.type, next(), 0, kCount, MPI_INT, MPI_REPLACE,
                 with.win);
  MPI_Win_fence(0, with.win);
  expect(with.has(before()), "what was accumulated");
  if (with.stride > 1) return;  // Open MPI 4.1.4's result is wrong then, on the host too
  MPI_Get_accumulate(with.from.data(), kCount, with.type, with.to.data(), kCount, with.type, next(),
                     0, kCount, MPI_INT, MPI_REPLACE, with.win);
  MPI_Win_fence(0, with.win);
  with.arrived(rank, "what was there before");
}

/// By locks; what a flush or an unlock completes is there then, and is written once only.
void locked(Case& with) {
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next(), 0, with.win);
  with.put();
  MPI_Win_flush(next(), with.win);
  with.get();
  MPI_Win_flush_local(next(), with.win);
  with.arrived(rank, "got, and flushed");
  with.get();
  MPI_Win_flush_all(with.win);
  with.arrived(rank, "got, and flushed with all");
  with.get();
  MPI_Win_flush_local_all(with.win);
  with.arrived(rank, "got, and flushed with all here");
  with.get();
  MPI_Win_unlock(next(), with.win);
  with.arrived(rank, "got, and unlocked");
  MPI_Win_lock_all(0, with.win);
  with.get();
  MPI_Win_flush_local(before(), with.win);
  with.get();
  MPI_Win_unlock_all(with.win);
  with.arrived(rank, "got, and all unlocked");
  PMPI_Barrier(MPI_COMM_WORLD);
}

void byRequests(Case& with) {
  MPI_Request request;
  MPI_Win_lock_all(0, with.win);
  MPI_Rput(with.from.data(), kCount, with.type, next(), 0, kCount, MPI_INT, with.win, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Win_flush(next(), with.win);
  MPI_Rget(with.to.data(), kCount, with.type, next(), 0, kCount, MPI_INT, with.win, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  with.arrived(rank, "got by a request");
  MPI_Win_flush_all(with.win);
  expect(with.to.all(-1), "it is written once");
  MPI_Raccumulate(with.from.data(), kCount, with.type, next(), 0, kCount, MPI_INT, MPI_REPLACE,
                  with.win, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Win_flush(next(), with.win);
  MPI_Rget_accumulate(with.from.data(), kCount, with.type, with.to.data(), kCount, with.type,
                      next(), 0, kCount, MPI_INT, MPI_NO_OP, with.win, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Win_unlock_all(with.win);
  with.arrived(rank, "got and accumulated by a request");
  PMPI_Barrier(MPI_COMM_WORLD);
}

void started(Case& with) {
  MPI_Group all, to, from;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  const int after = next(), ahead = before();
  MPI_Group_incl(all, 1, &after, &to);
  MPI_Group_incl(all, 1, &ahead, &from);
  MPI_Win_post(from, 0, with.win);
  MPI_Win_start(to, 0, with.win);
  with.get();
  MPI_Win_complete(with.win);
  MPI_Win_wait(with.win);
  with.arrived(rank, "got between start and complete");
  for (MPI_Group* group : {&all, &to, &from}) MPI_Group_free(group);
}

/// One element at a time.
void single(bool device) {
  std::vector<int> memory(1, 10 * rank);
  Buffer<int> one(device, 1, 7), compared(device, 1, 10 * next() + 7), got(device, 1, -1);
  MPI_Win win;
  MPI_Win_create(memory.data(), 4, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next(), 0, win);
  MPI_Fetch_and_op(one.data(), got.data(), MPI_INT, next(), 0, MPI_SUM, win);
  MPI_Win_flush(next(), win);
  expect(got.all(10 * next()), "what was fetched");
  MPI_Compare_and_swap(one.data(), compared.data(), got.data(), MPI_INT, next(), 0, win);
  MPI_Win_unlock(next(), win);
  expect(got.all(10 * next() + 7), "what was swapped");
  PMPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
  expect(memory[0] == 7, "what it was swapped for");
  MPI_Win_unlock(rank, win);
  MPI_Win_free(&win);
}

/// A window of `comm`, of which a rank's memory is on a device: an error on all ranks, with `says`.
void refusedOn(MPI_Comm comm, Buffer<int>& there, const char* says) {
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Win win = MPI_WIN_NULL;
  const int code = MPI_Win_create(there.data(), 400, 4, MPI_INFO_NULL, comm, &win);
  char sentence[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, sentence, &length);
  expect(classOf(code) == MPI_ERR_BUFFER && win == MPI_WIN_NULL, "a window on a device");
  expect(std::strstr(sentence, says) != nullptr, sentence);
}

/// What a program that is told of errors learns; MPI's own handler ends the job. Rank 0's memory is
/// on a device.
void refused(bool device) {
  Buffer<int> there(device, 100, 3);
  MPI_Comm alone, dup = duplicate(), later;
  MPI_Comm_dup(MPI_COMM_SELF, &alone);
  const char* const own = "MPI_Win_create: base is device memory";
  if (device) refusedOn(alone, there, own);
  const char* const says = device ? own : "MPI_Win_create: another rank's base is device memory";
  refusedOn(dup, there, says);
  // One that the layer does not know.
  MPI_Request request;
  MPI_Comm_idup(MPI_COMM_WORLD, &later, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  refusedOn(later, there, says);
  MPI_Comm_free(&later);
  MPI_Win win = MPI_WIN_NULL;
  MPI_Win_create_dynamic(MPI_INFO_NULL, dup, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  const int code = MPI_Win_attach(win, there.data(), 400);
  expect(classOf(code) == (device ? MPI_ERR_BUFFER : MPI_SUCCESS), "memory for a dynamic window");
  if (code == MPI_SUCCESS) MPI_Win_detach(win, there.data());
  MPI_Win_free(&win);
  MPI_Comm_free(&alone);
  MPI_Comm_free(&dup);
}

/// Whether this MPI makes windows at all: Debian's 4.1.4 makes none of one rank, and Ubuntu's 4.1.6
/// none with the transports that the GPU tests leave it.
bool makesWindows() {
  MPI_Comm dup;
  MPI_Comm_dup(MPI_COMM_WORLD, &dup);
  MPI_Comm_set_errhandler(dup, MPI_ERRORS_RETURN);
  int memory = 0;
  MPI_Win win;
  const bool made =
      ranks > 1 && MPI_Win_create(&memory, 4, 4, MPI_INFO_NULL, dup, &win) == MPI_SUCCESS;
  if (made) MPI_Win_free(&win);
  MPI_Comm_free(&dup);
  return made;
}

}  // namespace

void windows(bool device) {
  static const bool made = makesWindows();
  static bool said = false;
  if (!made && rank == 0 && !std::exchange(said, true)) {
    std::printf("windows: left out, this MPI makes none of %d ranks\n", ranks);
  }
  if (!made) return;
  MPI_Datatype spread;
  MPI_Type_create_resized(MPI_INT, 0, 12, &spread);
  MPI_Type_commit(&spread);
  for (const bool gaps : {false, true}) {
    // A window each: a fence begins an epoch, in which locks are forbidden.
    for (void (*part)(Case&) : {fenced, locked, byRequests, started}) {
      Case with(device, gaps ? spread : MPI_INT, gaps ? 3 : 1);
      std::iota(with.memory.begin(), with.memory.end(), before());
      PMPI_Barrier(MPI_COMM_WORLD);
      part(with);
    }
  }
  MPI_Type_free(&spread);
  single(device);
  refused(device);
}

}  // namespace drop_in_test
