#pragma once
// Short messages over TCP. UCX 1.13 sends a short active message of contiguous memory by sendmsg,
// in pieces; what it has to pack itself lies in one piece, which goes by send, as its tags do.

#include <ucp/api/ucp.h>

#include <cstddef>

namespace rondo {

/// What a message of ucxPackedType() consists of; it and its memory stay until UCX has finished.
struct UcxPacked {
  const void* data;
  size_t bytes;
};

/// Up to here packing pays, and UCX's buffers over TCP, of 8 KiB, hold a message with its headers.
constexpr size_t kMostPacked = 4096;

/// UCX's datatype of which a UcxPacked is one element; the process's, never destroyed. For sending
/// only. Throws Error.
ucp_datatype_t ucxPackedType();

}  // namespace rondo
