// MPI's movements with equal blocks, blocking and non-blocking. MPI makes the type signature of a
// block equal on all ranks, thus its bytes, which may decide; the types and counts that describe it
// are local.

#include <mpi.h>

#include <climits>

#include "base/error.h"
#include "drop_in/mpi/answers.h"
#include "drop_in/mpi/at_once.h"
#include "drop_in/mpi/layout.h"
#include "drop_in/mpi/passing.h"

using namespace rondo;
using namespace rondo::drop_in;

namespace {

char* bytesAt(const void* buffer) { return static_cast<char*>(const_cast<void*>(buffer)); }

/// One argument triple of MPI.
struct Triple {
  const void* buffer;
  int count;
  MPI_Datatype type;
};

/// Whether nothing of a broadcast is wrong, as far as a rank of `size` sees.
bool isSound(int size, const Triple& of, int root) {
  return root >= 0 && root < size && of.count >= 0 && of.buffer != MPI_IN_PLACE;
}
/// Of a gathering or scattering of blocks of `own`, in `whole` on the root.
bool isSound(int size, int rank, const Triple& own, const Triple& whole, int root) {
  const bool isRoot = rank == root, inPlace = own.buffer == MPI_IN_PLACE;
  return root >= 0 && root < size && (inPlace ? isRoot : own.count >= 0) &&
         (!isRoot || (whole.buffer != MPI_IN_PLACE && whole.count >= 0));
}

/// Whether it is MPI's before anything else is looked at (at_once.h).
bool isMpisByChoice(Call call, MPI_Comm comm, const Triple& own, const Triple& whole, int root) {
  const Triple& block = own.buffer != MPI_IN_PLACE ? own : whole;
  return rondo::drop_in::isMpisByChoice(
      call, comm, block.count, block.type,
      [&](const KnownComm& known) { return isSound(known.size, known.rank, own, whole, root); });
}

/// A triple's block of `count` elements for each of `blocks` ranks.
struct Side {
  Elements all;
  size_t perBlock;
  Side(const Triple& of, int blocks)
      : all{bytesAt(of.buffer), 0, of.type, layoutOf(of.type), liesOnDevice(of.buffer, of.type)},
        perBlock(of.count > 0 ? static_cast<size_t>(of.count) : 0) {
    all.count = perBlock * static_cast<size_t>(blocks);
  }
  size_t blockBytes() const { return perBlock * all.layout.size; }
  /// Where a rank's block begins in the bytes.
  size_t at(int rank) const { return blockBytes() * static_cast<size_t>(rank); }
  void load(Bytes& bytes, int rank) const {
    bytes.load(perBlock * static_cast<size_t>(rank), perBlock);
  }
};

/// Whether the block that this side describes lets Rondo answer.
bool openBlock(Attempt& call, const Side& side) {
  call.saw(side.all.device);
  return call.need(side.all.layout.valid, Why::Arguments) &&
         call.need(side.blockBytes() <= INT_MAX || rehearsing, Why::Large);
}

/// The same, and whether the call is worth it.
template <class Answer>
bool openBlock(Attempt& call, const Side& side, const Answer& answer) {
  return openBlock(call, side) && call.need(answer.worth(side.blockBytes()), Why::Small);
}
/// The same of the blocks of both sides, the first of which counts, to the end.
template <class Answer>
bool openBlocks(Attempt& call, const Side& side, const Side& other, const Answer& answer) {
  return openBlock(call, side, answer) && openBlock(call, other) &&
         answer.stays(call, side.blockBytes());
}

/// Whether the caller's memory serves as it is, as it mostly does. Rondo's call on it takes 15 to
/// 20 ns less than one on Bytes, a fifth of a small movement.
bool plain(const Side& send, const Side& recv) {
  const auto serves = [](const Side& side) { return side.all.layout.dense && !side.all.device; };
  return serves(send) && serves(recv) && send.blockBytes() == recv.blockBytes();
}

/// What this rank brings to a call of the devices.
auto memoryOf(const Side& send, const Side& recv, bool fits = true) {
  return [&send, &recv, fits](OwnMemory& mine) {
    mine.add(send.all);
    mine.add(recv.all);
    if (!fits || send.blockBytes() != recv.blockBytes()) mine.refuse();
  };
}

void requireSameBytes(const Side& send, const Side& recv) {
  rondo::drop_in::requireSameBytes(send.blockBytes(), recv.blockBytes());
}

template <class Answer, class Pass>
[[gnu::noinline]] int bcast(Attempt& call, const Answer& answer, const Pass& pass, const Triple& of,
                            int root) {
  const bool good = answer.good() && isSound(call.size(), of, root);
  if (!call.need(good, Why::Arguments)) return call.passed(pass());
  const Side side(of, 1);
  if (!openBlock(call, side, answer) || !answer.stays(call, side.blockBytes())) {
    return call.passed(pass());
  }
  const bool isRoot = call.isRoot(root);
  const auto run = [all = side.all.begin, bytes = side.blockBytes(), root](rondoComm_t comm,
                                                                           rondoStream_t stream) {
    return rondoBroadcast(all, all, bytes, rondoUint8, root, comm, stream);
  };
  int code = MPI_SUCCESS;
  const auto own = [&](OwnMemory& mine) { mine.add(side.all); };
  if (overOnDevices(call, answer, pass, side.blockBytes(), own, run, &code)) return code;
  return answer(call, [&] {
    return Movement{nothing, bytesOf(side.all),
                    [=](Nothing&, Bytes& bytes) {
                      if (isRoot) bytes.load();
                    },
                    [=, block = side.blockBytes()](Nothing&, Bytes& bytes, rondoComm_t comm) {
                      return rondoBroadcast(bytes.data(), bytes.data(), block, rondoUint8, root,
                                            comm, nullptr);
                    },
                    !isRoot};
  });
}

template <class Answer, class Pass>
[[gnu::noinline]] int allgather(Attempt& call, const Answer& answer, const Pass& pass,
                                const Triple& from, const Triple& to) {
  const bool inPlace = from.buffer == MPI_IN_PLACE;
  const bool good =
      answer.good() && to.buffer != MPI_IN_PLACE && to.count >= 0 && (inPlace || from.count >= 0);
  if (!call.need(good, Why::Arguments)) return call.passed(pass());
  const Side recv(to, call.size());
  const Side send = inPlace ? recv : Side(from, 1);
  if (!openBlocks(call, recv, send, answer)) return call.passed(pass());
  const int me = call.rank();
  const auto run = [mine = inPlace ? recv.all.begin + recv.at(me) : send.all.begin,
                    all = recv.all.begin,
                    block = recv.blockBytes()](rondoComm_t comm, rondoStream_t stream = nullptr) {
    return rondoAllGather(mine, all, block, rondoUint8, comm, stream);
  };
  int code = MPI_SUCCESS;
  if (overOnDevices(call, answer, pass, recv.blockBytes(), memoryOf(send, recv), run, &code)) {
    return code;
  }
  if (plain(send, recv)) [[likely]]
    return answer(call, [=] { return Direct{run}; });
  return answer(call, [&] {
    requireSameBytes(send, recv);
    return Movement{
        bytesIf(!inPlace, send.all), bytesOf(recv.all),
        [=](Bytes& sent, Bytes& received) { inPlace ? recv.load(received, me) : sent.load(); },
        [=](Bytes& sent, Bytes& received, rondoComm_t comm) {
          const char* mine = inPlace ? received.data() + recv.at(me) : sent.data();
          return rondoAllGather(mine, received.data(), recv.blockBytes(), rondoUint8, comm,
                                nullptr);
        }};
  });
}

template <class Answer, class Pass>
[[gnu::noinline]] int gather(Attempt& call, const Answer& answer, const Pass& pass,
                             const Triple& from, const Triple& to, int root) {
  const bool isRoot = call.isRoot(root), inPlace = from.buffer == MPI_IN_PLACE;
  const bool good = answer.good() && isSound(call.size(), call.rank(), from, to, root);
  if (!call.need(good, Why::Arguments)) return call.passed(pass());
  // What is not significant here is not looked at: a block on one side stands for the other's.
  const Side recv = isRoot ? Side(to, call.size()) : Side(from, 1);
  const Side send = inPlace ? recv : Side(from, 1);
  if (!openBlocks(call, recv, send, answer)) return call.passed(pass());
  const auto run = [mine = inPlace ? recv.all.begin + recv.at(root) : send.all.begin,
                    all = isRoot ? recv.all.begin : nullptr, block = recv.blockBytes(),
                    root](rondoComm_t comm, rondoStream_t stream = nullptr) {
    return rondoGather(mine, all, block, rondoUint8, root, comm, stream);
  };
  int code = MPI_SUCCESS;
  if (overOnDevices(call, answer, pass, recv.blockBytes(), memoryOf(send, recv), run, &code)) {
    return code;
  }
  if (plain(send, recv)) [[likely]]
    return answer(call, [=] { return Direct{run}; });
  return answer(call, [&] {
    requireSameBytes(send, recv);
    return Movement{
        bytesIf(!inPlace, send.all), bytesIf(isRoot, recv.all),
        [=](Bytes& sent, Bytes& received) { inPlace ? recv.load(received, root) : sent.load(); },
        [=](Bytes& sent, Bytes& received, rondoComm_t comm) {
          const char* mine = inPlace ? received.data() + recv.at(root) : sent.data();
          return rondoGather(mine, received.data(), recv.blockBytes(), rondoUint8, root, comm,
                             nullptr);
        }};
  });
}

template <class Answer, class Pass>
[[gnu::noinline]] int scatter(Attempt& call, const Answer& answer, const Pass& pass,
                              const Triple& from, const Triple& to, int root) {
  const bool isRoot = call.isRoot(root), inPlace = to.buffer == MPI_IN_PLACE;
  const bool good = answer.good() && isSound(call.size(), call.rank(), to, from, root);
  if (!call.need(good, Why::Arguments)) return call.passed(pass());
  const Side send = isRoot ? Side(from, call.size()) : Side(to, 1);
  const Side recv = inPlace ? send : Side(to, 1);
  if (!openBlocks(call, send, recv, answer)) return call.passed(pass());
  const auto run = [all = isRoot ? send.all.begin : nullptr,
                    mine = inPlace ? send.all.begin + send.at(root) : recv.all.begin,
                    block = send.blockBytes(),
                    root](rondoComm_t comm, rondoStream_t stream = nullptr) {
    return rondoScatter(all, mine, block, rondoUint8, root, comm, stream);
  };
  int code = MPI_SUCCESS;
  if (overOnDevices(call, answer, pass, send.blockBytes(), memoryOf(send, recv), run, &code)) {
    return code;
  }
  if (plain(send, recv)) [[likely]]
    return answer(call, [=] { return Direct{run}; });
  return answer(call, [&] {
    requireSameBytes(send, recv);
    return Movement{bytesIf(isRoot, send.all), bytesIf(!inPlace, recv.all),
                    [](Bytes& sent, Bytes&) { sent.load(); },
                    [=](Bytes& sent, Bytes& received, rondoComm_t comm) {
                      char* mine = inPlace ? sent.data() + send.at(root) : received.data();
                      return rondoScatter(sent.data(), mine, send.blockBytes(), rondoUint8, root,
                                          comm, nullptr);
                    },
                    !inPlace};
  });
}

template <class Answer, class Pass>
[[gnu::noinline]] int alltoall(Attempt& call, const Answer& answer, const Pass& pass,
                               const Triple& from, const Triple& to) {
  const bool inPlace = from.buffer == MPI_IN_PLACE;
  const bool good =
      answer.good() && to.buffer != MPI_IN_PLACE && to.count >= 0 && (inPlace || from.count >= 0);
  if (!call.need(good, Why::Arguments)) return call.passed(pass());
  const Side recv(to, call.size());
  const Side send = inPlace ? recv : Side(from, call.size());
  if (!openBlocks(call, recv, send, answer)) return call.passed(pass());
  const auto run = [from = inPlace ? recv.all.begin : send.all.begin, to = recv.all.begin,
                    block = recv.blockBytes()](rondoComm_t comm, rondoStream_t stream = nullptr) {
    return rondoAllToAll(from, to, block, rondoUint8, comm, stream);
  };
  int code = MPI_SUCCESS;
  const auto own = memoryOf(send, recv, !inPlace);  // kernels have not always room for that
  if (overOnDevices(call, answer, pass, recv.blockBytes(), own, run, &code)) return code;
  if (plain(send, recv)) [[likely]]
    return answer(call, [=] { return Direct{run}; });
  return answer(call, [&] {
    requireSameBytes(send, recv);
    return Movement{bytesIf(!inPlace, send.all), bytesOf(recv.all),
                    [=](Bytes& sent, Bytes& received) { inPlace ? received.load() : sent.load(); },
                    [=, block = recv.blockBytes()](Bytes& sent, Bytes& received, rondoComm_t comm) {
                      const char* all = inPlace ? received.data() : sent.data();
                      return rondoAllToAll(all, received.data(), block, rondoUint8, comm, nullptr);
                    }};
  });
}

}  // namespace

