#pragma once
// Random calls of the C API with random garbage for arguments, drawn from a stream of bytes. Used
// by a seeded unit test and by a libFuzzer target.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "api/types.h"

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
    return op >= rondoSum && op <= rondoMaxLoc ? -1 - op : op;
  }
  int badRoot() {
    const auto root = draw_.value<int32_t>();
    return root >= 0 && root < handles_.size ? root - 1000 : root;
  }
  int anyType() {
    return draw_.below(4) == 0 ? draw_.value<int32_t>() : kAllTypes[draw_.below(12)];
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

  rondoResult_t collectiveOnDead() {
    // Whatever the other arguments are, good ones too.
    const size_t count = draw_.below(2) == 0 ? draw_.below(16) : draw_.value<size_t>();
    char* a = draw_.below(4) == 0 ? nullptr : inside();
    char* b = draw_.below(4) == 0 ? nullptr : inside() + 256;
    const int type = anyType();
    const auto number = draw_.value<int32_t>();
    const rondoComm_t comm = deadComm();
    const rondoStream_t stream = draw_.below(3) == 0 ? badStream() : nullptr;
    switch (draw_.below(3)) {
      case 0:
        name_ = "rondoAllReduce";
        return rondoAllReduce(a, b, count, type, number, comm, stream);
      case 1:
        name_ = "rondoBroadcast";
        return rondoBroadcast(a, b, count, type, number, comm, stream);
      default:
        name_ = "rondoBarrier";
        return rondoBarrier(comm, stream);
    }
  }

  /// Arguments that are all good, of which one is then spoilt; the rest may be spoilt too.
  rondoResult_t collectiveOnAlive() {
    size_t count = 1 + draw_.below(16);
    char *send = inside(), *recv = inside() + 256;
    int type = kAllTypes[draw_.below(12)], op = static_cast<int>(draw_.below(5)), root = 0;
    rondoStream_t stream = nullptr;
    const bool broadcast = draw_.below(2) != 0;
    bool spoilt = false;
    while (!spoilt || (draw_.below(3) == 0 && !draw_.empty())) {
      spoilt = true;
      switch (draw_.below(broadcast ? 6 : 8)) {
        case 0:
          type = badType();
          break;
        case 1:
          count = SIZE_MAX - draw_.value<uint16_t>();
          break;
        case 2:
          stream = badStream();
          break;
        case 3:
          recv = nullptr;
          break;
        case 4:
          if (broadcast) {
            root = badRoot();
          } else {
            op = badOp();
          }
          break;
        case 5:
          recv = reinterpret_cast<char*>(UINTPTR_MAX);
          count = count < 2 ? 2 : count;
          break;
        case 6:
          send = nullptr;
          break;
        default:
          // As a number: one past the last address is an address too, and no pointer may be moved
          // there.
          send = recv == nullptr ? nullptr
                                 : reinterpret_cast<char*>(reinterpret_cast<uintptr_t>(recv) + 1);
          count = count * typeSize(rondoInt64) < 2 ? 2 : count;
          if (typeSize(type) * count < 2) count = 2;
          break;
      }
    }
    name_ = broadcast ? "rondoBroadcast" : "rondoAllReduce";
    return broadcast ? rondoBroadcast(send, recv, count, type, root, handles_.alive, stream)
                     : rondoAllReduce(send, recv, count, type, op, handles_.alive, stream);
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
        return rondoMemAlloc(draw_.below(2) == 0 ? nullptr : reinterpret_cast<void**>(out), bytes);
      }
      case 4:
        name_ = "rondoCommInitRank";
        return rondoCommInitRank(out, draw_.value<int16_t>(), id, draw_.value<int16_t>());
      default: {
        // A good id, and a configuration with one field spoilt.
        name_ = "rondoCommInitRankConfig";
        if (rondoGetUniqueId(&id) != rondoSuccess) return rondoSuccess;
        rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
        spoil(&config);
        return rondoCommInitRankConfig(out, 1, id, 0, &config);
      }
    }
  }

  void spoil(rondoConfig_t* config) {
    switch (draw_.below(4)) {
      case 0:
        config->size = draw_.below(16);
        return;
      case 1:
        config->version = draw_.value<uint32_t>() | 2;
        return;
      case 2:
        config->device = -3 - draw_.value<uint16_t>();
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
