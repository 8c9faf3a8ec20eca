#pragma once
// Random calls of the C API with random garbage for arguments, drawn from a stream of bytes. Used
// by a seeded unit test and by a libFuzzer target.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "api/rondo.h"
#include "api/types.h"
#include "support/collective_case.h"

namespace rondo::fuzz {

/// Bytes to draw from; zeros once they are used up.
class Draw {
 public:
  Draw(const uint8_t* bytes, size_t size) : bytes_(bytes), left_(size) {}
  bool empty() const { return left_ == 0; }
  uint8_t byte() {
    if (left_ == 0) return 0;
    --left_;
    return *bytes_++;
  }
  template <class T>
  T value() {
    T out{};
    unsigned char raw[sizeof(T)];
    for (size_t i = 0; i < sizeof raw; ++i) raw[i] = byte();
    std::memcpy(&out, raw, sizeof out);
    return out;
  }
  unsigned below(unsigned n) { return byte() % n; }

 private:
  const uint8_t* bytes_;
  size_t left_;
};

/// What a call may be handed for a communicator, and what each must come to.
struct Handles {
  rondoComm_t alive = nullptr;  ///< All calls of an invalid kind are made on it.
  rondoComm_t finalized = nullptr;
  rondoComm_t destroyed = nullptr;
  int size = 1;
  int rank = 0;
};

/// Makes calls whose arguments are invalid, each in at least one way that is known beforehand, and
/// reports those that were accepted.
class Caller {
 public:
  Caller(const Handles& handles, Draw& draw) : handles_(handles), draw_(draw) {}

  /// One call; "" if it was refused as it should be, else what went wrong.
  std::string once() {
    fill();
    name_ = "";
    const rondoResult_t result = call();
    if (result == rondoSuccess) return std::string(name_) + " accepted invalid arguments";
    const std::string sentence = rondoGetLastError(nullptr);
    if (sentence.rfind(std::string(name_) + ": ", 0) != 0) {
      return std::string(name_) + " left the sentence \"" + sentence + "\"";
    }
    for (const unsigned char c : memory_) {
      if (c != kMark) return std::string(name_) + " touched data though it failed: " + sentence;
    }
    return "";
  }

 private:
  static constexpr unsigned char kMark = 0x6b;
  static constexpr size_t kBytes = 512;

  void fill() { memory_.assign(kBytes, kMark); }
  char* inside() { return reinterpret_cast<char*>(memory_.data()) + draw_.below(64); }

  rondoComm_t deadComm() {
    rondoComm_t const some[] = {nullptr, handles_.finalized, handles_.destroyed};
    return some[draw_.below(3)];
  }
  rondoComm_t goneComm() { return draw_.below(2) == 0 ? nullptr : handles_.destroyed; }
  rondoStream_t badStream() {
    return reinterpret_cast<rondoStream_t>(draw_.value<uintptr_t>() | 1);
  }
  int badType() {
    const auto type = draw_.value<int32_t>();
    return typeSize(type) != 0 ? 1000 + type : type;
  }
  int badOp() {
    const auto op = draw_.value<int32_t>();
    for (const rondoRedOp_t known : kAllOps) {
      if (op == known) return -1 - op;
    }
    return op;
  }
  int badRoot() {
    const auto root = draw_.value<int32_t>();
    return root >= 0 && root < handles_.size ? root - 1000 : root;
  }
  int anyType() {
    return draw_.below(4) == 0 ? draw_.value<int32_t>()
                               : kAllTypes[draw_.below(std::size(kAllTypes))];
  }

  rondoResult_t call() {
    switch (draw_.below(4)) {
      case 0:
        return collectiveOnDead();
      case 1:
        return collectiveOnAlive();
      case 2:
        return question();
      default:
        return creation();
    }
  }

  rondoResult_t barrier(rondoComm_t comm, rondoStream_t stream) {
    name_ = "rondoBarrier";
    return rondoBarrier(comm, stream);
  }

