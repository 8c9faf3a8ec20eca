#pragma once
// What an open group has collected.

#include <algorithm>
#include <string>
#include <utility>

#include "api/device_group.h"
#include "api/requests.h"
#include "api/virtual_comm.h"

namespace rondo {

/// A thread's open group. What it collects into is kept for the next one.
struct OpenGroup {
  OpenGroup() = default;
  OpenGroup(const OpenGroup&) = delete;
  OpenGroup& operator=(const OpenGroup&) = delete;
  void swap(OpenGroup& other) {
    std::swap(device, other.device);
    std::swap(rehearsed, other.rehearsed);
    std::swap(failure, other.failure);
    std::swap(sentence, other.sentence);
    std::swap(request_, other.request_);
  }
  ~OpenGroup() {
    if (request_ != nullptr) giveBack(request_);
  }

  /// Where operations on `comm` go.
  GroupRun& runFor(rondoComm* comm) {
    rondoRequest& into = request();
    if (std::find(into.comms.rbegin(), into.comms.rend(), comm) == into.comms.rend()) {
      into.comms.push_back(comm);
    }
    return into.run;
  }
  rondoRequest& request() {
    if (request_ == nullptr) request_ = takeRequest();
    return *request_;
  }
  /// Whether operations on `comm` are collected.
  bool holds(const rondoComm* comm) const {
    const auto has = [comm](const std::vector<rondoComm*>& comms) {
      return std::find(comms.begin(), comms.end(), comm) != comms.end();
    };
    return has(device.comms()) || (request_ != nullptr && has(request_->comms));
  }
  /// Hands out what was collected.
  rondoRequest* take() { return std::exchange(request_, nullptr); }
  /// Takes back what was handed out, to be dropped with the group.
  void putBack(rondoRequest* request) {
    if (request_ != nullptr) return giveBack(request);
    request_ = request;
  }
  void drop() {
    device.clear();
    rehearsed.clear();
    if (request_ != nullptr) clear(*request_);
  }

  DeviceGroup device;
  VirtualGroup rehearsed;
  rondoResult_t failure = rondoSuccess;
  std::string sentence;

 private:
  rondoRequest* request_ = nullptr;
};

/// Closes one level of the calling thread's group, as rondoGroupEnd does. What the outermost one
/// has collected, for the caller to drop(); or nullptr, and *result is what the call returns.
OpenGroup* endOpenGroup(const char* call, rondoResult_t* result);

/// For an end whose argument is wrong: closes one level. The outermost one is dropped, an outer one
/// is told of it.
rondoResult_t endInVain(const std::string& sentence);

/// For an end that may be the outermost one alone. Inside another one: true, that level is closed,
/// and the outer one is told of it.
bool endsInside(const char* call);

}  // namespace rondo
