#include "api/comm_device.h"

#include <algorithm>
#include <optional>

#include "api/comm_bootstrap.h"
#include "base/error.h"
#include "base/log.h"
#include "coll/levels_runner.h"

namespace rondo {
namespace {

DeviceConfig deviceConfigOf(const DeviceWishes& wishes, const Communicator::Parts& parts) {
  const Config& config = wishes.config;
  DeviceConfig wanted{config.device, parts.place.localRank, config.options.spinBoundMs, parts.tune,
                      parts.explain};
  wanted.smBudget = static_cast<int>(config.options.smBudget);
  wanted.smMost = static_cast<int>(config.options.smBudgetMost);
  wanted.noSms = config.options.noSms;
  wanted.hostMemory = config.options.noP2p;
  wanted.dependentLaunch = config.options.dependentLaunch;
  wanted.noBackground = config.options.noRegister;
  wanted.registerBytes = config.options.registerBytes;
  wanted.zeroCopy = config.options.zeroCopy;
  wanted.costs = wishes.costs;
  wanted.times = wishes.times;
  return wanted;
}

/// "ranks 1, 3", the last one after some: what a rail numbers from 0, sentences must tell.
std::string ranksText(const std::vector<int>& ranks) {
  constexpr size_t kShown = 8;
  std::string text;
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (i >= kShown && i + 1 < ranks.size()) continue;
    text += format("%s%s%d", i == 0 ? "ranks " : ", ", i > kShown ? "... " : "", ranks[i]);
  }
  return text;
}

/// A communicator over several hosts: device memory is moved by host communicators that the caller
/// does not see, and inside the hosts by kernels, where hosts are alike and these can be had.
class AcrossHosts {
 public:
  AcrossHosts(const DeviceWishes& wishes, const DeviceConfig& wanted)
      : wishes_(wishes),
        boot_(wishes.boot),
        wanted_(wanted),
        layout_(LevelsLayout::of(wishes.hosts.hostOf, wishes.boot.rank())),
        carrier_(wishes.config) {
    wanted_.inLevels = layout_.layered();
    carrier_.device = RONDO_DEVICE_NONE;
    carrier_.carries = true;
    carrier_.name += " (device memory)";
    carrier_.farDevice = nullptr;
    carrier_.nearDevice = nullptr;
  }

  std::unique_ptr<DeviceRunner> make(int lanes, std::string* why) {
    FarMakers makers;
    makers.open = [this] { return open(); };
    makers.makeCarrier = [this](int lane) { return wishes_.makeInner(boot_, carrier_, lane); };
    if (layout_.layered()) {
      makers.makeRails = [this](Communicator& carrier, int count, const OpenedFar& opened) {
        return makeRails(carrier, count, opened);
      };
    }
    std::unique_ptr<FarRunner> far = createFarRunner(boot_, wanted_, makers, lanes, why);
    if (far == nullptr || near_ == nullptr) return far;
    return createLevelsRunner(std::move(near_), std::move(far), layout_, times_, wanted_);
  }

 private:
  std::unique_ptr<FarDevice> open() {
    const Config& config = wishes_.config;
    if (config.device == RONDO_DEVICE_NONE) {
      throw Error(rondoUnsupported, "it was made without a device");
    }
    return config.farDevice ? config.farDevice(boot_.rank()) : openFarDevice(wanted_);
  }

  /// This host's part, and if every host has one, a communicator of the rail for each lane.
  std::vector<std::unique_ptr<Communicator>> makeRails(Communicator& carrier, int lanes,
                                                       const OpenedFar& opened) {
    std::string why;
    near_ = makeNear(carrier, opened, &why);
    const auto lacking = boot_.verdict(near_ ? rondoSuccess : rondoUnsupported, why);
    if (lacking) {
      near_.reset();
      logLine(LogPart::Device, LogLevel::Info, boot_.rank(), [&] {
        return format("communicator \"%s\": no kernels inside hosts: %s",
                      wishes_.config.name.c_str(), lacking->what());
      });
      return {};
    }
    Config config = carrier_;
    config.name = format("%s (device memory, rail of its %s)", wishes_.config.name.c_str(),
                         ranksText(layout_.rail).c_str());
    config.options.groups.clear();  // a list would be of all ranks
    config.averagesOver = boot_.size();
    std::vector<std::unique_ptr<Communicator>> rails;
    together(boot_, [&] {
      CommBootstrap rail(carrier, layout_.rail);
      times_ = agreeOn(rail, NearTimes::of(*near_));
      for (int lane = 0; lane < lanes; ++lane) {
        rails.push_back(wishes_.makeInner(rail, config, lane));
      }
    });
    return rails;
  }

