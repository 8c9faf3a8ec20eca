// MPI's reduce-scatters, with blocks of one length and with counts, blocking and non-blocking.

#include <mpi.h>

#include <algorithm>
#include <numeric>

#include "drop_in/mpi/at_once.h"
#include "drop_in/mpi/counts.h"
#include "drop_in/mpi/passing.h"
#include "drop_in/mpi/reductions.h"

using namespace rondo;
using namespace rondo::drop_in;

namespace {

/// In place, MPI reads the whole vector from recvbuf and puts this rank's block to its begin, where
/// rank 0's part of the input may still be read: the block is made elsewhere.
class OwnBlock {
 public:
  OwnBlock(const Elements& block, bool inPlace) : bytes_(block) {
    if (inPlace) bytes_.copy();
  }
  void* data() const { return bytes_.data(); }
  void store() { bytes_.store(); }
  void outlast() {}

 private:
  Bytes bytes_;
};

/// A reduce-scatter between devices as this rank does it.
struct Scattering {
  Elements input, block;
  Reduction how;
  size_t before = 0;        ///< Elements of the blocks before this rank's.
  char* scratch = nullptr;  ///< Of scratchBytes(), if it needs any.
  bool even = true;         ///< All blocks are of one size: the same on all ranks.

  /// In place the block would be made where input of it may still be read. Kernels have blocks of
  /// one size only: others are cut out of an all-reduce, which goes piece by piece.
  bool needsScratch() const { return !even || block.begin == input.begin; }
  size_t scratchBytes() const {
    return even ? block.bytes() : std::min(input.bytes(), DevicePath::kMostScratch);
  }

  rondoResult_t operator()(rondoComm_t comm, rondoStream_t stream) const {
    if (!even) return cutOut(comm, stream);
    char* const made = needsScratch() ? scratch : block.begin;
    const rondoResult_t result =
        rondoReduceScatter(input.begin, made, block.count, how.type, how.op, comm, stream);
    if (result == rondoSuccess && made != block.begin) {
      copyOnDevice(block.begin, made, block.bytes(), stream);
    }
    return result;
  }

 private:
  rondoResult_t cutOut(rondoComm_t comm, rondoStream_t stream) const {
    const size_t most = DevicePath::kMostScratch / how.size, after = before + block.count;
    for (size_t at = 0; at < input.count; at += most) {
      const size_t number = std::min(most, input.count - at);
      const rondoResult_t result = rondoAllReduce(input.begin + at * how.size, scratch, number,
                                                  how.type, how.op, comm, stream);
      if (result != rondoSuccess) return result;
      // In place, what is written here was input of this piece or of one before.
      const size_t from = std::max(at, before), to = std::min(at + number, after);
      if (from >= to) continue;
      copyOnDevice(block.begin + (from - before) * how.size, scratch + (from - at) * how.size,
                   (to - from) * how.size, stream);
    }
    return rondoSuccess;
  }
};

template <class Answer, class Pass>
bool scatteredOnDevices(Attempt& call, const Answer& answer, const Pass& pass, Scattering run,
                        int* code) {
  const bool needs = run.needsScratch();
  if (needs) run.scratch = call.scratch(run.input, run.scratchBytes());
  const auto own = memoryOf(run.input, run.block, run.how, !needs || run.scratch != nullptr);
  const CallKey key{nullptr, nullptr, run.input.count, run.how.type, run.how.op};
  return overOnDevices(call, answer, pass, run.input.bytes(), own, run, code, key);
}

/// The vector that a rank puts in.
Elements inputOf(const Vectors& of, size_t number, const Reduction& how) {
  return vectorOf(of.send == MPI_IN_PLACE ? of.recv : of.send, number, of, how);
}

template <class Answer, class Pass>
[[gnu::noinline]] int reduceScatterBlock(Attempt& call, const Answer& answer, const Pass& pass,
                                         const Vectors& of, int count) {
  Reduction how;
  const bool good = count >= 0 && of.recv != MPI_IN_PLACE;
  auto number = static_cast<size_t>(count), all = number * static_cast<size_t>(call.size());
  if (!openReduction(call, answer, good, all, of.type, of.op, &how)) return handOn(call, pass, of);
  number *= how.per, all *= how.per;
  const bool inPlace = of.send == MPI_IN_PLACE;
  const Elements from = inputOf(of, all, how), to = vectorOf(of.recv, number, of, how);
  call.saw(from.device || to.device);
  int code = MPI_SUCCESS;
  if (scatteredOnDevices(call, answer, pass, {from, to, how}, &code)) return code;
  return answer(call, [&] {
    return Movement{bytesOf(from), [&] { return OwnBlock(to, inPlace); }, loadInput(false),
                    [=](Bytes& sent, OwnBlock& mine, rondoComm_t comm) {
                      return rondoReduceScatter(sent.data(), mine.data(), number, how.type, how.op,
                                                comm, nullptr);
                    }};
  });
}

/// A rank's numbers and the vector of them all.
struct CountedBytes {
  CountedBytes(const int* numbers, int ranks, size_t scale, const Elements& vector)
      : counts(numbers, ranks, scale), bytes(vector) {}
  Counts counts;
  Bytes bytes;
  void load() { bytes.load(); }
};

template <class Answer, class Pass>
int reduceScatter(Attempt& call, const Answer& answer, const Pass& pass, const Vectors& of,
                  const int counts[]) {
  Reduction how;
  const bool good = countsAreGood(counts, call.size()) && of.recv != MPI_IN_PLACE;
  size_t all = good ? std::accumulate(counts, counts + call.size(), size_t{0}) : 0;
  if (!openReduction(call, answer, good, all, of.type, of.op, &how)) return handOn(call, pass, of);
  all *= how.per;
  const size_t mine = static_cast<size_t>(counts[call.rank()]) * how.per;
  const Elements input = inputOf(of, all, how), block = vectorOf(of.recv, mine, of, how);
  call.saw(input.device || block.device);
  const bool inPlace = of.send == MPI_IN_PLACE;
  Scattering onDevices{input, block, how};
  onDevices.even = std::all_of(counts, counts + call.size(), [&](int n) { return n == counts[0]; });
  onDevices.before = std::accumulate(counts, counts + call.rank(), size_t{0});
  int code = MPI_SUCCESS;
  if (scatteredOnDevices(call, answer, pass, onDevices, &code)) return code;
  return answer(call, [&] {
    return Movement{[&] { return CountedBytes(counts, call.size(), how.per, input); },
                    [&] { return OwnBlock(block, inPlace); },
                    [](CountedBytes& from, OwnBlock&) { from.load(); },
                    [=](CountedBytes& from, OwnBlock& to, rondoComm_t comm) {
                      return rondoReduceScatterV(from.bytes.data(), to.data(), from.counts.data(),
                                                 how.type, how.op, comm, nullptr);
                    }};
  });
}

}  // namespace

