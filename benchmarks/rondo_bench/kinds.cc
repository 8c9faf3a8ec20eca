#include "kinds.h"

#include "errors.h"
#include "library_mpi.h"
#include "values.h"

namespace rondo::bench {
namespace {

/// "" where Rondo has the pair and its results can be checked, if they are to be.
std::string whyNotRondo(const Benchmark& benchmark, const Options& options, int ranks,
                        const ElementType& type, const Operator& op) {
  const std::string name = op.name;
  if (!isDefined(type, op)) {
    return "--op " + name + ": not defined for " + type.name + "; allowed for " + type.name +
           " are " + definedOperators(type);
  }
  if (benchmark.has(kPrefixes) && op.id == rondoAvg) {
    return "--op avg: not defined for " + std::string(benchmark.name) +
           "; allowed are all other operators";
  }
  std::string why;
  if (!options.noCheck && !exactValuesExist({&type, &op, ranks}, &why)) {
    return std::string("--type ") + type.name + ": " + why;
  }
  return "";
}

std::string whyNotMpi(const Options& options, const ElementType& type, const Operator& op) {
  const std::string lacks = mpiLacks(type, op);
  if (lacks.empty()) return "";
  return (options.library == Library::kMpi ? "--library mpi: " : "--peer mpi: ") + lacks;
}

}  // namespace

std::vector<Kind> kindsOf(const Benchmark& benchmark, const Options& options, int ranks) {
  if (benchmark.has(kNoData)) return {{&noElementType(), &noOperator(), true}};
  std::vector<Kind> kinds;
  if (!benchmark.has(kReduces)) {
    for (const ElementType* type : options.types) kinds.push_back({type, &noOperator(), true});
    return kinds;
  }
  const bool any = options.anyType || options.anyOp;
  const bool together = options.command == "overlap";  // its libraries' rows need each other
  std::string first;
  for (const ElementType* type : options.types) {
    for (const Operator* op : options.ops) {
      std::string why = whyNotRondo(benchmark, options, ranks, *type, *op);
      std::string whyMpi;
      if (options.library == Library::kMpi || options.peer == Peer::kMpi) {
        whyMpi = whyNotMpi(options, *type, *op);
      }
      const bool alone = options.peer == Peer::kMpi && any && !together;
      if (why.empty() && !alone) why = whyMpi;
      if (why.empty()) {
        kinds.push_back({type, op, whyMpi.empty()});
      } else if (!any) {
        throw UsageError(why);
      } else if (first.empty()) {
        first = why;
      }
    }
  }
  if (kinds.empty()) throw UsageError(first);
  return kinds;
}

}  // namespace rondo::bench
