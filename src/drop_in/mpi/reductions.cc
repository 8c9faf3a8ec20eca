// MPI's reductions, blocking and non-blocking, and its barriers. MPI makes count, type, operator
// and root equal on all ranks, so they may decide; MPI_IN_PLACE is this rank's own business.

#include <mpi.h>

#include <cstring>
#include <memory>

#include "drop_in/mpi/answers.h"
#include "drop_in/mpi/counts.h"
#include "drop_in/mpi/types.h"

using namespace rondo;
using namespace rondo::drop_in;

namespace {

/// Opens the call to Rondo if it knows type and operator and nothing is wrong.
bool openReduction(Attempt& call, bool good, MPI_Datatype type, MPI_Op op, Reduction* how) {
  if (!call.need(good, Why::Arguments)) return false;
  *how = reductionOf(type, op);
  return call.need(how->why == Why::Taken, how->why);
}

const void* inputOf(const void* sendbuf, const void* recvbuf) {
  return sendbuf == MPI_IN_PLACE ? recvbuf : sendbuf;
}

/// The arguments that MPI's calls of this kind have in common.
struct Vectors {
  const void* send;
  void* recv;
  MPI_Datatype type;
  MPI_Op op;
};

/// rondoAllReduce and others with the same arguments.
using SameCount = rondoResult_t (*)(const void*, void*, size_t, rondoDataType_t, rondoRedOp_t,
                                    rondoComm_t, rondoStream_t);

template <class Answer, class Pass>
int reduceAlike(Attempt& call, const Answer& answer, const Pass& pass, SameCount rondoCall,
                const Vectors& of, int count) {
  Reduction how;
  const bool good = answer.good() && count >= 0 && of.recv != MPI_IN_PLACE;
  if (!openReduction(call, good, of.type, of.op, &how)) return call.passed(pass());
  return answer(call, [&] {
    return Direct{[=, from = inputOf(of.send, of.recv), to = of.recv](rondoComm_t comm) {
      return rondoCall(from, to, static_cast<size_t>(count), how.type, how.op, comm, nullptr);
    }};
  });
}

template <class Answer, class Pass>
int reduceToRoot(Attempt& call, const Answer& answer, const Pass& pass, const Vectors& of,
                 int count, int root) {
  Reduction how;
  const void* significant = call.isRoot(root) ? of.recv : of.send;
  const bool good =
      answer.good() && count >= 0 && call.hasRank(root) && significant != MPI_IN_PLACE;
  if (!openReduction(call, good, of.type, of.op, &how)) return call.passed(pass());
  return answer(call, [&] {
    return Direct{[=, from = inputOf(of.send, of.recv), to = of.recv](rondoComm_t comm) {
      return rondoReduce(from, to, static_cast<size_t>(count), how.type, how.op, root, comm,
                         nullptr);
    }};
  });
}

/// In place, MPI reads the whole vector from recvbuf and puts this rank's block to its begin, where
/// rank 0's part of the input may still be read: the block is made elsewhere.
class OwnBlock {
 public:
  OwnBlock(const Vectors& of, size_t bytes) : recv_(of.recv), bytes_(bytes) {
    if (of.send == MPI_IN_PLACE) elsewhere_ = std::make_unique_for_overwrite<char[]>(bytes + 1);
  }
  void* data() const { return elsewhere_ ? elsewhere_.get() : recv_; }
  void store() {
    if (elsewhere_ && bytes_ > 0) std::memcpy(recv_, elsewhere_.get(), bytes_);
  }
  void outlast() {}

 private:
  void* recv_;
  size_t bytes_;
  std::unique_ptr<char[]> elsewhere_;
};

constexpr auto loadNothing = [](const auto&, const auto&) {};

template <class Answer, class Pass>
int reduceScatterBlock(Attempt& call, const Answer& answer, const Pass& pass, const Vectors& of,
                       int count) {
  Reduction how;
  const bool good = answer.good() && count >= 0 && of.recv != MPI_IN_PLACE;
  if (!openReduction(call, good, of.type, of.op, &how)) return call.passed(pass());
  const auto number = static_cast<size_t>(count);
  return answer(call, [&] {
    return Movement{
        Nothing{}, OwnBlock(of, number * how.size), loadNothing,
        [=, from = inputOf(of.send, of.recv)](Nothing&, OwnBlock& to, rondoComm_t comm) {
          return rondoReduceScatter(from, to.data(), number, how.type, how.op, comm, nullptr);
        }};
  });
}

template <class Answer, class Pass>
int reduceScatter(Attempt& call, const Answer& answer, const Pass& pass, const Vectors& of,
                  const int counts[]) {
  Reduction how;
  const bool good = answer.good() && countsAreGood(counts, call.size()) && of.recv != MPI_IN_PLACE;
  if (!openReduction(call, good, of.type, of.op, &how)) return call.passed(pass());
  return answer(call, [&] {
    return Movement{
        Counts(counts, call.size(), 1),
        OwnBlock(of, static_cast<size_t>(counts[call.rank()]) * how.size), loadNothing,
        [=, from = inputOf(of.send, of.recv)](Counts& numbers, OwnBlock& to, rondoComm_t comm) {
          return rondoReduceScatterV(from, to.data(), numbers.data(), how.type, how.op, comm,
                                     nullptr);
        }};
  });
}

template <class Answer, class Pass>
int barrier(Attempt& call, const Answer& answer, const Pass& pass) {
  if (!call.need(answer.good(), Why::Arguments)) return call.passed(pass());
  return answer(
      call, [] { return Direct{[](rondoComm_t comm) { return rondoBarrier(comm, nullptr); }}; });
}

}  // namespace

