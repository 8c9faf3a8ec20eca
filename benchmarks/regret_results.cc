#include "regret_results.h"

#include <algorithm>

#include "base/error.h"

namespace rondo::tune {
namespace {

/// Whole numbers, whose sums are exact in any order.
float valueOf(int rank, uint64_t element) {
  return static_cast<float>((element * 7 + static_cast<uint64_t>(rank) * 5) % 23 + 1);
}
constexpr float kUntouched = -1;

/// What a rank's receive buffer holds at `element` afterwards.
class Expected {
 public:
  Expected(const Trial& trial, int rank, int ranks)
      : collective_(trial.collective), count_(trial.bytes / 4), rank_(rank), ranks_(ranks) {}

  float operator()(uint64_t element) const {
    const uint64_t slot = element / count_, inside = element % count_;
    const uint64_t mine = static_cast<uint64_t>(rank_) * count_ + inside;
    switch (collective_) {
      case Collective::AllReduce:
        return sum(ranks_, element);
      case Collective::Reduce:
        return rank_ == 0 ? sum(ranks_, element) : kUntouched;
      case Collective::Broadcast:
        return valueOf(0, element);
      case Collective::Scatter:
        return valueOf(0, mine);
      case Collective::Gather:
        return rank_ == 0 ? valueOf(static_cast<int>(slot), inside) : kUntouched;
      case Collective::AllGather:
        return valueOf(static_cast<int>(slot), inside);
      case Collective::ReduceScatter:
        return sum(ranks_, mine);
      case Collective::AllToAll:
        return valueOf(static_cast<int>(slot), mine);
      case Collective::Scan:
        return sum(rank_ + 1, element);
      case Collective::Exscan:
        return rank_ == 0 ? kUntouched : sum(rank_, element);
      case Collective::Barrier:
        break;
    }
    return kUntouched;
  }

 private:
  static float sum(int ranks, uint64_t element) {
    float total = 0;
    for (int r = 0; r < ranks; ++r) total += valueOf(r, element);
    return total;
  }

  Collective collective_;
  uint64_t count_;
  int rank_, ranks_;
};

}  // namespace

void checkResults(const Trial& trial, int rank, int ranks) {
  const uint64_t sent = sendBytes(trial.collective, trial.bytes, ranks);
  const uint64_t received = recvBytes(trial.collective, trial.bytes, ranks);
  const bool mapped = trial.buffers != nullptr && trial.buffers->mapped();
  RotatingBuffers buffers(std::max(sent, received), mapped);
  const RotatingBuffers::Piece piece = buffers.next(sent, received);
  auto* const input = static_cast<float*>(const_cast<void*>(piece.send));
  auto* const output = static_cast<float*>(piece.recv);
  for (uint64_t i = 0; i < sent / 4; ++i) input[i] = valueOf(rank, i);
  std::fill_n(output, received / 4, kUntouched);
  callOnce(trial, piece);

  const Expected expected(trial, rank, ranks);
  struct {
    double got, wanted;
    long long element, rank;
  } wrong{0, 0, -1, rank}, first{};
  for (uint64_t i = 0; i < received / 4 && wrong.element < 0; ++i) {
    if (output[i] == expected(i)) continue;
    wrong = {output[i], expected(i), static_cast<long long>(i), rank};
  }
  int mine = wrong.element < 0 ? ranks : rank, least = ranks;
  MPI_Allreduce(&mine, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (least == ranks) return;
  first = wrong;
  MPI_Bcast(&first, sizeof first, MPI_BYTE, least, MPI_COMM_WORLD);
  throw Error(
      rondoInternalError,
      format("%s of %llu bytes by \"%s\" is wrong on rank %lld: element %lld is %g, it should "
             "be %g",
             collectiveName(trial.collective), static_cast<unsigned long long>(trial.bytes),
             trial.comm->rules().empty() ? "the planner's choice" : trial.comm->rules().c_str(),
             first.rank, first.element, first.got, first.wanted));
}

}  // namespace rondo::tune
