#pragma once
// What every collective checks before it touches anything.

#include <string>

#include "api/handle.h"

namespace rondo {

/// The arguments that all collectives have.
struct CollectiveArgs {
  const char* call;
  const void* send;  ///< Not checked if `usesSend` is false.
  void* recv;
  size_t count;
  rondoDataType_t type;
  rondoComm* comm;
  rondoStream_t stream;
  bool usesSend = true;
  bool usesRecv = true;
  size_t sendBlocks = 1;  ///< sendbuff has so many times `count` elements, likewise recvbuff.
  size_t recvBlocks = 1;
  ptrdiff_t alias = 0;   ///< In place: sendbuff is this many elements past recvbuff.
  bool mayAlias = true;  ///< False: not at all with these arguments.
  bool hasPlace = true;  ///< False: nor with any others.
  const char* countName = "count";
};

/// Null, type, count and overlap; rondoSuccess or the recorded failure. Inline part:
/// nothing is wrong.
rondoResult_t checkBuffers(const CollectiveArgs& args);
/// The part of checkBuffers that is about memory: null, end of the address space, overlap.
rondoResult_t checkSpans(const CollectiveArgs& args, size_t sendElements, size_t recvElements);
/// Kinds of memory, device and stream; call it with buffers that checkBuffers() passed and a count
/// above 0.
rondoResult_t checkMemory(const CollectiveArgs& args, bool* onDevice);
rondoResult_t checkOp(const CollectiveArgs& args, rondoRedOp_t op);
/// `name`: "root", "peer".
rondoResult_t checkRank(const CollectiveArgs& args, const char* name, int rank);
rondoResult_t checkType(const CollectiveArgs& args);

/// Records "call: rank: what" and returns `code`: jobs print the sentences of all their ranks.
rondoResult_t refuseCall(const CollectiveArgs& args, rondoResult_t code, const std::string& what);
/// A count for a sentence: programs in which counts have a sign hand over negative ones as huge.
std::string countText(size_t count);

}  // namespace rondo