int MPI_Reduce_scatter_block(const void* sendbuf, void* recvbuf, int recvcount, MPI_Datatype type,
                             MPI_Op op, MPI_Comm comm) {
  Attempt call(Call::ReduceScatterBlock, comm);
  const auto mpi = [&](const void* from, void* to) {
    return PMPI_Reduce_scatter_block(from, to, recvcount, type, op, comm);
  };
  const auto of = [&] { return Scattered{{sendbuf}, evenBlocks(recvbuf, recvcount, type)}; };
  const Passing pass(comm, nullptr, of, mpi);
  return reduceScatterBlock(call, AtOnce{}, pass, {sendbuf, recvbuf, type, op}, recvcount);
}

int MPI_Ireduce_scatter_block(const void* sendbuf, void* recvbuf, int recvcount, MPI_Datatype type,
                              MPI_Op op, MPI_Comm comm, MPI_Request* request) {
  if (isMpisAtOnce(comm, static_cast<long long>(recvcount) * find(comm).size, type)) {
    return PMPI_Ireduce_scatter_block(sendbuf, recvbuf, recvcount, type, op, comm, request);
  }
  Attempt call(Call::IreduceScatterBlock, comm);
  const auto mpi = [&](const void* from, void* to) {
    return PMPI_Ireduce_scatter_block(from, to, recvcount, type, op, comm, request);
  };
  const auto of = [&] { return Scattered{{sendbuf}, evenBlocks(recvbuf, recvcount, type)}; };
  const Passing pass(comm, request, of, mpi);
  return reduceScatterBlock(call, Later{request}, pass, {sendbuf, recvbuf, type, op}, recvcount);
}

int MPI_Reduce_scatter(const void* sendbuf, void* recvbuf, const int recvcounts[],
                       MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  Attempt call(Call::ReduceScatter, comm);
  const auto mpi = [&](const void* from, void* to) {
    return PMPI_Reduce_scatter(from, to, recvcounts, type, op, comm);
  };
  const auto of = [&] {
    return Scattered{{sendbuf}, blocksOf(recvbuf, recvcounts, nullptr, type)};
  };
  const Passing pass(comm, nullptr, of, mpi);
  return reduceScatter(call, AtOnce{}, pass, {sendbuf, recvbuf, type, op}, recvcounts);
}

int MPI_Ireduce_scatter(const void* sendbuf, void* recvbuf, const int recvcounts[],
                        MPI_Datatype type, MPI_Op op, MPI_Comm comm, MPI_Request* request) {
  if (isMpisAtOnce(comm, recvcounts, type, Small::kTogether)) {
    return PMPI_Ireduce_scatter(sendbuf, recvbuf, recvcounts, type, op, comm, request);
  }
  Attempt call(Call::IreduceScatter, comm);
  const auto mpi = [&](const void* from, void* to) {
    return PMPI_Ireduce_scatter(from, to, recvcounts, type, op, comm, request);
  };
  const auto of = [&] {
    return Scattered{{sendbuf}, blocksOf(recvbuf, recvcounts, nullptr, type)};
  };
  const Passing pass(comm, request, of, mpi);
  return reduceScatter(call, Later{request}, pass, {sendbuf, recvbuf, type, op}, recvcounts);
}
