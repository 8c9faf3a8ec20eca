#pragma once
// The ranks of the doctor's own job, if it was started by mpirun.

#include <string>
#include <vector>

namespace rondo::doctor {

/// Whether an MPI launcher started this process; MPI is then initialised for the object's life.
class Job {
 public:
  Job(int* argc, char*** argv);
  ~Job();
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  bool launched() const { return launched_; }
  int rank() const { return rank_; }
  int size() const { return size_; }
  /// All ranks' texts on every rank. Collective.
  std::vector<std::string> gather(const std::string& mine) const;
  /// Rank 0's number on every rank. Collective.
  int share(int number) const;
  static std::string mpiVersion();

 private:
  bool launched_ = false;
  int rank_ = 0, size_ = 1;
};

}  // namespace rondo::doctor
