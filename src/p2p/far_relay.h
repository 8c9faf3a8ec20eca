#pragma once
// Of many ranks each speaks to few of other hosts; what concerns others goes by way of those. It is
// passed on by whoever gets it, whatever its rank is at: see FarAnswers.

#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "p2p/call_record.h"
#include "p2p/far_news.h"
#include "p2p/host_circle.h"

namespace rondo {

/// One rank's, of one communicator. Thread safe; holds its lock for moments only.
class FarRelay {
 public:
  /// `hostOf`: by rank, the number of its host.
  FarRelay(int rank, const std::vector<int>& hostOf);

  /// Whether ranks speak to few; else all that follows is not needed.
  bool few() const { return few_; }
  /// To whom this rank speaks: they stand opposite on the next hosts.
  const std::vector<int>& nextOnes() const { return nextOnes_; }

  using Gone = std::function<bool(int rank)>;
  /// Who on the host of `rank`, of another host, stands opposite to this one and is not gone; where
  /// there is none, another one, or `rank` itself.
  int opposite(int rank, const Gone& gone) const;
  /// To whom something for `to`, of another host, is given: one of nextOnes(), nearer to it in the
  /// circle, or itself.
  int towards(int to, const Gone& gone) const;
  /// One rank of every other host.
  std::vector<int> onePerHost(const Gone& gone) const;

  /// Some have made a call. Returns of which this was not known.
  std::vector<int> note(const ComeNews& news);
  /// The same of one.
  void note(int rank, const Call& call);
  /// What is known now and was not the last time, to be told to nextOnes().
  std::vector<ComeNews> takeNews();

  /// Something for another rank.
  void keep(const RelayedNews& letter);
  /// Older by the time that they were here.
  std::vector<RelayedNews> takeLetters();

 private:
  struct Known {
    ComeNews news;
    bool fresh;
  };
  int hostOf(int rank) const { return hostOf_[static_cast<size_t>(rank)]; }
  Known* placeFor(const ComeNews& news);

  const int rank_;
  const std::vector<int> hostOf_;
  const bool few_;
  std::vector<HostStanding> standings_;    // where few
  std::vector<std::vector<int>> ranksOf_;  // the same: by host
  std::vector<int> nextOnes_;              // the same
  std::mutex mutex_;
  std::vector<Known> known_;
  std::vector<std::pair<uint64_t, RelayedNews>> letters_;  // and since when
};

}  // namespace rondo
