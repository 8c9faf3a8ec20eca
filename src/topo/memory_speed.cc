#include "topo/memory_speed.h"

#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <numeric>
#include <thread>

#include "base/cpu_list.h"
#include "base/error.h"

namespace rondo::topo {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kLine = 64, kLeastBytes = 64u << 20, kMostBytes = 1u << 30;
constexpr int kLooks = 3;
constexpr auto kLook = std::chrono::milliseconds(100);
/// Some 20 ms of dependent reads.
constexpr size_t kReads = 200'000;

double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

bool bindTo(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<size_t>(cpu), &set);
  return sched_setaffinity(0, sizeof set, &set) == 0;
}

/// Pages that are nobody's until somebody touches them.
class Pages {
 public:
  explicit Pages(size_t bytes) : bytes_(bytes) {
    at_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at_ == MAP_FAILED) throw systemError(format("memory of %zu bytes", bytes), errno);
    madvise(at_, bytes, MADV_HUGEPAGE);  // else the TLB is measured
  }
  ~Pages() { munmap(at_, bytes_); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  uint64_t* words() const { return static_cast<uint64_t*>(at_); }
  size_t count() const { return bytes_ / sizeof(uint64_t); }

 private:
  size_t bytes_;
  void* at_;
};

/// Each line's first word is the number of the next one's, in one circle in no order that hardware
/// foresees.
void makeCircle(const Pages& pages) {
  constexpr size_t kStep = kLine / sizeof(uint64_t);
  const size_t lines = pages.count() / kStep;
  uint64_t* const words = pages.words();
  for (size_t i = 0; i < lines; ++i) words[i * kStep] = i * kStep;
  uint64_t state = 20261122;
  for (size_t i = lines - 1; i > 0; --i) {  // Sattolo's
    state = state * 6364136223846793005u + 1442695040888963407u;
    std::swap(words[i * kStep], words[(state >> 33) % i * kStep]);
  }
}

/// Seconds of one read that waits for the one before.
double readWait(const Pages& pages) {
  const uint64_t* const words = pages.words();
  double best = 1;
  uint64_t at = 0;
  for (int look = 0; look < kLooks; ++look) {
    const Clock::time_point start = Clock::now();
    for (size_t i = 0; i < kReads; ++i) at = words[at];
    best = std::min(best, secondsSince(start) / static_cast<double>(kReads));
  }
  std::atomic<uint64_t> kept{at};  // so that the reads are made
  return kept.load() < pages.count() ? best : 1;
}

/// Bytes a second that this thread reads.
double readRate(const Pages& pages) {
  const uint64_t* const words = pages.words();
  constexpr size_t kBlock = 1u << 17;
  const size_t count = pages.count() / kBlock * kBlock;
  const Clock::time_point start = Clock::now();
  uint64_t sum = 0;
  double bytes = 0;
  for (size_t at = 0; Clock::now() - start < kLook; at = (at + kBlock) % count) {
    sum = std::accumulate(words + at, words + at + kBlock, sum);
    bytes += kBlock * sizeof(uint64_t);
  }
  std::atomic<uint64_t> kept{sum};
  return kept.load() != 1 ? bytes / secondsSince(start) : 0;
}

}  // namespace

std::vector<int> cpusOfNuma(int numa, const std::string& sys) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return {};
  std::vector<int> cpus;
  std::ifstream list(sys + "/devices/system/node/node" + std::to_string(numa) + "/cpulist");
  if (std::string text; list && std::getline(list, text)) {
    cpus = parseCpuList(text);
  } else if (numa <= 0) {
    cpus.resize(CPU_SETSIZE);
    std::iota(cpus.begin(), cpus.end(), 0);
  }
  std::erase_if(cpus, [&](int cpu) { return !CPU_ISSET(static_cast<size_t>(cpu), &allowed); });
  return cpus;
}

size_t bytesToMeasure(uint64_t l3Bytes) {
  const long pages = sysconf(_SC_AVPHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  const size_t free =
      pages > 0 && page > 0 ? static_cast<size_t>(pages) * static_cast<size_t>(page) : kMostBytes;
  return std::min(std::clamp<size_t>(4 * l3Bytes, kLeastBytes, kMostBytes), free / 4);
}

MemorySpeed measureMemory(const std::vector<int>& readers, const std::vector<int>& homes,
                          size_t bytes) {
  if (readers.empty() || homes.empty()) return {};
  const size_t each = std::max(bytes / readers.size(), size_t{4} << 20) & ~size_t{(2u << 20) - 1};
  std::vector<std::unique_ptr<Pages>> pages;
  for (size_t r = 0; r < readers.size(); ++r) pages.push_back(std::make_unique<Pages>(each));
  const Pages circle(std::max(bytes, each));
  std::atomic<bool> bound{true};
  std::vector<double> rates(readers.size() * kLooks);
  double wait = 0;
  std::barrier together(static_cast<std::ptrdiff_t>(readers.size()));
  std::vector<std::thread> threads;
  for (size_t r = 0; r < readers.size(); ++r) {
    threads.emplace_back([&, r] {
      if (!bindTo(homes[r % homes.size()])) bound = false;
      std::fill_n(pages[r]->words(), pages[r]->count(), r);
      if (r == 0) makeCircle(circle);
      if (!bindTo(readers[r])) bound = false;
      together.arrive_and_wait();
      for (int look = 0; look < kLooks; ++look) {
        rates[static_cast<size_t>(look) * readers.size() + r] = readRate(*pages[r]);
        together.arrive_and_wait();
      }
      if (r == 0) wait = readWait(circle);  // the others have ended
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (!bound) return {};
  double best = 0;
  for (auto look = rates.begin(); look != rates.end();) {
    const auto end = look + static_cast<std::ptrdiff_t>(readers.size());
    best = std::max(best, std::accumulate(look, end, 0.0));
    look = end;
  }
  return {static_cast<uint64_t>(best), static_cast<uint64_t>(wait * 1e12)};
}

}  // namespace rondo::topo