int MPI_Bcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  const auto sound = [&](const KnownComm& known) {
    return isSound(known.size, {buffer, count, type}, root);
  };
  if (isMpisByChoice(Call::Bcast, comm, count, type, sound)) {
    return PMPI_Bcast(buffer, count, type, root, comm);
  }
  Attempt call(Call::Bcast, comm);
  const auto mpi = [&](const void* from, void* to) {
    return PMPI_Bcast(from != buffer ? const_cast<void*>(from) : to, count, type, root, comm);
  };
  const auto of = [&] {
    return FromRootToOthers{oneBlock(buffer, count, type), oneBlock(buffer, count, type), root};
  };
  const Passing pass(comm, nullptr, of, mpi);
  return bcast(call, AtOnce{}, pass, {buffer, count, type}, root);
}

int MPI_Ibcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm,
               MPI_Request* request) {
  if (isMpisAtOnce(comm, count, type)) {
    return PMPI_Ibcast(buffer, count, type, root, comm, request);
  }
  Attempt call(Call::Ibcast, comm);
  const auto mpi = [&](const void* from, void* to) {
    return PMPI_Ibcast(from != buffer ? const_cast<void*>(from) : to, count, type, root, comm,
                       request);
  };
  const auto of = [&] {
    return FromRootToOthers{oneBlock(buffer, count, type), oneBlock(buffer, count, type), root};
  };
  const Passing pass(comm, request, of, mpi);
  return bcast(call, Later{request}, pass, {buffer, count, type}, root);
}

