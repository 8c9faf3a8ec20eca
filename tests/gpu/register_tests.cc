// Registered memory on one GPU: the ranks are threads of this process.

#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "coll/memory_registry.h"
#include "gpu/cases.h"
#include "gpu/world.h"

namespace rondo::test {
namespace {

// With blocks for every lane, and with so few that each takes turns with many; by lines, and as
// where they do not arrive whole.
class Registrations : public testing::TestWithParam<std::tuple<int, int, bool>> {
 protected:
  void run(uint64_t (*test)(RankEnv&), bool noSms = false, bool registeredOnly = true) {
    DeviceConfig config = patient();
    config.noSms = noSms;
    config.smBudget = std::get<1>(GetParam());
    config.noLineStores = !std::get<2>(GetParam());
    config.registeredOnly = registeredOnly;
    runWorld(std::get<0>(GetParam()), config, [&](RankEnv& env) {
      EXPECT_EQ(test(env), 0u);
      env.sync();
      EXPECT_EQ(errorOf([&] { env.runner->check(); }).sentence(), "");
    });
  }
};

TEST_P(Registrations, Transfers) { run(registeredTransfers); }
TEST_P(Registrations, OfSomeRanks) { run(partlyRegistered); }
TEST_P(Registrations, CopyEngines) { run(copyEngineMoves); }
TEST_P(Registrations, CopyEngineSums) { run(copyEngineSums); }
TEST_P(Registrations, Windows) { run(windowMoves); }
TEST_P(Registrations, CopyEngineGraphs) { run(copyEngineGraphs); }
TEST_P(Registrations, CopyEngineCaptures) { run(copyEngineCaptures); }
TEST_P(Registrations, OverAndOver) { run(registeredOverAndOver); }
TEST_P(Registrations, CopyEnginesAlone) { run(copyEnginesAlone, true); }
TEST_P(Registrations, NeighboursNeedNone) { run(neighbourTransfers, false, false); }
TEST_P(Registrations, NeighboursOverAndOver) { run(neighbourMemoryComesAndGoes, false, false); }
TEST_P(Registrations, NeighboursAtAnyAddress) { run(neighboursAtAnyAddress, false, false); }
TEST_P(Registrations, OfNeighbours) { run(registeredTransfers, false, false); }
INSTANTIATE_TEST_SUITE_P(OneGpu, Registrations,
                         testing::Combine(testing::Values(1, 2, 3), testing::Values(0, 1),
                                          testing::Bool()),
                         [](const auto& each) {
                           return std::to_string(std::get<0>(each.param)) +
                                  (std::get<1>(each.param) == 0 ? "" : "_small") +
                                  (std::get<2>(each.param) ? "" : "_simple");
                         });

Error registering(RankEnv& env, void* memory, size_t bytes, MemoryUse use = MemoryUse::kStraight) {
  auto& registry = dynamic_cast<MemoryRegistry&>(*env.runner);
  return errorOf([&] { registry.addMemory(env.boot(), memory, bytes, use); });
}

// All ranks get the sentence of the one that is wrong, and go on.
TEST(Faults, RegistrationsOfWhatCannotBe) {
  runWorld(2, patient(), [](RankEnv& env) {
    const bool bad = env.rank() == 1;
    const auto says = [&](void* memory, size_t bytes, rondoResult_t code, const char* text) {
      const Error error = registering(env, bad ? memory : env.dst, bad ? bytes : 64);
      EXPECT_EQ(error.code(), code) << error.sentence();
      EXPECT_NE(error.sentence().find(text), std::string::npos) << error.sentence();
      EXPECT_NE(error.sentence().find("rank 1"), std::string::npos) << error.sentence();
    };
    says(env.host, 64, rondoInvalidArgument, "no device memory (host memory, or freed)");
    says(nullptr, 64, rondoInvalidArgument, "ptr is (nil) and bytes is 64");
    says(env.src, 0, rondoInvalidArgument, "bytes is 0");
    says(env.src, size_t{1} << 40, rondoInvalidArgument, "ends");
    void* managed = nullptr;
    cuda(cudaMallocManaged(&managed, 4096), "cudaMallocManaged");
    says(managed, 64, rondoInvalidArgument, "is managed memory");
    env.barrier();
    cuda(cudaFree(managed), "cudaFree");
    void* freed = nullptr;
    cuda(cudaMalloc(&freed, size_t{64} << 20), "cudaMalloc");
    cuda(cudaFree(freed), "cudaFree");
    env.barrier();
    says(freed, 64, rondoInvalidArgument, "no device memory");
    const Error uneven = registering(env, env.dst, bad ? 64 : 128, MemoryUse::kSymmetric);
    EXPECT_EQ(uneven.code(), rondoInvalidUsage);
    EXPECT_NE(uneven.sentence().find("bytes is 128 on rank 0 and 64 on rank 1"), std::string::npos)
        << uneven.sentence();
    auto& registry = dynamic_cast<MemoryRegistry&>(*env.runner);
    const Error unknown = errorOf([&] { registry.removeMemory(env.boot(), 7); });
    EXPECT_EQ(unknown.code(), rondoInvalidArgument);
    EXPECT_NE(unknown.sentence().find("registration is 7"), std::string::npos)
        << unknown.sentence();
    EXPECT_EQ(registry.heldMemory().registrations, 0u);
    EXPECT_EQ(transfersInARow(env), 0u);
  });
}

// Symmetric memory that is not used so: the next call says it.
enum class Elsewhere { kShifted, kNowhere, kRootsUnregistered };
void breakPromise(Collective collective, bool inPlace, bool noSms = false,
                  Elsewhere where = Elsewhere::kShifted) {
  DeviceConfig config = patient();
  config.noSms = noSms;
  runWorld(2, config, [&](RankEnv& env) {
    auto& registry = dynamic_cast<MemoryRegistry&>(*env.runner);
    const uint64_t number = registry.addMemory(env.boot(), env.dst, 1 << 20, MemoryUse::kSymmetric);
    registry.useMemoryFrom(1, 1);
    const auto call = [&](float* into) {
      env.runner->run({"call", collective, inPlace ? into : env.src, into, 1000, rondoFloat32,
                       rondoSum, 0, env.stream});
    };
    call(env.dst);
    env.sync();
    EXPECT_EQ(errorOf([&] { env.runner->check(); }).sentence(), "");
    EXPECT_EQ(registry.heldMemory().copied, 1u);
    env.barrier();
    float* const wrong = where == Elsewhere::kShifted   ? env.dst + 8
                         : where == Elsewhere::kNowhere ? nullptr
                                                        : env.dst + (1 << 20);
    const int breaker = where == Elsewhere::kRootsUnregistered ? 0 : 1;
    call(env.rank() == breaker ? wrong : env.dst);
    env.sync();
    const Error error = errorOf([&] { call(env.dst); });
    EXPECT_EQ(error.code(), rondoMismatch);
    EXPECT_NE(error.sentence().find("different places"), std::string::npos) << error.sentence();
    registry.removeMemory(env.boot(), number);
  });
}
TEST(Faults, PromisesThatAreNotKept) { breakPromise(Collective::AllGather, false); }
TEST(Faults, PromisesOfSumsThatAreNotKept) { breakPromise(Collective::AllReduce, false); }
TEST(Faults, PromisesInPlaceThatAreNotKept) { breakPromise(Collective::AllReduce, true); }
TEST(Faults, PromisesOfScattersThatAreNotKept) { breakPromise(Collective::Scatter, false, true); }
TEST(Faults, PromisesOfGathersThatAreNotKept) { breakPromise(Collective::Gather, false, true); }
// What a rank receives nothing into counts, too.
TEST(Faults, AGatherWhereARankNamesNoResult) {
  breakPromise(Collective::Gather, false, true, Elsewhere::kNowhere);
}
TEST(Faults, AGatherWhoseRootIsElsewhere) {
  breakPromise(Collective::Gather, false, true, Elsewhere::kRootsUnregistered);
}

// Memory that was freed while it was registered, and another allocation of the same length.
TEST(Faults, RegisteredMemoryThatIsFreed) {
  runWorld(2, patient(), [](RankEnv& env) {
    auto& registry = dynamic_cast<MemoryRegistry&>(*env.runner);
    registry.useMemoryFrom(1, 1);
    float* memory = nullptr;
    const size_t bytes = size_t{16} << 20;
    env.barrier();
    cuda(cudaMalloc(&memory, bytes), "cudaMalloc");
    const uint64_t number = registry.addMemory(env.boot(), memory, bytes, MemoryUse::kSymmetric);
    env.barrier();
    float* const before = memory;
    cuda(cudaFree(memory), "cudaFree");
    cuda(cudaMalloc(&memory, bytes), "cudaMalloc");
    env.barrier();
    if (memory == before) {
      const Error error = errorOf([&] {
        env.runner->run({"rondoAllGather", Collective::AllGather, env.src, memory, 1000,
                         rondoFloat32, rondoSum, 0, env.stream});
      });
      EXPECT_EQ(error.code(), rondoInvalidUsage);
      EXPECT_NE(error.sentence().find("freed since"), std::string::npos) << error.sentence();
    }
    env.barrier();
    registry.removeMemory(env.boot(), number);
    cuda(cudaFree(memory), "cudaFree");
  });
}

}  // namespace
}  // namespace rondo::test