  rondoResult_t collectiveOnDead() {
    // Whatever the other arguments are, good ones too.
    const rondoComm_t comm = deadComm();
    const rondoStream_t stream = draw_.below(3) == 0 ? badStream() : nullptr;
    if (draw_.below(16) == 0) return barrier(comm, stream);
    Try t = good();
    if (draw_.below(2) == 0) t.c.count = draw_.value<size_t>();
    if (draw_.below(2) == 0) t.c.type = draw_.value<int32_t>();
    t.c.op = draw_.value<int32_t>();
    t.c.root = draw_.value<int32_t>();
    if (draw_.below(4) == 0) t.send = nullptr;
    if (draw_.below(4) == 0) t.recv = nullptr;
    return make(t, comm, stream);
  }

  /// A call with arguments that are all good; this rank is the root.
  struct Try {
    testing::Case c;
    testing::Side side;
    char *send, *recv;
  };
  Try good() {
    const auto call = static_cast<testing::Call>(draw_.below(testing::kCalls));
    const size_t count = 2 + draw_.below(15);
    const auto type = kAllTypes[draw_.below(std::size(kAllTypes))];
    const auto op = kAllOps[draw_.below(std::size(kAllOps))];
    Try t{{call, type, op, count, handles_.rank, false, draw_.below(2) == 0, 0},
          {},
          nullptr,
          nullptr};
    for (int r = 0; r < handles_.size; ++r) {
      t.side.sendCounts.push_back(count);
      t.side.sendDispls.push_back(static_cast<size_t>(r) * count);
    }
    t.side.recvCounts = t.side.sendCounts;
    t.side.recvDispls = t.side.sendDispls;
    t.send = inside();
    t.recv = inside() + 256;
    return t;
  }
  rondoResult_t make(const Try& t, rondoComm_t comm, rondoStream_t stream) {
    name_ = testing::callName(t.c.call);
    return testing::invoke(t.c, t.side, t.send, t.recv, handles_.rank, comm, stream);
  }

  /// Arguments that are all good, of which one is then spoilt; the rest may be spoilt too.
  rondoResult_t collectiveOnAlive() {
    Try t = good();
    rondoStream_t stream = nullptr;
    bool spoilt = false;
    while (!spoilt || (draw_.below(3) == 0 && !draw_.empty())) spoilt |= spoil(&t, &stream);
    return make(t, handles_.alive, stream);
  }

  /// Makes one argument invalid; false if that is not possible for this call.
  bool spoil(Try* t, rondoStream_t* stream) {
    using testing::Call;
    const bool receives = t->c.call != Call::Exscan || handles_.rank > 0;
    switch (draw_.below(9)) {
      case 0:
        t->c.type = badType();
        return true;
      case 1:
        t->c.count = SIZE_MAX - draw_.value<uint16_t>();
        spoilCounts(&t->side.sendCounts, t->c.count);
        spoilCounts(&t->side.recvCounts, t->c.count);
        return true;
      case 2:
        *stream = badStream();
        return true;
      case 3:
        if (receives) t->recv = nullptr;
        return receives;
      case 4:
        t->send = nullptr;
        return true;
      case 5:
        if (testing::isRooted(t->c.call)) t->c.root = badRoot();
        return testing::isRooted(t->c.call);
      case 6:
        if (testing::reduces(t->c.call)) t->c.op = badOp();
        return testing::reduces(t->c.call);
      case 7:
        if (receives) t->recv = reinterpret_cast<char*>(UINTPTR_MAX);
        return receives;
      default:
        // As a number: one past the last address is an address too, and no pointer may be moved
        // there.
        if (!receives) return false;
        t->send = t->recv == nullptr
                      ? nullptr
                      : reinterpret_cast<char*>(reinterpret_cast<uintptr_t>(t->recv) + 1);
        return true;
    }
  }
  void spoilCounts(std::vector<size_t>* counts, size_t count) {
    (*counts)[draw_.below(static_cast<unsigned>(counts->size()))] = count;
  }