int MPI_Allgather(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                  int recvcount, MPI_Datatype recvtype, MPI_Comm comm) {
  Attempt call(Call::Allgather, comm);
  const auto mpi = [&](const void* from, void* to) {
    return PMPI_Allgather(from, sendcount, sendtype, to, recvcount, recvtype, comm);
  };
  const auto of = [&] {
    return AmongAll{oneBlock(sendbuf, sendcount, sendtype),
                    evenBlocks(recvbuf, recvcount, recvtype)};
  };
  const Passing pass(comm, nullptr, of, mpi);
  return allgather(call, AtOnce{}, pass, {sendbuf, sendcount, sendtype},
                   {recvbuf, recvcount, recvtype});
}

int MPI_Iallgather(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                   int recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Request* request) {
  if (isMpisAtOnce(comm, recvcount, recvtype)) {
    return PMPI_Iallgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm,
                           request);
  }
  Attempt call(Call::Iallgather, comm);
  const auto mpi = [&](const void* from, void* to) {
    return PMPI_Iallgather(from, sendcount, sendtype, to, recvcount, recvtype, comm, request);
  };
  const auto of = [&] {
    return AmongAll{oneBlock(sendbuf, sendcount, sendtype),
                    evenBlocks(recvbuf, recvcount, recvtype)};
  };
  const Passing pass(comm, request, of, mpi);
  return allgather(call, Later{request}, pass, {sendbuf, sendcount, sendtype},
                   {recvbuf, recvcount, recvtype});
}

