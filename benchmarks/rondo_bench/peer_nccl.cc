#include "peer_nccl.h"

#include <cstdlib>

#include "errors.h"
#include "shared_object.h"

namespace rondo::bench {
namespace {

struct NcclUniqueId {
  char bytes[128];
};

constexpr rondoDataType_t kFirstOwnType = 32;  // below it the handles are NCCL's

bool isPowerOfTwo(int n) { return (n & (n - 1)) == 0; }

}  // namespace

struct Nccl::Library : SharedObject {
  Library() : SharedObject("libnccl.so.2", "--peer nccl") {
    resolve("ncclGetVersion", getVersion);
    resolve("ncclGetErrorString", getErrorString);
    resolve("ncclGetUniqueId", getUniqueId);
    resolve("ncclCommInitRank", commInitRank);
    resolve("ncclCommDestroy", commDestroy);
    resolve("ncclAllReduce", allReduce);
  }
  void check(int result, const char* call) const {
    if (result != 0) throw RunError(std::string(call) + " failed: " + getErrorString(result));
  }

  int (*getVersion)(int* version);
  const char* (*getErrorString)(int result);
  int (*getUniqueId)(NcclUniqueId* id);
  int (*commInitRank)(ncclComm** comm, int ranks, NcclUniqueId id, int rank);
  int (*commDestroy)(ncclComm* comm);
  int (*allReduce)(const void* send, void* recv, size_t count, int type, int op, ncclComm* comm,
                   rondoStream_t stream);
};

void requireNcclCan(const Benchmark& benchmark, const Options& options, int ranks) {
  if (benchmark.name != std::string_view("allreduce")) {
    throw UsageError("--peer nccl: allowed only with allreduce, not " +
                     std::string(benchmark.name));
  }
  for (const ElementType* type : options.types) {
    if (type->id >= kFirstOwnType) {
      throw UsageError(std::string("--peer nccl: NCCL has no type ") + type->name +
                       "; choose other types with --type, or leave out --peer");
    }
    for (const Operator* op : options.ops) {
      if (op->id < 0 || op->id >= kFirstOwnType) {
        throw UsageError(std::string("--peer nccl: NCCL has no operator ") + op->name +
                         " that ranks share; choose another with --op, or leave out --peer");
      }
      // NCCL multiplies floats by 1/ranks before it adds them up, which rounds.
      if (!options.noCheck && op->id == rondoAvg && type->kind == NumberKind::kFloat &&
          !isPowerOfTwo(ranks)) {
        throw UsageError("--peer nccl: NCCL's avg of " + std::string(type->name) + " over " +
                         std::to_string(ranks) +
                         " ranks is not exact and cannot be checked; use --no-check, or a number "
                         "of ranks that is a power of two");
      }
    }
  }
}

Nccl::Nccl(const Session& session) {
  // NVLink multicast is left out of the comparison; what the user sets counts for the rest.
  setenv("NCCL_NVLS_ENABLE", "0", 1);
  library_ = std::make_unique<Library>();
  NcclUniqueId id{};
  if (session.isRoot()) library_->check(library_->getUniqueId(&id), "ncclGetUniqueId");
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, session.mpi());
  library_->check(library_->commInitRank(&comm_, session.ranks(), id, session.rank()),
                  "ncclCommInitRank");
}

Nccl::~Nccl() { library_->commDestroy(comm_); }

std::string Nccl::version() const {
  int code = 0;
  library_->check(library_->getVersion(&code), "ncclGetVersion");
  return formatVersion(code);
}

Contender Nccl::allReduce() const {
  const Library* library = library_.get();
  ncclComm* comm = comm_;
  return {"nccl", [library, comm](const CallArgs& args) {
            library->check(library->allReduce(args.send, args.recv, args.count(), args.type,
                                              args.op, comm, args.stream),
                           "ncclAllReduce");
          }};
}

}  // namespace rondo::bench
