// device_path_test: non-blocking collectives between devices.

#include <unistd.h>

#include <atomic>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "drop_in/device_path.h"
#include "drop_in/persistent_names.h"

namespace drop_in_test {
namespace {

constexpr int kCount = 3000;

std::vector<int> blockOf(int sender, size_t number) {
  std::vector<int> values(number);
  for (size_t i = 0; i < number; ++i) values[i] = sender * 100003 + static_cast<int>(i);
  return values;
}
std::vector<int> wholeOf(size_t number) {
  std::vector<int> all;
  for (int r = 0; r < ranks; ++r) {
    const std::vector<int> one = blockOf(r, number);
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}

/// All calls under way at once, some of them by way of the host, and a message; `order` says how
/// they are ended.
void everyCall(bool device, int order, MPI_Comm comm) {
  constexpr size_t kMine = kCount;
  const int root = ranks - 1;
  Buffer<float> floats(device, kMine, static_cast<float>(rank)), sums(device, kMine, -1);
  Buffer<int> ints(device, kMine, rank), most(device, kMine, rank), atRoot(device, kMine, -7);
  Buffer<int> wide(device, kMine * n(), rank), part(device, kMine, -1), even(device, kMine, -1);
  Buffer<int> mine(device, kMine, 0), spread(device, kMine, -1), whole(device, kMine * n(), -1);
  Buffer<int> gathered(device, kMine * n(), -1), back(device, kMine, -1), scanned(device, kMine, 0);
  Buffer<int> crossed(device, kMine * n(), -1), sent(device, kMine * n(), rank);
  Buffer<int> gatheredToo(device, kMine * n(), -1);
  mine.write(blockOf(rank, kMine));
  if (rank == root) spread.write(blockOf(root, kMine));
  gathered.write(wholeOf(kMine));
  const std::vector<int> counts(n(), kCount);
  std::vector<int> displs(n());
  for (int r = 0; r < ranks; ++r) displs[static_cast<size_t>(r)] = r * kCount;
  int token = -1;
  std::vector<MPI_Request> all;
  const auto next = [&] {
    all.push_back(MPI_REQUEST_NULL);
    return &all.back();
  };
  all.reserve(20);
  MPI_Irecv(&token, 1, MPI_INT, (rank + ranks - 1) % ranks, 8, comm, next());
  MPI_Iallreduce(floats.data(), sums.data(), kCount, MPI_FLOAT, MPI_SUM, comm, next());
  MPI_Iallreduce(MPI_IN_PLACE, most.data(), kCount, MPI_INT, MPI_MAX, comm, next());
  MPI_Ireduce(ints.data(), atRoot.data(), kCount, MPI_INT, MPI_SUM, root, comm, next());
  MPI_Iscan(ints.data(), scanned.data(), kCount, MPI_INT, MPI_SUM, comm, next());
  MPI_Ireduce_scatter_block(wide.data(), part.data(), kCount, MPI_INT, MPI_SUM, comm, next());
  MPI_Ireduce_scatter(wide.data(), even.data(), counts.data(), MPI_INT, MPI_SUM, comm, next());
  MPI_Ibarrier(comm, next());
  MPI_Ibcast(spread.data(), kCount, MPI_INT, root, comm, next());
  MPI_Iallgather(mine.data(), kCount, MPI_INT, whole.data(), kCount, MPI_INT, comm, next());
  MPI_Igatherv(mine.data(), kCount, MPI_INT, gatheredToo.data(), counts.data(), displs.data(),
               MPI_INT, 0, comm, next());
  MPI_Iscatter(gathered.data(), kCount, MPI_INT, back.data(), kCount, MPI_INT, root, comm, next());
  MPI_Isend(&rank, 1, MPI_INT, (rank + 1) % ranks, 8, comm, next());
  MPI_Ialltoall(sent.data(), kCount, MPI_INT, crossed.data(), kCount, MPI_INT, comm, next());
  const int number = static_cast<int>(all.size());
  if (order == 0) {
    MPI_Waitall(number, all.data(), MPI_STATUSES_IGNORE);
  } else if (order == 1) {
    for (auto at = all.rbegin(); at != all.rend(); ++at) MPI_Wait(&*at, MPI_STATUS_IGNORE);
  } else {
    for (int index = 0; index != MPI_UNDEFINED;) {
      MPI_Waitany(number, all.data(), &index, MPI_STATUS_IGNORE);
    }
  }
  std::vector<int> across(kMine * n());
  for (size_t i = 0; i < across.size(); ++i) across[i] = static_cast<int>(i / kMine);
  expect(token == (rank + ranks - 1) % ranks, "a message between them");
  expect(sums.all(static_cast<float>(sumOfRanks())), "iallreduce");
  expect(most.all(ranks - 1), "iallreduce in place");
  expect(atRoot.all(rank == root ? sumOfRanks() : -7), "ireduce");
  expect(scanned.all(rank * (rank + 1) / 2), "iscan");
  expect(part.all(sumOfRanks()), "ireduce_scatter_block");
  expect(even.all(sumOfRanks()), "ireduce_scatter");
  expect(spread.read() == blockOf(root, kMine), "ibcast");
  expect(whole.read() == wholeOf(kMine), "iallgather");
  expect(rank != 0 || gatheredToo.read() == wholeOf(kMine), "igatherv");
  expect(back.read() == blockOf(rank, kMine), "iscatter");
  expect(crossed.read() == across, "ialltoall");
}

/// A blocking call after non-blocking ones that have not begun everywhere.
void amongBlocking(MPI_Comm comm) {
  Buffer<int> in(true, kCount, rank), first(true, kCount, -1), second(true, kCount, -1);
  Buffer<int> third(true, kCount, -1);
  MPI_Request one, other;
  MPI_Iallreduce(in.data(), first.data(), kCount, MPI_INT, MPI_SUM, comm, &one);
  MPI_Allreduce(in.data(), second.data(), kCount, MPI_INT, MPI_MAX, comm);
  MPI_Iallreduce(second.data(), third.data(), kCount, MPI_INT, MPI_SUM, comm, &other);
  expect(second.all(ranks - 1), "allreduce after an iallreduce");
  MPI_Wait(&other, MPI_STATUS_IGNORE);
  MPI_Wait(&one, MPI_STATUS_IGNORE);
  expect(first.all(sumOfRanks()), "iallreduce before an allreduce");
  expect(third.all((ranks - 1) * ranks), "iallreduce after an allreduce");
}

/// Rank 0 waits for its device between the call and the others': nothing of theirs may be there.
void lateRanks(MPI_Comm comm) {
  Buffer<int> in(true, kCount, rank), out(true, kCount, -1);
  MPI_Request request;
  int token = 1;
  if (rank == 0) {
    MPI_Iallreduce(in.data(), out.data(), kCount, MPI_INT, MPI_SUM, comm, &request);
    driverCall("cuCtxSynchronize");
    for (int r = 1; r < ranks; ++r) MPI_Send(&token, 1, MPI_INT, r, 9, comm);
  } else {
    MPI_Recv(&token, 1, MPI_INT, 0, 9, comm, MPI_STATUS_IGNORE);
    MPI_Iallreduce(in.data(), out.data(), kCount, MPI_INT, MPI_SUM, comm, &request);
  }
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  expect(out.all(sumOfRanks()), "iallreduce of late ranks");
}

/// The others wait for a message of rank 0, which waits for its device after it looked at its
/// request for a while: their part begins while they wait.
void waitingRanks(MPI_Comm comm) {
  Buffer<int> in(true, kCount, rank), out(true, kCount, -1);
  MPI_Request request;
  int token = 1;
  MPI_Iallreduce(in.data(), out.data(), kCount, MPI_INT, MPI_SUM, comm, &request);
  if (rank == 0) {
    for (int i = 0, flag = 0; i < 1000; ++i)
      MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
    driverCall("cuCtxSynchronize");
    for (int r = 1; r < ranks; ++r) MPI_Send(&token, 1, MPI_INT, r, 10, comm);
  } else {
    MPI_Recv(&token, 1, MPI_INT, 0, 10, comm, MPI_STATUS_IGNORE);
  }
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  expect(out.all(sumOfRanks()), "iallreduce of waiting ranks");
}

/// A file that ranks of a host see.
class Sign {
 public:
  Sign(const std::string& job, int number)
      : path_("/tmp/rondo_device_path." + job + "." + std::to_string(number)) {}
  ~Sign() { unlink(path_.c_str()); }
  Sign(const Sign&) = delete;
  Sign& operator=(const Sign&) = delete;
  void give() const { std::ofstream(path_) << "here"; }
  void await() const {
    while (access(path_.c_str(), F_OK) != 0) usleep(100);
  }

 private:
  std::string path_;
};

/// The others have made the call, and see nothing of MPI until rank 0, which makes it then, is
/// through with its device.
void busyRanks(MPI_Comm comm) {
  int job = static_cast<int>(getpid());
  MPI_Bcast(&job, 1, MPI_INT, 0, comm);
  const Sign called(std::to_string(job), rank), through(std::to_string(job), 0);
  Buffer<int> in(true, kCount, rank), out(true, kCount, -1);
  MPI_Request request;
  for (int r = 1; rank == 0 && r < ranks; ++r) Sign(std::to_string(job), r).await();
  const int before = counted("fakeLaunched");
  MPI_Iallreduce(in.data(), out.data(), kCount, MPI_INT, MPI_SUM, comm, &request);
  if (rank == 0) {
    // Until the kernel is there; how many looks that takes a real driver does not say.
    for (int i = 0, flag = 0; before < 0 ? i < 1000 : counted("fakeLaunched") == before; ++i) {
      MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
    }
    driverCall("cuCtxSynchronize");
    through.give();
  } else {
    called.give();
    through.await();
  }
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  expect(out.all(sumOfRanks()), "iallreduce of busy ranks");
  MPI_Barrier(comm);
}

/// Each waits for its device with calls on two communicators under way, made in other orders.
void crosswise(MPI_Comm one, MPI_Comm other, int times) {
  Buffer<int> in(true, kCount, rank), a(true, kCount, -1), b(true, kCount, -1);
  for (int i = 0; i < times; ++i) {
    MPI_Request requests[2];
    for (const int which : {rank % 2, 1 - rank % 2}) {
      MPI_Iallreduce(in.data(), which ? a.data() : b.data(), kCount, MPI_INT, MPI_SUM,
                     which ? one : other, &requests[which]);
    }
    driverCall("cuCtxSynchronize");
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  }
  expect(a.all(sumOfRanks()) && b.all(sumOfRanks()), "iallreduce, crosswise");
}

/// Calls on two communicators, begun and ended in other orders; one is freed meanwhile.
void twoCommunicators() {
  MPI_Comm copies[2];
  for (MPI_Comm& copy : copies) {
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    openTheWay(copy);
  }
  Buffer<int> in(true, kCount, rank), a(true, kCount, -1), b(true, kCount, -1);
  crosswise(copies[0], copies[1], 100);
  MPI_Request requests[2];
  const int first = rank % 2;
  Buffer<int>* const outs[] = {&a, &b};
  for (const int which : {first, 1 - first}) {
    MPI_Iallreduce(in.data(), outs[which]->data(), kCount, MPI_INT, which ? MPI_MAX : MPI_SUM,
                   copies[which], &requests[which]);
  }
  MPI_Comm_free(&copies[0]);
  MPI_Wait(&requests[rank == 0], MPI_STATUS_IGNORE);
  MPI_Wait(&requests[rank != 0], MPI_STATUS_IGNORE);
  expect(a.all(sumOfRanks()) && b.all(ranks - 1), "iallreduce on two communicators");
  MPI_Comm_free(&copies[1]);
}

/// What makes a persistent request comes behind calls that ranks have not answered yet, and that go
/// by way of the host when they have.
void beforePersistent(MPI_Comm comm) {
#if defined(INIT)
  for (const int late : {0, 1}) {
    Buffer<int> ints(rank == 0, kCount, rank), sums(rank == 0, kCount, -1);
    std::vector<int> in(kCount, rank), out(kCount, -1);
    MPI_Request requests[2];
    if (rank == late) usleep(3000);
    MPI_Iallreduce(ints.data(), sums.data(), kCount, MPI_INT, MPI_SUM, comm, &requests[0]);
    INIT(Allreduce)
    (in.data(), out.data(), kCount, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &requests[1]);
    MPI_Start(&requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    expect(sums.all(sumOfRanks()), "a call before a persistent one");
    expect(out == std::vector<int>(kCount, sumOfRanks()), "a persistent call behind it");
    MPI_Request_free(&requests[1]);
  }
#endif
}

}  // namespace

void openTheWay(MPI_Comm comm) {
  Buffer<int> in(true, kCount, rank), out(true, kCount, -1);
  MPI_Request request;
  MPI_Iallreduce(in.data(), out.data(), kCount, MPI_INT, MPI_SUM, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  expect(out.all(sumOfRanks()), "iallreduce before there is a way between devices");
  MPI_Barrier(comm);
}

void later() {
  openTheWay(MPI_COMM_WORLD);
  for (int round = 0; round < 6; ++round) {
    everyCall(true, round % 3, MPI_COMM_WORLD);
    amongBlocking(MPI_COMM_WORLD);
    lateRanks(MPI_COMM_WORLD);
    waitingRanks(MPI_COMM_WORLD);
    busyRanks(MPI_COMM_WORLD);
    beforePersistent(MPI_COMM_WORLD);
    everyCall(rank == 0, round % 3, MPI_COMM_WORLD);
    everyCall(false, round % 3, MPI_COMM_WORLD);
  }
  twoCommunicators();
  expect(counted("fakeEvents") <= 0, "events are freed");
}

/// Memory is freed between calls and their ends, which waits for the device, and on a real driver
/// keeps other threads from launching, while ranks call on two communicators in other orders.
void laterFree() {
  constexpr int kTimes = 200;
  MPI_Comm copies[2];
  for (MPI_Comm& copy : copies) {
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    openTheWay(copy);
  }
  Buffer<int> in(true, kCount, rank), a(true, kCount, -1), b(true, kCount, -1);
  for (const int comms : {1, 2}) {
    for (int i = 0; i < kTimes; ++i) {
      MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
      DevicePointer memory = 0;
      driverCall("cuMemAlloc_v2", &memory, size_t{4} << 20);
      for (int k = 0; k < comms; ++k) {
        const int which = comms == 1 ? 0 : (rank + k) % 2;
        MPI_Iallreduce(in.data(), which ? b.data() : a.data(), kCount, MPI_INT, MPI_SUM,
                       copies[which], &requests[which]);
      }
      driverCall("cuMemFree_v2", memory);
      MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    if (rank == 0) std::printf("%d times memory was freed, communicators: %d\n", kTimes, comms);
    std::fflush(stdout);
  }
  expect(a.all(sumOfRanks()) && b.all(sumOfRanks()), "iallreduce while memory is freed");
  for (MPI_Comm& copy : copies) MPI_Comm_free(&copy);
}

/// A communicator for each thread, with blocking and non-blocking calls of them all beside each
/// other. By MPI_THREAD_MULTIPLE.
void laterThreads() {
  constexpr int kThreads = 3;
  MPI_Comm comms[kThreads];
  for (MPI_Comm& comm : comms) {
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    openTheWay(comm);
  }
  std::atomic<int> wrong{0};
  const auto work = [&](MPI_Comm comm) {
    useDevice();
    Buffer<int> in(true, kCount, rank), a(true, kCount, -1), b(true, kCount, -1);
    for (int i = 0; i < 50; ++i) {
      MPI_Request requests[2];
      a.fill(-1);
      MPI_Iallreduce(in.data(), a.data(), kCount, MPI_INT, MPI_SUM, comm, &requests[0]);
      if (i % 3 == 0) MPI_Allreduce(in.data(), b.data(), kCount, MPI_INT, MPI_MAX, comm);
      MPI_Ibcast(b.data(), kCount, MPI_INT, 0, comm, &requests[1]);
      MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
      wrong += !a.all(sumOfRanks()) + !b.all(ranks - 1);
    }
  };
  std::vector<std::thread> threads;
  for (MPI_Comm comm : comms) threads.emplace_back(work, comm);
  for (std::thread& thread : threads) thread.join();
  expect(wrong == 0, "calls of several threads");
  for (MPI_Comm& comm : comms) MPI_Comm_free(&comm);
}

void laterFailing() {
  openTheWay(MPI_COMM_WORLD);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  Buffer<int> in(true, kCount, rank), out(true, kCount, -1);
  int failed = 0;
  for (int i = 0; i < 100 && !failed; ++i) {
    MPI_Request request = MPI_REQUEST_NULL;
    const int begun =
        MPI_Iallreduce(in.data(), out.data(), kCount, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    failed = begun != MPI_SUCCESS || MPI_Wait(&request, MPI_STATUS_IGNORE) != MPI_SUCCESS;
  }
  expect(failed, "a failure of one rank is an error on all");
}

/// MPI_Finalize gives up what the others never called.
void laterLonely() {
  openTheWay(MPI_COMM_WORLD);
  static Buffer<int> in(true, kCount, rank), out(true, kCount, -1);
  MPI_Request request;
  if (rank == 0) {
    MPI_Iallreduce(in.data(), out.data(), kCount, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
  }
}

void laterDiffering() {
  openTheWay(MPI_COMM_WORLD);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  Buffer<int> in(true, kCount, rank), out(true, kCount, -1);
  MPI_Request request = MPI_REQUEST_NULL;
  const int begun = MPI_Iallreduce(in.data(), out.data(), rank == 0 ? kCount : 7, MPI_INT, MPI_SUM,
                                   MPI_COMM_WORLD, &request);
  const bool failed = begun != MPI_SUCCESS || MPI_Wait(&request, MPI_STATUS_IGNORE) != MPI_SUCCESS;
  expect(failed, "different counts are an error");
}

}  // namespace drop_in_test
