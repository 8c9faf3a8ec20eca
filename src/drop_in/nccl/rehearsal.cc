#include "drop_in/nccl/rehearsal.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "drop_in/rehearsed_machine.h"

namespace rondo::nccl {
namespace {

constexpr const char* kDoor = "rondo nccl";

/// A communicator that is rehearsed.
struct Entry {
  rondoComm_t made = nullptr;
  rondoComm_t kept = nullptr;  ///< nullptr: over.
  std::string output;
};

struct State {
  std::mutex mutex;
  std::vector<Entry> entries;
  /// Which ranks of a communicator came to this process, and of how many.
  struct Came {
    int nranks = 0;
    std::set<int> ranks;
  };
  std::map<std::string, Came> came;  ///< By id.
  int written = 0;                   ///< Communicators whose files this process writes.
  int firstRank = 0;                 ///< That of the first of them: processes have different ones.
};
State& state() {
  static State* const one = new State;  // outlives every static
  return *one;
}

/// Whether a communicator is alive whose calls go into the same files.
bool stillWanted(const std::string& output) {
  const std::lock_guard<std::mutex> lock(state().mutex);
  const std::vector<Entry>& all = state().entries;
  return std::any_of(all.begin(), all.end(), [&](const Entry& entry) {
    return entry.kept != nullptr && entry.output == output;
  });
}

void end(const Entry& entry) {
  if (!entry.output.empty()) drop_in::reportMachine(kDoor, entry.kept);
  const bool ended = drop_in::endMachine(kDoor, entry.kept);
  if (!ended || entry.output.empty() || stillWanted(entry.output)) return;
  std::fprintf(stderr, "%s: wrote %s.calls.csv, .flows.csv and .trace.json\n", kDoor,
               entry.output.c_str());
}

/// A communicator that is not over, taken out of the list; `kept` nullptr: there is none.
Entry takeOne() {
  const std::lock_guard<std::mutex> lock(state().mutex);
  for (Entry& entry : state().entries) {
    if (entry.kept != nullptr) return std::exchange(entry, {});
  }
  return {};
}

void endAll() {
  for (Entry entry = takeOne(); entry.kept != nullptr; entry = takeOne()) {
    rondoCommDestroy(entry.made);
    end(entry);
  }
}

/// What the files of this rank begin with; "": another rank of the process writes the
/// communicator's.
std::string outputOf(const ncclUniqueId& id, int nranks, int rank, const std::string& begin) {
  State& self = state();
  const std::lock_guard<std::mutex> lock(self.mutex);
  State::Came& came = self.came[{id.internal, sizeof id.internal}];
  // Where nobody is there to send an id, a program may use one for several communicators.
  const bool another = came.nranks != nranks || came.ranks.contains(rank);
  if (another) came = {nranks, {}};
  came.ranks.insert(rank);
  if (!another) return "";
  if (self.written == 0) self.firstRank = rank;
  return format("%s.rank%d.nccl%d", begin.c_str(), self.firstRank, self.written++);
}

rondoResult_t make(const drop_in::Wish& wish, int nranks, int rank, const std::string& output,
                   rondoComm_t* made) {
  const drop_in::Machine machine =
      drop_in::makeMachine(wish, nranks, rank, output, /*ownData=*/false);
  if (machine.made == nullptr) return rondoInvalidArgument;
  static std::once_flag once;
  std::call_once(once, [] { std::atexit(endAll); });
  const std::lock_guard<std::mutex> lock(state().mutex);
  state().entries.push_back({machine.made, machine.kept, output});
  *made = machine.made;
  return rondoSuccess;
}

}  // namespace

bool rehearsing() {
  static const bool wanted = drop_in::wantsRehearsal();
  return wanted;
}

ncclUniqueId rehearsedId() {
  static std::atomic<unsigned> count{0};
  ncclUniqueId id{};
  std::snprintf(id.internal, sizeof id.internal, "rehearsal %d %u", static_cast<int>(getpid()),
                count++);
  return id;
}

std::function<rondoResult_t(rondoComm_t* made)> rehearsal(const ncclUniqueId& id, int nranks,
                                                          int rank) {
  const drop_in::Wish wish = drop_in::readWish();
  if (wish.ranks > 0 && nranks > wish.ranks) {
    throw Error(rondoInvalidArgument,
                format("argument nranks is %d; allowed: 1 to %d, the ranks of RONDO_VIRTUAL",
                       nranks, wish.ranks));
  }
  const std::string output = outputOf(id, nranks, rank, wish.output);
  return [wish, nranks, rank, output](rondoComm_t* made) {
    return make(wish, nranks, rank, output, made);
  };
}

void rehearseChild(rondoComm_t parent, rondoComm_t child) {
  if (!rehearsing() || child == nullptr) return;
  State& self = state();
  const std::lock_guard<std::mutex> lock(self.mutex);
  const auto found = std::find_if(
      self.entries.begin(), self.entries.end(),
      [parent](const Entry& entry) { return entry.kept != nullptr && entry.made == parent; });
  if (found == self.entries.end()) return;
  Entry entry{child, nullptr, found->output};
  if (rondoCommDup(child, &entry.kept, nullptr) == rondoSuccess) {
    self.entries.push_back(std::move(entry));
  }
}

EndOfRehearsal::EndOfRehearsal(rondoComm_t ending) {
  if (!rehearsing() || ending == nullptr) return;
  const std::lock_guard<std::mutex> lock(state().mutex);
  const std::vector<Entry>& all = state().entries;
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].kept != nullptr && all[i].made == ending) which_ = i + 1;
  }
  // The handle may be another communicator's soon.
  if (which_ != 0) state().entries[which_ - 1].made = nullptr;
}

EndOfRehearsal::~EndOfRehearsal() {
  if (which_ == 0) return;
  Entry entry;
  {
    const std::lock_guard<std::mutex> lock(state().mutex);
    entry = std::exchange(state().entries[which_ - 1], {});
  }
  if (entry.kept != nullptr) end(entry);
}

}  // namespace rondo::nccl
