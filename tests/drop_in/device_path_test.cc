// Collectives on device buffers by way of the devices: which calls take it, when some ranks have
// host memory, and when it fails. By any CUDA driver, a real one or the fake:
//   mpirun -n 2 -x LD_PRELOAD=.../librondo_mpi.so -x RONDO_MPI=both -x RONDO_MPI_STATS=1
//       device_path_test [every | scattered | quiet | alone | again | uneven | failing |
//                         differing | later | later-threads | later-failing | later-differing |
//                         later-lonely | later-free | time | time-later | time-scattered]
// every (default): all collectives, memory everywhere on devices, on some ranks, and nowhere.
// scattered: the same for reduce-scatters of blocks that differ, or in place, blocking or not.
// quiet: many calls on host memory, then on device memory. alone: a scan of
// rank 1's device memory and others' host memory, and 20 all-reduces on device memory.
// again: calls that come often, which are launched as graphs then.
// uneven: small calls with a count for each rank, which become MPI's. failing: calls until one
// fails, which it must on all ranks. differing: ranks give different counts, which is an error.
// later: non-blocking calls, under way together, of late ranks, among blocking ones; and when one
// fails, when ranks give different counts, when a rank never calls, and when memory is freed.
// time: a launch, a graph and copies through the host, in turns. time-later: a request, too, and
// how much of it hides behind a kernel. time-scattered: reduce-scatters of blocks that differ.

#include <algorithm>
#include <map>
#include <numeric>
#include <string>

#include "drop_in/device_path.h"

using namespace drop_in_test;

namespace {

template <class T>
void reductions(bool device, int count, MPI_Comm comm) {
  const auto number = static_cast<size_t>(count);
  const MPI_Datatype type = typeOf<T>();
  const auto own = static_cast<T>(rank), sum = static_cast<T>(sumOfRanks());
  Buffer<T> in(device, number, own), out(device, number, -1), wide(device, number * n(), own);
  MPI_Allreduce(in.data(), out.data(), count, type, MPI_SUM, comm);
  expect(out.all(sum), "allreduce");
  MPI_Allreduce(MPI_IN_PLACE, out.data(), count, type, MPI_MAX, comm);
  expect(out.all(sum), "allreduce in place");
  const int root = ranks - 1;
  out.fill(-7);
  MPI_Reduce(in.data(), rank == root ? out.data() : nullptr, count, type, MPI_SUM, root, comm);
  expect(out.all(rank == root ? sum : -7), "reduce");
  out.fill(own);
  MPI_Reduce(rank == 0 ? MPI_IN_PLACE : out.data(), rank == 0 ? out.data() : nullptr, count, type,
             MPI_SUM, 0, comm);
  expect(out.all(rank == 0 ? sum : own), "reduce in place");
  MPI_Reduce_scatter_block(wide.data(), out.data(), count, type, MPI_SUM, comm);
  expect(out.all(sum), "reduce_scatter_block");
  const std::vector<int> even(n(), count);
  out.fill(-1);
  MPI_Reduce_scatter(wide.data(), out.data(), even.data(), type, MPI_SUM, comm);
  expect(out.all(sum), "reduce_scatter");
  MPI_Scan(in.data(), out.data(), count, type, MPI_SUM, comm);
  expect(out.all(static_cast<T>(rank * (rank + 1) / 2)), "scan");
  out.fill(own);
  MPI_Scan(MPI_IN_PLACE, out.data(), count, type, MPI_SUM, comm);
  expect(out.all(static_cast<T>(rank * (rank + 1) / 2)), "scan in place");
  out.fill(-3);
  MPI_Exscan(in.data(), rank == 0 ? nullptr : out.data(), count, type, MPI_SUM, comm);
  expect(out.all(static_cast<T>(rank == 0 ? -3 : rank * (rank - 1) / 2)), "exscan");
  out.fill(own);
  MPI_Exscan(MPI_IN_PLACE, out.data(), count, type, MPI_SUM, comm);
  expect(out.all(static_cast<T>(rank == 0 ? 0 : rank * (rank - 1) / 2)), "exscan in place");
  MPI_Request request;
  MPI_Iallreduce(in.data(), out.data(), count, type, MPI_SUM, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  expect(out.all(sum), "iallreduce");
}

/// Blocks that tell their sender, and the place in them.
int at(int sender, size_t place) { return sender * 1000003 + static_cast<int>(place); }

std::vector<int> block(int sender, size_t number) {
  std::vector<int> values(number);
  for (size_t i = 0; i < number; ++i) values[i] = at(sender, i);
  return values;
}

/// Every rank's block in rank order.
bool isWhole(const std::vector<int>& whole, size_t number) {
  for (size_t i = 0; i < whole.size(); ++i) {
    if (whole[i] != at(static_cast<int>(i / number), i % number)) return false;
  }
  return true;
}

void movements(bool device, int count, MPI_Comm comm) {
  const auto number = static_cast<size_t>(count);
  Buffer<int> mine(device, number, 0), whole(device, number * n(), -1), back(device, number, -1);
  mine.write(block(rank, number));
  MPI_Allgather(mine.data(), count, MPI_INT, whole.data(), count, MPI_INT, comm);
  expect(isWhole(whole.read(), number), "allgather");
  std::vector<int> mineOnly(number * n(), -1);
  const auto own = block(rank, number);
  std::copy(own.begin(), own.end(), mineOnly.begin() + rank * count);
  whole.write(mineOnly);
  MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, whole.data(), count, MPI_INT, comm);
  expect(isWhole(whole.read(), number), "allgather in place");
  const int root = ranks / 2;
  MPI_Scatter(whole.data(), count, MPI_INT, back.data(), count, MPI_INT, root, comm);
  expect(back.read() == own, "scatter");
  whole.fill(-1);
  MPI_Gather(mine.data(), count, MPI_INT, rank == root ? whole.data() : nullptr, count, MPI_INT,
             root, comm);
  if (rank == root) expect(isWhole(whole.read(), number), "gather");
  if (rank == root) whole.write(mineOnly);
  MPI_Gather(rank == root ? MPI_IN_PLACE : mine.data(), count, MPI_INT,
             rank == root ? whole.data() : nullptr, count, MPI_INT, root, comm);
  if (rank == root) expect(isWhole(whole.read(), number), "gather in place");
  MPI_Bcast(rank == root ? mine.data() : back.data(), count, MPI_INT, root, comm);
  expect(rank == root || back.read() == block(root, number), "bcast");
  Buffer<int> out(device, number * n(), rank);
  MPI_Alltoall(out.data(), count, MPI_INT, whole.data(), count, MPI_INT, comm);
  std::vector<int> expected(number * n());
  for (size_t i = 0; i < expected.size(); ++i) expected[i] = static_cast<int>(i / number);
  expect(whole.read() == expected, "alltoall");
  MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out.data(), count, MPI_INT, comm);
  expect(out.read() == expected, "alltoall in place");
  std::vector<int> counts(n(), count), displs(n());
  for (size_t r = 0; r < n(); ++r) displs[r] = static_cast<int>(r) * count;
  MPI_Allgatherv(mine.data(), count, MPI_INT, whole.data(), counts.data(), displs.data(), MPI_INT,
                 comm);
  expect(isWhole(whole.read(), number), "allgatherv");
}

