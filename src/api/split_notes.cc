#include "api/split_notes.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <optional>
#include <sstream>
#include <tuple>

#include "api/rondo.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/printable.h"
#include "p2p/fd_exchange.h"

namespace rondo {
namespace {

/// A rehearsal notes a line a split; what is longer is none of its files.
constexpr size_t kMostBytes = 64u << 20;

/// A line of the file.
struct Line {
  unsigned long long split;
  uint64_t parent, rule;  ///< Hashes.
  int rank, color, key;
  bool sameSplit(const Line& other) const { return split == other.split && parent == other.parent; }
};

Line lineOf(const SplitNote& note) {
  std::string parent;
  for (const int rank : note.parent) parent += format("%d,", rank);
  return {note.split, hashBytes(parent), hashBytes(note.rule), note.rank, note.color, note.key};
}

std::string textOf(const Line& line) {
  return format("%llu,%016" PRIx64 ",%016" PRIx64 ",%d,%d,%d\n", line.split, line.parent, line.rule,
                line.rank, line.color, line.key);
}

/// Lines that are none are passed over.
std::vector<Line> linesOf(const std::string& text) {
  std::vector<Line> out;
  std::istringstream in(text);
  for (std::string each; std::getline(in, each);) {
    Line line{};
    const int fields =
        std::sscanf(each.c_str(), "%llu,%" SCNx64 ",%" SCNx64 ",%d,%d,%d", &line.split,
                    &line.parent, &line.rule, &line.rank, &line.color, &line.key);
    if (fields == 6) out.push_back(line);
  }
  return out;
}

/// The file, which no other process changes meanwhile.
class Notes {
 public:
  explicit Notes(const std::string& path)
      : path_(path), fd_(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
    if (fd_.get() < 0 || flock(fd_.get(), LOCK_EX) != 0) refuse();
  }

  std::string read() const {
    std::string out;
    char some[4096];
    for (ssize_t got = 0; (got = ::read(fd_.get(), some, sizeof some)) != 0;) {
      if (got < 0 || out.size() > kMostBytes) refuse();
      out.append(some, static_cast<size_t>(got));
    }
    return out;
  }
  void write(const std::string& text) const {
    if (ftruncate(fd_.get(), 0) != 0) refuse();
    for (size_t at = 0; at < text.size();) {
      const ssize_t put =
          pwrite(fd_.get(), text.data() + at, text.size() - at, static_cast<off_t>(at));
      if (put <= 0) refuse();
      at += static_cast<size_t>(put);
    }
  }

 private:
  [[noreturn]] void refuse() const {
    throw Error(rondoSystemError,
                format("%s: %s; what ranks say in splits is noted there (config.output)",
                       printable(path_).c_str(), std::strerror(errno)));
  }

  std::string path_;
  UniqueFd fd_;
};

/// What is wrong between this rank and another, if anything is.
std::optional<std::string> contradiction(const Line& mine, const Line& other,
                                         const std::vector<RulePlace>& places) {
  const auto placeOf = [&](int rank) {
    const auto at = static_cast<size_t>(rank);
    return rank >= 0 && at < places.size() ? places[at] : RulePlace{-1, -1};
  };
  const RulePlace here = placeOf(mine.rank), there = placeOf(other.rank);
  // Ranks without a part are told so by their own rehearsals.
  if (here.part < 0 || there.part < 0 || mine.color < 0 || other.color < 0) return std::nullopt;
  const bool together = mine.color == other.color;
  if (together != (here.part == there.part)) {
    return format("argument color is %d, and rank %d's rehearsal gave %d", mine.color, other.rank,
                  other.color) +
           format(": %s part for the program, and %s for the rule", together ? "one" : "not one",
                  together ? "two" : "one");
  }
  const bool first = std::tie(mine.key, mine.rank) < std::tie(other.key, other.rank);
  if (!together || first == (here.at < there.at)) return std::nullopt;
  return format(
      "argument key is %d, and rank %d's rehearsal gave %d: by the rule's keys these two "
      "come in the other order",
      mine.key, other.rank, other.key);
}

}  // namespace

void noteSplit(const std::string& path, const SplitNote& note,
               const std::vector<RulePlace>& places) {
  const Line mine = lineOf(note);
  Notes file(path);
  std::string text;
  for (const Line& other : linesOf(file.read())) {
    const bool same = other.sameSplit(mine);
    if (same && (other.rank == mine.rank || other.rule != mine.rule)) continue;
    text += textOf(other);
    const auto wrong = same ? contradiction(mine, other, places) : std::nullopt;
    if (!wrong) continue;
    throw Error(rondoInvalidArgument,
                *wrong + format(" \"%s\"; allowed: a rule that says what the program says, and no "
                                "%s of another program",
                                printable(note.rule).c_str(), printable(path).c_str()));
  }
  file.write(text + textOf(mine));
}

}  // namespace rondo