  /// The same on all ranks of a host; nullptr, and why, where there can be none.
  std::unique_ptr<DeviceRunner> makeNear(Communicator& carrier, const OpenedFar& opened,
                                         std::string* why) const {
    const Config& config = wishes_.config;
    if (config.nearDevice) return config.nearDevice(boot_.rank());
    if (config.farDevice) {
      *why = "devices are pretended";
      return nullptr;
    }
    try {
      CommBootstrap host(carrier, layout_.near);
      std::vector<int> peers;
      for (int p = 0; p < layout_.places; ++p) {
        if (p != layout_.place) peers.push_back(p);
      }
      std::optional<FdExchange> exchange;
      together(host, [&] {
        exchange.emplace(host, peers, static_cast<int>(config.options.bootTimeoutMs));
      });
      return createDeviceRunner(host, &*exchange, peers, nearConfig(opened), why);
    } catch (const Error& error) {
      *why = error.sentence();
      return nullptr;
    }
  }

  /// Of a budget the kernels that talk to the host have theirs already.
  DeviceConfig nearConfig(const OpenedFar& opened) const {
    DeviceConfig near = wanted_;
    for (int* budget : {&near.smBudget, &near.smMost}) {
      if (*budget > 0) *budget = std::max(1, *budget - kFarBlocks);
    }
    near.blocksHeld = 2 * opened.device->blocks();
    near.sharers = opened.sharers;
    near.shownRank = boot_.rank();
    near.shownSize = boot_.size();
    // What rank 0's host does stands for all.
    near.explain = near.explain && layout_.host == 0;
    return near;
  }

  /// The slowest host's. A rail has a rank of each host, and those of a host predict alike.
  static NearTimes agreeOn(Bootstrap& rail, const NearTimes& mine) {
    std::vector<NearTimes> all(static_cast<size_t>(rail.size()));
    rail.allGather(&mine, sizeof mine, all.data());
    NearTimes worst = all.front();
    for (const NearTimes& each : all) worst.worst(each);
    return worst;
  }

  const DeviceWishes& wishes_;
  Bootstrap& boot_;
  DeviceConfig wanted_;
  const LevelsLayout layout_;
  Config carrier_;
  std::unique_ptr<DeviceRunner> near_;
  NearTimes times_;
};

}  // namespace

void addDevice(const DeviceWishes& wishes, Communicator::Parts* parts) {
  const Config& config = wishes.config;
  const DeviceConfig wanted = deviceConfigOf(wishes, *parts);
  if (wishes.hosts.hosts > 1) {
    const int processors =
        static_cast<int>(parts->facts.cpus) / std::max(1, parts->facts.localRanks);
    const int lanes = config.farDevice ? config.farLanes : farLanes(processors);
    parts->device = AcrossHosts(wishes, wanted).make(lanes, &parts->whyNoDevice);
  } else if (config.nearDevice) {
    parts->device = config.nearDevice(wishes.boot.rank());
  } else {
    parts->device =
        createDeviceRunner(wishes.boot, wishes.exchange, wishes.peers, wanted, &parts->whyNoDevice);
  }
  together(wishes.boot, [&] {
    if (config.device >= 0 && parts->device == nullptr) {
      throw Error(rondoUnsupported,
                  format("config.device is %d, but the communicator can have no device: %s",
                         config.device, parts->whyNoDevice.c_str()));
    }
  });
}

}  // namespace rondo
