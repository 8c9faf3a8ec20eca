// A program that makes the same movements over and over, blocking and non-blocking: whoever does a
// call, Rondo or MPI, the result is right. Usage: mpirun -n N [-x LD_PRELOAD=...] measured_test
// [CALLS [WAY]]. With a way to end requests (wait, test, waitall, testall, waitany, testany,
// waitsome, testsome) broadcasts only, beside computing, ended that way.

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "drop_in/check.h"

using namespace drop_in_test;

namespace {

/// Byte `i` of block `source` in call `call`.
char byteOf(int source, int i, int call) { return static_cast<char>(31 * source + 7 * i + call); }

/// Buffers of `block` bytes for each rank, and every movement on them.
class Movements {
 public:
  explicit Movements(int block)
      : block_(block),
        in_(static_cast<size_t>(block) * static_cast<size_t>(ranks)),
        out_(in_.size()),
        counts_(static_cast<size_t>(ranks), block),
        places_(static_cast<size_t>(ranks)),
        own_(rank % 2 == 0 ? block : block / 2) {
    for (int r = 0; r < ranks; ++r) places_[static_cast<size_t>(r)] = r * block;
  }

  void all(int call) {
    const int root = call % ranks;
    const auto toAll = [](int from, int) { return from; };
    const auto direct = [](int from, int to) { return from * ranks + to; };
    fill(call, [](int) { return rank; });
    run("MPI_Allgather", call, ranks, toAll, [&](char* in, char* out) {
      MPI_Allgather(in, block_, MPI_CHAR, out, block_, MPI_CHAR, MPI_COMM_WORLD);
    });
    run("MPI_Allgatherv", call, ranks, toAll, [&](char* in, char* out) {
      MPI_Allgatherv(in, block_, MPI_CHAR, out, counts_.data(), places_.data(), MPI_CHAR,
                     MPI_COMM_WORLD);
    });
    run("MPI_Gather", call, rank == root ? ranks : 0, toAll, [&](char* in, char* out) {
      MPI_Gather(in, own_, ownType(), out, block_, MPI_CHAR, root, MPI_COMM_WORLD);
    });
    run("MPI_Gatherv", call, rank == root ? ranks : 0, toAll, [&](char* in, char* out) {
      MPI_Gatherv(in, block_, MPI_CHAR, out, counts_.data(), places_.data(), MPI_CHAR, root,
                  MPI_COMM_WORLD);
    });
    fill(call, [](int to) { return rank * ranks + to; });
    run("MPI_Alltoall", call, ranks, direct, [&](char* in, char* out) {
      MPI_Alltoall(in, block_, MPI_CHAR, out, block_, MPI_CHAR, MPI_COMM_WORLD);
    });
    run("MPI_Alltoallv", call, ranks, direct, [&](char* in, char* out) {
      MPI_Alltoallv(in, counts_.data(), places_.data(), MPI_CHAR, out, counts_.data(),
                    places_.data(), MPI_CHAR, MPI_COMM_WORLD);
    });
    const auto ofRoot = [root](int, int to) { return root * ranks + to; };
    run("MPI_Scatter", call, 1, ofRoot, [&](char* in, char* out) {
      MPI_Scatter(in, block_, MPI_CHAR, out, own_, ownType(), root, MPI_COMM_WORLD);
    });
    run("MPI_Scatterv", call, 1, ofRoot, [&](char* in, char* out) {
      MPI_Scatterv(in, counts_.data(), places_.data(), MPI_CHAR, out, block_, MPI_CHAR, root,
                   MPI_COMM_WORLD);
    });
    const auto first = [root](int, int) { return root * ranks; };
    run("MPI_Bcast", call, 1, first, [&](char* in, char* out) {
      if (rank == root) std::copy_n(in, block_, out);
      MPI_Bcast(out, own_, ownType(), root, MPI_COMM_WORLD);
    });
    if (call % 50 == 49) refused();
  }

 private:
  using Whose = std::function<int(int)>;

  /// Of a block: chars, and pairs of them on every other rank.
  static MPI_Datatype ownType() {
    static const MPI_Datatype pairs = [] {
      MPI_Datatype type;
      MPI_Type_contiguous(2, MPI_CHAR, &type);
      MPI_Type_commit(&type);
      return type;
    }();
    return rank % 2 == 0 ? MPI_CHAR : pairs;
  }

