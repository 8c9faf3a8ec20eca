#pragma once
// Ranks of one process for the tests of NCCL's interface, driven by one thread.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "drop_in/nccl_calls.h"

namespace nccl_test {

/// The call fails with `code`, and the thread's sentence has all of `parts`.
inline void expectRefused(ncclResult_t result, ncclResult_t code,
                          std::initializer_list<std::string> parts) {
  const std::string sentence = ncclGetLastError(nullptr);
  EXPECT_EQ(result, code) << sentence;
  for (const std::string& part : parts) {
    EXPECT_NE(sentence.find(part), std::string::npos) << part << " is missing in: " << sentence;
  }
}

/// n ranks, made in one group of ncclCommInitRank as the documentation has it.
class World {
 public:
  explicit World(int n, ncclConfig_t* config = nullptr) : comms_(static_cast<size_t>(n)) {
    ncclUniqueId id;
    EXPECT_EQ(ncclGetUniqueId(&id), ncclSuccess);
    EXPECT_EQ(ncclGroupStart(), ncclSuccess);
    for (int r = 0; r < n; ++r) {
      ncclComm_t* const comm = &comms_[static_cast<size_t>(r)];
      EXPECT_EQ(ncclCommInitRankConfig(comm, n, id, r, config), ncclSuccess);
      EXPECT_NE(*comm, nullptr);
    }
    made = ncclGroupEnd();
  }
  ~World() {
    for (ncclComm_t comm : comms_) EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  int size() const { return static_cast<int>(comms_.size()); }
  ncclComm_t& operator[](int rank) { return comms_[static_cast<size_t>(rank)]; }
  /// An all-reduce of one int32 on all ranks, in one group: 0 + 1 + ... + n - 1.
  bool works() {
    std::vector<int> data(comms_.size());
    ncclGroupStart();
    for (int r = 0; r < size(); ++r) {
      data[static_cast<size_t>(r)] = r;
      int* const at = &data[static_cast<size_t>(r)];
      ncclAllReduce(at, at, 1, kInt32, kSum, (*this)[r], nullptr);
    }
    if (ncclGroupEnd() != ncclSuccess) return false;
    return data == std::vector<int>(comms_.size(), size() * (size() - 1) / 2);
  }

  ncclResult_t made = ncclInternalError;

 private:
  std::vector<ncclComm_t> comms_;
};

}  // namespace nccl_test
