// gpu_beside [grid|pairs|chain]: which kernels that wait for each other run beside each other on
// this GPU, without Rondo: on its own all that have room, under compute-sanitizer's memcheck not
// always. Prints how many blocks waited 3 s in vain; exits with 1 if any did, with 2 if it could
// not look.

#include <array>
#include <barrier>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "gpu/beside.h"
#include "gpu/fresh_stream.h"
#include "gpu/in_step.h"

namespace {

using rondo::test::kMeetingKinds;
using rondo::test::launchMeeting;

constexpr size_t kWords = 1 << 18,
                 kApart = 64;  // each word in a line of its own, with room between

void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "gpu_beside: %s: %s\n", what, cudaGetErrorString(error));
  std::exit(2);
}

unsigned* words = nullptr;
unsigned* late = nullptr;
unsigned lateOfAll = 0;

void clear() {
  check(cudaMemset(words, 0, kWords * sizeof *words), "clearing");
  check(cudaMemset(late, 0, sizeof *late), "clearing");
  check(cudaDeviceSynchronize(), "clearing");
}

/// Waits for all, says who was late, and clears.
void tell(const std::string& what) {
  unsigned n = 0;
  check(cudaDeviceSynchronize(), "waiting");
  check(cudaMemcpy(&n, late, sizeof n, cudaMemcpyDeviceToHost), "reading");
  std::printf("%s: %u late\n", what.c_str(), n);
  std::fflush(stdout);
  lateOfAll += n;
  clear();
}

cudaStream_t newStream() {
  cudaStream_t stream = nullptr;
  check(rondo::test::makeFreshStream(&stream), "a stream");
  return stream;
}

void launch(int kind, unsigned blocks, unsigned threads, cudaStream_t stream, size_t place,
            unsigned arrivals) {
  check(launchMeeting(kind, blocks, threads, stream, words + kApart * place, arrivals, late),
        "launching");
}

/// One kernel, whose blocks wait for each other.
void grids() {
  for (const unsigned threads : {128U, 512U}) {
    for (const unsigned blocks : {66U, 132U, 133U, 200U, 264U}) {
      launch(0, blocks, threads, nullptr, 0, blocks);
      tell("a grid of " + std::to_string(blocks) + " blocks of " + std::to_string(threads) +
           " threads");
    }
  }
}

/// How threads wait for what they have launched.
enum class Waits { kInCuda, kByAsking, kOnceAllHaveLaunched };
constexpr const char* kWaits[] = {"", ", asking for their ends", ", waiting once all are launched"};

/// Two threads launch one block each of every pair, all on streams of their own: as two ranks with
/// as many communicators.
void pairs(size_t count, bool opposite, Waits waits) {
  std::array<std::vector<cudaStream_t>, 2> streams;
  std::barrier<> meet(2);
  const auto rank = [&](size_t me) {
    for (size_t k = 0; k < count; ++k) streams[me].push_back(newStream());
    meet.arrive_and_wait();
    for (size_t i = 0; i < count; ++i) {
      const size_t k = me == 1 && opposite ? count - 1 - i : i;
      launch(0, 1, 128, streams[me][k], k, 2);
    }
    if (waits == Waits::kOnceAllHaveLaunched) meet.arrive_and_wait();
    for (const cudaStream_t stream : streams[me]) {
      check(waits == Waits::kByAsking ? rondo::test::waitByAsking(stream)
                                      : cudaStreamSynchronize(stream),
            "waiting");
    }
  };
  std::thread other(rank, 1);
  rank(0);
  other.join();
  tell(std::to_string(count) + " pairs, " + (opposite ? "opposite orders" : "the same order") +
       kWaits[static_cast<size_t>(waits)]);
  for (const auto& mine : streams) {
    for (const cudaStream_t stream : mine) check(cudaStreamDestroy(stream), "ending a stream");
  }
}

/// Threads launch six kernels in a row, each of which waits for the others' of its place: as ranks
/// that share a GPU, with one communicator.
void chain(unsigned ranks, unsigned blocks, unsigned kinds) {
  std::barrier<> meet(ranks);
  const auto rank = [&] {
    const cudaStream_t stream = newStream();
    meet.arrive_and_wait();
    for (unsigned k = 0; k < 6; ++k)
      launch(static_cast<int>(k % kinds), blocks, 512, stream, k, ranks * blocks);
    check(cudaStreamSynchronize(stream), "waiting");
    meet.arrive_and_wait();
    check(cudaStreamDestroy(stream), "ending a stream");
  };
  std::vector<std::thread> threads;
  for (unsigned r = 0; r < ranks; ++r) threads.emplace_back(rank);
  for (std::thread& thread : threads) thread.join();
  tell(std::to_string(ranks) + " ranks, 6 kernels of " + std::to_string(kinds) + " kinds of " +
       std::to_string(blocks) + " blocks");
}

void chains() {
  for (const unsigned ranks : {2U, 3U, 4U}) {
    for (const unsigned blocks : {1U, 8U, 22U, 33U, 44U}) {
      if (ranks * blocks > 132) continue;
      for (unsigned kinds = 1; kinds <= kMeetingKinds; ++kinds) chain(ranks, blocks, kinds);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (argc > 2 || (argc == 2 && what != "grid" && what != "pairs" && what != "chain")) {
    std::fprintf(stderr, "gpu_beside: \"%s\"; wanted is nothing (for all), grid, pairs or chain\n",
                 argv[argc - 1]);
    return 2;
  }
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  setenv("CUDA_MODULE_LOADING", "EAGER", 0);
  check(cudaMalloc(&words, kWords * sizeof *words), "memory");
  check(cudaMalloc(&late, sizeof *late), "memory");
  clear();
  for (int kind = 0; kind < kMeetingKinds; ++kind) launch(kind, 1, 512, nullptr, 0, 1);
  tell("one block of each kernel");
  std::printf("room on a multiprocessor for %d blocks of 512 threads\n",
              rondo::test::meetingsOnMultiprocessor(512));
  if (what != "pairs" && what != "chain") grids();
  if (what != "grid" && what != "chain") {
    for (const size_t count : {2, 8, 16, 25, 33, 50, 60}) {
      for (const bool opposite : {false, true}) {
        for (const Waits waits : {Waits::kInCuda, Waits::kByAsking, Waits::kOnceAllHaveLaunched}) {
          pairs(count, opposite, waits);
        }
      }
    }
  }
  if (what != "grid" && what != "pairs") chains();
  check(cudaFree(words), "freeing");
  check(cudaFree(late), "freeing");
  return lateOfAll == 0 ? 0 : 1;
}
