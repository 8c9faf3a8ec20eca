// Communicators made of communicators: split, dup, shrink.

#include <algorithm>
#include <memory>

#include "api/children.h"
#include "api/comm_bootstrap.h"
#include "api/comm_create.h"
#include "api/group.h"
#include "api/handle.h"
#include "api/profile_range.h"
#include "api/survivors.h"
#include "api/virtual_comm.h"
#include "base/error.h"
#include "coll/progress.h"
#include "topo/near_groups.h"

namespace rondo {

Config childConfig(const char* call, const rondoComm& parent, const rondoConfig_t* given,
                   Child how) {
  if (given == nullptr) {
    Config config = *parent.config;
    config.blocking = true;
    config.decorate = nullptr;
    config.device = parent.impl->device();
    config.ranksOfProcess = parent.impl->ranksOfProcess();
    return config;
  }
  Config config = checkConfig(call, given);
  if (!config.blocking && how == Child::Waits) {
    throw Error(rondoUnsupported,
                format("%s: config.blocking is 0; allowed here: 1 (the ranks of a communicator "
                       "make its children together)",
                       call));
  }
  if (given->hostId == nullptr) config.options.hostId = parent.config->options.hostId;
  config.options.groups = parent.config->options.groups;
  config.ranksOfProcess = parent.impl->ranksOfProcess();
  return config;
}

void requireIdle(const rondoComm& comm) {
  if (groupOpen()) {
    throw Error(rondoInvalidUsage, "a group is open; allowed: after rondoGroupEnd");
  }
  if (!comm.impl->idle()) {
    throw Error(rondoInvalidUsage,
                format("communicator \"%s\" has a group under way (rondoGroupEndAsync); allowed: "
                       "after rondoWait",
                       comm.impl->name().c_str()));
  }
}

void requireOutput(rondoComm_t* newcomm) {
  if (newcomm == nullptr) {
    throw Error(rondoInvalidArgument,
                "argument newcomm is NULL; allowed: where to write the new communicator");
  }
}

namespace {

/// `members`: of the parent, in their new order.
CommPtr makeChild(Bootstrap& boot, const std::vector<int>& members, const rondoComm& parent,
                  Config config) {
  config.options.groups = groupsOfMembers(config.options.groups, members);
  CommPtr child = createComm(boot, config, parent.impl->wait().hook);
  if (parent.onChild) parent.onChild(*child);
  return child;
}

struct Part {
  int color, key, rank;
};

/// The ranks of this rank's color, in their new order.
std::vector<int> membersOf(const std::vector<Part>& parts, int color) {
  std::vector<Part> mine;
  for (const Part& part : parts) {
    if (part.color == color) mine.push_back(part);
  }
  std::stable_sort(mine.begin(), mine.end(),
                   [](const Part& a, const Part& b) { return a.key < b.key; });
  std::vector<int> members;
  for (const Part& part : mine) members.push_back(part.rank);
  return members;
}

rondoResult_t split(const char* call, rondoComm_t comm, int color, int key, rondoComm_t* newcomm,
                    const rondoConfig_t* given) {
  const Use use(comm, call);
  if (use.result() != rondoSuccess) return use.result();
  Communicator& parent = *comm->impl;
  const rondoResult_t result = guarded(comm, call, [&] {
    requireIdle(*comm);
    std::vector<int> everyone(static_cast<size_t>(parent.place().size));
    for (size_t r = 0; r < everyone.size(); ++r) everyone[r] = static_cast<int>(r);
    CommBootstrap all(parent, everyone);
    Config config;
    together(all, [&] {
      requireOutput(newcomm);
      if (color < RONDO_SPLIT_NOCOLOR) {
        throw Error(rondoInvalidArgument,
                    format("argument color is %d; allowed: from 0, or RONDO_SPLIT_NOCOLOR (%d)",
                           color, RONDO_SPLIT_NOCOLOR));
      }
      config = childConfig(call, *comm, given);
    });
    const Part mine{color, key, parent.place().rank};
    std::vector<Part> parts(everyone.size());
    all.allGather(&mine, sizeof mine, parts.data());
    if (color == RONDO_SPLIT_NOCOLOR) {
      *newcomm = nullptr;
      return;
    }
    CommBootstrap boot(parent, membersOf(parts, color));
    *newcomm = makeChild(boot, boot.members(), *comm, config).release();
  });
  if (parent.aborted() && comm->broken.empty()) breakComm(comm, parent);
  return result;
}

/// The caller's list, checked.
std::vector<int> excluded(const rondoComm& comm, const int* ranks, int count) {
  const RankPlace& place = comm.impl->place();
  if (count < 0 || (count > 0 && ranks == nullptr)) {
    throw Error(
        rondoInvalidArgument,
        format("argument excludeCount is %d and excludeRanks is %s; allowed: NULL and 0, or "
               "a list and its length",
               count, ranks == nullptr ? "NULL" : "not NULL"));
  }
  for (int i = 0; i < count; ++i) {
    if (ranks[i] < 0 || ranks[i] >= place.size || ranks[i] == place.rank) {
      throw Error(rondoInvalidArgument,
                  format("excludeRanks[%d] is %d; allowed: 0 to %d, but not the calling rank (%d)",
                         i, ranks[i], place.size - 1, place.rank));
    }
  }
  return {ranks, ranks + count};
}

void requireFlags(int flags) {
  if (flags != RONDO_SHRINK_DEFAULT && flags != RONDO_SHRINK_ABORT) {
    throw Error(rondoInvalidArgument,
                format("argument flags is %d; allowed: RONDO_SHRINK_DEFAULT (%d) or "
                       "RONDO_SHRINK_ABORT (%d)",
                       flags, RONDO_SHRINK_DEFAULT, RONDO_SHRINK_ABORT));
  }
}

/// The same on all ranks.
void requireShrinkable(const rondoComm& comm) {
  const int size = comm.impl->place().size;
  if (size > static_cast<int>(Board::kMostRanks)) {
    throw Error(rondoUnsupported,
                format("communicator \"%s\" has %d ranks; allowed so far: %d",
                       comm.impl->name().c_str(), size, static_cast<int>(Board::kMostRanks)));
  }
}

/// One rank alone.
class Alone final : public Bootstrap {
 public:
  Alone() : secret_(makeSecret()) {}
  int rank() const override { return 0; }
  int size() const override { return 1; }
  const Secret& secret() const override { return secret_; }
  void allGather(const void* mine, size_t bytes, void* all) override {
    std::copy_n(static_cast<const char*>(mine), bytes, static_cast<char*>(all));
  }

