#include "api/profile_range.h"

#include "config.h"

#ifdef HAVE_NVTX
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>

#include <array>
#include <cstddef>
#include <mutex>

#include "api/types.h"
#endif

namespace rondo {

std::atomic<void*> profile_detail::domain{nullptr};

RangePayload RangePayload::of(std::span<const Transfer> transfers, int rank) {
  RangePayload out;
  out.rank = rank;
  for (const Transfer& each : transfers) out.bytes += each.bytes;
  if (!transfers.empty()) out.peer = transfers.front().peer;
  return out;
}

#ifdef HAVE_NVTX

namespace {

/// Our own numbers, so that ranges can name them though a tool hands out none.
constexpr uint64_t kCallSchema = NVTX_PAYLOAD_SCHEMA_ID_STATIC_START + 1;
constexpr uint64_t kOpSchema = NVTX_PAYLOAD_SCHEMA_ID_STATIC_START + 2;

void registerOperators(nvtxDomainHandle_t domain) {
  static std::array<nvtxPayloadEnum_t, std::size(kAllOps) + 1> names{};
  size_t n = 0;
  for (const rondoRedOp_t op : kAllOps) {
    names[n].name = opName(op);
    names[n++].value = static_cast<uint64_t>(op);
  }
  names[n].name = "none";
  names[n++].value = static_cast<uint32_t>(-1);
  nvtxPayloadEnumAttr_t attributes{};
  attributes.fieldMask = NVTX_PAYLOAD_ENUM_ATTR_FIELD_NAME | NVTX_PAYLOAD_ENUM_ATTR_FIELD_ENTRIES |
                         NVTX_PAYLOAD_ENUM_ATTR_FIELD_NUM_ENTRIES |
                         NVTX_PAYLOAD_ENUM_ATTR_FIELD_SIZE | NVTX_PAYLOAD_ENUM_ATTR_FIELD_SCHEMA_ID;
  attributes.name = "rondoRedOp_t";
  attributes.entries = names.data();
  attributes.numEntries = n;
  attributes.sizeOfEnum = sizeof(int32_t);
  attributes.schemaId = kOpSchema;
  nvtxPayloadEnumRegister(domain, &attributes);
}

void registerPayload(nvtxDomainHandle_t domain) {
  registerOperators(domain);
  const auto field = [](uint64_t type, const char* name, size_t offset) {
    nvtxPayloadSchemaEntry_t entry{};
    entry.type = type;
    entry.name = name;
    entry.offset = offset;
    return entry;
  };
  static const nvtxPayloadSchemaEntry_t kFields[] = {
      field(NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "bytes", offsetof(RangePayload, bytes)),
      field(NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "count", offsetof(RangePayload, count)),
      field(kOpSchema, "operator", offsetof(RangePayload, op)),
      field(NVTX_PAYLOAD_ENTRY_TYPE_INT32, "root", offsetof(RangePayload, root)),
      field(NVTX_PAYLOAD_ENTRY_TYPE_INT32, "peer", offsetof(RangePayload, peer)),
      field(NVTX_PAYLOAD_ENTRY_TYPE_INT32, "rank", offsetof(RangePayload, rank)),
  };
  nvtxPayloadSchemaAttr_t attributes{};
  attributes.fieldMask =
      NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
      NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
      NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID;
  attributes.name = "RondoCall";
  attributes.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC;
  attributes.entries = kFields;
  attributes.numEntries = std::size(kFields);
  attributes.payloadStaticSize = sizeof(RangePayload);
  attributes.schemaId = kCallSchema;
  nvtxPayloadSchemaRegister(domain, &attributes);
}

}  // namespace

void openProfiler() {
  static std::once_flag once;
  std::call_once(once, [] {
    const nvtxDomainHandle_t domain = nvtxDomainCreateA("Rondo");
    if (domain == nullptr) return;
    registerPayload(domain);
    profile_detail::domain.store(domain, std::memory_order_release);
  });
}

void profile_detail::push(void* domain, const char* call, const RangePayload& payload) {
  const nvtxPayloadData_t data{kCallSchema, sizeof payload, &payload};
  nvtxEventAttributes_t event{};
  event.version = NVTX_VERSION;
  event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  event.messageType = NVTX_MESSAGE_TYPE_ASCII;
  event.message.ascii = call;
  event.payloadType = NVTX_PAYLOAD_TYPE_EXT;
  event.reserved0 = 1;  // payloads
  event.payload.ullValue = reinterpret_cast<uint64_t>(&data);
  nvtxDomainRangePushEx(static_cast<nvtxDomainHandle_t>(domain), &event);
}

void profile_detail::pop(void* domain) {
  nvtxDomainRangePop(static_cast<nvtxDomainHandle_t>(domain));
}

#else

void openProfiler() {}
void profile_detail::push(void*, const char*, const RangePayload&) {}
void profile_detail::pop(void*) {}

#endif  // HAVE_NVTX

}  // namespace rondo