/// Calls with a count for each rank: rank r sends block(r, lengthOf(r)), the blocks lie in the
/// wrong order and with gaps, and one is empty.
class Uneven {
 public:
  Uneven(bool device, int count)
      : count_(count), all_(device, n() * static_cast<size_t>(count + ranks) * 2 + 1, -1) {
    for (int r = 0; r < ranks; ++r) {
      counts_.push_back(lengthOf(r));
      displs_.push_back((ranks - 1 - r) * (count + ranks) * 2);
    }
  }
  int lengthOf(int r) const { return r == 1 ? 0 : count_ + r; }
  int* data() { return all_.data(); }
  const int* counts() const { return counts_.data(); }
  const int* displs() const { return displs_.data(); }
  std::vector<int> of(int r) const { return block(r, static_cast<size_t>(lengthOf(r))); }
  void clear() { all_.fill(-1); }
  /// Every rank's block in its place, `mine` too, and nothing between them; or only the blocks.
  void put() { all_.write(expected(-1)); }
  bool right() { return all_.read() == expected(-1); }

 private:
  std::vector<int> expected(int between) const {
    std::vector<int> all(n() * static_cast<size_t>(count_ + ranks) * 2 + 1, between);
    for (int r = 0; r < ranks; ++r) {
      const std::vector<int> one = of(r);
      std::copy(one.begin(), one.end(), all.begin() + displs_[static_cast<size_t>(r)]);
    }
    return all;
  }
  int count_;
  Buffer<int> all_;
  std::vector<int> counts_, displs_;
};