  rondoResult_t question() {
    static constexpr struct {
      const char* name;
      rondoResult_t (*ask)(rondoComm_t, int*);
    } kQuestions[] = {{"rondoCommCount", rondoCommCount},
                      {"rondoCommUserRank", rondoCommUserRank},
                      {"rondoCommLocalRank", rondoCommLocalRank},
                      {"rondoCommLocalSize", rondoCommLocalSize},
                      {"rondoCommCuDevice", rondoCommCuDevice}};
    const auto& question = kQuestions[draw_.below(5)];
    auto* out = reinterpret_cast<int*>(memory_.data());
    name_ = question.name;
    switch (draw_.below(5)) {
      case 0:
        return question.ask(handles_.alive, nullptr);
      case 1:
        return question.ask(goneComm(), draw_.below(2) == 0 ? nullptr : out);
      case 2:
        name_ = "rondoCommFinalize";
        return rondoCommFinalize(goneComm());
      case 3:
        name_ = "rondoCommDestroy";
        return rondoCommDestroy(goneComm());
      default:
        name_ = "rondoCommAbort";
        return rondoCommAbort(goneComm());
    }
  }

  rondoResult_t creation() {
    auto* out = reinterpret_cast<rondoComm_t*>(memory_.data());
    rondoUniqueId id;
    for (char& c : id.internal) c = static_cast<char>(draw_.byte());
    id.internal[0] = static_cast<char>(id.internal[0] & 0x7f);
    switch (draw_.below(6)) {
      case 0:
        name_ = "rondoGetVersion";
        return rondoGetVersion(nullptr);
      case 1:
        name_ = "rondoGetUniqueId";
        return rondoGetUniqueId(nullptr);
      case 2:
        name_ = "rondoMemFree";
        return rondoMemFree(inside());
      case 3: {
        name_ = "rondoMemAlloc";
        const size_t bytes = SIZE_MAX - draw_.value<uint32_t>();
        void** const place = draw_.below(2) == 0 ? nullptr : reinterpret_cast<void**>(out);
        if (draw_.below(2) == 0) return rondoMemAlloc(place, bytes);
        name_ = "rondoMemAllocDevice";
        return rondoMemAllocDevice(place, bytes, draw_.value<int16_t>());
      }
      case 4:
        name_ = "rondoCommInitRank";
        return rondoCommInitRank(out, draw_.value<int16_t>(), id, draw_.value<int16_t>());
      default: {
        // A good id, and a configuration with one field spoilt.
        name_ = "rondoCommInitRankConfig";
        if (rondoGetUniqueId(&id) != rondoSuccess) return rondoSuccess;
        rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
        spoilConfig(&config);
        return rondoCommInitRankConfig(out, 1, id, 0, &config);
      }
    }
  }

  void spoilConfig(rondoConfig_t* config) {
    switch (draw_.below(7)) {
      case 0:
        config->size = draw_.below(16);
        return;
      case 1:
        config->version = draw_.value<uint32_t>() | 8;  // 1 to 4 are known
        return;
      case 2:
        config->device = -3 - draw_.value<uint16_t>();
        return;
      case 3:
        config->reproducible = 2 + draw_.value<uint16_t>();
        return;
      case 4:
        config->smBudget = RONDO_SM_BUDGET_AT_MOST(1025) - draw_.value<uint16_t>();
        return;
      case 5:
        config->blocking = 2 + draw_.value<uint16_t>();
        return;
      default:
        // Some text in the letters of a rule, never a whole one: it has no number of bytes.
        tune_.clear();
        for (unsigned n = 1 + draw_.below(40); n > 0; --n) {
          tune_ += "alreduc:hosting/-"[draw_.below(17)];
        }
        config->tune = tune_.c_str();
    }
  }

  const Handles& handles_;
  Draw& draw_;
  const char* name_ = "";
  std::string tune_;
  std::vector<unsigned char> memory_;
};

}  // namespace rondo::fuzz
