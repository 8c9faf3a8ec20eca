#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#ifdef HAVE_CUDA

#include <algorithm>

#include "api/types.h"
#include "coll/copied_reduce.h"
#include "coll/device_predict.h"
#include "coll/symmetric_call.h"
#include "kernels/fold.h"

namespace rondo {
namespace {

/// Shorter calls are not even looked at.
constexpr uint64_t kFrom = 16u << 20;
/// Blocks begin so far apart at least.
constexpr uint64_t kLine = 128;
/// The first piece is folded while the second one is brought, and given beside it; then the links
/// are busy while that is folded. More pieces cost 7 us each (2 x H200, 2026-11).
constexpr uint64_t kPieces = 2;

}  // namespace

/// A call in bytes.
struct CopiedReduce::Work {
  const unsigned char* send;
  unsigned char* recv;
  const UserMemory::Entry* into;
  uint64_t block;
  Reduction reduction;
  uint32_t elementBytes;
  uint32_t tag;
  CUstream_st* stream;
  SideStreams<2>::Streams beside;

  CUstream_st* bringing() const { return beside[0]; }
  CUstream_st* giving() const { return beside[1]; }

  const unsigned char* contribution(int owner) const {
    return send + static_cast<uint64_t>(owner) * block;
  }
  unsigned char* result(int owner) const { return recv + static_cast<uint64_t>(owner) * block; }
  /// Where rank `peer` has result(owner) of its own.
  unsigned char* there(int peer, int owner) const {
    return reinterpret_cast<unsigned char*>(into->here[static_cast<size_t>(peer)]) +
           (result(owner) - into->memory);
  }
};

CopiedReduce::CopiedReduce(const MeetingView& view, const FaultView& fault, int rank, int size)
    : view_(view), fault_(fault), rank_(rank), size_(size), from_(kFrom) {}

uint64_t CopiedReduce::blockOf(const DeviceCall& call) const {
  const uint64_t unit = kLine / typeSize(call.type);
  return call.count / static_cast<uint64_t>(size_) / unit * unit;
}

bool CopiedReduce::may(const DeviceCall& call) const {
  return sides_.ready() && call.collective == Collective::AllReduce && call.scaled == nullptr &&
         size_ >= 2 && size_ <= kMaxWindowRanks && call.count * typeSize(call.type) >= from_ &&
         blockOf(call) > 0;
}

uint64_t CopiedReduce::time(const DeviceCall& call, const DeviceCosts& costs,
                            uint64_t byKernel) const {
  if (always_) return 0;
  const uint64_t sent = static_cast<uint64_t>(size_ - 1) * blockOf(call) * typeSize(call.type);
  const uint64_t once = copiesTime(size_, sent, costs);
  // Half of the sums' way takes a kernel 0.52 to 0.53 of all of it.
  return call.send == call.recv ? byKernel * 17 / 32 + once : 2 * once;
}

const UserMemory::Entry* CopiedReduce::into(const DeviceCall& call,
                                            const UserMemory& memory) const {
  return symmetricResult(call, call.count * typeSize(call.type), memory, rank_);
}

CopiedReduce::Work CopiedReduce::workOf(const DeviceCall& call,
                                        const UserMemory::Entry& into) const {
  const auto element = static_cast<uint32_t>(typeSize(call.type));
  const uint32_t divisor = call.op == rondoAvg ? static_cast<uint32_t>(size_) : 0;
  return {static_cast<const unsigned char*>(call.send),
          static_cast<unsigned char*>(call.recv),
          &into,
          blockOf(call) * element,
          Reduction{call.type, call.op, divisor},
          element,
          symmetricTag(call, into),
          call.stream,
          sides_.beside(call.stream)};
}

int CopiedReduce::meet(const Work& work, bool compare) const {
  return launchMeeting({view_, fault_, rank_, size_, work.tag, compare ? 1 : 0}, work.stream);
}

/// To each owner, where this rank's block of its result will be.
int CopiedReduce::bring(const Work& work, const Piece& piece) const {
  int error = 0;
  for (int k = 1; k < size_ && error == 0; ++k) {
    const int owner = (rank_ + k) % size_;
    error = copyOnStream(work.there(owner, rank_) + piece.from,
                         work.contribution(owner) + piece.from, piece.bytes, work.bringing());
  }
  return error;
}

int CopiedReduce::fold(const Work& work, const Piece& piece) const {
  FoldCall call{};
  for (int r = 0; r < size_; ++r) {
    call.from[r] = (r == rank_ ? work.contribution(r) : work.result(r)) + piece.from;
  }
  call.to = work.result(rank_) + piece.from;
  call.bytes = piece.bytes;
  call.n = size_;
  call.elementBytes = work.elementBytes;
  call.reduction = work.reduction;
  return launchFold(call, work.stream);
}

int CopiedReduce::give(const Work& work, const Piece& piece) const {
  int error = sides_.order(work.stream, work.giving());
  for (int k = 1; k < size_ && error == 0; ++k) {
    const int peer = (rank_ + k) % size_;
    error = copyOnStream(work.there(peer, rank_) + piece.from, work.result(rank_) + piece.from,
                         piece.bytes, work.giving());
  }
  return error;
}

// The ranks meet when all contributions of the piece are there, and again when they have been read:
// what is given lies where they were.
int CopiedReduce::movePiece(const Work& work, const Piece& piece) const {
  int error = bring(work, piece);
  if (error == 0) error = sides_.order(work.bringing(), work.stream);
  if (error == 0) error = meet(work);
  if (error == 0) error = fold(work, piece);
  if (error == 0) error = meet(work);
  return error == 0 ? give(work, piece) : error;
}

int CopiedReduce::run(const DeviceCall& call, const UserMemory::Entry& into) {
  ++calls_;
  const Work work = workOf(call, into);
  const uint64_t most = (work.block / kPieces + kLine - 1) / kLine * kLine;
  int error = meet(work, true);
  for (CUstream_st* const side : work.beside) {
    if (error == 0) error = sides_.order(call.stream, side);
  }
  if (error != 0) return error;
  for (uint64_t from = 0; from < work.block && error == 0; from += most) {
    error = movePiece(work, {from, std::min(most, work.block - from)});
  }
  // Joined whatever failed: a capture must not end with a loose branch.
  for (CUstream_st* const side : work.beside) {
    const int join = sides_.order(side, call.stream);
    if (error == 0) error = join;
  }
  return error == 0 ? meet(work) : error;
}

// Every rank's kernel needed all others' contributions to its block: they have begun the call, and
// have read theirs.
int CopiedReduce::give(const DeviceCall& call, const UserMemory::Entry& into) {
  ++calls_;
  const Work work = workOf(call, into);
  int error = give(work, {0, work.block});
  const int join = sides_.order(work.giving(), call.stream);
  if (error == 0) error = join;
  return error == 0 ? meet(work, true) : error;
}

}  // namespace rondo

#endif  // HAVE_CUDA
