// All GPUs of a machine driven by one thread through NCCL's interface: groups, streams, graphs,
// operators. Prints what was wrong; exit status 1 if anything was.

#include <unistd.h>

#include <chrono>
#include <fstream>
#include <thread>
#include <utility>

#include "api/rondo.h"
#include "drop_in/nccl_machine.h"

namespace nccl_test {
namespace {

/// Two communicators made at the same time, in a group: had the ranks' streams them in different
/// orders, they would wait for each other for ever.
void severalCommunicators(Machine& machine) {
  const Type type = plain<float>(kFloat32);
  const int n = machine.ranks();
  Comms both[2] = {Comms(static_cast<size_t>(n)), Comms(static_cast<size_t>(n))};
  ncclUniqueId ids[2];
  for (ncclUniqueId& id : ids) nccl(ncclGetUniqueId(&id), "ncclGetUniqueId");
  machine.group(
      [&](int r) {
        const auto at = static_cast<size_t>(r);
        nccl(ncclCommInitRank(&both[r % 2][at], n, ids[r % 2], r), "ncclCommInitRank");
        return ncclCommInitRank(&both[1 - r % 2][at], n, ids[1 - r % 2], r);
      },
      "two communicators in a group");
  constexpr size_t kCount = 1000;
  fill(machine, type, 2 * kCount);
  for (int turn = 0; turn < 50; ++turn) {
    machine.group(
        [&](int r) {
          for (const int k : {(r + turn) % 2, 1 - (r + turn) % 2}) {
            const auto at = static_cast<size_t>(k) * kCount * 4;
            nccl(ncclAllReduce(machine[r].in + at, machine[r].out + at, kCount, kFloat32, kSum,
                               both[k][static_cast<size_t>(r)], machine[r].stream),
                 "ncclAllReduce");
          }
          return ncclSuccess;
        },
        "interleaved communicators");
  }
  machine.wait();
  for (int r = 0; r < n; ++r) {
    compare(
        type, machine[r].out, 2 * kCount, [&](size_t i) { return reduced(kSum, n, i); },
        "interleaved communicators");
  }
  for (Comms& comms : both) destroy(comms);
}

/// One communicator's calls on two streams, and on one that is destroyed at once, with no event of
/// the program's between them: they share the communicator's memory, so their order is the
/// library's.
void streams(Machine& machine, Comms& comms) {
  const Type type = plain<int>(kInt32);
  const int n = machine.ranks();
  constexpr size_t kCount = 1u << 20;
  fill(machine, type, kCount);
  const auto call = [&](int r, cudaStream_t stream) {
    return ncclAllReduce(machine[r].in, machine[r].out, kCount, kInt32, kSum,
                         comms[static_cast<size_t>(r)], stream);
  };
  for (int turn = 0; turn < 20; ++turn) {
    machine.group([&](int r) { return call(r, machine[r].stream); }, "one stream");
    machine.group([&](int r) { return call(r, machine[r].other); }, "another stream");
  }
  std::vector<cudaStream_t> brief(static_cast<size_t>(n));
  machine.group(
      [&](int r) {
        cudaStream_t* const stream = &brief[static_cast<size_t>(r)];
        cuda(rondo::test::makeFreshStream(stream), "a stream");
        return call(r, *stream);
      },
      "a brief stream");
  for (cudaStream_t stream : brief) cuda(cudaStreamDestroy(stream), "cudaStreamDestroy");
  machine.group([&](int r) { return call(r, machine[r].stream); }, "after a destroyed stream");
  machine.wait();
  for (int r = 0; r < n; ++r) {
    compare(
        type, machine[r].out, kCount, [&](size_t i) { return reduced(kSum, n, i); }, "streams");
  }
}

void graphs(Machine& machine, Comms& comms) {
  const Type type = plain<float>(kFloat32);
  const int n = machine.ranks();
  constexpr size_t kCount = 5000;
  fill(machine, type, kCount);
  for (int r = 0; r < n; ++r) {
    cuda(cudaSetDevice(machine[r].device), "cudaSetDevice");
    cuda(cudaStreamBeginCapture(machine[r].stream, cudaStreamCaptureModeRelaxed), "capture");
  }
  const auto call = [&](int r, const unsigned char* from, int op) {
    return ncclAllReduce(from, machine[r].out, kCount, kFloat32, op, comms[static_cast<size_t>(r)],
                         machine[r].stream);
  };
  machine.group([&](int r) { return call(r, machine[r].in, kSum); }, "a captured group");
  machine.group([&](int r) { return call(r, machine[r].out, kMax); }, "a second one");
  std::vector<cudaGraphExec_t> ready(static_cast<size_t>(n));
  for (int r = 0; r < n; ++r) {
    cudaGraph_t graph = nullptr;
    cuda(cudaSetDevice(machine[r].device), "cudaSetDevice");
    cuda(cudaStreamEndCapture(machine[r].stream, &graph), "the end of the capture");
    cuda(cudaGraphInstantiate(&ready[static_cast<size_t>(r)], graph, 0), "a graph");
    cuda(cudaGraphDestroy(graph), "cudaGraphDestroy");
  }
  for (int turn = 0; turn < 20; ++turn) {
    for (int r = 0; r < n; ++r) {
      cuda(cudaSetDevice(machine[r].device), "cudaSetDevice");
      cuda(cudaGraphLaunch(ready[static_cast<size_t>(r)], machine[r].stream), "a launch");
    }
  }
  machine.wait();
  for (int r = 0; r < n; ++r) {
    compare(
        type, machine[r].out, kCount, [&](size_t i) { return reduced(kSum, n, i); }, "graphs");
    cuda(cudaGraphExecDestroy(ready[static_cast<size_t>(r)]), "cudaGraphExecDestroy");
  }
}

/// A call on the legacy stream while one that waits for it is captured is refused, and the capture
/// goes on as if it had not been made.
void legacyInCapture(Machine& machine, Comms& comms) {
  const Type type = plain<float>(kFloat32);
  const int n = machine.ranks();
  constexpr size_t kCount = 300;
  fill(machine, type, kCount);
  std::vector<cudaStream_t> streams(static_cast<size_t>(n));
  for (int r = 0; r < n; ++r) {
    const auto at = static_cast<size_t>(r);
    cuda(cudaSetDevice(machine[r].device), "cudaSetDevice");
    cuda(cudaStreamCreate(&streams[at]), "a stream that waits for the legacy one");
    cuda(cudaStreamBeginCapture(streams[at], cudaStreamCaptureModeRelaxed), "capture");
    const ncclResult_t result =
        ncclAllReduce(machine[r].in, machine[r].out, kCount, kFloat32, kSum, comms[at], nullptr);
    expect(result == ncclInvalidUsage, "a call on the legacy stream during a capture: " +
                                           std::string(ncclGetErrorString(result)));
    expect(std::string(ncclGetLastError(nullptr)).find("argument stream is the legacy stream") !=
               std::string::npos,
           "its sentence");
  }
  machine.group(
      [&](int r) {
        const auto at = static_cast<size_t>(r);
        return ncclAllReduce(machine[r].in, machine[r].out, kCount, kFloat32, kSum, comms[at],
                             streams[at]);
      },
      "the captured call");
  for (int r = 0; r < n; ++r) {
    const auto at = static_cast<size_t>(r);
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t ready = nullptr;
    cuda(cudaSetDevice(machine[r].device), "cudaSetDevice");
    cuda(cudaStreamEndCapture(streams[at], &graph), "the end of the capture");
    cuda(cudaGraphInstantiate(&ready, graph, 0), "a graph");
    cuda(cudaGraphLaunch(ready, streams[at]), "a launch");
    cuda(cudaGraphExecDestroy(ready), "cudaGraphExecDestroy");
    cuda(cudaGraphDestroy(graph), "cudaGraphDestroy");
  }
  machine.wait();
  for (int r = 0; r < n; ++r) {
    compare(
        type, machine[r].out, kCount, [&](size_t i) { return reduced(kSum, n, i); },
        "the captured call beside a refused one");
    cuda(cudaStreamDestroy(streams[static_cast<size_t>(r)]), "cudaStreamDestroy");
  }
}

void children(Machine& machine, Comms& comms) {
  const Type type = plain<int>(kInt32);
  const int n = machine.ranks();
  Comms parts(static_cast<size_t>(n));
  machine.group(
      [&](int r) {
        return ncclCommSplit(comms[static_cast<size_t>(r)], 0, -r, &parts[static_cast<size_t>(r)],
                             nullptr);
      },
      "ncclCommSplit");
  fill(machine, type, 100);
  machine.group(
      [&](int r) {  // the order is turned round: rank 0 of the part was the last
        return ncclBroadcast(machine[r].in, machine[r].out, 100, kInt32, 0,
                             parts[static_cast<size_t>(r)], machine[r].stream);
      },
      "ncclBroadcast of a part");
  machine.wait();
  for (int r = 0; r < n; ++r) {
    compare(
        type, machine[r].out, 100, [&](size_t i) { return valueOf(n - 1, i); }, "a part");
    int device = -1;
    nccl(ncclCommCuDevice(parts[static_cast<size_t>(r)], &device), "ncclCommCuDevice");
    expect(device == machine[r].device, "a part's device");
  }
  destroy(parts);
}

void memory(Machine& machine, Comms& comms) {
  const Type type = plain<int>(kInt32);
  const int n = machine.ranks();
  constexpr size_t kCount = 1000;
  fill(machine, type, kCount);
  std::vector<void*> buffers(static_cast<size_t>(n));
  std::vector<ncclWindow_t> windows(static_cast<size_t>(n));
  for (int r = 0; r < n; ++r) {
    const auto at = static_cast<size_t>(r);
    cuda(cudaSetDevice(machine[r].device), "cudaSetDevice");
    nccl(ncclMemAlloc(&buffers[at], kCount * 4), "ncclMemAlloc");
    cudaPointerAttributes attributes{};
    cuda(cudaPointerGetAttributes(&attributes, buffers[at]), "cudaPointerGetAttributes");
    expect(attributes.type == cudaMemoryTypeDevice && attributes.device == machine[r].device,
           "memory of ncclMemAlloc is the current device's");
  }
  machine.group(
      [&](int r) {
        const auto at = static_cast<size_t>(r);
        return ncclCommWindowRegister(comms[at], buffers[at], kCount * 4, &windows[at], 1);
      },
      "ncclCommWindowRegister");
  machine.group(
      [&](int r) {
        return ncclAllReduce(machine[r].in, buffers[static_cast<size_t>(r)], kCount, kInt32, kSum,
                             comms[static_cast<size_t>(r)], machine[r].stream);
      },
      "ncclAllReduce into a window");
  machine.wait();
  for (int r = 0; r < n; ++r) {
    const auto at = static_cast<size_t>(r);
    compare(
        type, static_cast<unsigned char*>(buffers[at]), kCount,
        [&](size_t i) { return reduced(kSum, n, i); }, "a window");
  }
  machine.group(
      [&](int r) {
        return ncclCommWindowDeregister(comms[static_cast<size_t>(r)],
                                        windows[static_cast<size_t>(r)]);
      },
      "ncclCommWindowDeregister");
  for (int r = 0; r < n; ++r) {
    cuda(cudaSetDevice(machine[r].device), "cudaSetDevice");
    nccl(ncclMemFree(buffers[static_cast<size_t>(r)]), "ncclMemFree");
  }
}

/// NCCL_CTA_POLICY_ZERO, results in windows: what only moves bytes is left to copy engines, which a
/// rank shows that does not keep a window's promise.
void copiesAlone(Machine& machine) {
  ncclConfig_t config = plainConfig();
  config.CTAPolicy = 2;
  Comms comms = makeComms(machine, &config);
  const auto comm = [&](int r) { return comms[static_cast<size_t>(r)]; };
  const auto ranks = static_cast<size_t>(machine.ranks());
  std::vector<void*> memory(ranks);
  std::vector<ncclWindow_t> windows(ranks);
  std::vector<unsigned char*> own(ranks);
  for (int r = 0; r < machine.ranks(); ++r) {
    const auto at = static_cast<size_t>(r);
    cuda(cudaSetDevice(machine[r].device), "cudaSetDevice");
    nccl(ncclMemAlloc(&memory[at], kBytes), "ncclMemAlloc");
    own[at] = std::exchange(machine[r].out, static_cast<unsigned char*>(memory[at]));
  }
  machine.group(
      [&](int r) {
        const auto at = static_cast<size_t>(r);
        return ncclCommWindowRegister(comm(r), memory[at], kBytes, &windows[at], 1);
      },
      "ncclCommWindowRegister");
  for (const size_t count : {size_t{1}, size_t{1001}, size_t{300000}}) {
    movements(machine, comms, plain<float>(kFloat32), count);
    reductions(machine, comms, plain<int>(kInt32), count);
  }
  const auto gather = [&](int r, size_t shift) {
    cuda(cudaSetDevice(machine[r].device), "cudaSetDevice");
    return ncclGather(machine[r].in, machine[r].out + shift, 1000, kFloat32, 0, comm(r),
                      machine[r].stream);
  };
  machine.group([&](int r) { return gather(r, r == 1 ? 256 : 0); }, "ncclGather beside a promise");
  machine.wait();
  expect(gather(0, 0) == ncclInvalidUsage, "a window's promise that was not kept");
  for (int r = 0; r < machine.ranks(); ++r) {
    const auto at = static_cast<size_t>(r);
    cuda(cudaSetDevice(machine[r].device), "cudaSetDevice");
    nccl(ncclCommAbort(comm(r)), "ncclCommAbort");
    nccl(ncclMemFree(std::exchange(machine[r].out, own[at])), "ncclMemFree");
  }
}

ncclResult_t stateOf(ncclComm_t comm) {
  ncclResult_t state = ncclInternalError;
  nccl(ncclCommGetAsyncError(comm, &state), "ncclCommGetAsyncError");
  return state;
}

/// What is done stays done where another rank aborts; one whose kernels gave up is told of; and a
/// group's aborts end kernels of all its communicators before they wait for any.
void aborts(Machine& machine) {
  const Type type = plain<float>(kFloat32);
  constexpr size_t kCount = 1000;
  const auto sum = [&](Comms& comms, int r) {
    cuda(cudaSetDevice(machine[r].device), "cudaSetDevice");
    return ncclAllReduce(machine[r].in, machine[r].out, kCount, kFloat32, kSum,
                         comms[static_cast<size_t>(r)], machine[r].stream);
  };
  Comms done = makeComms(machine);
  fill(machine, type, kCount);
  machine.group([&](int r) { return sum(done, r); }, "a sum before an abort");
  machine.wait();
  nccl(ncclCommAbort(done[1]), "ncclCommAbort");
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  expect(stateOf(done[0]) == ncclSuccess, "another's abort after all is done");
  for (size_t r = 0; r < done.size(); ++r) {
    if (r != 1) nccl(ncclCommAbort(done[r]), "ncclCommAbort");
  }

  Comms both[2] = {makeComms(machine), makeComms(machine)};
  for (Comms& comms : both) nccl(sum(comms, 0), "a sum that nobody joins");
  nccl(ncclGroupStart(), "ncclGroupStart");
  for (Comms& comms : both) nccl(ncclCommAbort(comms[0]), "ncclCommAbort in a group");
  const auto begin = std::chrono::steady_clock::now();
  nccl(ncclGroupEnd(), "a group of aborts");
  expect(std::chrono::steady_clock::now() - begin < std::chrono::seconds(5), "aborts that wait");
  for (Comms& comms : both) {
    expect(stateOf(comms[1]) == ncclRemoteError, "an abort of a rank whose kernel gave up");
    for (size_t r = 1; r < comms.size(); ++r) nccl(ncclCommAbort(comms[r]), "ncclCommAbort");
  }
  machine.wait();
}

/// A thread for each rank, without groups, the last collective of each on the legacy stream. Ranks
/// that share a device stay on theirs: the first call on another one waits for what the context
/// has, which may be the other rank's call, and that for this one.
void threads(Machine& machine) {
  const Type type = plain<float>(kFloat32);
  const int n = machine.ranks();
  constexpr size_t kCount = 3000;
  fill(machine, type, kCount);
  ncclUniqueId id;
  nccl(ncclGetUniqueId(&id), "ncclGetUniqueId");
  std::vector<ncclResult_t> results(static_cast<size_t>(n));
  std::vector<std::thread> all;
  for (int r = 0; r < n; ++r) {
    all.emplace_back([&, r] {
      ncclResult_t& first = results[static_cast<size_t>(r)];
      const auto keep = [&first](ncclResult_t result) {
        if (first == ncclSuccess) first = result;
      };
      Gpu& gpu = machine[r];
      ncclComm_t comm = nullptr;
      cudaSetDevice(gpu.device);
      keep(ncclCommInitRank(&comm, n, id, r));
      for (int turn = 0; turn < 100; ++turn) {
        keep(ncclAllReduce(gpu.in, gpu.out, kCount, kFloat32, kSum, comm, gpu.stream));
      }
      const cudaStream_t last = machine.sharesDevice() ? gpu.stream : nullptr;
      cudaMemsetAsync(gpu.out, 0, kCount * 4, last);
      keep(ncclAllReduce(gpu.in, gpu.out, kCount, kFloat32, kSum, comm, last));
      if (cudaStreamSynchronize(last) != cudaSuccess) keep(ncclUnhandledCudaError);
      keep(stateOf(comm));
      keep(ncclCommFinalize(comm));
      keep(ncclCommDestroy(comm));
    });
  }
  for (std::thread& thread : all) thread.join();
  machine.wait();
  for (int r = 0; r < n; ++r) {
    nccl(results[static_cast<size_t>(r)], "a thread's calls");
    compare(
        type, machine[r].out, kCount, [&](size_t i) { return reduced(kSum, n, i); }, "threads");
  }
}

using Clock = std::chrono::steady_clock;

/// Nanoseconds of `call`, the best of some hundred turns of 16.
double nanoseconds(const std::function<void()>& call, Machine& machine) {
  double best = 1e9;
  for (int turn = 0; turn < 300; ++turn) {
    const auto begin = Clock::now();
    for (int i = 0; i < 16; ++i) call();
    const double each = std::chrono::duration<double, std::nano>(Clock::now() - begin).count() / 16;
    best = each < best ? each : best;
    machine.wait();
  }
  return best;
}

/// What a launch costs the host through NCCL's interface, and through Rondo's.
void cost(Machine& machine) {
  cuda(cudaSetDevice(machine[0].device), "cudaSetDevice");
  ncclUniqueId id;
  ncclComm_t comm = nullptr;
  nccl(ncclGetUniqueId(&id), "ncclGetUniqueId");
  nccl(ncclCommInitRank(&comm, 1, id, 0), "ncclCommInitRank");
  rondoComm_t own = nullptr;
  const int device = machine[0].device;
  if (rondoCommInitAll(&own, 1, &device, nullptr) != rondoSuccess) {
    return expect(false, rondoGetLastError(nullptr));
  }
  unsigned char* const data = machine[0].in;
  const double through = nanoseconds(
      [&] { ncclAllReduce(data, data, 1, kFloat32, kSum, comm, machine[0].stream); }, machine);
  const double direct = nanoseconds(
      [&] { rondoAllReduce(data, data, 1, rondoFloat32, rondoSum, own, machine[0].stream); },
      machine);
  std::printf("a launch: %.0f ns by ncclAllReduce, %.0f ns by rondoAllReduce\n", through, direct);
  nccl(ncclCommDestroy(comm), "ncclCommDestroy");
  rondoCommDestroy(own);
}

/// Estimates of groups, which stay undone, beside the time that the call takes.
void estimates(Machine& machine, Comms& comms) {
  constexpr size_t kCount = 1 << 20;
  const Type floats = plain<float>(kFloat32);
  fill(machine, floats, kCount);
  for (int r = 0; r < machine.ranks(); ++r) {
    cuda(cudaSetDevice(machine[r].device), "cudaSetDevice");
    cuda(cudaMemset(machine[r].out, 0, kCount * floats.bytes), "cudaMemset");
  }
  machine.wait();
  const auto sum = [&](int r) {
    return ncclAllReduce(machine[r].in, machine[r].out, kCount, kFloat32, kSum,
                         comms[static_cast<size_t>(r)], machine[r].stream);
  };
  const auto estimate = [&](int calls) {
    ncclSimInfo_t info{sizeof(ncclSimInfo_t), 0x74685283, 22809, -1.0f};
    nccl(ncclGroupStart(), "ncclGroupStart");
    for (int r = 0; r < machine.ranks(); ++r) {
      for (int i = 0; i < calls; ++i) nccl(sum(r), "a call that is estimated");
    }
    nccl(ncclGroupSimulateEnd(&info), "ncclGroupSimulateEnd");
    return info.estimatedTime;
  };
  const float one = estimate(1), two = estimate(2);
  expect(one > 1 && one < 1e5f, "an estimate in microseconds");
  expect(two > 1.99f * one && two < 2.01f * one, "an estimate of two calls");
  machine.wait();
  for (int r = 0; r < machine.ranks(); ++r) {
    compare(
        floats, machine[r].out, kCount, [](size_t) { return 0; }, "what is only estimated");
  }
  constexpr int kTimes = 50;
  const auto begin = Clock::now();
  for (int i = 0; i < kTimes; ++i) machine.group(sum, "ncclAllReduce");
  machine.wait();
  const double took = std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
  std::printf("an all-reduce of 4 MiB: %.1f us estimated, %.1f us as it follows itself\n",
              static_cast<double>(one), took / kTimes);
}

void sayWhoseLibraryRuns() {
  std::ifstream maps("/proc/self/maps");
  std::string last;
  for (std::string line; std::getline(maps, line);) {
    const size_t at = line.find('/');
    if (at == std::string::npos || line.find("libnccl") == std::string::npos) continue;
    if (line.substr(at) != last) std::printf("maps: %s\n", line.substr(at).c_str());
    last = line.substr(at);
  }
}

int run() {
  Machine machine;
  sayWhoseLibraryRuns();
  Comms comms = makeComms(machine);
  if (failures > 0) return 1;
  const Type types[] = {plain<float>(kFloat32), plain<int>(kInt32), plain<double>(kFloat64),
                        bfloat16(), plain<unsigned char>(1)};
  for (const Type& type : types) {
    for (const size_t count : {size_t{1}, size_t{1001}, size_t{200000}}) {
      reductions(machine, comms, type, count);
      movements(machine, comms, type, count);
    }
    operators(machine, comms, type, 1001);
  }
  std::printf("collectives: %d checks, %d wrong\n", checks, failures);
  streams(machine, comms);
  graphs(machine, comms);
  legacyInCapture(machine, comms);
  severalCommunicators(machine);
  children(machine, comms);
  memory(machine, comms);
  copiesAlone(machine);
  aborts(machine);
  threads(machine);
  estimates(machine, comms);
  destroy(comms);
  cost(machine);
  std::printf("%d ranks, %d checks, %d wrong\n", machine.ranks(), checks, failures);
  return failures > 0;
}

}  // namespace
}  // namespace nccl_test

int main() {
  alarm(120);  // what hangs is wrong, too
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  return nccl_test::run();
}
