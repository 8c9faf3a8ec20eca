#include "drop_in/mpi/comms.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "api/rondo_mpi.h"
#include "drop_in/mpi/handles.h"
#include "drop_in/mpi/launcher.h"
#include "drop_in/mpi/near_thread.h"
#include "drop_in/mpi/own_calls.h"
#include "drop_in/mpi/requests.h"

namespace rondo::drop_in {
namespace {

/// Never destroyed: MPI_Finalize may run in an atexit handler, after static destructors.
struct State {
  std::mutex mutex;
  std::unordered_map<MPI_Comm, std::unique_ptr<KnownComm>> known;
  std::vector<std::unique_ptr<KnownComm>> dying;  ///< Freed, but calls are under way.
  std::vector<std::string> refusals;
  int keyval = MPI_KEYVAL_INVALID;
};

State& state() {
  static State* const instance = new State;
  return *instance;
}

/// How many are dying.
std::atomic<size_t> dyingCount{0};

/// Counts changes of `known`: what a thread remembers of it holds for one number.
std::atomic<uint64_t> generation{1};

/// A thread's latest answers of find().
struct Memory {
  struct Slot {
    MPI_Comm comm;
    const KnownComm* known;
  };
  uint64_t generation = 0;
  std::array<Slot, 8> slots{};
};
RONDO_NEAR_THREAD thread_local Memory memory;
RONDO_NEAR_THREAD thread_local bool inside = false;

const KnownComm kUnknown;
const KnownComm kInside{nullptr, Why::Inside, 0, 0, {}, {}, {}};

Memory::Slot& remembered(MPI_Comm comm) { return memory.slots[slotOf<3>(comm)]; }

const KnownComm& findSlowly(MPI_Comm comm) {
  State& self = state();
  const std::lock_guard<std::mutex> lock(self.mutex);
  const uint64_t now = generation.load(std::memory_order_relaxed);
  if (memory.generation != now) memory = {now, {}};
  const auto found = self.known.find(comm);
  const KnownComm& known = found == self.known.end() ? kUnknown : *found->second;
  remembered(comm) = {comm, &known};
  return known;
}

std::unique_ptr<KnownComm> take(MPI_Comm comm) {
  State& self = state();
  const std::lock_guard<std::mutex> lock(self.mutex);
  const auto found = self.known.find(comm);
  if (found == self.known.end()) return nullptr;
  std::unique_ptr<KnownComm> known = std::move(found->second);
  self.known.erase(found);
  generation.fetch_add(1, std::memory_order_release);
  return known;
}

void keep(MPI_Comm comm, std::unique_ptr<KnownComm> known) {
  State& self = state();
  const std::lock_guard<std::mutex> lock(self.mutex);
  self.known[comm] = std::move(known);
  generation.fetch_add(1, std::memory_order_release);
}

void destroyRondo(const KnownComm& known) {
  const OwnCalls own;
  forgetQueue(known);
  known.devices.destroy();
  if (known.rondo != nullptr && !known.aborted) rondoCommDestroy(known.rondo);
}

// Runs in MPI_Comm_free and MPI_Comm_disconnect.
int forget(MPI_Comm comm, int, void*, void*) {
  forgetPersistents(comm);
  retire(comm);
  return MPI_SUCCESS;
}

/// The key of the attribute whose end is the communicator's end.
int keyval() {
  State& self = state();
  const std::lock_guard<std::mutex> lock(self.mutex);
  if (self.keyval == MPI_KEYVAL_INVALID) {
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget, &self.keyval, nullptr);
  }
  return self.keyval;
}

/// False: it was noted before.
bool noteRefusal(const std::string& sentence) {
  State& self = state();
  const std::lock_guard<std::mutex> lock(self.mutex);
  const bool isNew =
      std::find(self.refusals.begin(), self.refusals.end(), sentence) == self.refusals.end();
  if (isNew) self.refusals.push_back(sentence);
  return isNew;
}

/// Rondo gets a communicator of its own making: one without the program's attributes, whose copy
/// functions would otherwise run once more, and without its error handler. No communicator on all
/// ranks if one fails, or has `why` it cannot.
struct Made {
  rondoComm_t comm = nullptr;
  std::string why;        ///< This rank's sentence, if it failed.
  bool byAll = false;     ///< Failed on all ranks, for the same reason.
  bool mistaken = false;  ///< By what the user has set.
};
Made makeRondo(MPI_Comm comm, int rank, int device, const std::string& why = {}) {
  const OwnCalls own;
  MPI_Comm bare = MPI_COMM_NULL;
  if (PMPI_Comm_split(comm, 0, rank, &bare) != MPI_SUCCESS) return {nullptr, "no MPI_Comm_split"};
  PMPI_Comm_set_errhandler(bare, MPI_ERRORS_RETURN);
  char label[MPI_MAX_OBJECT_NAME + 1] = "";
  int length = 0;
  PMPI_Comm_get_name(comm, label, &length);
  rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
  config.device = device;
  const std::string called = std::string(label) + (device >= 0 ? " (devices)" : "");
  if (!called.empty()) config.name = called.c_str();
  rondoComm_t made = nullptr;
  inside = true;
  const rondoResult_t result = rondoCommInitMPI(&made, bare, &config);
  inside = false;
  Made out{made, why};
  // Not as where a machine has no way: who sets a variable wants it to hold.
  out.mistaken = result == rondoInvalidArgument || result == rondoInvalidUsage;
  if (result != rondoSuccess && why.empty()) out.why = rondoGetLastError(nullptr);
  if (result != rondoSuccess && out.why.empty()) out.why = rondoGetErrorString(result);
  // Whether calls are taken must be the same everywhere, whatever befell this rank alone.
  int failed[] = {!out.why.empty(), -!out.why.empty()}, most[2];
  PMPI_Allreduce(failed, most, 2, MPI_INT, MPI_MAX, bare);
  PMPI_Comm_free(&bare);
  if (most[0] == 0) return out;
  if (result == rondoSuccess) rondoCommDestroy(made);
  out.comm = nullptr;
  out.byAll = most[1] == -1;
  return out;
}

void sayRefusal(const std::string& what, const Made& made, int rank) {
  const std::string sentence = what + made.why;
  if (noteRefusal(sentence) && (rank == 0 || !made.byAll)) {
    std::fprintf(stderr, "rondo_mpi: rank %d: %s\n", rank, sentence.c_str());
  }
}

rondoComm_t makeHostRondo(MPI_Comm comm, int rank) {
  const Made made = makeRondo(comm, rank, RONDO_DEVICE_NONE);
  const std::string what = "no Rondo communicator: ";
  if (made.mistaken) {
    sayRefusal(what, made, rank);
  } else if (!made.why.empty()) {
    noteRefusal(what + made.why);
  }
  return made.comm;
}

}  // namespace