void uneven(bool device, int count, MPI_Comm comm) {
  Uneven all(device, count);
  const int own = all.lengthOf(rank), root = ranks - 1;
  Buffer<int> mine(device, static_cast<size_t>(own), 0);
  mine.write(all.of(rank));
  MPI_Allgatherv(mine.data(), own, MPI_INT, all.data(), all.counts(), all.displs(), MPI_INT, comm);
  expect(all.right(), "allgatherv, uneven");
  all.clear();
  MPI_Gatherv(mine.data(), own, MPI_INT, all.data(), all.counts(), all.displs(), MPI_INT, root,
              comm);
  expect(rank != root || all.right(), "gatherv");
  all.put();
  mine.fill(-5);
  MPI_Scatterv(all.data(), all.counts(), all.displs(), MPI_INT, mine.data(), own, MPI_INT, root,
               comm);
  expect(mine.read() == all.of(rank), "scatterv");
  // Everybody gets its own length from each, and sends each its own.
  Uneven got(device, count);
  const std::vector<int> alike(n(), own);
  Buffer<int> wide(device, n() * static_cast<size_t>(count + ranks), -1);
  std::vector<int> places;
  for (int r = 0; r < ranks; ++r) places.push_back(r * (count + ranks));
  got.put();
  MPI_Alltoallv(got.data(), got.counts(), got.displs(), MPI_INT, wide.data(), alike.data(),
                places.data(), MPI_INT, comm);
  bool right = true;
  const std::vector<int> now = wide.read(), expected = all.of(rank);
  for (int r = 0; r < ranks; ++r) {
    right &=
        std::equal(expected.begin(), expected.end(), now.begin() + places[static_cast<size_t>(r)]);
  }
  expect(right, "alltoallv");
}

/// Ints three apart, which kernels do not take.
void spread(bool device, int count, MPI_Comm comm) {
  MPI_Datatype type;
  MPI_Type_create_resized(MPI_INT, 0, 12, &type);
  MPI_Type_commit(&type);
  Buffer<int> mine(device, static_cast<size_t>(count) * 3, rank);
  MPI_Bcast(mine.data(), count, type, 0, comm);
  const std::vector<int>& now = mine.read();
  bool right = true;
  for (size_t i = 0; i < now.size(); ++i) right &= now[i] == (i % 3 == 0 ? 0 : rank);
  expect(right, "bcast of a type with gaps");
  MPI_Type_free(&type);
}

