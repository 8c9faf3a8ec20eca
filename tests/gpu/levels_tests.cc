// Communicators that span hosts of one size: kernels inside the hosts, host memory between them.
// The ranks are threads of this process on one GPU.

#include "api/handle.h"
#include "coll/communicator.h"
#include "coll/flight_view.h"
#include "gpu/far_ranks.h"
#include "support/values.h"

namespace rondo::test {
namespace {

constexpr const char* kInLevels =
    "allreduce:device:0-:stripes,reducescatter:device:0-:hier,allgather:device:0-:hier,"
    "broadcast:device:0-:hier,reduce:device:0-:hier";
const std::vector<std::vector<std::string>> kLayered = {{"a", "a", "b", "b"},
                                                        {"a", "b", "a", "b"},
                                                        {"a", "b", "b", "a"},
                                                        {"a", "a", "b", "b", "c", "c"}};

/// How the last call on device memory was served, as the flight record says.
std::string servedLast(rondoComm_t of, int rank) {
  const std::vector<FlightProcess> all = readNearFlights();
  for (const FlightComm& comm : all.front().comms) {
    if (comm.id != of->impl->recorder().id() || comm.rank != rank || comm.device.empty()) continue;
    return comm.device.back().facts.served();
  }
  return "";
}

/// The communicator has kernels inside its hosts, or nothing here tests them.
void expectLevels(const FarRank& me) {
  good(rondoAllReduce(me.src, me.dst, 1000, rondoInt32, rondoSum, me.comm, me.stream));
  me.wait();
  EXPECT_EQ(servedLast(me.comm, me.rank), "kernels in hosts, calls on host memory between");
}

TEST(LevelsGpu, LikeOnTheHost) {
  for (const auto& hosts : kLayered) {
    onHosts(
        hosts,
        [](const FarRank& me) {
          expectLevels(me);
          for (const size_t count : {size_t{1}, size_t{2}, size_t{1003}, size_t{33'333},
                                     size_t{300'001}, size_t{900'000}}) {
            const size_t bytes = count * 4 * static_cast<size_t>(me.size);
            me.load(bytes, static_cast<uint32_t>(count));
            for (const FarCase& test : farCasesOf(me, count, rondoInt32, rondoSum)) {
              for (const size_t shift : {0, 1}) {
                if (count < 300'000 || shift == 0) likeOnTheHost(me, test, bytes, 4, shift);
              }
            }
          }
        },
        kInLevels);
  }
}

// Of numbers that are exact in every type, whatever the order.
TEST(LevelsGpu, EveryTypeAndOperator) {
  onHosts(
      {"a", "a", "b", "b"},
      [](const FarRank& me) {
        constexpr size_t kCount = 3001;
        for (const rondoDataType_t type : kAllTypes) {
          const size_t element = typeSize(type), bytes = kCount * element * 4;
          for (const rondoRedOp_t op : kAllOps) {
            if (!opDefined(type, op)) continue;
            testing::withType(type, [&](auto zero) {
              using T = decltype(zero);
              T* const values = reinterpret_cast<T*>(me.give);
              for (size_t i = 0; i < 4 * kCount; ++i) {
                values[i] = testing::encode<T>(testing::exactValue(type, op, me.rank, i));
              }
            });
            for (const FarCase& test : farCasesOf(me, kCount, type, op)) {
              const std::string name = test.name;
              if (name.find("reduce") != name.npos) likeOnTheHost(me, test, bytes, element, 1);
            }
          }
        }
      },
      kInLevels);
}

TEST(LevelsGpu, InPlace) {
  onHosts(
      {"a", "a", "b", "b"},
      [](const FarRank& me) {
        for (const size_t count : {size_t{5}, size_t{70'001}}) {
          const auto mine = static_cast<size_t>(me.rank) * count;
          std::vector<int32_t> data(4 * count), got(4 * count);
          const auto run = [&](const auto& call, size_t from, size_t many, const auto& want) {
            for (size_t i = 0; i < data.size(); ++i) data[i] = me.rank * 1003 + static_cast<int>(i);
            std::memcpy(me.give, data.data(), data.size() * 4);
            check(cudaMemcpyAsync(me.dst, me.give, data.size() * 4, cudaMemcpyHostToDevice,
                                  me.stream));
            me.wait();
            me.meet();
            good(call(reinterpret_cast<int32_t*>(me.dst)));
            me.launched();
            check(cudaMemcpyAsync(me.take, me.dst, data.size() * 4, cudaMemcpyDeviceToHost,
                                  me.stream));
            me.wait();
            std::memcpy(got.data(), me.take, data.size() * 4);
            size_t bad = 0;
            for (size_t i = from; i < from + many; ++i) bad += got[i] != want(i) ? 1 : 0;
            EXPECT_EQ(bad, 0u) << count << " rank " << me.rank;
          };
          const auto sum = [](size_t i) { return 6 * 1003 + 4 * static_cast<int>(i); };
          run(
              [&](int32_t* d) {
                return rondoAllReduce(d, d, count, rondoInt32, rondoSum, me.comm, me.stream);
              },
              0, count, sum);
          run(
              [&](int32_t* d) {
                return rondoReduceScatter(d, d + mine, count, rondoInt32, rondoSum, me.comm,
                                          me.stream);
              },
              mine, count, sum);
          run(
              [&](int32_t* d) {
                return rondoAllGather(d + mine, d, count, rondoInt32, me.comm, me.stream);
              },
              0, 4 * count,
              [&](size_t i) { return static_cast<int>(i / count) * 1003 + static_cast<int>(i); });
          run(
              [&](int32_t* d) {
                return rondoBroadcast(d, d, count, rondoInt32, 2, me.comm, me.stream);
              },
              0, count, [](size_t i) { return 2 * 1003 + static_cast<int>(i); });
          run(
              [&](int32_t* d) {
                return rondoReduce(d, d, count, rondoInt32, rondoSum, 1, me.comm, me.stream);
              },
              0, me.rank == 1 ? count : 0, sum);
        }
      },
      kInLevels);
}

TEST(LevelsGpu, GraphsAreReplayed) {
  for (const auto& hosts : kLayered) {
    onHosts(
        hosts,
        [](const FarRank& me) {
          constexpr size_t kCount = 300'002;
          me.load(kCount * 4, 1);
          cudaGraph_t graph = nullptr;
          cudaGraphExec_t exec = nullptr;
          // All ranks' results behind each other.
          const auto calls = [&](const unsigned char* in, unsigned char* out, cudaStream_t stream) {
            good(rondoAllReduce(in, out, kCount, rondoInt32, rondoSum, me.comm, stream));
            good(rondoAllGather(out + 400, out + kCount * 4, 50'000, rondoInt32, me.comm, stream));
            good(rondoReduceScatter(in, out, 10'000, rondoInt32, rondoMax, me.comm, stream));
          };
          check(cudaStreamBeginCapture(me.stream, cudaStreamCaptureModeThreadLocal));
          calls(me.src, me.dst, me.stream);
          check(cudaStreamEndCapture(me.stream, &graph));
          me.meet();
          check(cudaGraphInstantiate(&exec, graph, 0));
          check(cudaGraphUpload(exec, me.stream));
          me.wait();
          me.meet();
          for (uint32_t replay = 0; replay < 5; ++replay) {
            me.load(kCount * 4, replay);
            std::vector<unsigned char> want(kCount * 4 + static_cast<size_t>(me.size) * 200'000);
            me.poison(want.size() + 64);
            me.meet();
            check(cudaGraphLaunch(exec, me.stream));
            if (replay == 2) calls(me.src, me.dst, me.stream);
            me.launched();
            me.wait();
            calls(me.give, want.data(), nullptr);
            EXPECT_EQ(me.wrong(0, want), 0u) << "replay " << replay;
          }
          me.meet();
          check(cudaGraphExecDestroy(exec));
          check(cudaGraphDestroy(graph));
        },
        kInLevels);
  }
}

// In turn and at once with kernels of a communicator of one host's ranks.
TEST(LevelsGpu, BesideCallsInsideAHost) {
  onHosts(
      {"a", "a", "b", "b"},
      [](const FarRank& me) {
        rondoComm_t host = nullptr;
        good(rondoCommSplit(me.comm, me.rank / 2, me.rank, &host, nullptr));
        cudaStream_t other = nullptr;
        check(makeFreshStream(&other));
        constexpr size_t kCount = 100'000, kBytes = kCount * 4;
        me.load(kBytes, 5);
        me.poison(3 * kBytes + 64);
        me.meet();
        for (int round = 0; round < 20; ++round) {
          good(rondoAllReduce(me.src, me.dst, kCount, rondoInt32, rondoSum, me.comm, me.stream));
          good(rondoAllReduce(me.src, me.dst + kBytes, kCount, rondoInt32, rondoSum, host, other));
          good(rondoAllReduce(me.src, me.dst + 2 * kBytes, kCount, rondoInt32, rondoMax, host,
                              other));
        }
        me.launched();
        check(waitFor(other));
        me.wait();
        std::vector<unsigned char> want(3 * kBytes);
        good(rondoAllReduce(me.give, want.data(), kCount, rondoInt32, rondoSum, me.comm, nullptr));
        good(rondoAllReduce(me.give, want.data() + kBytes, kCount, rondoInt32, rondoSum, host,
                            nullptr));
        good(rondoAllReduce(me.give, want.data() + 2 * kBytes, kCount, rondoInt32, rondoMax, host,
                            nullptr));
        EXPECT_EQ(me.wrong(0, want), 0u);
        me.meet();
        good(rondoCommDestroy(host));
        check(cudaStreamDestroy(other));
      },
      kInLevels);
}

TEST(LevelsGpu, AbortEndsBothLevels) {
  for (const int late : {0, 3}) {
    onHosts(
        {"a", "a", "b", "b"}, [late](const FarRank& me) { expectAborted(me, late); }, kInLevels);
  }
}

/// All pairs at once, each rank with itself too, some of it nothing: `to` has a part for each peer.
void sendToAll(const FarRank& me, size_t bytes, const unsigned char* from, unsigned char* to,
               cudaStream_t first, cudaStream_t second) {
  good(rondoGroupStart());
  for (int k = 0; k < me.size; ++k) {
    const int peer = (me.rank + k) % me.size;
    const auto part = static_cast<size_t>(peer) * bytes;
    const size_t there = (me.rank + peer) % 3 == 0 ? bytes / 2 : bytes;  // as both know
    good(rondoRecv(to + part, there, rondoInt8, peer, me.comm, first));
    good(rondoSend(from + peer, there, rondoInt8, peer, me.comm, second));
  }
  good(rondoGroupEnd());
}

// Each by its way, kernels inside the host and the host's memory between them, on two streams and
// from a graph.
TEST(LevelsGpu, GroupsOfSends) {
  for (const auto& hosts : kLayered) {
    onHosts(
        hosts,
        [](const FarRank& me) {
          cudaStream_t other = nullptr;
          check(makeFreshStream(&other));
          const auto n = static_cast<size_t>(me.size);
          for (const size_t bytes : {size_t{3}, size_t{40'000}, size_t{1'234'567}}) {
            const auto compare = [&] {
              std::vector<unsigned char> in(me.give, me.give + bytes + n), want(n * bytes, 0xa5);
              sendToAll(me, bytes, in.data(), want.data(), nullptr, nullptr);
              EXPECT_EQ(me.wrong(0, want), 0u) << bytes;
              me.meet();
            };
            const auto fill = [&](uint32_t seed) {
              me.load(bytes + n, seed);
              me.poison(n * bytes + 64);
              me.meet();
            };
            fill(static_cast<uint32_t>(bytes));
            sendToAll(me, bytes, me.src, me.dst, me.stream, other);
            me.launched();
            check(waitFor(other));
            me.wait();
            compare();
            cudaGraph_t graph = nullptr;
            cudaGraphExec_t exec = nullptr;
            check(cudaStreamBeginCapture(me.stream, cudaStreamCaptureModeThreadLocal));
            sendToAll(me, bytes, me.src, me.dst, me.stream, me.stream);
            check(cudaStreamEndCapture(me.stream, &graph));
            me.meet();
            check(cudaGraphInstantiate(&exec, graph, 0));
            check(cudaGraphUpload(exec, me.stream));
            me.wait();
            me.meet();
            for (uint32_t replay = 0; replay < 3; ++replay) {
              fill(replay + 77);
              check(cudaGraphLaunch(exec, me.stream));
              me.launched();
              me.wait();
              compare();
            }
            check(cudaGraphExecDestroy(exec));
            check(cudaGraphDestroy(graph));
          }
          check(cudaStreamDestroy(other));
        },
        kInLevels);
  }
}

// What rank 0 hears from its neighbour has begun with what it sends to the other host in the same
// group.
TEST(LevelsGpu, NearAndFarSendsOfAGroupDoNotWaitForEachOther) {
  onHosts(
      {"a", "a", "b", "b"},
      [](const FarRank& me) {
        for (const size_t bytes : {size_t{100}, size_t{900'000}}) {
          const auto send = [&](int peer, const unsigned char* from) {
            good(rondoSend(from, bytes, rondoInt8, peer, me.comm, me.stream));
          };
          const auto receive = [&](int peer, unsigned char* to) {
            good(rondoRecv(to, bytes, rondoInt8, peer, me.comm, me.stream));
          };
          me.load(bytes, 3);
          me.poison(bytes + 64);
          me.meet();
          const int before[] = {1, 3, 0, 2}, next[] = {2, 0, 3, 1};
          if (me.rank == 0) {
            good(rondoGroupStart());
            receive(before[0], me.dst);
            send(next[0], me.src);
            good(rondoGroupEnd());
          } else {
            receive(before[me.rank], me.dst);
            send(next[me.rank], me.dst);
          }
          me.launched();
          me.wait();
          std::vector<unsigned char> want(me.give, me.give + bytes);
          good(rondoBroadcast(want.data(), want.data(), bytes, rondoInt8, 0, me.comm, nullptr));
          EXPECT_EQ(me.wrong(0, want), 0u) << bytes;  // rank 0's, handed on
          me.meet();
        }
      },
      kInLevels);
}

}  // namespace
}  // namespace rondo::test