rondoComm_t makeDeviceRondo(MPI_Comm comm, int rank, int device, const std::string& unless) {
  const Made made = makeRondo(comm, rank, device, unless);
  if (made.why.empty()) return made.comm;
  sayRefusal("device memory goes by way of the host: ", made, rank);
  return made.comm;
}

void refuseDevices(int rank, const std::string& why) {
  sayRefusal("device memory goes by way of the host: ", {nullptr, why, true}, rank);
}

rondoComm_t makeAskingRondo(MPI_Comm comm, int rank, const std::string& unless) {
  const Made made = makeRondo(comm, rank, RONDO_DEVICE_NONE, unless);
  if (made.why.empty()) return made.comm;
  sayRefusal("device memory of non-blocking calls goes by way of the host: ", made, rank);
  return made.comm;
}

const KnownComm& find(MPI_Comm comm) {
  if (inside) [[unlikely]]
    return kInside;
  if (memory.generation == generation.load(std::memory_order_acquire)) [[likely]] {
    const Memory::Slot& slot = remembered(comm);
    if (slot.comm == comm && slot.known != nullptr) [[likely]]
      return *slot.known;
  }
  return findSlowly(comm);
}

void keepAs(MPI_Comm comm, rondoComm_t rondo, int rank, int size, const Rehearsed& rehearsed) {
  // First, because it ends what the layer knew.
  PMPI_Comm_set_attr(comm, keyval(), nullptr);
  auto known = std::make_unique<KnownComm>();
  known->rondo = rondo;
  known->why = Why::Taken;
  known->rank = rank;
  known->size = size;
  known->rehearsed = rehearsed;
  keep(comm, std::move(known));
}

