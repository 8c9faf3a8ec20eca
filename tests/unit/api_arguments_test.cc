// Wrong arguments of collectives and of memory calls: each its own code and sentence, no data
// touched, and the communicator works afterwards.

#include <gtest/gtest.h>

#include <cstdint>

#include "support/refusal.h"
#include "support/world.h"

namespace rondo::testing {
namespace {

const auto kStream = reinterpret_cast<rondoStream_t>(uintptr_t{0x1230});

/// One rank's communicator and two buffers that no refused call may touch.
class ApiArguments : public ::testing::TestWithParam<int> {
 protected:
  static constexpr size_t kCount = 32;

  struct Data {
    float send[kCount], recv[kCount];
    Data() {
      for (size_t i = 0; i < kCount; ++i) {
        send[i] = static_cast<float>(i);
        recv[i] = -1;
      }
    }
    bool untouched() const {
      for (size_t i = 0; i < kCount; ++i) {
        if (send[i] != static_cast<float>(i) || recv[i] != -1) return false;
      }
      return true;
    }
  };

  /// Runs the refused calls on all ranks at once, then a good one.
  static void onEach(const std::function<void(rondoComm_t, Data&)>& calls) {
    World(GetParam()).run([&](const Rank& me) {
      Data data;
      calls(me.comm, data);
      EXPECT_TRUE(data.untouched());
      ASSERT_EQ(
          rondoAllReduce(data.send, data.recv, kCount, rondoFloat32, rondoSum, me.comm, nullptr),
          rondoSuccess);
      EXPECT_EQ(data.recv[5], 5.0f * static_cast<float>(me.size));
    });
  }
};

TEST_P(ApiArguments, NullBuffers) {
  onEach([](rondoComm_t comm, Data& d) {
    const auto reduce = [&](const void* send, void* recv) {
      return rondoAllReduce(send, recv, kCount, rondoFloat32, rondoSum, comm, nullptr);
    };
    expectRefused(reduce(nullptr, d.recv), rondoInvalidArgument, "rondoAllReduce",
                  {"sendbuff is NULL", "count 32", "allowed"});
    expectRefused(reduce(d.send, nullptr), rondoInvalidArgument, "rondoAllReduce",
                  {"recvbuff is NULL", "allowed"});
    EXPECT_STREQ(rondoGetLastError(comm), rondoGetLastError(nullptr));
    int rank = -1;
    rondoCommUserRank(comm, &rank);
    expectRefused(rondoBroadcast(d.send, nullptr, 1, rondoInt8, 0, comm, nullptr),
                  rondoInvalidArgument, "rondoBroadcast", {"recvbuff is NULL", "allowed"});
    expectRefused(rondoBroadcast(nullptr, d.recv, 1, rondoInt8, rank, comm, nullptr),
                  rondoInvalidArgument, "rondoBroadcast", {"sendbuff is NULL", "allowed"});
  });
}

TEST_P(ApiArguments, NullBuffersOfNoElementsAreFine) {
  onEach([](rondoComm_t comm, Data&) {
    EXPECT_EQ(rondoAllReduce(nullptr, nullptr, 0, rondoInt8, rondoSum, comm, nullptr),
              rondoSuccess);
    EXPECT_EQ(rondoBroadcast(nullptr, nullptr, 0, rondoInt8, 0, comm, nullptr), rondoSuccess);
  });
}

TEST_P(ApiArguments, TypesOperatorsAndRootsOutOfRange) {
  onEach([](rondoComm_t comm, Data& d) {
    for (const rondoDataType_t type : {-1, 31, 99, INT32_MAX, INT32_MIN}) {
      for (const size_t count : {size_t{0}, size_t{1}, SIZE_MAX}) {
        expectRefused(rondoAllReduce(d.send, d.recv, count, type, rondoSum, comm, nullptr),
                      rondoInvalidArgument, "rondoAllReduce",
                      {"argument datatype is " + std::to_string(type), "allowed", "7 (float32)"});
        expectRefused(rondoBroadcast(d.send, d.recv, count, type, 0, comm, nullptr),
                      rondoInvalidArgument, "rondoBroadcast",
                      {"argument datatype is " + std::to_string(type), "allowed", "33 (uint16)"});
      }
    }
    for (const rondoRedOp_t op : {-1, 5, 31, 99, INT32_MAX, INT32_MIN}) {
      for (const size_t count : {0, 1}) {
        expectRefused(rondoAllReduce(d.send, d.recv, count, rondoInt8, op, comm, nullptr),
                      rondoInvalidArgument, "rondoAllReduce",
                      {"argument op is " + std::to_string(op), "allowed", "4 (avg)"});
      }
    }
    const auto undefined = [&](rondoDataType_t type, rondoRedOp_t op, const char* what) {
      expectRefused(rondoAllReduce(d.send, d.recv, 1, type, op, comm, nullptr),
                    rondoInvalidArgument, "rondoAllReduce", {"argument op is ", what});
    };
    undefined(rondoFloat32, rondoMinLoc, "38 (minloc); allowed for datatype float32: 0 (sum), ");
    undefined(rondoBool, rondoSum, "0 (sum); allowed for datatype bool: 32 (land), ");
    undefined(rondoComplex64, rondoMax, "2 (max); allowed for datatype complex64: 0 (sum), ");
    undefined(rondoInt16Int32, rondoBitXor,
              "37 (bxor); allowed for datatype int16int32: 38 (minloc), 39 (maxloc)");
    for (const int root : {-1, GetParam(), INT32_MAX, INT32_MIN}) {
      for (const size_t count : {0, 1}) {
        expectRefused(rondoBroadcast(d.send, d.recv, count, rondoInt8, root, comm, nullptr),
                      rondoInvalidArgument, "rondoBroadcast",
                      {"argument root is " + std::to_string(root),
                       "allowed: 0 to " + std::to_string(GetParam() - 1)});
      }
    }
  });
}

TEST_P(ApiArguments, SizesThatOverflow) {
  onEach([](rondoComm_t comm, Data& d) {
    for (const size_t count :
         {SIZE_MAX, SIZE_MAX / 4, SIZE_MAX / 4 + 1, size_t{PTRDIFF_MAX} / 4 + 1}) {
      expectRefused(rondoAllReduce(d.send, d.recv, count, rondoFloat32, rondoSum, comm, nullptr),
                    rondoInvalidArgument, "rondoAllReduce",
                    {"argument count is " + std::to_string(count), "float32", "allowed: at most",
                     std::to_string(size_t{PTRDIFF_MAX} / 4)});
      expectRefused(rondoBroadcast(d.send, d.recv, count, rondoFloat32, 0, comm, nullptr),
                    rondoInvalidArgument, "rondoBroadcast",
                    {"argument count is " + std::to_string(count), "allowed: at most"});
    }
    void* const last = reinterpret_cast<void*>(UINTPTR_MAX - 7);
    expectRefused(rondoAllReduce(d.send, last, 8, rondoInt8, rondoSum, comm, nullptr),
                  rondoInvalidArgument, "rondoAllReduce",
                  {"argument recvbuff is", "8 bytes", "end of the address space", "allowed"});
    expectRefused(rondoAllReduce(last, d.recv, 8, rondoInt8, rondoSum, comm, nullptr),
                  rondoInvalidArgument, "rondoAllReduce", {"argument sendbuff is", "allowed"});
  });
}

TEST_P(ApiArguments, BuffersThatOverlap) {
  onEach([](rondoComm_t comm, Data& d) {
    int rank = -1;
    rondoCommUserRank(comm, &rank);
    const auto reduce = [&](float* send, float* recv, size_t count) {
      return rondoAllReduce(send, recv, count, rondoFloat32, rondoSum, comm, nullptr);
    };
    for (const auto& [send, recv, count] :
         {std::tuple{d.send, d.send + 1, 2}, {d.send + 1, d.send, 2}, {d.send, d.send + 7, 8}}) {
      expectRefused(reduce(send, recv, static_cast<size_t>(count)), rondoInvalidArgument,
                    "rondoAllReduce", {"sendbuff", "recvbuff", "overlap", "allowed", "in place"});
      expectRefused(
          rondoBroadcast(send, recv, static_cast<size_t>(count), rondoFloat32, rank, comm, nullptr),
          rondoInvalidArgument, "rondoBroadcast", {"overlap", "allowed"});
    }
    // By bytes, not by elements.
    expectRefused(rondoAllReduce(d.send, reinterpret_cast<char*>(d.send) + 7, 1, rondoFloat64,
                                 rondoSum, comm, nullptr),
                  rondoInvalidArgument, "rondoAllReduce", {"of 8 bytes overlap"});
  });
}

TEST_P(ApiArguments, NeighboursDoNotOverlap) {
  World(GetParam()).run([](const Rank& me) {
    double both[4] = {1, 2, -1, -1};
    EXPECT_EQ(rondoAllReduce(both, both + 2, 2, rondoFloat64, rondoSum, me.comm, nullptr),
              rondoSuccess);
    EXPECT_EQ(rondoAllReduce(both + 2, both, 2, rondoFloat64, rondoMax, me.comm, nullptr),
              rondoSuccess);
    EXPECT_EQ(both[1], 2.0 * me.size);
  });
}

TEST_P(ApiArguments, AStreamWithHostMemory) {
  onEach([](rondoComm_t comm, Data& d) {
    expectRefused(rondoAllReduce(d.send, d.recv, kCount, rondoFloat32, rondoSum, comm, kStream),
                  rondoInvalidArgument, "rondoAllReduce",
                  {"argument stream is 0x1230", "allowed: NULL"});
    expectRefused(rondoBroadcast(d.send, d.recv, kCount, rondoFloat32, 0, comm, kStream),
                  rondoInvalidArgument, "rondoBroadcast",
                  {"argument stream is 0x1230", "allowed: NULL"});
    expectRefused(rondoBarrier(comm, kStream), rondoInvalidArgument, "rondoBarrier",
                  {"argument stream is 0x1230", "allowed: NULL"});
  });
}

TEST_P(ApiArguments, QuestionsWithoutAPlaceForTheAnswer) {
  onEach([](rondoComm_t comm, Data&) {
    expectRefused(rondoCommCount(comm, nullptr), rondoInvalidArgument, "rondoCommCount",
                  {"argument count is NULL", "allowed"});
    expectRefused(rondoCommUserRank(comm, nullptr), rondoInvalidArgument, "rondoCommUserRank",
                  {"argument rank is NULL", "allowed"});
    expectRefused(rondoCommLocalRank(comm, nullptr), rondoInvalidArgument, "rondoCommLocalRank",
                  {"argument localRank is NULL", "allowed"});
    expectRefused(rondoCommLocalSize(comm, nullptr), rondoInvalidArgument, "rondoCommLocalSize",
                  {"argument localSize is NULL", "allowed"});
    expectRefused(rondoCommCuDevice(comm, nullptr), rondoInvalidArgument, "rondoCommCuDevice",
                  {"argument device is NULL", "allowed"});
  });
}

/// What each of the three calls has: `sends` and `receives`, and the names of its arguments.
struct TransferCall {
  const char* name;
  bool sends, receives;
  const char *count, *peer;
};
constexpr TransferCall kTransferCalls[] = {{"rondoSend", true, false, "count", "peer"},
                                           {"rondoRecv", false, true, "count", "peer"},
                                           {"rondoSendRecv", true, true, "sendcount", "dest"},
                                           {"rondoSendRecv", true, true, "recvcount", "source"}};

/// The arguments of such a call; with rondoSendRecv those of the side that the names are of.
struct TransferArgs {
  const void* send;
  void* recv;
  size_t count;
  rondoDataType_t type;
  int peer;
  rondoStream_t stream = nullptr;
};

rondoResult_t callWith(const TransferCall& call, const TransferArgs& a, rondoComm_t comm) {
  if (!call.receives) return rondoSend(a.send, a.count, a.type, a.peer, comm, a.stream);
  if (!call.sends) return rondoRecv(a.recv, a.count, a.type, a.peer, comm, a.stream);
  if (std::string(call.peer) == "dest") {
    return rondoSendRecv(a.send, a.count, a.peer, a.recv, 1, 0, a.type, comm, a.stream);
  }
  return rondoSendRecv(a.send, 1, 0, a.recv, a.count, a.peer, a.type, comm, a.stream);
}

TEST_P(ApiArguments, OfSendsAndReceives) {
  onEach([](rondoComm_t comm, Data& d) {
    int rank = 0, size = 0;
    ASSERT_EQ(rondoCommUserRank(comm, &rank), rondoSuccess);
    ASSERT_EQ(rondoCommCount(comm, &size), rondoSuccess);
    for (const TransferCall& call : kTransferCalls) {
      const TransferArgs good{d.send, d.recv, 4, rondoFloat32, 0};
      const auto refused = [&](const TransferArgs& a, std::initializer_list<std::string> parts) {
        SCOPED_TRACE(call.count);
        expectRefused(callWith(call, a, comm), rondoInvalidArgument,
                      call.name + (": rank " + std::to_string(rank)), parts);
      };
      const std::string count = "argument " + std::string(call.count);
      TransferArgs a = good;
      if (call.sends)
        a.send = nullptr;
      else
        a.recv = nullptr;
      refused(a, {call.sends ? "argument sendbuff is NULL" : "argument recvbuff is NULL"});
      for (const int peer : {-1, size, INT32_MAX, INT32_MIN}) {
        a = good;
        a.peer = peer;
        refused(a, {"argument " + std::string(call.peer) + " is " + std::to_string(peer),
                    "allowed: 0 to " + std::to_string(size - 1)});
      }
      a = good;
      a.type = 99;
      refused(a, {"argument datatype is 99", "allowed"});
      a = good;
      a.count = static_cast<size_t>(-2);
      refused(a, {count + " is 18446744073709551614 (-2 if it was signed) elements of float32"});
      a.count = size_t{PTRDIFF_MAX} / 4 + 1;
      refused(a, {count + " is " + std::to_string(a.count), "fits the address space"});
      a = good;
      a.stream = kStream;
      refused(a, {"argument stream is 0x1230", "allowed: NULL"});
      if (!call.sends || !call.receives) continue;
      a = good;
      a.count = 1;
      for (const ptrdiff_t apart : {0, 1, 3, -1, -3}) {  // bytes; one element is no place either
        a.recv = reinterpret_cast<char*>(d.send) + apart;
        refused(a, {"arguments sendbuff (", "overlap; allowed: no overlap"});
      }
      a.count = 2;
      a.send = d.send + 1;
      a.recv = d.send;
      if (std::string(call.peer) == "source") refused(a, {"overlap; allowed: no overlap"});
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Worlds, ApiArguments, ::testing::Values(1, 2));

TEST(ApiVersion, NullIsRefusedWithASentence) {
  expectRefused(rondoGetVersion(nullptr), rondoInvalidArgument, "rondoGetVersion",
                {"argument version is NULL", "allowed"});
}

TEST(ApiMemory, BadPointersAreRefused) {
  expectRefused(rondoMemAlloc(nullptr, 5), rondoInvalidArgument, "rondoMemAlloc",
                {"argument ptr is NULL", "allowed"});
  int local = 0;
  expectRefused(rondoMemFree(&local), rondoInvalidArgument, "rondoMemFree",
                {"argument ptr is 0x", "allowed", "rondoMemAlloc"});
  void* memory = nullptr;
  ASSERT_EQ(rondoMemAlloc(&memory, 10000), rondoSuccess);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % 4096, 0u);
  expectRefused(rondoMemFree(static_cast<char*>(memory) + 4096), rondoInvalidArgument,
                "rondoMemFree", {"argument ptr is", "allowed"});
  EXPECT_EQ(rondoMemFree(memory), rondoSuccess);
  expectRefused(rondoMemFree(memory), rondoInvalidArgument, "rondoMemFree",
                {"not freed yet", "allowed"});
  EXPECT_EQ(rondoMemFree(nullptr), rondoSuccess);
}

// Where there are devices: tests/cuda/heap_tests.cc, tests/gpu/register_tests.cc.
TEST(ApiMemory, OfNoDevice) {
  void* memory = nullptr;
  expectRefused(rondoMemAllocDevice(nullptr, 5, 0), rondoInvalidArgument, "rondoMemAllocDevice",
                {"argument ptr is NULL", "allowed"});
  ASSERT_EQ(rondoMemAllocDevice(&memory, 5, RONDO_DEVICE_NONE), rondoSuccess);
  EXPECT_EQ(rondoMemFree(memory), rondoSuccess);
}

TEST(ApiMemory, MoreThanThereIsIsRefusedAndWritesNothing) {
  int place = 0;
  void* const mark = &place;
  for (const size_t bytes : {SIZE_MAX, SIZE_MAX - 4095, size_t{1} << 62, size_t{1} << 50}) {
    void* memory = mark;
    expectRefused(rondoMemAlloc(&memory, bytes), rondoOutOfMemory, "rondoMemAlloc",
                  {"argument bytes is " + std::to_string(bytes), "allowed"});
    EXPECT_EQ(memory, mark);
  }
  void* memory = mark;
  EXPECT_EQ(rondoMemAlloc(&memory, 0), rondoSuccess);
  EXPECT_EQ(memory, nullptr);
}

}  // namespace
}  // namespace rondo::testing
