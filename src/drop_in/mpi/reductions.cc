// MPI's reductions but its reduce-scatters (reduce_scatter.cc), blocking and non-blocking, and its
// barriers. MPI makes count, type, operator
// and root equal on all ranks, so they may decide; MPI_IN_PLACE is this rank's own business.

#include <mpi.h>

#include "drop_in/mpi/at_once.h"
#include "drop_in/mpi/passing.h"
#include "drop_in/mpi/reductions.h"
#include "drop_in/mpi/types.h"
#include "drop_in/mpi/usual.h"

using namespace rondo;
using namespace rondo::drop_in;

namespace {

/// rondoAllReduce and others with the same arguments.
using SameCount = rondoResult_t (*)(const void*, void*, size_t, rondoDataType_t, rondoRedOp_t,
                                    rondoComm_t, rondoStream_t);

/// Whether the result is the same to the last bit whoever makes it, so that MPI may where it is the
/// quicker one: no rounding, or a single one of two operands neither of which is chosen. Open MPI
/// 4.1's sums of unsigned integers of 1 and 2 bytes end at the type's limits where the processor
/// has AVX, and its maximum of MPI_UNSIGNED_LONG is a signed one. The same on all ranks.
bool sameBits(int ranks, const Reduction& how) {
  const bool rounds = how.kind == TypeClass::Floating;
  if (rounds) return ranks == 2 && (how.op == rondoSum || how.op == rondoProd);
  const bool ends = how.type == rondoUint8 || how.type == rondoUint16;
  if (ends && how.op == rondoSum) return false;
  const bool orders = how.op == rondoMax || how.op == rondoMin;
  if (orders && how.type == rondoUint64) return false;
  return how.kind == TypeClass::CInteger || how.kind == TypeClass::FortranInteger;
}

/// Whether a blocking reduction is MPI's before anything else is looked at.
bool isMpisByChoice(Call call, MPI_Comm comm, int count, MPI_Datatype type, MPI_Op op) {
  if (!goAtOnce() || count < 0) return false;
  const KnownComm& known = find(comm);
  const Reduction how = reductionOf(type, op);
  return how.why == Why::Taken && sameBits(known.size, how) &&
         rondo::drop_in::isMpisByChoice(call, known, static_cast<size_t>(count) * how.size);
}

template <class Answer, class Pass>
[[gnu::noinline]] int reduceAlike(Attempt& call, const Answer& answer, const Pass& pass,
                                  SameCount rondoCall, const Vectors& of, int count) {
  Reduction how;
  const bool good = count >= 0 && of.recv != MPI_IN_PLACE;
  auto number = static_cast<size_t>(count);
  if (!openReduction(call, answer, good, number, of.type, of.op, &how)) return call.passed(pass());
  number *= how.per;
  // Rondo's all-reduce is the quicker one everywhere.
  if (rondoCall != rondoAllReduce && sameBits(call.size(), how) &&
      !answer.stays(call, number * how.size)) {
    return call.passed(pass());
  }
  const bool inPlace = of.send == MPI_IN_PLACE;
  const auto run = [=, from = inPlace ? of.recv : of.send, to = of.recv](
                       rondoComm_t comm, rondoStream_t stream = nullptr) {
    return rondoCall(from, to, number, how.type, how.op, comm, stream);
  };
  if (!devicesOn) [[likely]]  // 20 ns less than Bytes on both sides
    return answer(call, [=] { return Direct{run}; });
  const Elements from = inPlace ? kNone : vectorOf(of.send, number, of, how);
  const Elements to = vectorOf(of.recv, number, of, how);
  call.saw(from.device || to.device);
  int code = MPI_SUCCESS;
  // Scans that come again are no graphs: the key does not tell them from all-reduces.
  const size_t bytes = to.bytes();
  const CallKey key{inPlace ? of.recv : of.send,
                    of.recv,
                    number,
                    how.type,
                    how.op,
                    rondoCall == rondoAllReduce ? bytes : 0};
  // The first rank's result of an exclusive scan is nobody's: what was there stays.
  const bool receives = rondoCall != rondoExscan || call.rank() > 0;
  const auto own = memoryOf(from, receives || inPlace ? to : kNone, how);
  if (overOnDevices(call, answer, pass, bytes, own, run, &code, key)) return code;
  return answer(call, [&] {
    return Movement{bytesOf(from), bytesOf(to), loadInput(inPlace),
                    [=](Bytes& sent, Bytes& received, rondoComm_t comm) {
                      return rondoCall(inPlace ? received.data() : sent.data(), received.data(),
                                       number, how.type, how.op, comm, nullptr);
                    },
                    receives};
  });
}

template <class Answer, class Pass>
[[gnu::noinline]] int reduceToRoot(Attempt& call, const Answer& answer, const Pass& pass,
                                   const Vectors& of, int count, int root) {
  Reduction how;
  const void* significant = call.isRoot(root) ? of.recv : of.send;
  const bool good = count >= 0 && call.hasRank(root) && significant != MPI_IN_PLACE;
  auto number = static_cast<size_t>(count);
  if (!openReduction(call, answer, good, number, of.type, of.op, &how)) {
    return handOn(call, pass, of);
  }
  number *= how.per;
  if (sameBits(call.size(), how) && !answer.stays(call, number * how.size))
    return call.passed(pass());
  const bool isRoot = call.isRoot(root), inPlace = of.send == MPI_IN_PLACE;
  const auto run = [=, from = inPlace ? of.recv : of.send, to = isRoot ? of.recv : nullptr](
                       rondoComm_t comm, rondoStream_t stream = nullptr) {
    return rondoReduce(from, to, number, how.type, how.op, root, comm, stream);
  };
  if (!devicesOn) [[likely]]
    return answer(call, [=] { return Direct{run}; });
  const Elements from = inPlace ? kNone : vectorOf(of.send, number, of, how);
  const Elements to = isRoot ? vectorOf(of.recv, number, of, how) : kNone;
  call.saw(from.device || to.device);
  int code = MPI_SUCCESS;
  const auto own = memoryOf(from, to, how);
  if (overOnDevices(call, answer, pass, number * how.size, own, run, &code)) return code;
  return answer(call, [&] {
    return Movement{bytesOf(from), bytesOf(to), loadInput(inPlace),
                    [=](Bytes& sent, Bytes& received, rondoComm_t comm) {
                      return rondoReduce(inPlace ? received.data() : sent.data(), received.data(),
                                         number, how.type, how.op, root, comm, nullptr);
                    }};
  });
}

/// What a call that is MPI's has of them.
template <class Buffers>
Buffers vectors(const void* send, const void* recv, int count, MPI_Datatype type) {
  return {oneBlock(send, count, type), oneBlock(recv, count, type)};
}

template <class Answer, class Pass>
int barrier(Attempt& call, const Answer& answer, const Pass& pass) {
  if (!call.need(answer.good(), Why::Arguments) || !call.need(answer.worth(0), Why::Small)) {
    return call.passed(pass());
  }
  if (Answer::kMayAsk && call.asksMemory()) call.meet();
  return answer(
      call, [] { return Direct{[](rondoComm_t comm) { return rondoBarrier(comm, nullptr); }}; });
}

/// A usual call: true if it was one, and is over with *code.
bool allreduceAtOnce(MPI_Comm comm, const KnownComm& known, const Vectors& of, int count,
                     int* code) {
  const Reduction how = reductionOf(of.type, of.op);
  if (how.why != Why::Taken || count < 0 || of.recv == MPI_IN_PLACE) return false;
  *code = answerAtOnce(Call::Allreduce, comm, known, [&](rondoComm_t rondo) {
    return rondoAllReduce(of.send == MPI_IN_PLACE ? of.recv : of.send, of.recv,
                          static_cast<size_t>(count) * how.per, how.type, how.op, rondo, nullptr);
  });
  return true;
}

[[gnu::noinline]] int allreduceInFull(const Vectors& of, int count, MPI_Comm comm,
                                      const KnownComm* known) {
  Attempt call(Call::Allreduce, comm, known);
  const auto mpi = [&](const void* from, void* to) {
    return PMPI_Allreduce(from, to, count, of.type, of.op, comm);
  };
  const auto buffers = [&] { return vectors<AmongAll>(of.send, of.recv, count, of.type); };
  const Passing pass(comm, nullptr, buffers, mpi);
  return reduceAlike(call, AtOnce{}, pass, rondoAllReduce, of, count);
}

/// Of a usual program. `known`: as isMpisAtOnce() left it.
bool iallreduceAtOnce(MPI_Comm comm, const KnownComm* known, const Vectors& of, int count,
                      MPI_Request* request, int* code) {
  if (known == nullptr || known->aborted.load(std::memory_order_relaxed)) return false;
  const Reduction how = reductionOf(of.type, of.op);
  if (how.why != Why::Taken || count < 0 || of.recv == MPI_IN_PLACE || request == nullptr) {
    return false;
  }
  const size_t number = static_cast<size_t>(count) * how.per;
  if (number * how.size < leastLater) return false;
  const auto build = [from = of.send == MPI_IN_PLACE ? of.recv : of.send, to = of.recv, number,
                      type = how.type, op = how.op] {
    return Direct{[=](rondoComm_t rondo) {
      return rondoAllReduce(from, to, number, type, op, rondo, nullptr);
    }};
  };
  const auto make = [&] { return std::make_unique<JobOf<decltype(build)>>(build); };
  *code = beginAtOnce(Call::Iallreduce, comm, *known, make, request);
  return true;
}

[[gnu::noinline]] int iallreduceInFull(const Vectors& of, int count, MPI_Comm comm,
                                       const KnownComm* known, MPI_Request* request) {
  Attempt call(Call::Iallreduce, comm, known);
  const auto mpi = [&](const void* from, void* to) {
    return PMPI_Iallreduce(from, to, count, of.type, of.op, comm, request);
  };
  const auto buffers = [&] { return vectors<AmongAll>(of.send, of.recv, count, of.type); };
  const Passing pass(comm, request, buffers, mpi);
  return reduceAlike(call, Later{request}, pass, rondoAllReduce, of, count);
}

}  // namespace

