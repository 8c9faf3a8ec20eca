#pragma once
// What every collective checks before it touches anything.

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
};

/// Null, type, count and overlap; rondoSuccess or the recorded failure. Inline part:
/// nothing is wrong.
rondoResult_t checkBuffers(const CollectiveArgs& args);
/// Kinds of memory, device and stream; call it with buffers that checkBuffers() passed and a count
/// above 0.
rondoResult_t checkMemory(const CollectiveArgs& args, bool* onDevice);
rondoResult_t checkOp(const CollectiveArgs& args, rondoRedOp_t op);
rondoResult_t checkRoot(const CollectiveArgs& args, int root);

}  // namespace rondo
