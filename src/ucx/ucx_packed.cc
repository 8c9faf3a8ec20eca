#include "ucx/ucx_packed.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace rondo {
namespace {

const UcxPacked& packed(const void* state) { return *static_cast<const UcxPacked*>(state); }

/// The element itself is all the state there is.
void* startPacking(void*, const void* element, size_t) { return const_cast<void*>(element); }

size_t packedBytes(void* state) { return packed(state).bytes; }

size_t pack(void* state, size_t offset, void* to, size_t most) {
  const size_t bytes = std::min(most, packed(state).bytes - offset);
  if (bytes > 0) std::memcpy(to, static_cast<const char*>(packed(state).data) + offset, bytes);
  return bytes;
}

// Nobody receives by this type.
void* startUnpacking(void*, void*, size_t) { return nullptr; }
ucs_status_t unpack(void*, size_t, const void*, size_t) { return UCS_ERR_UNSUPPORTED; }
void finish(void*) {}

ucp_datatype_t makeType() {
  ucp_generic_dt_ops_t calls{};
  calls.start_pack = startPacking;
  calls.start_unpack = startUnpacking;
  calls.packed_size = packedBytes;
  calls.pack = pack;
  calls.unpack = unpack;
  calls.finish = finish;
  ucp_datatype_t type = 0;
  const ucs_status_t status = ucp_dt_create_generic(&calls, nullptr, &type);
  if (status == UCS_OK) return type;
  throw Error(rondoSystemError, format("ucp_dt_create_generic of UCX %s failed: %s",
                                       ucp_get_version_string(), ucs_status_string(status)));
}

}  // namespace

ucp_datatype_t ucxPackedType() {
  static const ucp_datatype_t type = makeType();
  return type;
}

}  // namespace rondo
