// device_path_test: reduce-scatters between devices, of blocks of one size and of several, and in
// place.

#include "drop_in/device_path.h"

namespace drop_in_test {
namespace {

/// What a rank puts in at a place, and what comes out there: small enough that floats are exact.
int valueAt(int sender, size_t place) { return 3 * sender + static_cast<int>(place % 1000); }
int sumAt(size_t place) { return 3 * sumOfRanks() + ranks * static_cast<int>(place % 1000); }

/// The vector of a call with a block for each rank.
template <class T>
class Vector {
 public:
  Vector(bool device, const std::vector<int>& counts) : counts_(counts) {
    for (int r = 0; r < ranks; ++r) {
      if (r < rank) before_ += lengthOf(r);
      whole_ += lengthOf(r);
    }
    buffer_.emplace(device, whole_, T{0});
    std::vector<T> values(whole_);
    for (size_t i = 0; i < whole_; ++i) values[i] = static_cast<T>(valueAt(rank, i));
    buffer_->write(values);
  }
  T* data() { return buffer_->data(); }
  size_t own() const { return lengthOf(rank); }
  /// The sums of this rank's block begin there; in place the rest of the vector is nobody's.
  bool isIn(const std::vector<T>& result) const {
    for (size_t i = 0; i < own(); ++i) {
      if (result[i] != static_cast<T>(sumAt(before_ + i))) return false;
    }
    return true;
  }
  bool inPlace() { return isIn(buffer_->read()); }

 private:
  size_t lengthOf(int r) const { return static_cast<size_t>(counts_[static_cast<size_t>(r)]); }
  std::vector<int> counts_;
  size_t before_ = 0, whole_ = 0;
  std::optional<Buffer<T>> buffer_;
};

/// How a call is ended, and whether it is in place.
enum class How { Blocking, Later };

template <class T>
void reduceScatter(bool device, const std::vector<int>& counts, bool inPlace, How how,
                   MPI_Comm comm) {
  Vector<T> in(device, counts);
  Buffer<T> out(device, in.own() + 1, T{-1});
  const void* const from = inPlace ? MPI_IN_PLACE : in.data();
  T* const to = inPlace ? in.data() : out.data();
  if (how == How::Later) {
    MPI_Request request;
    MPI_Ireduce_scatter(from, to, counts.data(), typeOf<T>(), MPI_SUM, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else {
    MPI_Reduce_scatter(from, to, counts.data(), typeOf<T>(), MPI_SUM, comm);
  }
  const bool right = inPlace ? in.inPlace() : in.isIn(out.read()) && out.read().back() == T{-1};
  expect(right, inPlace ? "reduce_scatter in place" : "reduce_scatter into a block");
}

template <class T>
void reduceScatterBlock(bool device, int count, How how, MPI_Comm comm) {
  Vector<T> in(device, std::vector<int>(n(), count));
  if (how == How::Later) {
    MPI_Request request;
    MPI_Ireduce_scatter_block(MPI_IN_PLACE, in.data(), count, typeOf<T>(), MPI_SUM, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else {
    MPI_Reduce_scatter_block(MPI_IN_PLACE, in.data(), count, typeOf<T>(), MPI_SUM, comm);
  }
  expect(in.inPlace(), "reduce_scatter_block in place");
}

/// One block is empty, where there are three, and none is like another.
std::vector<int> unevenCounts(int count) {
  std::vector<int> counts;
  for (int r = 0; r < ranks; ++r) counts.push_back(r == 2 ? 0 : count + 7 * r);
  return counts;
}

template <class T>
void all(bool device, int count, How how, MPI_Comm comm) {
  const std::vector<int> even(n(), count), uneven = unevenCounts(count);
  reduceScatter<T>(device, even, true, how, comm);
  reduceScatter<T>(device, uneven, false, how, comm);
  reduceScatter<T>(device, uneven, true, how, comm);
  reduceScatterBlock<T>(device, count, how, comm);
  // In place is a rank's own business.
  reduceScatter<T>(device, even, rank == 0, how, comm);
  reduceScatter<T>(device, uneven, rank == 0, how, comm);
}

}  // namespace

void scattered() {
  openTheWay(MPI_COMM_WORLD);
  // More than a piece, which is 32 MiB; now, while ranks ask each other in every call.
  const int many = (int{40} << 20) / 8 / ranks;
  for (const bool inPlace : {false, true}) {
    reduceScatter<double>(true, unevenCounts(many), inPlace, How::Blocking, MPI_COMM_WORLD);
  }
  for (const int where : {2, 1, 0}) {
    const bool device = where == 2 || (where == 1 && rank == 0);
    for (const How how : {How::Blocking, How::Later}) {
      for (const int count : {1, 1000, 200001}) {
        all<float>(device, count, how, MPI_COMM_WORLD);
        all<double>(device, count, how, MPI_COMM_WORLD);
      }
    }
  }
}

}  // namespace drop_in_test