int MPI_Allreduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm) {
  const KnownComm* const known = lookAtOnce(comm);
  int code = MPI_SUCCESS;
  const Vectors of{sendbuf, recvbuf, type, op};
  if (isUsual(known) && allreduceAtOnce(comm, *known, of, count, &code)) return code;
  return allreduceInFull(of, count, comm, known);
}

int MPI_Iallreduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm, MPI_Request* request) {
  const KnownComm* known = nullptr;
  if (isMpisAtOnce(comm, count, type, &known)) {
    return PMPI_Iallreduce(sendbuf, recvbuf, count, type, op, comm, request);
  }
  int code = MPI_SUCCESS;
  const Vectors of{sendbuf, recvbuf, type, op};
  if (usualProgram && iallreduceAtOnce(comm, known, of, count, request, &code)) return code;
  return iallreduceInFull(of, count, comm, known, request);
}

int MPI_Scan(const void* sendbuf, void* recvbuf, int count, MPI_Datatype type, MPI_Op op,
             MPI_Comm comm) {
  if (isMpisByChoice(Call::Scan, comm, count, type, op)) {
    return PMPI_Scan(sendbuf, recvbuf, count, type, op, comm);
  }
  Attempt call(Call::Scan, comm);
  const auto mpi = [&](const void* from, void* to) {
    return PMPI_Scan(from, to, count, type, op, comm);
  };
  const auto of = [&] { return vectors<AmongAll>(sendbuf, recvbuf, count, type); };
  const Passing pass(comm, nullptr, of, mpi);
  return reduceAlike(call, AtOnce{}, pass, rondoScan, {sendbuf, recvbuf, type, op}, count);
}

