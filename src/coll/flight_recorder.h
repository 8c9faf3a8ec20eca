#pragma once
// What a rank of a communicator did last, written down where peers, rondo-status and the next error
// can read it. One operation costs two readings of the clock and a cache line.

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "coll/device_way.h"
#include "coll/exchange.h"
#include "coll/host_request.h"
#include "p2p/status_area.h"

namespace rondo {

/// Who lets an operation run.
enum class OpOrigin : uint8_t { Call, Group, Async, Device };
const char* opOriginName(OpOrigin origin);

/// One operation in words, and back.
struct OpFacts {
  /// In place of a Collective's number.
  static constexpr uint8_t kTransfers = 64;
  static constexpr uint32_t kNoAlgorithm = 0xffff;

  uint8_t collective = 0;  ///< Collective, or kTransfers.
  bool uneven = false;
  uint8_t pass = 1;  ///< So many run as one.
  OpOrigin origin = OpOrigin::Call;
  uint32_t choice = kNoAlgorithm;  ///< BoundPlan::choice, or DeviceServed's.
  DeviceWay way = DeviceWay::kNone;
  int32_t type = 0, op = 0;
  int32_t root = 0;       ///< Or the first transfer's peer.
  bool sends = false;     ///< The first transfer does.
  bool captured = false;  ///< A device call of a graph, or one that comes after such a call.
  uint64_t count = 0;     ///< Elements of a slot; transfers: bytes of all.
  uint16_t transfers = 0;
  /// Transfers: so many collectives came before, on host memory or on device memory as they are.
  /// The last of these may be too long ago to be recorded. As the next one, at most kMostCalls.
  uint64_t collectives = 0;
  /// Of collectives and of exchanges on host memory, each by themselves; of collectives on device
  /// memory.
  uint64_t sequence = 0;

  /// What the words have room for: nine years of a call each microsecond.
  static constexpr uint64_t kMostCalls = (uint64_t{1} << 48) - 1;

  /// Transfers have neither type nor operator, collectives no number of transfers: there stand the
  /// upper halves of the numbers of calls.
  OpWords words() const {
    const bool moves = isTransfers();
    const uint64_t upper = sequence >> 32 & 0xffff;
    const uint64_t typed =
        moves ? upper | (collectives >> 32 & 0xffff) << 16 : uint64_t{static_cast<uint32_t>(type)};
    return {{count,
             uint64_t{collective} | uint64_t{uneven} << 8 | uint64_t{sends} << 9 |
                 uint64_t{captured} << 10 | (static_cast<uint64_t>(way) & 7) << 11 |
                 static_cast<uint64_t>(way) >> 3 << 26 | uint64_t{choice >> 16 & 3} << 14 |
                 uint64_t{pass} << 16 | static_cast<uint64_t>(origin) << 24 | typed << 32,
             static_cast<uint32_t>(moves ? collectives : static_cast<uint64_t>(op)) |
                 static_cast<uint64_t>(static_cast<uint32_t>(root)) << 32,
             (choice & 0xffff) | (moves ? uint64_t{transfers} : upper) << 16 | sequence << 32}};
  }
  static OpFacts of(const OpWords& words);

  bool isTransfers() const { return collective == kTransfers; }
  /// So many collectives there were once it had begun.
  uint64_t collectivesSoFar() const { return isTransfers() ? collectives : sequence; }
  /// What its caller gave or took: a slot's bytes, or all transfers'.
  uint64_t bytes() const;
  /// "allreduce", "send", "sends and receives".
  std::string name() const;
  /// "collective 12", "exchange 3".
  std::string numberText() const;
  /// "ring" or ""; lanes 0: not known.
  std::string algorithm() const;
  int lanes() const;
  /// "LL128", "copy engines"; empty on host memory, or not known.
  std::string wayText() const;
  /// Both, for a reader: "ring", "twoshot, LL128", "copy engines"; empty: not known.
  std::string served() const;
};
/// For OpFacts::choice: the algorithm's place in the registry, and the plan's lanes, at most 255.
uint32_t choiceOf(const Algorithm* algorithm, int lanes);

/// What every rank of a communicator is known to be.
struct MemberText {
  std::string host;
  int pid = 0;
};

/// One rank's recorder. The host's part is used by who has the communicator's turn, the device's by
/// who holds the communicator.
class FlightRecorder {
 public:
  struct Identity {
    uint64_t id = 0;  ///< Of the communicator, the same on all ranks.
    std::string name;
    RankPlace place;
    std::vector<MemberText> members;  ///< By rank; may be empty.
    uint64_t stallSeconds = 0;
  };
  explicit FlightRecorder(const Identity& identity);
  ~FlightRecorder();
  FlightRecorder(const FlightRecorder&) = delete;
  FlightRecorder& operator=(const FlightRecorder&) = delete;

  /// `enqueued` 0: now. Calls of one pass begin one after the other and end together.
  void begin(const OpFacts& facts, uint64_t enqueued) {
    const uint64_t now = ticks();
    host_->begin(++last_, facts.words(), enqueued != 0 ? enqueued : now, now);
  }
  void finish() {
    const uint64_t now = ticks();
    while (ended_ < last_) host_->end(++ended_, now);
  }

  /// A device call: when it was made, and, at the end, that it was launched. Its kernel's own times
  /// only a profiler knows.
  void launch(const OpFacts& facts) {
    const uint64_t now = ticks();
    device_->begin(++launched_, facts.words(), now, now);
  }
  /// `facts` are those of launch(), with how it is served; of the last one but `behind`.
  void launched(const OpFacts& facts, uint64_t behind = 0) {
    device_->amend(launched_ - behind, facts.words());
    device_->end(launched_ - behind, ticks());
  }
  /// Instead: it was refused, and is no collective that peers would have to make, too.
  void notLaunched(OpFacts facts, uint64_t behind = 0) {
    facts.sequence = 0;
    launched(facts, behind);
  }

  /// In a long wait, now and then: what it waits for.
  void noteWait(std::string_view text);
  /// A kernel has said that it waits for long. Any thread.
  void noteKernelWait();
  /// Any thread.
  void noteBroken(const std::string& why);

  uint64_t id() const { return id_; }

 private:
  uint64_t id_;
  std::mutex brokenMutex_;
  CommStatus* status_;  // nullptr: there was none left, and nobody else sees the rings
  std::unique_ptr<OpRing> ownHost_, ownDevice_;
  OpRing *host_, *device_;
  uint64_t last_ = 0, ended_ = 0, launched_ = 0;
};

}  // namespace rondo
