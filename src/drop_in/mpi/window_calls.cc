// MPI's one-sided calls. Windows are MPI's memory and so the host's; what a call puts from a device
// or gets to one goes by a host image that lives until the access is complete at this rank, which
// the next call that ends its epoch, or flushes it, says.

#include <dlfcn.h>
#include <mpi.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <numeric>
#include <vector>

#include "drop_in/mpi/by_image.h"
#include "drop_in/mpi/host_twin.h"
#include "drop_in/mpi/rehearsal.h"

using namespace rondo;
using namespace rondo::drop_in;

namespace {

/// The buffers of one access at its origin.
class StagedAccess final : public Staged {
 public:
  /// What MPI is given of a buffer that is read, or written. Throw Error, std::bad_alloc.
  const void* in(const Buffer& buffer) { return image(buffer, &read_); }
  void* out(const Buffer& buffer) { return image(buffer, &written_); }
  bool used() const { return !read_.empty() || !written_.empty(); }

 private:
  using Images = std::vector<std::unique_ptr<Image>>;
  void* image(const Buffer& buffer, Images* images) {
    if (!buffer.staged()) return const_cast<void*>(buffer.begin);
    images->push_back(std::make_unique<Image>(buffer.elements(), images == &written_));
    return images->back()->begin();
  }
  void bringBack() override {
    for (const auto& image : written_) image->bringBack();
  }
  Images read_, written_;
};

struct Access {
  MPI_Win win;
  int target;
  HeldMessage buffers;
};

/// Those that may not be complete. Never destroyed: MPI_Finalize may run in an atexit handler.
struct Accesses {
  std::mutex mutex;
  std::vector<Access> all;
};
Accesses& accesses() {
  static Accesses* const instance = new Accesses;
  return *instance;
}
std::atomic<size_t> accessCount{0};

void hold(MPI_Win win, int target, const HeldMessage& buffers) {
  Accesses& self = accesses();
  const std::lock_guard<std::mutex> lock(self.mutex);
  self.all.push_back({win, target, buffers});
  accessCount.fetch_add(1);
}

/// MPI_Win_fence and others have completed, by `code`, the accesses to a window's target, or all.
constexpr int kEveryTarget = -1000;
int completed(int code, MPI_Win win, int target = kEveryTarget) {
  if (code != MPI_SUCCESS || accessCount.load(std::memory_order_relaxed) == 0) [[likely]]
    return code;
  std::vector<Access> over;
  {
    Accesses& self = accesses();
    const std::lock_guard<std::mutex> lock(self.mutex);
    const auto first =
        std::stable_partition(self.all.begin(), self.all.end(), [&](const Access& one) {
          return one.win != win || (target != kEveryTarget && one.target != target);
        });
    std::move(first, self.all.end(), std::back_inserter(over));
    self.all.erase(first, self.all.end());
    accessCount.fetch_sub(over.size());
  }
  for (const Access& one : over) {
    const int failure = one.buffers->end();
    if (code == MPI_SUCCESS) code = failure;
  }
  return code;
}

/// mpis(access) is MPI's call, which takes its buffers from the access.
template <class Mpis>
int access(MPI_Win win, int target, const char* call, MPI_Request* request, const Mpis& mpis) {
  return guarded(OnWindow{win}, call, [&] {
    StagedCall counted(call);
    const auto buffers = std::make_shared<StagedAccess>();
    const int code = mpis(*buffers);
    if (!buffers->used()) counted.forget();
    if (code != MPI_SUCCESS || !buffers->used()) return code;
    hold(win, target, buffers);
    return request == nullptr ? code : holdUntilEnd(*request, buffers);
  });
}

/// Whether MPI would read and write a window on a device by itself.
bool mpiTakesDevices() {
  using Query = int (*)();
  static const auto query = reinterpret_cast<Query>(dlsym(RTLD_DEFAULT, "MPIX_Query_cuda_support"));
  return query != nullptr && query() != 0;
}

bool isNoWindow(const void* base, MPI_Aint size) {
  return devicesOn && size > 0 && onDevice(base) && !mpiTakesDevices();
}

constexpr const char* kAllowed =
    "base is device memory, and this MPI's windows are host memory; allowed: host memory, from and "
    "to which device buffers may be put and got";

/// Whether all ranks have the layer, as those of MPI_COMM_WORLD do. The same on all: who has ranks
/// of another world beside it is in another one than they.
bool layerIsEverywhere(MPI_Comm comm) {
  int inter = 0, size = 0;
  if (comm == MPI_COMM_NULL || PMPI_Comm_test_inter(comm, &inter) != MPI_SUCCESS || inter != 0) {
    return false;
  }
  PMPI_Comm_size(comm, &size);
  std::vector<int> ranks(static_cast<size_t>(size)), in(static_cast<size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  MPI_Group members, world;
  PMPI_Comm_group(comm, &members);
  PMPI_Comm_group(MPI_COMM_WORLD, &world);
  PMPI_Group_translate_ranks(members, size, ranks.data(), world, in.data());
  PMPI_Group_free(&members);
  PMPI_Group_free(&world);
  return std::find(in.begin(), in.end(), MPI_UNDEFINED) == in.end();
}

/// Whether a rank of `comm` has refused memory, of which this one's is `mine`. They tell each other
/// if any could have some, as those that do not know would wait for it in MPI_Win_create.
bool anyRefuses(MPI_Comm comm, bool mine) {
  if (!devicesSomewhere || !layerIsEverywhere(comm)) return mine;
  const int refused = mine;
  int any = 0;
  const int code = PMPI_Allreduce(&refused, &any, 1, MPI_INT, MPI_MAX, comm);
  return code == MPI_SUCCESS ? any != 0 : mine;
}

/// In a rehearsal only this rank's memory is there. All calls on windows need one.
bool isRefused(const char* call, MPI_Comm comm, MPI_Win* win, int* code) {
  if (rehearsed(comm) == nullptr) [[likely]]
    return false;
  *win = MPI_WIN_NULL;
  *code = refuseCall(call, comm, "what is in other ranks' memory",
                     "windows on MPI_COMM_SELF, and messages and collectives instead");
  return true;
}

}  // namespace

int MPI_Win_allocate(MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void* base,
                     MPI_Win* win) {
  int code = MPI_SUCCESS;
  if (isRefused("MPI_Win_allocate", comm, win, &code)) return code;
  return PMPI_Win_allocate(size, unit, info, comm, base, win);
}

int MPI_Win_allocate_shared(MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void* base,
                            MPI_Win* win) {
  int code = MPI_SUCCESS;
  if (isRefused("MPI_Win_allocate_shared", comm, win, &code)) return code;
  return PMPI_Win_allocate_shared(size, unit, info, comm, base, win);
}

int MPI_Win_create_dynamic(MPI_Info info, MPI_Comm comm, MPI_Win* win) {
  int code = MPI_SUCCESS;
  if (isRefused("MPI_Win_create_dynamic", comm, win, &code)) return code;
  return PMPI_Win_create_dynamic(info, comm, win);
}

int MPI_Win_create(void* base, MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm,
                   MPI_Win* win) {
  int code = MPI_SUCCESS;
  if (isRefused("MPI_Win_create", comm, win, &code)) return code;
  const bool refused = isNoWindow(base, size);
  if (anyRefuses(comm, refused)) [[unlikely]] {
    return raiseMistake(
        comm, MPI_ERR_BUFFER,
        std::string("MPI_Win_create: ") + (refused ? "" : "another rank's ") + kAllowed);
  }
  return PMPI_Win_create(base, size, unit, info, comm, win);
}

int MPI_Win_attach(MPI_Win win, void* base, MPI_Aint size) {
  if (isNoWindow(base, size)) [[unlikely]] {
    return raiseMistake(OnWindow{win}, MPI_ERR_BUFFER, std::string("MPI_Win_attach: ") + kAllowed);
  }
  return PMPI_Win_attach(win, base, size);
}

int MPI_Put(const void* from, int count, MPI_Datatype type, int target, MPI_Aint place, int number,
            MPI_Datatype other, MPI_Win win) {
  if (!devicesOn) [[likely]]
    return PMPI_Put(from, count, type, target, place, number, other, win);
  return access(win, target, "MPI_Put", nullptr, [&](StagedAccess& by) {
    return PMPI_Put(by.in({from, count, type}), count, type, target, place, number, other, win);
  });
}

int MPI_Rput(const void* from, int count, MPI_Datatype type, int target, MPI_Aint place, int number,
             MPI_Datatype other, MPI_Win win, MPI_Request* request) {
  if (!devicesOn) [[likely]]
    return PMPI_Rput(from, count, type, target, place, number, other, win, request);
  return access(win, target, "MPI_Rput", request, [&](StagedAccess& by) {
    return PMPI_Rput(by.in({from, count, type}), count, type, target, place, number, other, win,
                     request);
  });
}

int MPI_Get(void* to, int count, MPI_Datatype type, int target, MPI_Aint place, int number,
            MPI_Datatype other, MPI_Win win) {
  if (!devicesOn) [[likely]]
    return PMPI_Get(to, count, type, target, place, number, other, win);
  return access(win, target, "MPI_Get", nullptr, [&](StagedAccess& by) {
    return PMPI_Get(by.out({to, count, type}), count, type, target, place, number, other, win);
  });
}

int MPI_Rget(void* to, int count, MPI_Datatype type, int target, MPI_Aint place, int number,
             MPI_Datatype other, MPI_Win win, MPI_Request* request) {
  if (!devicesOn) [[likely]]
    return PMPI_Rget(to, count, type, target, place, number, other, win, request);
  return access(win, target, "MPI_Rget", request, [&](StagedAccess& by) {
    return PMPI_Rget(by.out({to, count, type}), count, type, target, place, number, other, win,
                     request);
  });
}

int MPI_Accumulate(const void* from, int count, MPI_Datatype type, int target, MPI_Aint place,
                   int number, MPI_Datatype other, MPI_Op op, MPI_Win win) {
  if (!devicesOn) [[likely]]
    return PMPI_Accumulate(from, count, type, target, place, number, other, op, win);
  return access(win, target, "MPI_Accumulate", nullptr, [&](StagedAccess& by) {
    return PMPI_Accumulate(by.in({from, count, type}), count, type, target, place, number, other,
                           op, win);
  });
}

int MPI_Raccumulate(const void* from, int count, MPI_Datatype type, int target, MPI_Aint place,
                    int number, MPI_Datatype other, MPI_Op op, MPI_Win win, MPI_Request* request) {
  if (!devicesOn) [[likely]]
    return PMPI_Raccumulate(from, count, type, target, place, number, other, op, win, request);
  return access(win, target, "MPI_Raccumulate", request, [&](StagedAccess& by) {
    return PMPI_Raccumulate(by.in({from, count, type}), count, type, target, place, number, other,
                            op, win, request);
  });
}

int MPI_Get_accumulate(const void* from, int count, MPI_Datatype type, void* to, int results,
                       MPI_Datatype resultType, int target, MPI_Aint place, int number,
                       MPI_Datatype other, MPI_Op op, MPI_Win win) {
  if (!devicesOn) [[likely]] {
    return PMPI_Get_accumulate(from, count, type, to, results, resultType, target, place, number,
                               other, op, win);
  }
  return access(win, target, "MPI_Get_accumulate", nullptr, [&](StagedAccess& by) {
    return PMPI_Get_accumulate(by.in({from, count, type}), count, type,
                               by.out({to, results, resultType}), results, resultType, target,
                               place, number, other, op, win);
  });
}

int MPI_Rget_accumulate(const void* from, int count, MPI_Datatype type, void* to, int results,
                        MPI_Datatype resultType, int target, MPI_Aint place, int number,
                        MPI_Datatype other, MPI_Op op, MPI_Win win, MPI_Request* request) {
  if (!devicesOn) [[likely]] {
    return PMPI_Rget_accumulate(from, count, type, to, results, resultType, target, place, number,
                                other, op, win, request);
  }
  return access(win, target, "MPI_Rget_accumulate", request, [&](StagedAccess& by) {
    return PMPI_Rget_accumulate(by.in({from, count, type}), count, type,
                                by.out({to, results, resultType}), results, resultType, target,
                                place, number, other, op, win, request);
  });
}

int MPI_Fetch_and_op(const void* from, void* to, MPI_Datatype type, int target, MPI_Aint place,
                     MPI_Op op, MPI_Win win) {
  if (!devicesOn) [[likely]]
    return PMPI_Fetch_and_op(from, to, type, target, place, op, win);
  return access(win, target, "MPI_Fetch_and_op", nullptr, [&](StagedAccess& by) {
    return PMPI_Fetch_and_op(by.in({from, 1, type}), by.out({to, 1, type}), type, target, place, op,
                             win);
  });
}

int MPI_Compare_and_swap(const void* from, const void* compared, void* to, MPI_Datatype type,
                         int target, MPI_Aint place, MPI_Win win) {
  if (!devicesOn) [[likely]]
    return PMPI_Compare_and_swap(from, compared, to, type, target, place, win);
  return access(win, target, "MPI_Compare_and_swap", nullptr, [&](StagedAccess& by) {
    return PMPI_Compare_and_swap(by.in({from, 1, type}), by.in({compared, 1, type}),
                                 by.out({to, 1, type}), type, target, place, win);
  });
}

int MPI_Win_fence(int hints, MPI_Win win) { return completed(PMPI_Win_fence(hints, win), win); }
int MPI_Win_complete(MPI_Win win) { return completed(PMPI_Win_complete(win), win); }
int MPI_Win_unlock(int target, MPI_Win win) {
  return completed(PMPI_Win_unlock(target, win), win, target);
}
int MPI_Win_unlock_all(MPI_Win win) { return completed(PMPI_Win_unlock_all(win), win); }
int MPI_Win_flush(int target, MPI_Win win) {
  return completed(PMPI_Win_flush(target, win), win, target);
}
int MPI_Win_flush_all(MPI_Win win) { return completed(PMPI_Win_flush_all(win), win); }
int MPI_Win_flush_local(int target, MPI_Win win) {
  return completed(PMPI_Win_flush_local(target, win), win, target);
}
int MPI_Win_flush_local_all(MPI_Win win) { return completed(PMPI_Win_flush_local_all(win), win); }
int MPI_Win_free(MPI_Win* win) {
  const MPI_Win before = win == nullptr ? MPI_WIN_NULL : *win;
  return completed(PMPI_Win_free(win), before);
}
