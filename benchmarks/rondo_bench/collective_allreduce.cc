#include "collective_allreduce.h"

#include "environment.h"
#include "peer_mpi.h"
#include "sweep.h"

namespace rondo::bench {
namespace {

Contender rondoContender(rondoComm_t comm) {
  return {"rondo", [comm](const CallArgs& args) {
            checkRondo(rondoAllReduce(args.send, args.recv, args.count, args.type, args.op, comm,
                                      args.stream),
                       "rondoAllReduce", comm);
          }};
}

std::vector<Contender> contenders(const Environment& environment) {
  std::vector<Contender> result{rondoContender(environment.session().rondo())};
  if (environment.options().peer == Peer::kMpi) {
    result.push_back(mpiAllReduce(environment.session().mpi()));
  }
  if (environment.nccl() != nullptr) result.push_back(environment.nccl()->allReduce());
  return result;
}

}  // namespace

AllReduce::AllReduce(const Reduction& reduction, int rank)
    : ranks_(reduction.ranks),
      input_(*reduction.type, [&](size_t i) { return inputValue(reduction, rank, i); }),
      result_(*reduction.type, [&](size_t i) { return reducedValue(reduction, i); }),
      poison_(result_.inverted()) {}

double AllReduce::busBytes(size_t bytes) const {
  return 2.0 * (ranks_ - 1) / ranks_ * static_cast<double>(bytes);
}

void AllReduce::fillSend(void* send, size_t bytes, size_t phase) const {
  input_.fill(send, bytes, phase);
}

void AllReduce::poison(void* recv, size_t bytes, size_t phase) const {
  poison_.fill(recv, bytes, phase);
}

uint64_t AllReduce::countWrong(const void* recv, size_t bytes, size_t phase) const {
  return result_.countDifferent(recv, bytes, phase);
}

int runAllReduce(const Options& options) {
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  requirePossible(options, ranks);
  const Environment environment(options);
  const int rank = environment.session().rank();
  const auto make = [ranks, rank](const ElementType& type, const Operator& op) {
    return std::make_unique<AllReduce>(Reduction{&type, &op, ranks}, rank);
  };
  return runSweep(environment, {"allreduce", contenders(environment), make});
}

}  // namespace rondo::bench
