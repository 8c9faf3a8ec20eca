#pragma once
// rondo-bench allreduce.

#include "collective.h"
#include "pattern.h"
#include "values.h"

namespace rondo::bench {

struct Options;

class AllReduce : public Collective {
 public:
  AllReduce(const Reduction& reduction, int rank);

  size_t sendBytes(size_t bytes) const override { return bytes; }
  size_t recvBytes(size_t bytes) const override { return bytes; }
  double busBytes(size_t bytes) const override;
  void fillSend(void* send, size_t bytes, size_t phase) const override;
  void poison(void* recv, size_t bytes, size_t phase) const override;
  uint64_t countWrong(const void* recv, size_t bytes, size_t phase) const override;

 private:
  int ranks_;
  Pattern input_;
  Pattern result_;
  Pattern poison_;
};

/// The subcommand: runs the sweep and returns the exit status.
int runAllReduce(const Options& options);

}  // namespace rondo::bench
