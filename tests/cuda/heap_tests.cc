// rondoMemAllocDevice over a driver that is pretended (tests/cuda_memory.sh): where memory comes
// from, who reaches it, and what is refused.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "api/rondo.hpp"
#include "cuda/pretended.h"
#include "p2p/cuda_user_memory.h"
#include "p2p/device_heap.h"
#include "support/refusal.h"

namespace rondo::testing {
namespace {

TEST_F(PretendedCuda, ANamedDeviceTheCurrentOneOrTheFirst) {
  for (const int device : {0, 1}) {
    char* const memory = given(3000, device);
    EXPECT_EQ(pointerKind(memory).device, device);
    EXPECT_EQ(pointerKind(memory).memory, PointerKind::kDevice);
    EXPECT_EQ(fake.used[device], 2 * kMiB) << "whole pages";
    freed(memory);
  }
  current(1);
  char* const memory = given(3000, RONDO_DEVICE_AUTO);
  EXPECT_EQ(pointerKind(memory).device, 1);
  current(-1);
  char* const first = given(3000, RONDO_DEVICE_AUTO);
  EXPECT_EQ(pointerKind(first).device, 0);
  freed(memory);
  freed(first);
  EXPECT_EQ(fake.synchronisations, 4) << "a free waits for the device";
}

// On the devices that are only neighbours no context is made: it would take some hundred MiB.
TEST_F(PretendedCuda, EveryDeviceThatCanReachesIt) {
  const DeviceHeap& heap = DeviceHeap::own();
  fake.devices = 4;
  fake.refusedAccess = 2;
  char* const memory = given(3 * kMiB, 1);
  EXPECT_EQ(fake.contexts[0] + fake.contexts[2] + fake.contexts[3], 0);
  const std::vector<bool> reached = {heap.reaches(0, memory, 1), heap.reaches(1, memory, 1),
                                     heap.reaches(2, memory, 1), heap.reaches(3, memory, 1)};
  EXPECT_EQ(reached, (std::vector<bool>{true, true, false, true}));
  EXPECT_TRUE(heap.reaches(0, memory + kMiB, 3 * kMiB)) << "to the end of its pages";
  EXPECT_FALSE(heap.reaches(0, memory + kMiB, 3 * kMiB + 1));
  EXPECT_FALSE(heap.reaches(0, memory - 1, 2));
  fake.peersReach = false;
  char* const lonely = given(1, 1);
  EXPECT_TRUE(heap.reaches(1, lonely, 1));
  EXPECT_FALSE(heap.reaches(0, lonely, 1));
  freed(memory);
  EXPECT_FALSE(heap.reaches(1, memory, 1));
  freed(lonely);
}

// What rondoCommRegister passes to other processes.
TEST_F(PretendedCuda, ItCanBeExported) {
  char* const memory = given(5 * kMiB, 0);
  UserAllocation allocation;
  ASSERT_TRUE(findAllocation(memory + 4 * kMiB, &allocation));
  EXPECT_EQ(allocation.base, reinterpret_cast<unsigned char*>(memory));
  EXPECT_EQ(allocation.bytes, 6 * kMiB);
  const CudaDevice device = CudaDevice::open(0, 0);
  const ExportedAllocation exported = exportAllocation(device, allocation);
  ASSERT_EQ(exported.how, ExportedAllocation::kDescriptor);
  memory[4711] = 42;
  const auto peers = importDescriptor(device, exported.fd, allocation.bytes);
  EXPECT_EQ(peers->data()[4711], 42);
  freed(memory);
}

// By the attribute, and where the attribute promises what the driver then refuses.
TEST_F(PretendedCuda, WithoutVirtualMemoryManagementItIsPlain) {
  for (const bool promised : {false, true}) {
    fake.virtualMemory = promised;
    fake.createFails = true;
    char* const memory = given(3000, 1);
    EXPECT_EQ(fake.used[1], 3000u);
    EXPECT_TRUE(DeviceHeap::own().reaches(1, memory, 3000));
    EXPECT_FALSE(DeviceHeap::own().reaches(0, memory, 3000));
    freed(memory);
  }
}

TEST_F(PretendedCuda, NoneAndNothing) {
  void* memory = &memory;
  EXPECT_EQ(rondoMemAllocDevice(&memory, 0, 0), rondoSuccess);
  EXPECT_EQ(memory, nullptr);
  char* const host = given(5000, RONDO_DEVICE_NONE);
  EXPECT_EQ(pointerKind(host).memory, PointerKind::kHost);
  host[4999] = 1;
  freed(host);
}

TEST_F(PretendedCuda, WhatCannotBeIsRefusedAndWritesNothing) {
  void* const mark = &fake;
  void* memory = mark;
  const auto refused = [&](size_t bytes, int device, rondoResult_t code,
                           std::initializer_list<std::string> parts) {
    expectRefused(rondoMemAllocDevice(&memory, bytes, device), code, "rondoMemAllocDevice", parts);
    EXPECT_EQ(memory, mark);
  };
  refused(1, 2, rondoInvalidArgument, {"argument device is 2", "allowed: 0 to 1"});
  refused(1, -3, rondoInvalidArgument, {"argument device is -3", "RONDO_DEVICE_AUTO (-1)"});
  for (const bool virtualMemory : {true, false}) {
    fake.virtualMemory = virtualMemory;
    refused(65 * kMiB, 1, rondoOutOfMemory,
            {"argument bytes is 68157440", virtualMemory ? "cuMemCreate of" : "cuMemAlloc of",
             "CUDA_ERROR_OUT_OF_MEMORY (out of memory)", "what device 1 has free"});
    for (const size_t bytes : {SIZE_MAX, SIZE_MAX - 4096}) {
      refused(bytes, 0, rondoOutOfMemory,
              {"argument bytes is " + std::to_string(bytes), "allowed"});
    }
  }
  fake.devices = 0;
  refused(1, RONDO_DEVICE_AUTO, rondoUnsupported, {"no CUDA device is visible"});
  refused(1, 0, rondoUnsupported, {"no CUDA device is visible"});
  expectRefused(rondoMemAllocDevice(nullptr, 1, 0), rondoInvalidArgument, "rondoMemAllocDevice",
                {"argument ptr is NULL"});
}

TEST_F(PretendedCuda, OnlyItsOwnIsFreed) {
  char* const memory = given(1, 0);
  const auto refused = [](void* pointer) {
    expectRefused(rondoMemFree(pointer), rondoInvalidArgument, "rondoMemFree",
                  {"argument ptr is 0x", "rondoMemAllocDevice", "not freed yet"});
  };
  refused(memory + 4096);
  freed(memory);
  refused(memory);
  current(0);
  unsigned long long others = 0;
  ASSERT_EQ(ofDriver<int(unsigned long long*, size_t)>("cuMemAlloc_v2")(&others, 4096), 0);
  refused(reinterpret_cast<void*>(others));
  EXPECT_EQ(ofDriver<int(unsigned long long)>("cuMemFree_v2")(others), 0);
}

// Ten times a device's memory, in pieces of many lengths.
TEST_F(PretendedCuda, NothingIsLostOverManyAllocations) {
  size_t all = 0;
  for (size_t k = 0; all < 10 * fake.bytesEach; ++k) {
    const size_t bytes = (k % 7 + 1) * 4 * kMiB + k;
    char* const memory = given(bytes, static_cast<int>(k % 2));
    memory[bytes - 1] = 1;
    freed(memory);
    all += bytes;
  }
}

// A thread captures: memory is had and given back beside it, and only what waits for the context
// can end what it has captured. Nothing is given back without having waited.
TEST_F(PretendedCuda, MemoryBesideACapture) {
  for (const bool virtualMemory : {true, false}) {
    fake.virtualMemory = virtualMemory;
    char* const early = given(1, 0);
    fake.captures = true;
    const int frees = fake.frees, waits = fake.synchronisations;
    char* const memory = given(1, 0);
    EXPECT_EQ(fake.spoiltCaptures, 0);
    freed(early);
    freed(memory);
    EXPECT_EQ(fake.synchronisations, waits);
    // Each waited by freeing something else before it went, which a free does that is one itself.
    EXPECT_EQ(fake.frees - frees, virtualMemory ? 2 : 4);
    EXPECT_EQ(fake.spoiltCaptures, 2);
    fake.captures = false;
    fake.spoiltCaptures = 0;
  }
  EXPECT_EQ(fake.used[0], 0u);
}

TEST_F(PretendedCuda, WaitingForAContext) {
  const CudaDevice device = CudaDevice::open(0, 0);
  const auto waits = [&](CudaDevice::Meanwhile others) {
    const int before[] = {fake.synchronisations, fake.frees, fake.spoiltCaptures};
    device.synchronize(others);
    return std::vector<int>{fake.synchronisations - before[0], fake.frees - before[1],
                            fake.spoiltCaptures - before[2]};
  };
  using Counts = std::vector<int>;
  EXPECT_EQ(waits(CudaDevice::Meanwhile::kLaunch), (Counts{1, 0, 0}));
  EXPECT_EQ(waits(CudaDevice::Meanwhile::kCapture), (Counts{0, 1, 0}));
  fake.captures = true;
  EXPECT_EQ(waits(CudaDevice::Meanwhile::kLaunch), (Counts{0, 1, 1}));
  EXPECT_EQ(waits(CudaDevice::Meanwhile::kCapture), (Counts{0, 1, 0}));
  fake.captures = false;
  // Nothing left to free: the other way is taken.
  fake.bytesEach = 0;
  EXPECT_EQ(waits(CudaDevice::Meanwhile::kCapture), (Counts{1, 0, 0}));
  lose(700);
  for (const auto others : {CudaDevice::Meanwhile::kLaunch, CudaDevice::Meanwhile::kCapture}) {
    EXPECT_THROW(device.synchronize(others), Error);
  }
  lose(0);
}

// What is added to the sentence of a launch that failed.
TEST_F(PretendedCuda, AStreamOfAnotherDevice) {
  const CudaDevice device = CudaDevice::open(0, 0);
  const auto made = [](int on) {
    current(on);
    CUstream_st* stream = nullptr;
    EXPECT_EQ(ofDriver<int(CUstream_st**, unsigned)>("cuStreamCreate")(&stream, 0), 0);
    current(-1);
    return stream;
  };
  CUstream_st* const own = made(0);
  CUstream_st* const other = made(1);
  EXPECT_EQ(streamFault(device, own), "");
  const std::string fault = streamFault(device, other);
  EXPECT_NE(fault.find("a stream of device 1; allowed: one of device 0"), std::string::npos)
      << fault;
  EXPECT_EQ(fault.find("argument stream is 0x"), 0u) << fault;
  for (const uintptr_t everyContexts : {0, 1, 2}) {
    EXPECT_EQ(streamFault(device, reinterpret_cast<CUstream_st*>(everyContexts)), "");
  }
  for (CUstream_st* const stream : {own, other}) {
    EXPECT_EQ(ofDriver<int(CUstream_st*)>("cuStreamDestroy_v2")(stream), 0);
  }
}

TEST_F(PretendedCuda, Buffers) {
  DeviceBuffer<float> one(1000, 1);
  float* const at = one.data();
  EXPECT_EQ(one.size(), 1000u);
  EXPECT_EQ(pointerKind(at).device, 1);
  DeviceBuffer<float> two(std::move(one));
  EXPECT_EQ(two.data(), at);
  EXPECT_EQ(one.data(), nullptr);
  one = DeviceBuffer<float>(10, 0);
  EXPECT_EQ(pointerKind(one.data()).device, 0);
  EXPECT_THROW(DeviceBuffer<float>(1, 7), Exception);
  EXPECT_THROW(DeviceBuffer<float>(SIZE_MAX / 2), std::bad_array_new_length);
}

}  // namespace
}  // namespace rondo::testing