int MPI_Allreduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm) {
  Attempt call(Call::Allreduce, comm);
  const auto pass = [&] { return PMPI_Allreduce(sendbuf, recvbuf, count, type, op, comm); };
  return reduceAlike(call, AtOnce{}, pass, rondoAllReduce, {sendbuf, recvbuf, type, op}, count);
}

int MPI_Iallreduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm, MPI_Request* request) {
  Attempt call(Call::Iallreduce, comm);
  const auto pass = [&] {
    return PMPI_Iallreduce(sendbuf, recvbuf, count, type, op, comm, request);
  };
  return reduceAlike(call, Later{request}, pass, rondoAllReduce, {sendbuf, recvbuf, type, op},
                     count);
}

int MPI_Scan(const void* sendbuf, void* recvbuf, int count, MPI_Datatype type, MPI_Op op,
             MPI_Comm comm) {
  Attempt call(Call::Scan, comm);
  const auto pass = [&] { return PMPI_Scan(sendbuf, recvbuf, count, type, op, comm); };
  return reduceAlike(call, AtOnce{}, pass, rondoScan, {sendbuf, recvbuf, type, op}, count);
}

int MPI_Iscan(const void* sendbuf, void* recvbuf, int count, MPI_Datatype type, MPI_Op op,
              MPI_Comm comm, MPI_Request* request) {
  Attempt call(Call::Iscan, comm);
  const auto pass = [&] { return PMPI_Iscan(sendbuf, recvbuf, count, type, op, comm, request); };
  return reduceAlike(call, Later{request}, pass, rondoScan, {sendbuf, recvbuf, type, op}, count);
}

int MPI_Exscan(const void* sendbuf, void* recvbuf, int count, MPI_Datatype type, MPI_Op op,
               MPI_Comm comm) {
  Attempt call(Call::Exscan, comm);
  const auto pass = [&] { return PMPI_Exscan(sendbuf, recvbuf, count, type, op, comm); };
  return reduceAlike(call, AtOnce{}, pass, rondoExscan, {sendbuf, recvbuf, type, op}, count);
}

int MPI_Iexscan(const void* sendbuf, void* recvbuf, int count, MPI_Datatype type, MPI_Op op,
                MPI_Comm comm, MPI_Request* request) {
  Attempt call(Call::Iexscan, comm);
  const auto pass = [&] { return PMPI_Iexscan(sendbuf, recvbuf, count, type, op, comm, request); };
  return reduceAlike(call, Later{request}, pass, rondoExscan, {sendbuf, recvbuf, type, op}, count);
}

int MPI_Reduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype type, MPI_Op op,
               int root, MPI_Comm comm) {
  Attempt call(Call::Reduce, comm);
  const auto pass = [&] { return PMPI_Reduce(sendbuf, recvbuf, count, type, op, root, comm); };
  return reduceToRoot(call, AtOnce{}, pass, {sendbuf, recvbuf, type, op}, count, root);
}

int MPI_Ireduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype type, MPI_Op op,
                int root, MPI_Comm comm, MPI_Request* request) {
  Attempt call(Call::Ireduce, comm);
  const auto pass = [&] {
    return PMPI_Ireduce(sendbuf, recvbuf, count, type, op, root, comm, request);
  };
  return reduceToRoot(call, Later{request}, pass, {sendbuf, recvbuf, type, op}, count, root);
}

int MPI_Reduce_scatter_block(const void* sendbuf, void* recvbuf, int recvcount, MPI_Datatype type,
                             MPI_Op op, MPI_Comm comm) {
  Attempt call(Call::ReduceScatterBlock, comm);
  const auto pass = [&] {
    return PMPI_Reduce_scatter_block(sendbuf, recvbuf, recvcount, type, op, comm);
  };
  return reduceScatterBlock(call, AtOnce{}, pass, {sendbuf, recvbuf, type, op}, recvcount);
}

int MPI_Ireduce_scatter_block(const void* sendbuf, void* recvbuf, int recvcount, MPI_Datatype type,
                              MPI_Op op, MPI_Comm comm, MPI_Request* request) {
  Attempt call(Call::IreduceScatterBlock, comm);
  const auto pass = [&] {
    return PMPI_Ireduce_scatter_block(sendbuf, recvbuf, recvcount, type, op, comm, request);
  };
  return reduceScatterBlock(call, Later{request}, pass, {sendbuf, recvbuf, type, op}, recvcount);
}

int MPI_Reduce_scatter(const void* sendbuf, void* recvbuf, const int recvcounts[],
                       MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  Attempt call(Call::ReduceScatter, comm);
  const auto pass = [&] {
    return PMPI_Reduce_scatter(sendbuf, recvbuf, recvcounts, type, op, comm);
  };
  return reduceScatter(call, AtOnce{}, pass, {sendbuf, recvbuf, type, op}, recvcounts);
}

int MPI_Ireduce_scatter(const void* sendbuf, void* recvbuf, const int recvcounts[],
                        MPI_Datatype type, MPI_Op op, MPI_Comm comm, MPI_Request* request) {
  Attempt call(Call::IreduceScatter, comm);
  const auto pass = [&] {
    return PMPI_Ireduce_scatter(sendbuf, recvbuf, recvcounts, type, op, comm, request);
  };
  return reduceScatter(call, Later{request}, pass, {sendbuf, recvbuf, type, op}, recvcounts);
}

int MPI_Barrier(MPI_Comm comm) {
  Attempt call(Call::Barrier, comm);
  return barrier(call, AtOnce{}, [&] { return PMPI_Barrier(comm); });
}

int MPI_Ibarrier(MPI_Comm comm, MPI_Request* request) {
  Attempt call(Call::Ibarrier, comm);
  return barrier(call, Later{request}, [&] { return PMPI_Ibarrier(comm, request); });
}
