#include "coll/far_staging.h"

namespace rondo {
namespace {

/// Hands out parts of an allocation, on lines of their own.
class Cutter {
 public:
  uint64_t take(uint64_t bytes, uint64_t grain = 128) {
    at_ = (at_ + grain - 1) / grain * grain;
    const uint64_t begin = at_;
    at_ += bytes;
    return begin;
  }
  uint64_t end() { return take(0, 4096); }

 private:
  uint64_t at_ = 0;
};

template <class T>
T* at(unsigned char* base, uint64_t offset) {
  return reinterpret_cast<T*>(base + offset);
}

}  // namespace

FarStaging::FarStaging(int ranks, int lanes)
    : cut_(farPairCut(ranks, lanes)),
      strands_(farQueues(ranks) * cut_.lanes),
      mostInLines_(farPairInLines(ranks)) {
  const uint64_t places = static_cast<uint64_t>(strands_) * kFarPairSlots;
  Cutter cut;
  cut.take(sizeof(FaultWords));
  letters_ = cut.take(kFarSlots * sizeof(FarLetter));
  rung_ = cut.take(kFarSlots * kFarLineWords * sizeof(uint32_t));
  answered_ = cut.take(kFarSlots * sizeof(FarWord));
  inLines_ = cut.take(kFarSlots * kFarInLines * sizeof(FarLine));
  outLines_ = cut.take(kFarSlots * kMostFarLines * sizeof(FarLine));
  pairLetters_ = cut.take(places * sizeof(FarPairLetter));
  const auto words = static_cast<uint32_t>(farQueues(ranks)) * kFarPairSlots;
  rungWords_ = (words + kFarLineWords - 1) / kFarLineWords * kFarLineWords;
  pairRung_ = cut.take(static_cast<uint64_t>(cut_.lanes) * rungWords_ * sizeof(uint32_t));
  pairAnswered_ = cut.take(places * sizeof(FarWord));
  const auto lined = static_cast<uint64_t>(mostInLines_ > 0 ? farQueues(ranks) : 0);
  pairLines_ = cut.take(lined * kFarPairSlots * kFarPairLines * sizeof(FarLine));
  in_ = cut.take(kFarSlots * kFarSlotBytes, 4096);
  out_ = cut.take(kFarSlots * kFarSlotBytes, 4096);
  slots_ = cut.take(places * cut_.piece, 4096);
  bytes_ = cut.end();
}

FarView FarStaging::view(unsigned char* base, uint32_t* counters) const {
  return {base + in_,
          base + out_,
          kFarSlotBytes,
          at<FarLetter>(base, letters_),
          at<uint32_t>(base, rung_),
          at<FarWord>(base, answered_),
          counters,
          counters + kFarBlocks,
          at<FarLine>(base, inLines_),
          at<FarLine>(base, outLines_)};
}

FarPairView FarStaging::pairs(unsigned char* base, uint32_t* counters) const {
  return {base + slots_,
          cut_.piece,
          at<FarPairLetter>(base, pairLetters_),
          at<uint32_t>(base, pairRung_),
          rungWords_,
          at<FarWord>(base, pairAnswered_),
          counters + 2 * kFarBlocks,
          counters + 2 * kFarBlocks + strands_,
          at<FarLine>(base, pairLines_),
          mostInLines_,
          cut_.lanes};
}

}  // namespace rondo
