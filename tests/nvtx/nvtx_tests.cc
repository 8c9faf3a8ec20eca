// Calls are NVTX ranges with a payload while a profiler listens. A program of its own, because NVTX
// asks once a process who listens.

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <map>

#include "api/profile_range.h"
#include "nvtx/injection.h"
#include "support/world.h"

namespace rondo {
namespace {

using testing::Rank;
using testing::SeenAll;
using testing::SeenFunction;
using testing::SeenRange;
using testing::World;

std::string injectionPath() {
  const char* const folder = std::getenv("TEST_BUILDDIR");
  return std::string(folder != nullptr ? folder : ".") + "/tests/nvtx/.libs/injection.so";
}

SeenAll seen() {
  void* const library = dlopen(injectionPath().c_str(), RTLD_NOW | RTLD_NOLOAD);
  SeenAll all;
  if (library == nullptr) {
    ADD_FAILURE() << "NVTX did not load " << injectionPath();
    return all;
  }
  const auto ask = reinterpret_cast<SeenFunction>(dlsym(library, "rondoTestSeen"));
  ask(&all);
  dlclose(library);
  return all;
}

RangePayload payloadOf(const SeenRange& range) {
  RangePayload payload;
  EXPECT_EQ(range.payload.size(), sizeof payload) << range.name;
  if (range.payload.size() == sizeof payload) {
    std::memcpy(&payload, range.payload.data(), sizeof payload);
  }
  return payload;
}

TEST(Nvtx, EveryCallIsARangeWithItsArguments) {
  World(2).run([](const Rank& me) {
    float in[8] = {}, out[16] = {};
    EXPECT_EQ(rondoAllReduce(in, out, 8, rondoFloat32, rondoMax, me.comm, nullptr), rondoSuccess);
    EXPECT_EQ(rondoBroadcast(in, out, 4, rondoFloat32, 1, me.comm, nullptr), rondoSuccess);
    EXPECT_EQ(rondoBarrier(me.comm, nullptr), rondoSuccess);
    const size_t counts[] = {3, 5}, displs[] = {0, 3};
    EXPECT_EQ(
        rondoAllGatherV(in, counts[me.rank], out, counts, displs, rondoFloat32, me.comm, nullptr),
        rondoSuccess)
        << rondoGetLastError(me.comm);
    const int peer = 1 - me.rank;
    ASSERT_EQ(rondoGroupStart(), rondoSuccess);
    EXPECT_EQ(rondoSend(in, 2, rondoFloat32, peer, me.comm, nullptr), rondoSuccess);
    EXPECT_EQ(rondoRecv(out, 2, rondoFloat32, peer, me.comm, nullptr), rondoSuccess);
    EXPECT_EQ(rondoGroupEnd(), rondoSuccess);
    // Refused before anything runs: no range.
    EXPECT_EQ(rondoBroadcast(in, out, 4, rondoFloat32, 7, me.comm, nullptr), rondoInvalidArgument);
    rondoComm_t copy = nullptr;
    ASSERT_EQ(rondoCommDup(me.comm, &copy, nullptr), rondoSuccess);
    EXPECT_EQ(rondoCommFinalize(copy), rondoSuccess);
    EXPECT_EQ(rondoCommDestroy(copy), rondoSuccess);
  });
  const SeenAll all = seen();
  EXPECT_EQ(all.domain, "Rondo");
  EXPECT_EQ(all.schema, "RondoCall");
  EXPECT_EQ(all.fields, "bytes,count,operator,root,peer,rank");
  EXPECT_NE(all.operators.find("sum,"), std::string::npos) << all.operators;
  EXPECT_EQ(all.open, 0) << "each is closed";
  std::map<std::string, int> count;
  std::map<std::string, RangePayload> last;
  for (const SeenRange& range : all.ranges) {
    EXPECT_EQ(range.schemaId, all.schemaId);
    ++count[range.name];
    last[range.name] = payloadOf(range);
  }
  const std::map<std::string, int> expected = {
      {"rondoAllReduce", 2},  {"rondoBroadcast", 2},
      {"rondoBarrier", 2},    {"rondoAllGatherV", 2},
      {"rondoSend", 2},       {"rondoRecv", 2},
      {"rondoGroupEnd", 2},   {"rondoCommInitRankConfig", 2},
      {"rondoCommDup", 2},    {"rondoCommFinalize", 2},
      {"rondoCommDestroy", 4}};
  EXPECT_EQ(count, expected);
  EXPECT_EQ(last["rondoAllReduce"].bytes, 32u);
  EXPECT_EQ(last["rondoAllReduce"].count, 8u);
  EXPECT_EQ(last["rondoAllReduce"].op, rondoMax);
  EXPECT_EQ(last["rondoAllReduce"].root, -1);
  EXPECT_EQ(last["rondoBroadcast"].op, -1);
  EXPECT_EQ(last["rondoBroadcast"].root, 1);
  EXPECT_EQ(last["rondoSend"].bytes, 8u);
  EXPECT_EQ(last["rondoSend"].peer, 1 - last["rondoSend"].rank);
}

}  // namespace
}  // namespace rondo

int main(int argc, char** argv) {
  setenv("NVTX_INJECTION64_PATH", rondo::injectionPath().c_str(), 1);
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
