#include "coll/step_text.h"

#include "base/error.h"

namespace rondo {
namespace {

std::string moveName(int bits) {
  using namespace algo;
  if ((bits & kFirst) != 0) {
    const std::string name = moveName(bits & ~kFirst);
    if (name.rfind("recvReduce", 0) == 0) return "reduceRecv" + name.substr(10);
  }
  switch (bits) {
    case kSrc | kDst:
      return "copy";
    case kSrc | kSend:
      return "send";
    case kSrc | kDst | kSend:
      return "copySend";
    case kRecv | kDst:
      return "recv";
    case kRecv | kDst | kSend:
      return "recvCopySend";
    case kRecv | kSend:
      return "recvSend";
    case kOwn | kSend:
      return "sendOwn";
    case kRecv | kSrc | kDst:
      return "recvReduceKeep";
    case kRecv | kOwn | kDst:
      return "recvReduceOwn";
    case kRecv | kOwn | kDst | kFinal:
      return "recvReduceOwnFinal";
    case kRecv | kOwn | kSend:
      return "recvReduceSendOwn";
    case kRecv | kOwn | kDst | kSend | kFinal:
      return "recvReduceCopySendOwn";
    case kSend:
      return "notify";
    case kRecv:
      return "hear";
    case kRecv | kSrc | kDst | kSend:
      return "recvReduceKeepSend";
    case kRecv | kSrc | kDst | kSend | kBefore:
      return "recvCopyReduceSend";
    case kRecv | kSrc | kSend:
      return "recvReduceSend";
    case kRecv | kSrc | kDst | kFinal:
      return "recvReduceCopy";
    case kRecv | kSrc | kDst | kSend | kFinal:
      return "recvReduceCopySend";
    default:
      break;
  }
  static const char* const names[] = {"Recv",  "Src", "Dst",    "Send",
                                      "Final", "Own", "Before", "First"};
  std::string out;
  for (int i = 0; i < 8; ++i) {
    if (((bits >> i) & 1) == 0) continue;
    if (!out.empty()) out += ",";
    out += names[i];
  }
  return format("move{%s}", out.c_str());
}

const char* roomText(Room room) { return room == Room::All ? "(all)" : "(pair)"; }

bool sends(const Step& step) {
  return step.kind == StepKind::Put || step.kind == StepKind::Signal ||
         (step.bits & algo::kSend) != 0;
}

}  // namespace

std::string verbName(const Step& step) {
  if (step.kind == StepKind::Move) {
    const std::string name = moveName(step.bits);
    return step.from2 >= 0 && name.rfind("recv", 0) == 0 ? "recv2" + name.substr(4) : name;
  }
  if (step.kind == StepKind::Reduce && step.from == step.from2) return "drop";
  if (step.kind == StepKind::Reduce && (step.bits & algo::kSend)) {
    return step.to >= 0 ? "reducePutTo" : "reducePut";
  }
  return stepKindName(step.kind);
}

std::string peersText(const Step& step, const std::string& block) {
  std::string out;
  const auto word = [&out](const std::string& text) {
    if (text.empty()) return;
    if (!out.empty()) out += " ";
    out += text;
  };
  if (step.kind == StepKind::Reduce) {
    word(format("%d-%d%s>", step.from, step.from2 - 1, roomText(step.room)));
  } else if (step.kind == StepKind::Wait || step.kind == StepKind::Fetch) {
    word(format("%d%s>", step.from, roomText(step.room)));
  } else if (step.from >= 0) {
    word(step.from2 >= 0 ? format("%d,%d>", step.from, step.from2) : format("%d>", step.from));
  }
  word(block);
  if (sends(step)) word(step.to < 0 ? ">*" : format(">%d", step.to));
  return out;
}

std::string rangeText(Count offset, Count count) {
  return format("[%llu,%llu)", offset, offset + count);
}

std::string slotsText(const Step& step) {
  const int last = step.slot + (step.slots - 1) * step.stride;
  if (step.slots == 1) return std::to_string(step.slot);
  if (step.stride == 1) return format("%d-%d", step.slot, last);
  if (step.slots == 2) return format("%d,%d", step.slot, last);
  return format("%d,%d..%d", step.slot, step.slot + step.stride, last);
}

std::string describeStep(const Step& step) {
  std::string block = step.count == 0 ? "" : rangeText(step.offset, step.count);
  if (step.count > 0 && (step.slot > 0 || step.slots > 1)) {
    block += format(" of slot%s %s", step.slots > 1 ? "s" : "", slotsText(step).c_str());
  }
  const std::string peers = peersText(step, block);
  return peers.empty() ? verbName(step) : verbName(step) + " " + peers;
}

}  // namespace rondo
