// A profiler that counts: NVTX loads it through NVTX_INJECTION64_PATH, and the test asks it.

#include "nvtx/injection.h"

#include <cstring>
#include <mutex>

#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>

namespace {

using rondo::testing::SeenRange;

constexpr size_t kMost = 4096;

struct Seen {
  std::mutex mutex;
  std::string domain, schema, fields, operators;
  uint64_t schemaId = 0;
  int open = 0;
  std::vector<SeenRange> ranges;
};
Seen& seen() {
  static Seen* const one = new Seen;
  return *one;
}

nvtxDomainHandle_t createDomain(const char* name) {
  Seen& all = seen();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.domain = name;
  return reinterpret_cast<nvtxDomainHandle_t>(&all);
}

int push(nvtxDomainHandle_t, const nvtxEventAttributes_t* event) {
  Seen& all = seen();
  const std::lock_guard<std::mutex> lock(all.mutex);
  SeenRange range;
  range.name = event->message.ascii;
  if (event->payloadType == NVTX_PAYLOAD_TYPE_EXT && event->reserved0 == 1) {
    const auto* data = reinterpret_cast<const nvtxPayloadData_t*>(event->payload.ullValue);
    range.schemaId = data->schemaId;
    const auto* bytes = static_cast<const unsigned char*>(data->payload);
    range.payload.assign(bytes, bytes + data->size);
  }
  if (all.ranges.size() < kMost) all.ranges.push_back(range);
  return all.open++;
}

int pop(nvtxDomainHandle_t) {
  Seen& all = seen();
  const std::lock_guard<std::mutex> lock(all.mutex);
  return --all.open;
}

uint64_t registerSchema(nvtxDomainHandle_t, const nvtxPayloadSchemaAttr_t* schema) {
  Seen& all = seen();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.schema = schema->name;
  all.schemaId = schema->schemaId;
  for (size_t i = 0; i < schema->numEntries; ++i) {
    all.fields += std::string(i > 0 ? "," : "") + schema->entries[i].name;
  }
  return schema->schemaId;
}

uint64_t registerEnum(nvtxDomainHandle_t, const nvtxPayloadEnumAttr_t* names) {
  Seen& all = seen();
  const std::lock_guard<std::mutex> lock(all.mutex);
  for (size_t i = 0; i < names->numEntries; ++i) {
    all.operators += std::string(i > 0 ? "," : "") + names->entries[i].name;
  }
  return names->schemaId;
}

template <class Function>
void hook(NvtxFunctionTable table, int at, Function function) {
  *table[at] = reinterpret_cast<NvtxFunctionPointer>(function);
}

}  // namespace

#define RONDO_TEST_VISIBLE __attribute__((visibility("default")))

extern "C" RONDO_TEST_VISIBLE int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t tables) {
  const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(tables(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (callbacks == nullptr ||
      callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size) == 0) {
    return 0;
  }
  hook(table, NVTX_CBID_CORE2_DomainCreateA, createDomain);
  hook(table, NVTX_CBID_CORE2_DomainRangePushEx, push);
  hook(table, NVTX_CBID_CORE2_DomainRangePop, pop);
  return 1;
}

extern "C" RONDO_TEST_VISIBLE int InitializeInjectionNvtxExtension(nvtxExtModuleInfo_t* module) {
  if (module->moduleId != NVTX_EXT_PAYLOAD_MODULEID) return 0;
  intptr_t* const slots = module->segments->functionSlots;
  slots[NVTX3EXT_CBID_nvtxPayloadSchemaRegister] = reinterpret_cast<intptr_t>(registerSchema);
  slots[NVTX3EXT_CBID_nvtxPayloadEnumRegister] = reinterpret_cast<intptr_t>(registerEnum);
  return 1;
}

extern "C" RONDO_TEST_VISIBLE void rondoTestSeen(rondo::testing::SeenAll* out) {
  Seen& all = seen();
  const std::lock_guard<std::mutex> lock(all.mutex);
  out->domain = all.domain;
  out->schema = all.schema;
  out->fields = all.fields;
  out->operators = all.operators;
  out->schemaId = all.schemaId;
  out->open = all.open;
  out->ranges = all.ranges;
}