 private:
  Secret secret_;
};

CommPtr shrink(const rondoComm& parent, Survivors& boot, const Config& config) {
  CommPtr child;
  for (;;) {
    try {
      if (!boot.settle()) return child;
      child.reset();
      child = makeChild(boot, boot.members(), parent, config);
      boot.commit();
      return child;
    } catch (const Survivors::Changed&) {  // one rank fewer
    }
  }
}

rondoResult_t shrinkHeld(const char* call, rondoComm_t comm, const int* ranks, int count,
                         rondoComm_t* newcomm, const rondoConfig_t* given, int flags) {
  return guarded(comm, call, [&] {
    Communicator& parent = *comm->impl;
    if (comm->rehearsal != nullptr) {
      requireFlags(flags);
      requireIdle(*comm);
      requireOutput(newcomm);
      *newcomm = shrinkVirtual(comm, excluded(*comm, ranks, count), given);
      if (flags != RONDO_SHRINK_ABORT) return;
      comm->broken =
          format("communicator \"%s\" was ended by rondoCommShrink", parent.name().c_str());
      return;
    }
    requireShrinkable(*comm);
    if (flags == RONDO_SHRINK_ABORT) parent.abort();
    while (parent.aborted() && !parent.idle()) ProgressThread::pollAll();
    const uint32_t generation = ++comm->shrinks;
    if (parent.fabric() == nullptr) {
      Alone boot;
      requireFlags(flags);
      requireOutput(newcomm);
      excluded(*comm, ranks, count);
      *newcomm = makeChild(boot, {0}, *comm, childConfig(call, *comm, given)).release();
      return;
    }
    std::vector<int> named;
    Config config;
    std::unique_ptr<Survivors> boot;
    try {
      requireFlags(flags);
      requireIdle(*comm);
      requireOutput(newcomm);
      named = excluded(*comm, ranks, count);
      config = childConfig(call, *comm, given);
    } catch (...) {
      // The others learn from the board that this rank does not come.
      const Survivors givesUp(parent, {}, generation, 0);
      throw;
    }
    boot = std::make_unique<Survivors>(parent, named, generation, config.options.stallSeconds);
    *newcomm = shrink(*comm, *boot, config).release();
  });
}

}  // namespace
}  // namespace rondo

rondoResult_t rondoCommSplit(rondoComm_t comm, int color, int key, rondoComm_t* newcomm,
                             const rondoConfig_t* config) {
  const rondo::LifeRange range("rondoCommSplit");
  if (rondo::isVirtual(comm)) return rondo::splitVirtual(comm, color, key, newcomm, config);
  return rondo::split("rondoCommSplit", comm, color, key, newcomm, config);
}

rondoResult_t rondoCommDup(rondoComm_t comm, rondoComm_t* newcomm, const rondoConfig_t* config) {
  const rondo::LifeRange range("rondoCommDup");
  if (rondo::isVirtual(comm)) return rondo::dupVirtual(comm, newcomm, config);
  return rondo::split("rondoCommDup", comm, 0, 0, newcomm, config);
}

rondoResult_t rondoCommShrink(rondoComm_t comm, const int* excludeRanks, int excludeCount,
                              rondoComm_t* newcomm, const rondoConfig_t* config, int flags) {
  const rondo::LifeRange range("rondoCommShrink");
  const char* const call = "rondoCommShrink";
  if (const rondoResult_t bad = rondo::checkHandle(comm, call)) return bad;
  if (comm->state.load(std::memory_order_acquire) != rondoComm::kAlive) {
    return rondo::fail(comm, rondoInvalidUsage,
                       "rondoCommShrink: the communicator was finalized; allowed: before "
                       "rondoCommFinalize");
  }
  if (const rondoResult_t bad = rondo::holdComm(comm, call)) return bad;
  const rondoResult_t result =
      rondo::shrinkHeld(call, comm, excludeRanks, excludeCount, newcomm, config, flags);
  rondo::releaseComm(comm);
  return result;
}