  /// Wrong calls, on all ranks, which each of them gets back: they are nobody's.
  void refused() {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (const int root : {99, -3}) {
      expect(MPI_Bcast(out_.data(), own_, ownType(), root, MPI_COMM_WORLD) != MPI_SUCCESS &&
                 MPI_Gather(in_.data(), own_, ownType(), out_.data(), block_, MPI_CHAR, root,
                            MPI_COMM_WORLD) != MPI_SUCCESS &&
                 MPI_Scatter(in_.data(), block_, MPI_CHAR, out_.data(), own_, ownType(), root,
                             MPI_COMM_WORLD) != MPI_SUCCESS,
             "a wrong root");
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  }
  void fill(int call, const Whose& source) {
    for (int to = 0; to < ranks; ++to) {
      for (int i = 0; i < block_; ++i) {
        in_[static_cast<size_t>(to * block_ + i)] = byteOf(source(to), i, call);
      }
    }
  }
  template <class Source, class Run>
  void run(const char* name, int call, int blocks, const Source& source, const Run& movement) {
    std::fill(out_.begin(), out_.end(), '\x55');
    movement(in_.data(), out_.data());
    bool right = true;
    for (int from = 0; from < blocks; ++from) {
      for (int i = 0; i < block_; ++i) {
        right &=
            out_[static_cast<size_t>(from * block_ + i)] == byteOf(source(from, rank), i, call);
      }
    }
    expect(right, std::string(name) + ", " + std::to_string(block_) + " bytes, call " +
                      std::to_string(call));
  }

  const int block_;
  std::vector<char> in_, out_;
  std::vector<int> counts_, places_;
  const int own_;  ///< Elements of ownType() in a block.
};

/// Non-blocking movements on a buffer each, in several ways to wait for them.
class Requests {
 public:
  explicit Requests(int block) : block_(block) {
    for (Ints* buffer : {&mine_, &all_, &from_, &to_, &sent_}) {
      buffer->resize(static_cast<size_t>(block) * static_cast<size_t>(ranks));
    }
  }

