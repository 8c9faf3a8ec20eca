#include "coll/far_opening.h"

#include <array>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "coll/communicator.h"
#include "coll/device_order.h"
#include "p2p/agree_on.h"

namespace rondo {
namespace {

/// What a rank tells the others of its device.
struct FarCard {
  int32_t code;
  DeviceTenant tenant;
  OrderCard order;
  std::array<char, 160> why;
};

/// `all`: what each rank said, 'y' if it can; `lacking`: the first that cannot.
void tellZeroCopy(bool always, const std::string& all, size_t lacking) {
  const std::string what = "long sends of device memory to other hosts ";
  if (lacking == std::string::npos) {
    logLine(LogPart::Device, LogLevel::Info, 0,
            [&] { return what + "are read and written where they lie, by UCX"; });
    return;
  }
  const char* const why =
      all[lacking] == 'd' ? "the device does not say when it sees what network cards have written"
      : always ? "UCX cannot move device memory (it has no CUDA, or UCX_TLS leaves cuda_copy out)"
               : "UCX has no CUDA, or no network card that reaches the GPU";
  const std::string text = what + format("go by the host's memory: of rank %zu %s", lacking, why);
  logLine(LogPart::Device, LogLevel::Info, 0, [&] { return text; });
  if (always) {
    std::fprintf(stderr, "rondo: warning: RONDO_NET_ZERO_COPY=on, but %s\n", text.c_str());
  }
}

}  // namespace

bool agreedForFar(Bootstrap& boot, std::string* why, const std::function<void()>& step) {
  try {
    agreeOn(boot, step);
  } catch (const Error& error) {
    if (error.code() != rondoUnhandledCudaError) throw;
    *why = error.sentence();  // agreed: the same on all ranks
    return false;
  }
  return true;
}

std::optional<OpenedFar> openFarTogether(Bootstrap& boot,
                                         const std::function<std::unique_ptr<FarDevice>()>& open,
                                         std::string* why) {
  FarCard mine{};
  mine.order = nextOrderCard();
  OpenedFar opened{};
  try {
    opened.device = open();
    mine.tenant = opened.device->tenant();
  } catch (const Error& error) {
    mine.code = error.code();
    std::strncpy(mine.why.data(), error.what(), mine.why.size() - 1);
  }
  std::vector<FarCard> cards(static_cast<size_t>(boot.size()));
  boot.allGather(&mine, sizeof mine, cards.data());
  std::vector<OrderCard> orders;
  std::vector<DeviceTenant> tenants;
  for (size_t r = 0; r < cards.size(); ++r) {
    orders.push_back(cards[r].order);
    tenants.push_back(cards[r].tenant);
    if (cards[r].code == rondoSuccess) continue;
    *why = format("rank %zu has no device: %s", r, cards[r].why.data());
    if (cards[r].code == rondoInvalidArgument) throw Error(rondoInvalidArgument, *why);
    return std::nullopt;
  }
  warnOfTurns(tenants, boot.rank());
  opened.serial = agreedOrder(orders);
  opened.sharers = sharersOf(tenants, static_cast<size_t>(boot.rank()));
  if (!agreedForFar(boot, why, [&] { opened.device->claim(opened.sharers); })) {
    return std::nullopt;
  }
  return opened;
}

bool allZeroCopy(Bootstrap& boot, const Communicator& carrier, const FarDevice& device,
                 ZeroCopyUse use) {
  if (use == ZeroCopyUse::Off) return false;
  const FarTransport* const network = carrier.fabric()->network();
  const bool always = use == ZeroCopyUse::On;
  const bool knows = network != nullptr && network->zeroCopies(device.memoryKind(), always);
  const char mine = !knows ? 'n' : !device.seesCardWrites() ? 'd' : 'y';
  std::string all(static_cast<size_t>(boot.size()), ' ');
  boot.allGather(&mine, 1, all.data());
  const size_t lacking = all.find_first_not_of('y');
  if (boot.rank() == 0) tellZeroCopy(always, all, lacking);
  return lacking == std::string::npos;
}

}  // namespace rondo
