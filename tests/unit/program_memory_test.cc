// Which memory is known to be the host's without asking a driver.

#include "base/program_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <thread>
#include <vector>

namespace rondo::testing {
namespace {

TEST(ProgramMemory, HeapAndStackAre) {
  const int local = 0;
  EXPECT_TRUE(inHeapOrStack(&local));
  const void* const grown = sbrk(4096);  // whatever malloc has its blocks of
  ASSERT_NE(grown, reinterpret_cast<void*>(-1));
  EXPECT_TRUE(inHeapOrStack(grown));
  EXPECT_TRUE(inHeapOrStack(static_cast<const char*>(grown) + 4095));
  std::thread([] {
    const int theirs = 0;
    EXPECT_TRUE(inHeapOrStack(&theirs));
  }).join();
}

TEST(ProgramMemory, AllElseIsNot) {
  EXPECT_FALSE(inHeapOrStack(nullptr));
  EXPECT_FALSE(inHeapOrStack(sbrk(0)));
  void* const mapped =
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  EXPECT_FALSE(inHeapOrStack(mapped));
  munmap(mapped, 4096);
  const int local = 0;
  std::thread([&local] { EXPECT_FALSE(inHeapOrStack(&local)) << "another thread's"; }).join();
}

ucontext_t caller, fiber;

/// Between a stack of the program's own making and the thread's may be anything.
void onAStackOfItsOwn() {
  const int local = 0;
  EXPECT_FALSE(inHeapOrStack(&local));
  void* const mapped =
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT_FALSE(inHeapOrStack(mapped));
  munmap(mapped, 4096);
}

TEST(ProgramMemory, AStackOfTheProgramsOwnMakingIsNot) {
  constexpr size_t kBytes = size_t{1} << 20;
  void* const stack =
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(stack, MAP_FAILED);
  ASSERT_EQ(getcontext(&fiber), 0);
  fiber.uc_stack.ss_sp = stack;
  fiber.uc_stack.ss_size = kBytes;
  fiber.uc_link = &caller;
  makecontext(&fiber, onAStackOfItsOwn, 0);
  ASSERT_EQ(swapcontext(&caller, &fiber), 0);
  munmap(stack, kBytes);
}

}  // namespace
}  // namespace rondo::testing