int MPI_Gather(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
               int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm) {
  if (isMpisByChoice(Call::Gather, comm, {sendbuf, sendcount, sendtype},
                     {recvbuf, recvcount, recvtype}, root)) {
    return PMPI_Gather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm);
  }
  Attempt call(Call::Gather, comm);
  const auto mpi = [&](const void* from, void* to) {
    return PMPI_Gather(from, sendcount, sendtype, to, recvcount, recvtype, root, comm);
  };
  const auto of = [&] {
    return ToRoot{oneBlock(sendbuf, sendcount, sendtype), evenBlocks(recvbuf, recvcount, recvtype),
                  root};
  };
  const Passing pass(comm, nullptr, of, mpi);
  return gather(call, AtOnce{}, pass, {sendbuf, sendcount, sendtype},
                {recvbuf, recvcount, recvtype}, root);
}

int MPI_Igather(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm,
                MPI_Request* request) {
  const bool atOnce = sendbuf != MPI_IN_PLACE ? isMpisAtOnce(comm, sendcount, sendtype)
                                              : isMpisAtOnce(comm, recvcount, recvtype);
  if (atOnce) {
    return PMPI_Igather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm,
                        request);
  }
  Attempt call(Call::Igather, comm);
  const auto mpi = [&](const void* from, void* to) {
    return PMPI_Igather(from, sendcount, sendtype, to, recvcount, recvtype, root, comm, request);
  };
  const auto of = [&] {
    return ToRoot{oneBlock(sendbuf, sendcount, sendtype), evenBlocks(recvbuf, recvcount, recvtype),
                  root};
  };
  const Passing pass(comm, request, of, mpi);
  return gather(call, Later{request}, pass, {sendbuf, sendcount, sendtype},
                {recvbuf, recvcount, recvtype}, root);
}