  /// Each is waited for before the next begins.
  void oneByOne(int call) {
    fill(call);
    for (int kind = 0; kind < kKinds; ++kind) {
      MPI_Request request = begin(kind, call);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    check(call, "one by one");
  }
  /// One, in whose time the rank computes; with some other request in arrays.
  void beside(int call, const std::string& way) {
    MPI_Barrier(MPI_COMM_WORLD);  // where ranks may agree
    each(from_,
         [=](int r, int i) { return rank == call % ranks ? valueOf(rank, r, i, call) : -1; });
    MPI_Request requests[2] = {MPI_REQUEST_NULL, begin(0, call)};
    int done = 0;
    for (int tests = 0; !done; ++tests) {
      if (!compute() || tests == 100000) break;
      done = endedBy(way, requests);
    }
    expect(done && requests[1] == MPI_REQUEST_NULL, way + " ends it");
    bool right = true;
    for (int i = 0; i < block_; ++i)
      right &= from_[static_cast<size_t>(i)] == valueOf(call % ranks, 0, i, call);
    expect(right, way + ", call " + std::to_string(call));
  }
  /// All under way at once, ended in another order than they began in.
  void together(int call) {
    fill(call);
    MPI_Request requests[kKinds];
    for (int kind = 0; kind < kKinds; ++kind) requests[kKinds - 1 - kind] = begin(kind, call);
    if (call % 3 == 0) MPI_Waitall(kKinds, requests, MPI_STATUSES_IGNORE);
    for (MPI_Request& request : requests) {
      for (int over = 0; call % 3 == 1 && !over;) MPI_Test(&request, &over, MPI_STATUS_IGNORE);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    check(call, "together");
  }

 private:
  using Ints = std::vector<int>;
  static constexpr int kKinds = 4;

  /// For some microseconds.
  static bool compute() {
    static volatile unsigned value = 1;
    for (int i = 0; i < 5000; ++i) value = value * 3;
    return value != 0;
  }
  /// Whether a call of this way has ended the second of the requests.
  static int endedBy(const std::string& way, MPI_Request requests[2]) {
    int done = 0, index = MPI_UNDEFINED, number = 0, indices[2];
    if (way == "wait") MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    if (way == "test") MPI_Test(&requests[1], &done, MPI_STATUS_IGNORE);
    if (way == "waitall") MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    if (way == "testall") MPI_Testall(2, requests, &done, MPI_STATUSES_IGNORE);
    if (way == "waitany") MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
    if (way == "testany") MPI_Testany(2, requests, &index, &done, MPI_STATUS_IGNORE);
    if (way == "waitsome") MPI_Waitsome(2, requests, &number, indices, MPI_STATUSES_IGNORE);
    if (way == "testsome") MPI_Testsome(2, requests, &number, indices, MPI_STATUSES_IGNORE);
    return requests[1] == MPI_REQUEST_NULL;
  }
  static int valueOf(int from, int to, int i, int call) {
    return 1000 * from + 100 * to + i % 97 + call;
  }
  template <class Value>
  void each(Ints& buffer, const Value& value) {
    for (int r = 0; r < ranks; ++r) {
      for (int i = 0; i < block_; ++i) buffer[static_cast<size_t>(r * block_ + i)] = value(r, i);
    }
  }
  void fill(int call) {
    for (Ints* buffer : {&all_, &to_, &from_}) std::fill(buffer->begin(), buffer->end(), -1);
    each(mine_, [=](int, int i) { return valueOf(rank, 0, i, call); });
    each(sent_, [=](int r, int i) { return valueOf(rank, r, i, call); });
    if (rank == call % ranks) {
      each(from_, [=](int r, int i) { return valueOf(rank, r, i, call); });
    }
  }
  MPI_Request begin(int kind, int call) {
    MPI_Request request = MPI_REQUEST_NULL;
    if (kind == 0) {
      MPI_Ibcast(from_.data(), block_, MPI_INT, call % ranks, MPI_COMM_WORLD, &request);
    } else if (kind == 1) {
      MPI_Iallgather(mine_.data(), block_, MPI_INT, all_.data(), block_, MPI_INT, MPI_COMM_WORLD,
                     &request);
    } else if (kind == 2) {
      MPI_Ialltoall(sent_.data(), block_, MPI_INT, to_.data(), block_, MPI_INT, MPI_COMM_WORLD,
                    &request);
    } else {
      sum_.assign(static_cast<size_t>(block_), -1);
      MPI_Iexscan(mine_.data(), sum_.data(), block_, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    }
    return request;
  }
  void check(int call, const char* how) {
    bool right = true;
    for (int i = 0; i < block_; ++i) {
      int before = 0;
      for (int r = 0; r < ranks; ++r) {
        const auto at = static_cast<size_t>(r * block_ + i);
        right &= all_[at] == valueOf(r, 0, i, call) && to_[at] == valueOf(r, rank, i, call);
        if (r < rank) before += valueOf(r, 0, i, call);
      }
      right &= from_[static_cast<size_t>(i)] == valueOf(call % ranks, 0, i, call);
      right &= sum_[static_cast<size_t>(i)] == (rank == 0 ? -1 : before);
    }
    expect(right, std::string(how) + ", call " + std::to_string(call));
  }

  const int block_;
  Ints mine_, all_, from_, to_, sent_, sum_;
};

/// Reductions that have one result only.
void reductions(int call) {
  std::vector<int> in(300, rank + call), out(300, -1);
  const auto is = [&](int expected, const char* name) {
    expect(std::all_of(out.begin(), out.end(), [=](int one) { return one == expected; }), name);
    std::fill(out.begin(), out.end(), -1);
  };
  const int before = rank * (rank - 1) / 2 + rank * call;
  MPI_Exscan(in.data(), out.data(), 300, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  is(rank == 0 ? -1 : before, "MPI_Exscan");
  MPI_Scan(in.data(), out.data(), 300, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  is(before + rank + call, "MPI_Scan");
}

/// What Open MPI 4.1 reduces otherwise than Rondo on some processors: every call's result is the
/// first one's.
void unsignedReductions() {
  constexpr int kCount = 64;
  const std::vector<unsigned short> in(kCount, 60000);
  const std::vector<unsigned long> large(kCount, rank == 0 ? 1ul << 63 : 1);
  std::vector<unsigned short> sum(kCount);
  std::vector<unsigned long> most(kCount);
  MPI_Reduce(in.data(), sum.data(), kCount, MPI_UNSIGNED_SHORT, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Reduce(large.data(), most.data(), kCount, MPI_UNSIGNED_LONG, MPI_MAX, 0, MPI_COMM_WORLD);
  static const std::vector<unsigned short> firstSum = sum;
  static const std::vector<unsigned long> firstMost = most;
  expect(sum == firstSum, "a sum beyond its type");
  expect(most == firstMost, "the greatest of unsigned numbers");
}

/// Floats, whose sum depends on who adds what first where ranks are more than two.
void roundedSums() {
  const float mine = 1.0f / static_cast<float>(rank + 3);
  float sum = 0;
  MPI_Reduce(&mine, &sum, 1, MPI_FLOAT, MPI_SUM, 0, MPI_COMM_WORLD);
  static float first = sum;
  expect(sum == first, "the bits of a sum");
}

}  // namespace

int main(int argc, char** argv) {
  start(&argc, &argv);
  const int calls = argc > 1 ? std::stoi(argv[1]) : 100;
  Movements small(24), large(70000);
  Requests waited(2000), under(6000);
  for (int call = 0; argc > 2 && call < calls; ++call) waited.beside(call, argv[2]);
  for (int call = 0; argc < 3 && call < calls; ++call) {
    small.all(call);
    large.all(call);
    waited.oneByOne(call);
    under.together(call);
    reductions(call);
    roundedSums();
    unsignedReductions();
  }
  return finish();
}
