#include "api/requests.h"

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "api/comm_create.h"
#include "base/error.h"

namespace rondo {
namespace {

/// Of a handle's bits those below say which request it is, from 1 on, those above which use of it.
constexpr int kSlotBits = 20;
constexpr size_t kMostRequests = (size_t{1} << kSlotBits) - 1;

/// All requests there are, by their slots.
struct Requests {
  std::mutex mutex;
  std::vector<rondoRequest*> all;
  std::vector<rondoRequest*> free;
};
Requests& requests() {
  static Requests* all = new Requests;  // outlives every static
  return *all;
}

rondoRequest_t handleOf(const rondoRequest& request) {
  return reinterpret_cast<rondoRequest_t>(request.uses << kSlotBits | (request.slot + 1));
}

}  // namespace

rondoRequest* takeRequest() {
  Requests& all = requests();
  const std::lock_guard<std::mutex> lock(all.mutex);
  if (all.free.empty()) {
    if (all.all.size() == kMostRequests) {
      throw Error(rondoOutOfMemory,
                  format("%zu groups are under way; allowed: so many at once", kMostRequests));
    }
    auto fresh = std::make_unique<rondoRequest>();
    all.free.reserve(all.all.size() + 1);
    fresh->slot = all.all.size();
    all.all.push_back(fresh.get());
    return fresh.release();
  }
  rondoRequest* request = all.free.back();
  all.free.pop_back();
  return request;
}

void clear(rondoRequest& request) {
  request.run.close();
  request.comms.clear();
}

void giveBack(rondoRequest* request) {
  clear(*request);
  Requests& all = requests();
  const std::lock_guard<std::mutex> lock(all.mutex);
  request->outstanding = false;
  all.free.push_back(request);
}

rondoRequest_t giveOut(rondoRequest* request) {
  const std::lock_guard<std::mutex> lock(requests().mutex);
  request->outstanding = true;
  ++request->uses;
  return handleOf(*request);
}

rondoRequest* findRequest(rondoRequest_t* request, const char* call, rondoResult_t* bad) {
  if (request == nullptr) {
    *bad = fail(nullptr, rondoInvalidArgument,
                format("%s: argument request is NULL; allowed: the address of a request", call));
    return nullptr;
  }
  Requests& all = requests();
  const std::lock_guard<std::mutex> lock(all.mutex);
  const size_t place = (reinterpret_cast<uintptr_t>(*request) & kMostRequests) - 1;
  rondoRequest* const found = place < all.all.size() ? all.all[place] : nullptr;
  if (found == nullptr || !found->outstanding || handleOf(*found) != *request) {
    *bad = fail(nullptr, rondoInvalidArgument,
                format("%s: argument request is %p; allowed: a request of rondoGroupEndAsync that "
                       "was not waited for yet",
                       call, static_cast<void*>(*request)));
    return nullptr;
  }
  return found;
}

}  // namespace rondo
