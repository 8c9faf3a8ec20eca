// Communicators made of virtual ones. What the other ranks would say is told by a rule, or is the
// same on all ranks anyway.

#include <algorithm>
#include <utility>

#include "api/children.h"
#include "api/comm_create.h"
#include "api/handle.h"
#include "api/rehearsed.h"
#include "api/rondo_virtual.h"
#include "api/split_notes.h"
#include "base/error.h"
#include "base/printable.h"

namespace rondo {
namespace {

Rehearsed& rehearsedOf(const rondoComm& comm) { return static_cast<Rehearsed&>(*comm.rehearsal); }

/// The child's name, where the configuration gives none: "virtual.split0".
std::string nameOf(const char* call, const rondoConfig_t* given, const Rehearsed& parent,
                   const char* kind) {
  if (given != nullptr) {
    const Config config = checkConfig(call, given);
    if (!config.blocking) {
      throw Error(
          rondoUnsupported,
          format("%s: config.blocking is 0; allowed here: 1 (a rehearsal waits for nobody)", call));
    }
    // A shorter struct ends before it.
    if (adoptConfig(call, *given).name != nullptr) return config.name;
  }
  return format("%s.%s%zu", parent.name().c_str(), kind, parent.all()->children++);
}

/// A communicator of the part that the program's rank is in, and of those that are as large.
rondoComm_t makeChild(const Rehearsed& parent, const std::string& name,
                      std::vector<std::vector<int>> parts, int own) {
  const auto has = [own](const std::vector<int>& part) {
    return std::find(part.begin(), part.end(), own) != part.end();
  };
  const auto mine = std::find_if(parts.begin(), parts.end(), has);
  const auto rank = static_cast<int>(std::find(mine->begin(), mine->end(), own) - mine->begin());
  std::iter_swap(parts.begin(), mine);
  const size_t size = parts[0].size();
  std::erase_if(parts, [size](const std::vector<int>& part) { return part.size() != size; });
  sim::ProgramComm* made = parent.all()->program.add(name, {std::move(parts), rank});
  return makeVirtual(parent.all(), made);
}

/// Every part of the parent is cut in the same way. Numbers are the machine's.
std::vector<std::vector<int>> cut(const Rehearsed& parent, const sim::SplitRule& rule) {
  std::vector<std::vector<int>> out;
  for (const std::vector<int>& part : parent.comm()->members().parts) {
    for (const std::vector<int>& piece : rule.partsOf(parent.all()->program.hostsOf(part))) {
      std::vector<int> numbers;
      for (const int rank : piece) numbers.push_back(part[static_cast<size_t>(rank)]);
      out.push_back(std::move(numbers));
    }
  }
  return out;
}

int ownNumber(const Rehearsed& parent) {
  const sim::Members& members = parent.comm()->members();
  return members.parts[0][static_cast<size_t>(members.rank)];
}

/// What the rank itself says, and as which of the splits that took a rule.
struct Said {
  int color, key;
  size_t split;
};

/// Tells the notes of all rehearsals of this program what the rank says. Throws Error.
void note(const Rehearsed& parent, const sim::SplitRule& rule, const Said& said,
          const std::vector<std::vector<int>>& parts) {
  const std::string& output = parent.all()->config.output;
  if (output.empty()) return;
  std::vector<RulePlace> places;
  for (size_t p = 0; p < parts.size(); ++p) {
    for (size_t i = 0; i < parts[p].size(); ++i) {
      const auto number = static_cast<size_t>(parts[p][i]);
      if (places.size() <= number) places.resize(number + 1, RulePlace{-1, -1});
      places[number] = {static_cast<int>(p), static_cast<int>(i)};
    }
  }
  noteSplit(output + ".splits.csv",
            {said.split, parent.comm()->members().parts[0], rule.text(), ownNumber(parent),
             said.color, said.key},
            places);
}

/// nullptr: the rule puts this rank into no part. `said` nullptr: the rule is the program's own.
rondoComm_t splitBy(const char* call, const Rehearsed& parent, const sim::SplitRule& rule,
                    const Said* said, const rondoConfig_t* config) {
  const std::vector<std::vector<int>> parts = cut(parent, rule);
  const int own = ownNumber(parent);
  const bool has = std::any_of(parts.begin(), parts.end(), [own](const std::vector<int>& part) {
    return std::find(part.begin(), part.end(), own) != part.end();
  });
  if (said != nullptr && has != (said->color != RONDO_SPLIT_NOCOLOR)) {
    throw Error(rondoInvalidArgument,
                format("argument color is %d, and the rule \"%s\" puts rank %d into %s; allowed: a "
                       "rule that says what the program says",
                       said->color, printable(rule.text()).c_str(), parent.comm()->rank(),
                       has ? "a part" : "none"));
  }
  if (said != nullptr) note(parent, rule, *said, parts);
  if (!has) return nullptr;
  return makeChild(parent, nameOf(call, config, parent, "split"), parts, own);
}

/// The rule that the configuration has for this call; the last one is for all further calls.
const sim::SplitRule& nextRule(RehearsedProgram& all, const std::string& name) {
  const std::vector<sim::SplitRule>& rules = all.config.splits;
  if (rules.empty()) {
    throw Error(rondoUnsupported,
                format("communicator \"%s\" is virtual, and which color its other ranks would give "
                       "is not known; allowed: a rule for it, as \"rank / 8\", in "
                       "rondoVirtualConfig_t.splits or RONDO_VIRTUAL_SPLIT, or "
                       "rondoCommSplitVirtual",
                       name.c_str()));
  }
  return rules[std::min(all.splits++, rules.size() - 1)];
}

void requireColor(int color) {
  if (color >= RONDO_SPLIT_NOCOLOR) return;
  throw Error(rondoInvalidArgument,
              format("argument color is %d; allowed: from 0, or RONDO_SPLIT_NOCOLOR (%d)", color,
                     RONDO_SPLIT_NOCOLOR));
}

}  // namespace

rondoResult_t splitVirtual(rondoComm* comm, int color, int key, rondoComm_t* newcomm,
                           const rondoConfig_t* config) {
  const char* const call = "rondoCommSplit";
  const Use use(comm, call);
  if (use.result() != rondoSuccess) return use.result();
  return guarded(comm, call, [&] {
    requireIdle(*comm);
    requireOutput(newcomm);
    requireColor(color);
    const Rehearsed& parent = rehearsedOf(*comm);
    RehearsedProgram& all = *parent.all();
    const std::lock_guard<std::mutex> lock(all.mutex);
    const Said said{color, key, all.splits};
    *newcomm = splitBy(call, parent, nextRule(all, parent.name()), &said, config);
  });
}

rondoResult_t dupVirtual(rondoComm* comm, rondoComm_t* newcomm, const rondoConfig_t* config) {
  const char* const call = "rondoCommDup";
  const Use use(comm, call);
  if (use.result() != rondoSuccess) return use.result();
  return guarded(comm, call, [&] {
    requireIdle(*comm);
    requireOutput(newcomm);
    const Rehearsed& parent = rehearsedOf(*comm);
    const std::lock_guard<std::mutex> lock(parent.all()->mutex);
    sim::ProgramComm* made = parent.comm();
    if (config != nullptr) {
      const std::string name = nameOf(call, config, parent, "dup");
      made = parent.all()->program.add(name, parent.comm()->members());
    }
    *newcomm = makeVirtual(parent.all(), made);
  });
}

rondoComm_t shrinkVirtual(rondoComm* comm, const std::vector<int>& excluded,
                          const rondoConfig_t* config) {
  const Rehearsed& parent = rehearsedOf(*comm);
  const std::lock_guard<std::mutex> lock(parent.all()->mutex);
  const std::vector<int>& all = parent.comm()->members().parts[0];
  std::vector<int> rest, left;
  for (size_t rank = 0; rank < all.size(); ++rank) {
    const bool leaves =
        std::find(excluded.begin(), excluded.end(), static_cast<int>(rank)) != excluded.end();
    (leaves ? left : rest).push_back(all[rank]);
  }
  parent.all()->program.leave(left);
  return makeChild(parent, nameOf("rondoCommShrink", config, parent, "shrink"), {rest},
                   ownNumber(parent));
}

rondoComm_t growVirtual(rondoComm* comm, int nranks, const rondoConfig_t* config) {
  const Rehearsed& parent = rehearsedOf(*comm);
  const std::lock_guard<std::mutex> lock(parent.all()->mutex);
  std::vector<int> all = parent.comm()->members().parts[0];
  const std::string name = nameOf("rondoCommGrow", config, parent, "grow");
  const std::vector<int> more =
      parent.all()->program.come(static_cast<size_t>(nranks) - all.size());
  all.insert(all.end(), more.begin(), more.end());
  return makeChild(parent, name, {all}, ownNumber(parent));
}

}  // namespace rondo

rondoResult_t rondoCommSplitVirtual(rondoComm_t comm, const char* rule, rondoComm_t* newcomm,
                                    const rondoConfig_t* config) {
  using namespace rondo;
  const char* const call = "rondoCommSplitVirtual";
  const Use use(comm, call);
  if (use.result() != rondoSuccess) return use.result();
  return guarded(comm, call, [&] {
    requireVirtual(*comm);
    requireIdle(*comm);
    requireOutput(newcomm);
    if (rule == nullptr) {
      throw Error(rondoInvalidArgument, "argument rule is NULL; allowed: a rule, as \"rank / 8\"");
    }
    const Rehearsed& parent = rehearsedOf(*comm);
    const std::lock_guard<std::mutex> lock(parent.all()->mutex);
    *newcomm = splitBy(call, parent, sim::SplitRule(rule), nullptr, config);
  });
}
