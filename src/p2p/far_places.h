#pragma once
// Questions between hosts: where is a rank that is waited for?

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "p2p/far_news.h"

namespace rondo {

/// One rank's, of one communicator. Thread safe; holds its lock for moments only. What others send
/// is believed only where they can know it: of ranks of their own host, and if they were asked.
class FarPlaces {
 public:
  /// `hostOf`: by rank, a number for its host. Questions are numbered from `numbers` on.
  FarPlaces(int rank, std::vector<int> hostOf, uint32_t numbers = 0);

  struct Letter {
    int to;
    PlaceQuestion question;
  };
  /// Whom to ask about each of `late`, which are on other hosts: itself, which may be stopped, and
  /// two of its host, such as are not late if there are any; where ranks speak to few, who stands
  /// opposite on its host. Answers before are forgotten if `afresh`.
  std::vector<Letter> ask(const std::vector<int>& late, bool inside, bool afresh);
  /// `by` answers. False: nobody asked it that.
  bool answered(int by, const PlaceAnswer& answer);
  /// False: the last question about `rank` has no answer; else `answer` is its, as it was sent.
  bool answerOf(int rank, PlaceAnswer* answer) const;
  /// What is known of `rank`: "" if it was not asked for, or nothing is to be said.
  std::string text(int rank) const;

  struct Asked {
    int by;
    PlaceQuestion question;
  };
  /// `by` asks. False: nobody has to answer.
  bool asked(int by, const PlaceQuestion& question);
  /// The questions since the last time.
  std::vector<Asked> take();

 private:
  /// About one rank.
  struct Question {
    uint32_t number = 0;  ///< The last one's.
    bool answered = false;
    int64_t at = 0;  ///< When that was.
    std::string text;
    PlaceAnswer raw{};
  };
  bool knows(int by, int rank) const;
  std::vector<int> witnesses(int rank, const std::vector<int>& late) const;
  std::vector<int> oppositeWitnesses(int rank, const std::vector<int>& late) const;

  const int rank_;
  const std::vector<int> hostOf_;
  const bool few_;
  mutable std::mutex mutex_;
  uint32_t numbers_;
  std::map<int, Question> questions_;  // by the rank that they are about
  std::vector<Asked> asked_;
};

}  // namespace rondo
