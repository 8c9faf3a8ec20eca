// A program that makes the same movements over and over: whoever does a call, Rondo or MPI, the
// result is right.

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
        places_(static_cast<size_t>(ranks)) {
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
      MPI_Gather(in, block_, MPI_CHAR, out, block_, MPI_CHAR, root, MPI_COMM_WORLD);
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
      MPI_Scatter(in, block_, MPI_CHAR, out, block_, MPI_CHAR, root, MPI_COMM_WORLD);
    });
    run("MPI_Scatterv", call, 1, ofRoot, [&](char* in, char* out) {
      MPI_Scatterv(in, counts_.data(), places_.data(), MPI_CHAR, out, block_, MPI_CHAR, root,
                   MPI_COMM_WORLD);
    });
    const auto first = [root](int, int) { return root * ranks; };
    run("MPI_Bcast", call, 1, first, [&](char* in, char* out) {
      if (rank == root) std::copy_n(in, block_, out);
      MPI_Bcast(out, block_, MPI_CHAR, root, MPI_COMM_WORLD);
    });
  }

 private:
  using Whose = std::function<int(int)>;

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
};

}  // namespace

int main(int argc, char** argv) {
  start(&argc, &argv);
  const int calls = argc > 1 ? std::stoi(argv[1]) : 100;
  Movements small(24), large(70000);
  for (int call = 0; call < calls; ++call) {
    small.all(call);
    large.all(call);
  }
  return finish();
}