/// One buffer on the device, the other on the host, of every rank.
void halves() {
  Buffer<int> host(false, 100, rank), device(true, 100, -1);
  MPI_Allreduce(host.data(), device.data(), 100, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  expect(device.all(sumOfRanks()), "allreduce from the host to the device");
  MPI_Reduce(device.data(), host.data(), 100, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
  expect(host.all(rank == 0 ? sumOfRanks() : rank), "reduce from the device to the host");
}

void every() {
  halves();  // now, while ranks ask each other in every call
  MPI_Comm copy;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  for (MPI_Comm comm : {MPI_COMM_WORLD, copy}) {
    for (const int where : {2, 1, 0}) {
      const bool device = where == 2 || (where == 1 && rank == 0);
      for (const int count : {0, 1, 1000, 200001}) {
        reductions<float>(device, count, comm);
        reductions<double>(device, count, comm);
        reductions<int>(device, count, comm);
        movements(device, count, comm);
        uneven(device, count, comm);
      }
      spread(device, 1000, comm);
    }
  }
  MPI_Comm_free(&copy);
}

void reduceOften(bool device, int times) {
  Buffer<int> in(device, 100, rank), out(device, 100, -1);
  for (int i = 0; i < times; ++i) {
    out.fill(-1);
    MPI_Allreduce(in.data(), out.data(), 100, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    expect(out.all(sumOfRanks()), "allreduce, again and again");
  }
}

/// By way of the host: rank 1 alone has device memory.
void scanOnce() {
  Buffer<int> in(rank == 1, 100, rank), out(rank == 1, 100, -1);
  MPI_Scan(in.data(), out.data(), 100, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  expect(out.all(rank * (rank + 1) / 2), "scan");
}

/// Blocks of three ints, five apart, in the wrong order: of calls that MPI does after the first 16,
/// and between them what other calls wrote meanwhile.
class Blocks {
 public:
  explicit Blocks(bool device) : ints_(device, n() * 5, -1), counts_(n(), 3), displs_(n()) {
    for (int r = 0; r < ranks; ++r) displs_[static_cast<size_t>(r)] = (ranks - 1 - r) * 5;
  }
  int* data() { return ints_.data(); }
  const int* counts() const { return counts_.data(); }
  const int* displs() const { return displs_.data(); }
  void fill(int value) { ints_.fill(value); }
  void setGaps(int value) {
    for (size_t r = 0; r < n(); ++r) ints_.set(r * 5 + 4, value);
  }
  /// Rank r's block is value(r), the last int of its gap `gap`.
  template <class Value>
  bool are(const Value& value, int gap) {
    const std::vector<int>& now = ints_.read();
    bool right = true;
    for (int r = 0; r < ranks; ++r) {
      const auto at = static_cast<size_t>((ranks - 1 - r) * 5);
      for (size_t i = 0; i < 3; ++i) right &= now[at + i] == value(r);
      right &= now[at + 3] == -1 && now[at + 4] == gap;
    }
    return right;
  }

 private:
  Buffer<int> ints_;
  std::vector<int> counts_, displs_;
};

void unevenRound(bool device, bool later, int round) {
  Blocks from(device), to(device);
  Buffer<int> mine(device, 3, rank + round);
  const int root = round % ranks;
  const auto isRoots = [=](int r) { return r + round; };
  MPI_Request request = MPI_REQUEST_NULL;
  const auto end = [&](Blocks& received) {
    if (later) received.setGaps(-9);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return later ? -9 : -1;
  };
  if (later) {
    MPI_Igatherv(mine.data(), 3, MPI_INT, to.data(), to.counts(), to.displs(), MPI_INT, root,
                 MPI_COMM_WORLD, &request);
  } else {
    MPI_Gatherv(mine.data(), 3, MPI_INT, to.data(), to.counts(), to.displs(), MPI_INT, root,
                MPI_COMM_WORLD);
  }
  int gap = end(to);
  expect(to.are([&](int r) { return rank == root ? isRoots(r) : -1; }, gap), "small gatherv");
  mine.fill(-5);
  if (later) {
    MPI_Iscatterv(to.data(), to.counts(), to.displs(), MPI_INT, mine.data(), 3, MPI_INT, root,
                  MPI_COMM_WORLD, &request);
  } else {
    MPI_Scatterv(to.data(), to.counts(), to.displs(), MPI_INT, mine.data(), 3, MPI_INT, root,
                 MPI_COMM_WORLD);
  }
  end(to);
  expect(mine.all(rank + round), "small scatterv");
  from.fill(rank);
  to.fill(-1);
  if (later) {
    MPI_Ialltoallv(from.data(), from.counts(), from.displs(), MPI_INT, to.data(), to.counts(),
                   to.displs(), MPI_INT, MPI_COMM_WORLD, &request);
  } else {
    MPI_Alltoallv(from.data(), from.counts(), from.displs(), MPI_INT, to.data(), to.counts(),
                  to.displs(), MPI_INT, MPI_COMM_WORLD);
  }
  gap = end(to);
  expect(to.are([](int r) { return r; }, gap), "small alltoallv");
  MPI_Barrier(MPI_COMM_WORLD);
}

/// The communicator fails on all ranks, and none waits for ever.
void failing() {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  Buffer<int> in(true, 100, rank), out(true, 100, -1);
  int failed = 0, code = MPI_SUCCESS;
  for (int i = 0; i < 100 && failed == 0; ++i) {
    code = MPI_Allreduce(in.data(), out.data(), 100, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    failed = code != MPI_SUCCESS;
  }
  expect(failed == 1, "a failure of one rank is an error on all");
  code = MPI_Allreduce(in.data(), out.data(), 100, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  char said[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, said, &length);
  expect(std::strstr(said, "an earlier error has ended the communicator") != nullptr, said);
}

void quiet() {
  reduceOften(false, 50);
  reduceOften(true, 50);
}

void alone() {
  scanOnce();
  reduceOften(true, 20);
}

void unevenRounds() {
  for (int round = 0; round < 24; ++round) {
    const bool device = round % 3 == 0 || (round % 3 == 1 && rank == 0);
    unevenRound(device, false, round);
    unevenRound(device, true, round);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "every";
  start(&argc, &argv, what == "later-threads");
  useDevice();
  const std::map<std::string, void (*)()> all = {
      {"every", every},
      {"scattered", scattered},
      {"quiet", quiet},
      {"alone", alone},
      {"again", again},
      {"uneven", unevenRounds},
      {"failing", failing},
      {"differing", differing},
      {"later", later},
      {"later-threads", laterThreads},
      {"later-failing", laterFailing},
      {"later-differing", laterDiffering},
      {"later-lonely", laterLonely},
      {"later-free", laterFree},
      {"row", row},
      {"time", timing},
      {"time-row", timingRow},
      {"time-later", timingLater},
      {"time-scattered", timingScattered},
  };
  const auto found = all.find(what);
  if (found == all.end()) {
    std::printf("argument 1 is %s; allowed:", what.c_str());
    for (const auto& [name, run] : all) std::printf(" %s", name.c_str());
    std::printf("\n");
    return 2;
  }
  found->second();
  return finish();
}
