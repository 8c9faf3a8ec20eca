#include "p2p/status_area.h"

#include <errno.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "api/rondo.h"

namespace rondo {

void StatusDesk::open(char* base, uint64_t token) {
  base_ = base;
  StatusHead& head = StatusArea::head(base_);
  char host[256] = {};
  if (gethostname(host, sizeof host - 1) != 0) std::strcpy(host, "unknown");
  head.version = StatusHead::kVersion;
  head.library = RONDO_VERSION_CODE;
  head.token = token;
  head.pid = getpid();
  head.clock = TickPair::now();
  head.host.write(host);
  head.program.write(program_invocation_short_name);
  std::atomic_ref(head.magic).store(StatusHead::kMagic, std::memory_order_release);
}

CommStatus* StatusDesk::take() {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto at =
      static_cast<uint64_t>(std::find(taken_.begin(), taken_.end(), false) - taken_.begin());
  if (at == StatusArea::kMost) return nullptr;
  CommStatus* const status = &StatusArea::status(base_, at);
  if (at < taken_.size()) {
    taken_[at] = true;
    std::atomic_ref(status->state).store(CommStatus::kFree, std::memory_order_seq_cst);
    status->host.clear();
    status->device.clear();
    std::memset(reinterpret_cast<char*>(status), 0, offsetof(CommStatus, host));
    return status;
  }
  taken_.push_back(true);
  StatusHead& head = StatusArea::head(base_);
  std::atomic_ref(head.statuses).store(taken_.size(), std::memory_order_release);
  return status;
}

void StatusDesk::giveBack(CommStatus* status) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::atomic_ref(status->state).store(CommStatus::kGone, std::memory_order_release);
  const auto offset = static_cast<uint64_t>(reinterpret_cast<char*>(status) - base_);
  taken_[(offset - StatusArea::kFirst) / StatusArea::kEach] = false;
}

}  // namespace rondo
