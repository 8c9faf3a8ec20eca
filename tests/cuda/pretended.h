#pragma once
// A test over the driver that is pretended: starts it afresh and sees that nothing is left.

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "api/rondo.h"
#include "cuda/fake_driver.h"

namespace rondo::testing {

template <class Function>
Function* ofDriver(const char* name) {
  static void* const library = dlopen("libcuda.so.1", RTLD_NOW);
  void* const found = library != nullptr ? dlsym(library, name) : nullptr;
  EXPECT_NE(found, nullptr) << "run by tests/cuda_memory.sh";
  return reinterpret_cast<Function*>(found);
}

constexpr size_t kMiB = size_t{1} << 20;

class PretendedCuda : public ::testing::Test {
 protected:
  PretendedCuda() : fake(*ofDriver<FakeCuda*()>("fakeCudaAfresh")()) {}
  ~PretendedCuda() override {
    lose(0);
    current(-1);
    for (const size_t used : fake.used) EXPECT_EQ(used, 0u) << "memory is left";
    for (const int contexts : fake.contexts) EXPECT_EQ(contexts, 0) << "a context is left";
  }
  static void current(int device) { ofDriver<void(int)>("fakeCudaSetDevice")(device); }
  static void lose(int error) { ofDriver<void(int)>("fakeCudaLose")(error); }
  static char* given(size_t bytes, int device) {
    void* memory = nullptr;
    EXPECT_EQ(rondoMemAllocDevice(&memory, bytes, device), rondoSuccess)
        << rondoGetLastError(nullptr);
    return static_cast<char*>(memory);
  }
  static void freed(void* memory) {
    EXPECT_EQ(rondoMemFree(memory), rondoSuccess) << rondoGetLastError(nullptr);
  }
  FakeCuda& fake;
};

}  // namespace rondo::testing