bool knowsParent(MPI_Comm parent) { return find(parent).size > 0; }

void convert(MPI_Comm comm, Why unless, int children) {
  auto known = std::make_unique<KnownComm>();
  PMPI_Comm_rank(comm, &known->rank);
  PMPI_Comm_size(comm, &known->size);
  known->why = unless;
  known->begunAsMany = unless == Why::Many;
  known->children = children;
  if (known->size == 1 && (unless == Why::Taken || unless == Why::Many)) {
    known->why = Why::OneRank;
  } else if (unless == Why::Taken) {
    known->rondo = makeHostRondo(comm, known->rank);
    if (known->rondo == nullptr) known->why = Why::NoRondo;
  }
  keep(comm, std::move(known));
  PMPI_Comm_set_attr(comm, keyval(), nullptr);
}

Child childOf(MPI_Comm parent, bool counted) {
  constexpr int kFirst = 8;
  const KnownComm& known = find(parent);
  // What `why` is now need not be what it is on another rank of the group: there another thread may
  // be in the collective that changes it.
  if (!counted) return {known.begunAsMany ? Why::Many : Why::Taken, 0};
  const int number = known.children.fetch_add(1) + 1;
  return {known.why == Why::Many || number > kFirst ? Why::Many : Why::Taken, number};
}

Why useOnceMore(MPI_Comm comm) {
  constexpr int kCallsThatPay = 32;  // making one costs as much as thousands of short calls
  KnownComm* known = nullptr;
  {
    State& self = state();
    const std::lock_guard<std::mutex> lock(self.mutex);
    known = self.known.at(comm).get();
  }
  if (known->calls.fetch_add(1) + 1 < kCallsThatPay) return Why::Many;
  known->rondo = makeHostRondo(comm, known->rank);
  known->why = known->rondo != nullptr ? Why::Taken : Why::NoRondo;
  return known->why;
}

void retire(MPI_Comm comm) {
  std::unique_ptr<KnownComm> known = take(comm);
  if (known == nullptr) return;
  forgetComm(comm);
  {
    State& self = state();
    const std::lock_guard<std::mutex> lock(self.mutex);
    self.dying.push_back(std::move(known));
    dyingCount.fetch_add(1);
  }
  destroyIdle();
}

// A call that ends lowers its communicator's number before it looks here, and a communicator is put
// here before its number is looked at: one of the two finds it.
void destroyIdle() {
  if (dyingCount.load() == 0) [[likely]]
    return;
  State& self = state();
  std::vector<std::unique_ptr<KnownComm>> idle;
  {
    const std::lock_guard<std::mutex> lock(self.mutex);
    for (std::unique_ptr<KnownComm>& known : self.dying) {
      if (known->pending.load() == 0) idle.push_back(std::move(known));
    }
    dyingCount.fetch_sub(std::erase(self.dying, nullptr));
  }
  for (const auto& known : idle) destroyRondo(*known);
}

void forgetAll() {
  State& self = state();
  std::unordered_map<MPI_Comm, std::unique_ptr<KnownComm>> left;
  std::vector<std::unique_ptr<KnownComm>> dying;
  {
    const std::lock_guard<std::mutex> lock(self.mutex);
    left.swap(self.known);
    dying.swap(self.dying);
    dyingCount = 0;
    generation.fetch_add(1, std::memory_order_release);
  }
  for (const auto& [comm, known] : left) destroyRondo(*known);
  for (const auto& known : dying) destroyRondo(*known);
}

std::vector<std::string> refusals() {
  State& self = state();
  const std::lock_guard<std::mutex> lock(self.mutex);
  return self.refusals;
}

}  // namespace rondo::drop_in
