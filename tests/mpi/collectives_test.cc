// Every collective that MPI has, on communicators made from MPI's, equal in every byte to MPI's own
// result on numbers that are exact in whatever order they are combined.
// Usage: mpirun -n N collectives_test

#include <mpi.h>

#include <array>
#include <cstdio>
#include <random>

#include "rondo_mpi.h"
#include "support/collective_case.h"
#include "support/peak_memory.h"

namespace rondo::testing {
namespace {

int rank = 0, ranks = 1;
int failures = 0;

void expect(bool good, const std::string& what) {
  if (good) return;
  if (++failures > 20) return;
  std::printf("collectives_test: rank %d of %d: %s; last error: \"%s\"\n", rank, ranks,
              what.c_str(), rondoGetLastError(nullptr));
  std::fflush(stdout);
}

/// MPI_DATATYPE_NULL: MPI has no such type.
MPI_Datatype mpiType(rondoDataType_t type) {
  switch (type) {
    case rondoInt8:
      return MPI_INT8_T;
    case rondoUint8:
      return MPI_UINT8_T;
    case rondoInt16:
      return MPI_INT16_T;
    case rondoUint16:
      return MPI_UINT16_T;
    case rondoInt32:
      return MPI_INT32_T;
    case rondoUint32:
      return MPI_UINT32_T;
    case rondoInt64:
      return MPI_INT64_T;
    case rondoUint64:
      return MPI_UINT64_T;
    case rondoFloat32:
      return MPI_FLOAT;
    case rondoFloat64:
      return MPI_DOUBLE;
    case rondoBool:
      return MPI_C_BOOL;
    case rondoComplex64:
      return MPI_C_FLOAT_COMPLEX;
    case rondoComplex128:
      return MPI_C_DOUBLE_COMPLEX;
    case rondoFloat32Int32:
      return MPI_FLOAT_INT;
    case rondoFloat64Int32:
      return MPI_DOUBLE_INT;
    case rondoInt64Int32:
      return MPI_LONG_INT;
    case rondoInt32Int32:
      return MPI_2INT;
    case rondoInt16Int32:
      return MPI_SHORT_INT;
    default:
      return MPI_DATATYPE_NULL;
  }
}

MPI_Op mpiOp(rondoRedOp_t op) {
  switch (op) {
    case rondoSum:
      return MPI_SUM;
    case rondoProd:
      return MPI_PROD;
    case rondoMax:
      return MPI_MAX;
    case rondoMin:
      return MPI_MIN;
    case rondoLogicalAnd:
      return MPI_LAND;
    case rondoLogicalOr:
      return MPI_LOR;
    case rondoLogicalXor:
      return MPI_LXOR;
    case rondoBitAnd:
      return MPI_BAND;
    case rondoBitOr:
      return MPI_BOR;
    case rondoBitXor:
      return MPI_BXOR;
    case rondoMinLoc:
      return MPI_MINLOC;
    case rondoMaxLoc:
      return MPI_MAXLOC;
    default:
      return MPI_OP_NULL;
  }
}

/// Whether MPI can do the reduction, too. It has no bitwise operators on its bool.
bool mpiReduces(rondoDataType_t type, rondoRedOp_t op) {
  if (mpiType(type) == MPI_DATATYPE_NULL || mpiOp(op) == MPI_OP_NULL) return false;
  return type != rondoBool || (op != rondoBitAnd && op != rondoBitOr && op != rondoBitXor);
}

/// The bytes of a pair that carry nothing.
struct Padding {
  size_t at, bytes;
};
Padding padding(rondoDataType_t type) {
  switch (type) {
    case rondoInt16Int32:
      return {2, 2};
    case rondoFloat64Int32:
    case rondoInt64Int32:
      return {12, 4};
    default:
      return {0, 0};
  }
}

void clearPadding(std::vector<char>& elements, rondoDataType_t type) {
  const Padding hole = padding(type);
  if (hole.bytes == 0) return;
  for (size_t at = 0; at < elements.size(); at += typeSize(type)) {
    std::memset(elements.data() + at + hole.at, 0, hole.bytes);
  }
}

std::vector<int> ints(const Counts& counts) { return {counts.begin(), counts.end()}; }

/// The same call on MPI, out of place. Types that MPI lacks are copied as
/// bytes.
void askMpi(const Case& c, const Side& side, const void* send, void* recv) {
  MPI_Datatype type = mpiType(c.type);
  // Of a pair's padding MPI says nothing.
  const bool bytes = type == MPI_DATATYPE_NULL || (!reduces(c.call) && padding(c.type).bytes > 0);
  if (bytes) {
    MPI_Type_contiguous(static_cast<int>(typeSize(c.type)), MPI_BYTE, &type);
    MPI_Type_commit(&type);
  }
  const MPI_Op op = mpiOp(c.op);
  const MPI_Comm world = MPI_COMM_WORLD;
  const int count = static_cast<int>(c.count), sendCount = static_cast<int>(side.sendCount),
            recvCount = static_cast<int>(side.recvCount);
  const std::vector<int> sendCounts = ints(side.sendCounts), sendDispls = ints(side.sendDispls),
                         recvCounts = ints(side.recvCounts), recvDispls = ints(side.recvDispls);
  switch (c.call) {
    case Call::AllReduce:
      MPI_Allreduce(send, recv, count, type, op, world);
      break;
    case Call::Broadcast:
      if (rank == c.root) std::memcpy(recv, send, c.count * typeSize(c.type));
      MPI_Bcast(recv, count, type, c.root, world);
      break;
    case Call::Reduce:
      MPI_Reduce(send, recv, count, type, op, c.root, world);
      break;
    case Call::AllGather:
      MPI_Allgather(send, count, type, recv, count, type, world);
      break;
    case Call::AllGatherV:
      MPI_Allgatherv(send, sendCount, type, recv, recvCounts.data(), recvDispls.data(), type,
                     world);
      break;
    case Call::ReduceScatter:
      MPI_Reduce_scatter_block(send, recv, count, type, op, world);
      break;
    case Call::ReduceScatterV:
      MPI_Reduce_scatter(send, recv, sendCounts.data(), type, op, world);
      break;
    case Call::AllToAll:
      MPI_Alltoall(send, count, type, recv, count, type, world);
      break;
    case Call::AllToAllV:
      MPI_Alltoallv(send, sendCounts.data(), sendDispls.data(), type, recv, recvCounts.data(),
                    recvDispls.data(), type, world);
      break;
    case Call::Gather:
      MPI_Gather(send, count, type, recv, count, type, c.root, world);
      break;
    case Call::GatherV:
      MPI_Gatherv(send, sendCount, type, recv, recvCounts.data(), recvDispls.data(), type, c.root,
                  world);
      break;
    case Call::Scatter:
      MPI_Scatter(send, count, type, recv, count, type, c.root, world);
      break;
    case Call::ScatterV:
      MPI_Scatterv(send, sendCounts.data(), sendDispls.data(), type, recv, recvCount, type, c.root,
                   world);
      break;
    case Call::Scan:
      MPI_Scan(send, recv, count, type, op, world);
      break;
    case Call::Exscan:
      MPI_Exscan(send, recv, count, type, op, world);
      break;
  }
  if (bytes) MPI_Type_free(&type);
}

/// A buffer of a rank: ordinary memory, or one that peers reach.
class Memory {
 public:
  Memory(size_t bytes, bool shared) : bytes_(bytes), shared_(shared) {
    void* all = nullptr;
    if (shared) {
      expect(rondoMemAlloc(&all, bytes + 1) == rondoSuccess, "rondoMemAlloc");
    } else {
      all = std::malloc(bytes + 1);
    }
    data_ = static_cast<char*>(all);
    std::memset(data_, 0x5a, bytes + 1);
  }
  ~Memory() {
    if (shared_) {
      rondoMemFree(data_);
    } else {
      std::free(data_);
    }
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  char* data() { return data_; }
  std::vector<char> copy() const { return {data_, data_ + bytes_}; }

 private:
  size_t bytes_;
  bool shared_;
  char* data_ = nullptr;
};

void compare(const Case& c, bool shared, rondoComm_t comm) {
  const Side side = sideOf(c, rank, ranks);
  const size_t element = typeSize(c.type);
  const bool inPlace = c.inPlace && side.mayAlias;
  std::vector<char> in(side.sendCount * element + 1), expected(side.recvCount * element, 0x5a);
  lay(in.data(), side.sendCount, inputPattern(c, rank), 0);
  if (c.type == rondoBool && reduces(c.call)) {  // MPI's has no other values
    for (char& byte : in) byte = byte != 0 ? 1 : 0;
  }
  askMpi(c, side, in.data(), expected.data());

  const auto before = static_cast<size_t>(inPlace && side.alias < 0 ? -side.alias : 0) * element;
  const auto past = static_cast<size_t>(inPlace && side.alias > 0 ? side.alias : 0) * element;
  const size_t most = std::max(before + expected.size(), past + in.size());
  Memory out(inPlace ? most : expected.size(), shared);
  Memory source(in.size(), shared && c.salt % 2 == 0);
  char* const send = inPlace ? out.data() + past : source.data();
  char* const recv = out.data() + before;
  std::memcpy(send, in.data(), in.size() - 1);
  // What is left alone holds its input in place, and the mark otherwise.
  const bool left = inPlace && !side.usesRecv;
  const rondoResult_t result = invoke(c, side, send, recv, rank, comm);
  expect(result == rondoSuccess, c.text());
  if (result != rondoSuccess || left) return;
  std::vector<char> got(recv, recv + expected.size());
  if (inPlace) {
    // Between the blocks of an in-place call lies memory that MPI's buffer did not have.
    std::vector<char> mask(expected.size(), 0);
    for (const Block& b : side.blocks) {
      std::fill_n(mask.begin() + static_cast<long>(b.at * element), b.count * element, 1);
    }
    for (size_t i = 0; i < mask.size(); ++i) {
      if (mask[i] == 0) got[i] = expected[i];
    }
  }
  if (!side.usesRecv) expected.assign(expected.size(), 0x5a);
  if (reduces(c.call)) {
    clearPadding(got, c.type);
    clearPadding(expected, c.type);
  }
  expect(got == expected, c.text() + " differs from MPI's");
}

struct Kind {
  Call call;
  rondoDataType_t type;
  rondoRedOp_t op;
};

std::vector<Kind> allKinds() {
  std::vector<Kind> kinds;
  for (int k = 0; k < kCalls; ++k) {
    const auto call = static_cast<Call>(k);
    for (const rondoDataType_t type : kAllTypes) {
      if (!reduces(call)) {
        kinds.push_back({call, type, rondoSum});
        continue;
      }
      for (const rondoRedOp_t op : kAllOps) {
        if (opMakesSense(type, op) && mpiReduces(type, op)) kinds.push_back({call, type, op});
      }
    }
  }
  return kinds;
}

/// Many ranks on few cores take their time: then each kind once and short.
void compareAll(rondoComm_t comm) {
  const bool many = ranks > 5;
  std::mt19937 random(static_cast<unsigned>(ranks));  // the same on all ranks
  const std::array<size_t, 9> counts{0, 1, 7, 64, 1000, 2049, 8191, 8192, 8193};
  bool turn = false;
  for (const Kind& kind : allKinds()) {
    turn = !turn;
    for (const bool inPlace : {false, true}) {
      if (many && inPlace == turn) continue;
      const size_t count = counts[random() % (many ? 6 : counts.size())];
      Case c{kind.call, kind.type, kind.op, count, 0, inPlace, false, 0};
      c.root = static_cast<int>(random() % static_cast<unsigned>(ranks));
      c.gaps = hasDispls(c.call) && random() % 2 == 0;
      c.salt = static_cast<unsigned>(random() % 1000);
      compare(c, random() % 3 == 0, comm);
    }
  }
  if (many) return;
  // Some megabytes each.
  for (int k = 0; k < kCalls; ++k) {
    compare(
        {static_cast<Call>(k), rondoFloat32, rondoSum, 300'001, ranks - 1, k % 2 == 0, false, 3},
        k % 3 == 0, comm);
  }
}

/// Sends round the ranks, of every type, beside MPI's.
void transfers(rondoComm_t comm) {
  const int to = (rank + 1) % ranks, from = (rank + ranks - 1) % ranks;
  for (const rondoDataType_t type : kAllTypes) {
    for (const size_t count : {0, 1, 257, 4095, 8193}) {
      const size_t bytes = count * typeSize(type);
      const Case c{Call::Broadcast, type, rondoSum, count, 0, false, false, 0};
      std::vector<char> in(bytes + 1), got(bytes + 1, 0x5a), expected(got);
      lay(in.data(), count, inputPattern(c, rank), 0);
      MPI_Sendrecv(in.data(), static_cast<int>(bytes), MPI_BYTE, to, 0, expected.data(),
                   static_cast<int>(bytes), MPI_BYTE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      expect(rondoSendRecv(in.data(), count, to, got.data(), count, from, type, comm, nullptr) ==
                 rondoSuccess,
             "rondoSendRecv");
      expect(got == expected, "rondoSendRecv of " + std::to_string(count) + " " + typeName(type) +
                                  " differs from MPI's");
    }
  }
}

/// A large all-reduce needs the staging pool and no scratch that grows with it.
void memory(rondoComm_t comm) {
  const std::vector<float> in(64 << 20, 1);
  std::vector<float> out(in.size());
  expect(rondoBarrier(comm, nullptr) == rondoSuccess, "rondoBarrier");
  const PeakGrowth peak;
  expect(rondoAllReduce(in.data(), out.data(), in.size(), rondoFloat32, rondoSum, comm, nullptr) ==
             rondoSuccess,
         "rondoAllReduce of 256 MiB");
  const long grown = peak.kib();
  expect(out.back() == static_cast<float>(ranks), "sum of 256 MiB");
  if (!peak.measured()) return;
  if (rank == 0) std::printf("peak memory grew by %ld KiB in 256 MiB\n", grown);
  expect(grown < 32 << 10, "peak memory grew by " + std::to_string(grown) + " KiB");
}

}  // namespace
}  // namespace rondo::testing

int main(int argc, char** argv) {
  using namespace rondo::testing;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  rondoComm_t comm = nullptr;
  expect(rondoCommInitMPI(&comm, MPI_COMM_WORLD, nullptr) == rondoSuccess, "rondoCommInitMPI");
  if (comm != nullptr) {
    compareAll(comm);
    transfers(comm);
    if (ranks == 2) memory(comm);
    expect(rondoBarrier(comm, nullptr) == rondoSuccess, "rondoBarrier");
    expect(rondoCommDestroy(comm) == rondoSuccess, "rondoCommDestroy");
  }
  MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return failures == 0 ? 0 : 1;
}
