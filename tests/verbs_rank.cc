// One rank that makes a sample of all collectives' calls and compares each with a plain account of
// it, for a machine without the means for larger tests.
//
// verbs_rank FILE RANKS RANK SEED [LEAST]: rank 0 makes the id and writes it to FILE, the others
// wait for it. LEAST leaves out lesser counts. Exit status 0 if everything was right.

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "rondo.h"
#include "support/collective_case.h"

namespace rondo::testing {
namespace {

int rank = 0, ranks = 0;

rondoComm_t join(const std::string& file) {
  rondoUniqueId id{};
  rondoComm_t comm = nullptr;
  if (rank == 0) {
    if (rondoGetUniqueId(&id) != rondoSuccess) return nullptr;
    std::ofstream(file + ".new").write(id.internal, sizeof id);
    if (std::rename((file + ".new").c_str(), file.c_str()) != 0) return nullptr;
  } else {
    for (int i = 0; i < 4000 && access(file.c_str(), F_OK) != 0; ++i) usleep(5000);
    std::ifstream(file).read(id.internal, sizeof id);
  }
  return rondoCommInitRank(&comm, ranks, id, rank) == rondoSuccess ? comm : nullptr;
}

/// Ordinary memory or rondoMemAlloc's. It is gone after the call, so that the next one's lies at
/// the same place: a card that still knows the old pages would send those.
class Memory {
 public:
  Memory(size_t bytes, bool shared) : bytes_(bytes), shared_(shared) {
    void* memory = nullptr;
    if (shared && rondoMemAlloc(&memory, bytes + 1) != rondoSuccess) shared_ = false;
    data_ = static_cast<char*>(shared_ ? memory : std::malloc(bytes + 1));
    std::memset(data_, 0x5a, bytes);
  }
  ~Memory() {
    if (shared_) {
      rondoMemFree(data_);
    } else {
      std::free(data_);
    }
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  char* data() { return data_; }
  size_t size() const { return bytes_; }

 private:
  size_t bytes_;
  bool shared_;
  char* data_;
};

bool check(const Case& call, rondoComm_t comm) {
  const Side side = sideOf(call, rank, ranks);
  const size_t element = typeSize(call.type);
  const bool shared = call.salt % 3 != 0;
  // In place both are parts of one buffer, else of two that have nothing in common.
  const bool inPlace = call.inPlace && side.mayAlias;
  const auto past = static_cast<size_t>(side.alias > 0 && inPlace ? side.alias : 0);
  const auto before = static_cast<size_t>(side.alias < 0 && inPlace ? -side.alias : 0);
  const size_t most = std::max(before + side.recvCount, past + side.sendCount);
  Memory recv((inPlace ? most : side.recvCount) * element, shared);
  Memory apart(inPlace ? 0 : side.sendCount * element, shared);
  char* const out = recv.data() + before * element;
  char* const in = inPlace ? recv.data() + past * element : apart.data();
  if (side.usesSend) lay(in, side.sendCount, inputPattern(call, rank), 0);
  std::vector<char> wanted(recv.data(), recv.data() + recv.size());
  applyBlocks(call, side, wanted.data() + before * element);
  const rondoResult_t result = invoke(call, side, in, out, rank, comm);
  const bool equal = std::memcmp(recv.data(), wanted.data(), wanted.size()) == 0;
  if (result == rondoSuccess && equal) return true;
  size_t at = 0, wrong = 0;
  for (size_t i = recv.size(); i-- > 0;) {
    if (recv.data()[i] == wanted[i]) continue;
    at = i;
    ++wrong;
  }
  std::printf("rank %d: %s: %s, %zu of %zu bytes wrong from %zu on; last error: %s\n", rank,
              call.text().c_str(), rondoGetErrorString(result), wrong, recv.size(), at,
              rondoGetLastError(comm));
  return false;
}

/// Every collective at lengths on both sides of what is copied, sent from where it is, and fetched.
int checkAll(rondoComm_t comm, unsigned seed, size_t least) {
  std::mt19937 random(seed);
  int calls = 0, failures = 0;
  const size_t counts[] = {0, 1, 3, 257, 4097, 20'000, 70'001, 300'001};
  const rondoDataType_t types[] = {rondoInt32, rondoFloat64, rondoUint8, rondoFloat32};
  for (const size_t count : counts) {
    if (count < least) continue;
    for (int k = 0; k < kCalls; ++k) {
      Case call{static_cast<Call>(k), types[random() % 4], rondoSum, count, 0, false, false, 0};
      call.root = static_cast<int>(random() % static_cast<unsigned>(ranks));
      call.gaps = hasDispls(call.call) && random() % 2 == 0;
      call.inPlace = random() % 2 == 0;
      call.salt = static_cast<unsigned>(random() % 1000);
      ++calls;
      if (!check(call, comm) && ++failures > 5) return failures;
    }
  }
  std::printf("rank %d: %d calls, %d wrong\n", rank, calls, failures);
  return failures;
}

}  // namespace
}  // namespace rondo::testing

int main(int count, char** words) {
  using namespace rondo::testing;
  if (count < 5) return 2;
  ranks = std::atoi(words[2]);
  rank = std::atoi(words[3]);
  rondoComm_t comm = join(words[1]);
  if (comm == nullptr) {
    std::printf("rank %d: %s\n", rank, rondoGetLastError(nullptr));
    return 1;
  }
  const int failures = checkAll(comm, static_cast<unsigned>(std::atoi(words[4])),
                                count > 5 ? std::strtoull(words[5], nullptr, 10) : 0);
  rondoBarrier(comm, nullptr);
  rondoCommDestroy(comm);
  return failures == 0 ? 0 : 1;
}