int MPI_Iscan(const void* sendbuf, void* recvbuf, int count, MPI_Datatype type, MPI_Op op,
              MPI_Comm comm, MPI_Request* request) {
  if (isMpisAtOnce(comm, count, type)) {
    return PMPI_Iscan(sendbuf, recvbuf, count, type, op, comm, request);
  }
  Attempt call(Call::Iscan, comm);
  const auto mpi = [&](const void* from, void* to) {
    return PMPI_Iscan(from, to, count, type, op, comm, request);
  };
  const auto of = [&] { return vectors<AmongAll>(sendbuf, recvbuf, count, type); };
  const Passing pass(comm, request, of, mpi);
  return reduceAlike(call, Later{request}, pass, rondoScan, {sendbuf, recvbuf, type, op}, count);
}

int MPI_Exscan(const void* sendbuf, void* recvbuf, int count, MPI_Datatype type, MPI_Op op,
               MPI_Comm comm) {
  if (isMpisByChoice(Call::Exscan, comm, count, type, op)) {
    return PMPI_Exscan(sendbuf, recvbuf, count, type, op, comm);
  }
  Attempt call(Call::Exscan, comm);
  const auto mpi = [&](const void* from, void* to) {
    return PMPI_Exscan(from, to, count, type, op, comm);
  };
  const auto of = [&] { return vectors<AfterOthers>(sendbuf, recvbuf, count, type); };
  const Passing pass(comm, nullptr, of, mpi);
  return reduceAlike(call, AtOnce{}, pass, rondoExscan, {sendbuf, recvbuf, type, op}, count);
}

