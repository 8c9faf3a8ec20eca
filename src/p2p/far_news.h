#pragma once
// What ranks of different hosts tell each other beside their messages and calls.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

#include "p2p/call_record.h"
#include "p2p/wait_note.h"

namespace rondo {

/// A text of at most so many bytes; longer ones are cut off.
template <size_t Bytes>
struct NewsText {
  uint32_t bytes = 0;
  char at[Bytes - sizeof bytes] = {};

  void write(std::string_view text) {
    bytes = static_cast<uint32_t>(std::min(text.size(), sizeof at));
    std::memcpy(at, text.data(), bytes);
  }
  /// False: nobody wrote it so.
  bool read(std::string* text) const {
    if (bytes > sizeof at) return false;
    text->assign(at, bytes);
    return true;
  }
};

/// Where is `rank`, which the sender waits for?
struct PlaceQuestion {
  int32_t rank;
  uint32_t number;  ///< Goes back with the answer.
  uint32_t inside;  ///< 1: it is known to be in the call; what would stop it there?
};

/// The answer of a rank of the same host; an empty text where nothing is to be said.
struct PlaceAnswer {
  int32_t rank;
  uint32_t number;
  NewsText<504> text;
  /// Of its last collective on host memory. kGone is never sent: the asker's own host knows it.
  enum Flag : uint32_t { kCalled = 1, kRunning = 2, kStopped = 4, kGone = 8 };
  uint32_t flags = 0;  ///< It has called one, is in it; its process is stopped, or it is not there.
  uint32_t ageMs = 0;  ///< Since it began, or, unless running, ended.
  uint64_t sequence = 0;
};

/// The sender's host reports a stall; the others need not.
struct ReportNote {
  uint32_t unused = 0;
};

/// These ranks have made a call, as far as the sender has heard.
struct ComeNews {
  static constexpr uint32_t kRanks = 1024;
  Call call;
  uint32_t first;               ///< The first bit's rank: a multiple of kRanks.
  uint64_t ranks[kRanks / 64];  ///< A bit each.
};

/// Something for rank `to` that came by way of others.
struct RelayedNews {
  int32_t from, to;
  uint32_t kind;   ///< Which of FarNews; those named in carries().
  uint32_t ageMs;  ///< So long it has lain with those that pass it on.
  unsigned char data[std::max(sizeof(WaitNote), sizeof(PlaceAnswer))];

  template <class One>
  static constexpr bool carries() {
    return std::is_same_v<One, WaitNote> || std::is_same_v<One, PlaceQuestion> ||
           std::is_same_v<One, PlaceAnswer> || std::is_same_v<One, ReportNote>;
  }
};

using FarNews = std::variant<BoardNews, WaitNote, PlaceQuestion, PlaceAnswer, ReportNote, ComeNews,
                             RelayedNews>;

}  // namespace rondo
