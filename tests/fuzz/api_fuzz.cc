// libFuzzer target for the argument checks of the C API. Not part of `make check` (the unit test
// ApiFuzz draws from the same calls). ./dev fuzz SECONDS builds it with clang and runs it.

#include "fuzz/api_calls.h"

namespace {

rondoComm_t makeComm() {
  rondoUniqueId id;
  rondoComm_t comm = nullptr;
  if (rondoGetUniqueId(&id) != rondoSuccess || rondoCommInitRank(&comm, 1, id, 0) != rondoSuccess) {
    std::fprintf(stderr, "cannot make a communicator: %s\n", rondoGetLastError(nullptr));
    std::abort();
  }
  return comm;
}

rondo::fuzz::Handles makeHandles() {
  rondo::fuzz::Handles handles{makeComm(), makeComm(), makeComm(), 1, 0};
  rondoCommFinalize(handles.finalized);
  rondoCommDestroy(handles.destroyed);
  return handles;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  static const rondo::fuzz::Handles handles = makeHandles();
  rondo::fuzz::Draw draw(bytes, size);
  while (!draw.empty()) {
    rondo::fuzz::Caller caller(handles, draw);
    const std::string wrong = caller.once();
    if (wrong.empty()) continue;
    std::fprintf(stderr, "%s\n", wrong.c_str());
    std::abort();
  }
  int32_t value = 3;
  if (rondoAllReduce(&value, &value, 1, rondoInt32, rondoSum, handles.alive, nullptr) !=
          rondoSuccess ||
      value != 3) {
    std::abort();
  }
  return 0;
}
