#include "coll/device_forecast.h"

#include <algorithm>

#include "api/types.h"
#include "base/error.h"
#include "coll/device_request.h"
#include "coll/levels_choice.h"
#include "p2p/channel_view.h"

namespace rondo {
namespace {

constexpr const char* kTransfersElsewhere =
    "sends and receives of device memory without NVLink, or of so many ranks";

[[noreturn]] void refuse(const std::string& of) {
  throw Error(
      rondoUnsupported,
      format("nothing predicts %s; allowed: rondoGroupEnd, which runs the group", of.c_str()));
}

uint64_t inLevels(const DeviceRunner& runner, const DeviceCall& call) {
  LevelsChoice levels(*runner.levels());
  const LevelsForecast forecast =
      levels.forecast(call.collective, call.count, static_cast<uint32_t>(typeSize(call.type)));
  if (forecast.why != nullptr) {
    refuse(format("%s on device memory of several hosts (not in levels: %s)", call.name,
                  forecast.why));
  }
  return forecast.byLevels ? forecast.levels : forecast.host;
}

uint64_t alone(const DeviceRunner& runner, int ranks, const DeviceCall& call) {
  if (call.count == 0 || ranks == 1) return 0;
  const DeviceRequest request = requestOf(call, ranks);
  if (call.scaled != nullptr && request.reduces != Reduces::kScaled) {
    refuse(format("%s with an operator of rondoRedOpCreatePreMulSum that multiplies beforehand",
                  call.name));
  }
  if (runner.levels() != nullptr) return inLevels(runner, call);
  if (runner.deviceFacts() == nullptr) {
    refuse(format("%s on device memory of several hosts", call.name));
  }
  if (becomesTransfers(call.collective)) {
    const DeviceChoice exchange = chooseExchange(request, *runner.deviceFacts());
    if (exchange.algorithm == nullptr) refuse(kTransfersElsewhere);
    return exchange.picoseconds;
  }
  const DeviceChoice choice = runner.choose(request);
  if (choice.algorithm == nullptr) refuse(format("%s on device memory in place", call.name));
  return choice.straight != 0 && call.send != call.recv ? choice.straight : choice.picoseconds;
}

}  // namespace

std::optional<ExchangeWork> exchangeWork(const DeviceFacts& facts, int rank,
                                         std::span<const Transfer> transfers) {
  const int lanes = facts.lanesOfPair();
  if (!facts.lineStores || lanes == 0) return std::nullopt;
  ExchangeWork work(lanes, facts.closeLanes());
  if (!transfers.empty() && transfers.front().scattered) {
    work.cutTo(lanesOfScatter(lanes, facts.lanes, facts.ranks));
  }
  for (const Transfer& each : transfers) {
    if (each.peer != rank) work.add(each.peer, each.sends, each.bytes);
  }
  return work;
}

uint64_t forecastTransfers(const DeviceRunner& runner, int rank, int ranks,
                           std::span<const Transfer> transfers) {
  if (ranks == 1) return 0;
  const DeviceFacts* const facts = runner.deviceFacts();
  if (facts == nullptr) refuse("sends and receives of device memory of several hosts");
  const std::optional<ExchangeWork> work = exchangeWork(*facts, rank, transfers);
  if (!work) refuse(kTransfersElsewhere);
  return work->time(facts->costs, false);
}

uint64_t forecastCalls(const DeviceRunner& runner, int ranks, std::span<const DeviceCall> calls) {
  uint64_t time = 0;
  for (size_t i = 0; i < calls.size();) {
    const DeviceRunner::Joined joined = runner.wouldJoin(calls.subspan(i));
    time += joined.calls > 0 ? joined.picoseconds : alone(runner, ranks, calls[i]);
    i += std::max<size_t>(joined.calls, 1);
  }
  return time;
}

}  // namespace rondo
