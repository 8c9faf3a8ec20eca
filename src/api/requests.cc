#include "api/requests.h"

#include <memory>
#include <mutex>
#include <unordered_set>

#include "api/comm_create.h"
#include "base/error.h"

namespace rondo {
namespace {

/// All requests there are.
struct Requests {
  std::mutex mutex;
  std::unordered_set<rondoRequest*> all;
  std::vector<rondoRequest*> free;
};
Requests& requests() {
  static Requests* all = new Requests;  // outlives every static
  return *all;
}

}  // namespace

rondoRequest* takeRequest() {
  Requests& all = requests();
  const std::lock_guard<std::mutex> lock(all.mutex);
  if (all.free.empty()) {
    auto fresh = std::make_unique<rondoRequest>();
    all.free.reserve(all.all.size() + 1);
    all.all.insert(fresh.get());
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

void giveOut(rondoRequest* request) {
  const std::lock_guard<std::mutex> lock(requests().mutex);
  request->outstanding = true;
}

rondoRequest* findRequest(rondoRequest_t* request, const char* call, rondoResult_t* bad) {
  if (request == nullptr) {
    *bad = fail(nullptr, rondoInvalidArgument,
                format("%s: argument request is NULL; allowed: the address of a request", call));
    return nullptr;
  }
  Requests& all = requests();
  const std::lock_guard<std::mutex> lock(all.mutex);
  if (*request == nullptr || all.all.count(*request) == 0 || !(*request)->outstanding) {
    *bad = fail(nullptr, rondoInvalidArgument,
                format("%s: argument request is %p; allowed: a request of rondoGroupEndAsync that "
                       "was not waited for yet",
                       call, static_cast<void*>(*request)));
    return nullptr;
  }
  return *request;
}

}  // namespace rondo