int MPI_Iexscan(const void* sendbuf, void* recvbuf, int count, MPI_Datatype type, MPI_Op op,
                MPI_Comm comm, MPI_Request* request) {
  if (isMpisAtOnce(comm, count, type)) {
    return PMPI_Iexscan(sendbuf, recvbuf, count, type, op, comm, request);
  }
  Attempt call(Call::Iexscan, comm);
  const auto mpi = [&](const void* from, void* to) {
    return PMPI_Iexscan(from, to, count, type, op, comm, request);
  };
  const auto of = [&] { return vectors<AfterOthers>(sendbuf, recvbuf, count, type); };
  const Passing pass(comm, request, of, mpi);
  return reduceAlike(call, Later{request}, pass, rondoExscan, {sendbuf, recvbuf, type, op}, count);
}

int MPI_Reduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype type, MPI_Op op,
               int root, MPI_Comm comm) {
  if (isMpisByChoice(Call::Reduce, comm, count, type, op)) {
    return PMPI_Reduce(sendbuf, recvbuf, count, type, op, root, comm);
  }
  Attempt call(Call::Reduce, comm);
  const auto mpi = [&](const void* from, void* to) {
    return PMPI_Reduce(from, to, count, type, op, root, comm);
  };
  const auto of = [&] {
    return ToRoot{oneBlock(sendbuf, count, type), oneBlock(recvbuf, count, type), root};
  };
  const Passing pass(comm, nullptr, of, mpi);
  return reduceToRoot(call, AtOnce{}, pass, {sendbuf, recvbuf, type, op}, count, root);
}

int MPI_Ireduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype type, MPI_Op op,
                int root, MPI_Comm comm, MPI_Request* request) {
  if (isMpisAtOnce(comm, count, type)) {
    return PMPI_Ireduce(sendbuf, recvbuf, count, type, op, root, comm, request);
  }
  Attempt call(Call::Ireduce, comm);
  const auto mpi = [&](const void* from, void* to) {
    return PMPI_Ireduce(from, to, count, type, op, root, comm, request);
  };
  const auto of = [&] {
    return ToRoot{oneBlock(sendbuf, count, type), oneBlock(recvbuf, count, type), root};
  };
  const Passing pass(comm, request, of, mpi);
  return reduceToRoot(call, Later{request}, pass, {sendbuf, recvbuf, type, op}, count, root);
}

int MPI_Barrier(MPI_Comm comm) {
  Attempt call(Call::Barrier, comm);
  return barrier(call, AtOnce{}, [&] { return PMPI_Barrier(comm); });
}

int MPI_Ibarrier(MPI_Comm comm, MPI_Request* request) {
  if (goAtOnce()) return PMPI_Ibarrier(comm, request);
  Attempt call(Call::Ibarrier, comm);
  return barrier(call, Later{request}, [&] { return PMPI_Ibarrier(comm, request); });
}