int MPI_Scatter(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm) {
  if (isMpisByChoice(Call::Scatter, comm, {recvbuf, recvcount, recvtype},
                     {sendbuf, sendcount, sendtype}, root)) {
    return PMPI_Scatter(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm);
  }
  Attempt call(Call::Scatter, comm);
  const auto mpi = [&](const void* from, void* to) {
    return PMPI_Scatter(from, sendcount, sendtype, to, recvcount, recvtype, root, comm);
  };
  const auto of = [&] {
    return FromRoot{evenBlocks(sendbuf, sendcount, sendtype),
                    oneBlock(recvbuf, recvcount, recvtype), root};
  };
  const Passing pass(comm, nullptr, of, mpi);
  return scatter(call, AtOnce{}, pass, {sendbuf, sendcount, sendtype},
                 {recvbuf, recvcount, recvtype}, root);
}

int MPI_Iscatter(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                 int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm,
                 MPI_Request* request) {
  const bool atOnce = recvbuf != MPI_IN_PLACE ? isMpisAtOnce(comm, recvcount, recvtype)
                                              : isMpisAtOnce(comm, sendcount, sendtype);
  if (atOnce) {
    return PMPI_Iscatter(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm,
                         request);
  }
  Attempt call(Call::Iscatter, comm);
  const auto mpi = [&](const void* from, void* to) {
    return PMPI_Iscatter(from, sendcount, sendtype, to, recvcount, recvtype, root, comm, request);
  };
  const auto of = [&] {
    return FromRoot{evenBlocks(sendbuf, sendcount, sendtype),
                    oneBlock(recvbuf, recvcount, recvtype), root};
  };
  const Passing pass(comm, request, of, mpi);
  return scatter(call, Later{request}, pass, {sendbuf, sendcount, sendtype},
                 {recvbuf, recvcount, recvtype}, root);
}

int MPI_Alltoall(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                 int recvcount, MPI_Datatype recvtype, MPI_Comm comm) {
  Attempt call(Call::Alltoall, comm);
  const auto mpi = [&](const void* from, void* to) {
    return PMPI_Alltoall(from, sendcount, sendtype, to, recvcount, recvtype, comm);
  };
  const auto of = [&] {
    return AmongAll{evenBlocks(sendbuf, sendcount, sendtype),
                    evenBlocks(recvbuf, recvcount, recvtype)};
  };
  const Passing pass(comm, nullptr, of, mpi);
  return alltoall(call, AtOnce{}, pass, {sendbuf, sendcount, sendtype},
                  {recvbuf, recvcount, recvtype});
}

int MPI_Ialltoall(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                  int recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Request* request) {
  if (isMpisAtOnce(comm, recvcount, recvtype)) {
    return PMPI_Ialltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm,
                          request);
  }
  Attempt call(Call::Ialltoall, comm);
  const auto mpi = [&](const void* from, void* to) {
    return PMPI_Ialltoall(from, sendcount, sendtype, to, recvcount, recvtype, comm, request);
  };
  const auto of = [&] {
    return AmongAll{evenBlocks(sendbuf, sendcount, sendtype),
                    evenBlocks(recvbuf, recvcount, recvtype)};
  };
  const Passing pass(comm, request, of, mpi);
  return alltoall(call, Later{request}, pass, {sendbuf, sendcount, sendtype},
                  {recvbuf, recvcount, recvtype});
}
