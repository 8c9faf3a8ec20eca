#include "api/consensus.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "api/rondo.h"
#include "base/error.h"
#include "base/hash.h"

namespace rondo {
namespace {

constexpr uint32_t kMagic = 0x52494e46;  // "RINF"
constexpr size_t kMostNamed = 4;         // different values in one sentence

// Facts of the compilation that change what ranks expect of each other; no dates, so that building
// the same tree twice gives the same id.
constexpr uint64_t buildId() {
  uint64_t hash = hashBytes(__VERSION__);
#ifdef RONDO_BUILD_ID
  hash = hashBytes(RONDO_BUILD_ID, hash);
#endif
#ifdef RONDO_HAVE_CUDA
  hash = hashBytes("cuda", hash);
#endif
#ifndef NDEBUG
  hash = hashBytes("debug", hash);
#endif
  hash ^= sizeof(void*) + (uint64_t{sizeof(RankInfo)} << 8) + (uint64_t{RONDO_VERSION_CODE} << 24);
  return mixBits(hash);
}

std::vector<const OptionRow*> agreedRows() {
  std::vector<const OptionRow*> rows;
  for (const OptionRow& row : optionTable()) {
    if (row.mustAgree) rows.push_back(&row);
  }
  if (rows.size() > RankInfo::kMostOptions) {
    throw Error(rondoInternalError, "more must-agree options than RankInfo has room for");
  }
  return rows;
}

template <class Info>
using Key = std::function<std::string(const Info&)>;

// The ranks by value: rank 0's value last, because the others are what the reader looks for.
template <class Info>
std::string describeDifference(const std::vector<Info>& all, const Key<Info>& same,
                               const Key<Info>& text) {
  std::vector<std::pair<std::string, std::vector<int>>> values;
  for (size_t rank = 0; rank < all.size(); ++rank) {
    const std::string key = same(all[rank]);
    auto found = std::find_if(values.begin(), values.end(),
                              [&](const auto& value) { return value.first == key; });
    if (found == values.end()) found = values.insert(found, {key, {}});
    found->second.push_back(static_cast<int>(rank));
  }
  if (values.size() < 2) return "";
  std::string sentence;
  for (size_t i = 1; i < values.size() && i < kMostNamed; ++i) {
    const std::vector<int>& ranks = values[i].second;
    sentence += rankList(ranks) + (ranks.size() > 1 ? " have " : " has ") +
                text(all[static_cast<size_t>(ranks[0])]) + ", ";
  }
  if (values.size() > kMostNamed) {
    sentence += format("%zu more values on other ranks, ", values.size() - kMostNamed);
  }
  const std::vector<int>& first = values[0].second;
  return sentence + rankList(first) + (first.size() > 1 ? " have " : " has ") + text(all[0]);
}

template <class Info>
void requireSame(const std::vector<Info>& all, const char* what,
                 const std::type_identity_t<Key<Info>>& same,
                 const std::type_identity_t<Key<Info>>& text) {
  const std::string difference = describeDifference(all, same, text);
  if (difference.empty()) return;
  throw Error(rondoInvalidUsage, std::string("ranks differ in ") + what + ": " + difference);
}

std::string versionText(int code) {
  return format("%d.%d.%d", code / 10000, code / 100 % 100, code % 100);
}

}  // namespace

RankInfo describeRank(const Options& options, const HostId& host, int device) {
  RankInfo info{};
  info.magic = kMagic;
  info.version = RONDO_VERSION_CODE;
  info.buildId = buildId();
  info.hostHash = host.hash;
  host.name.copy(info.hostName, sizeof info.hostName - 1);
  info.device = device;
  info.pid = getpid();
  info.allowedCpus = allowedCpus();
  for (const OptionRow* row : agreedRows()) {
    if (isFromConfig(options, *row)) info.fromConfig |= 1u << info.optionCount;
    RankInfo::OptionValue& value = info.options[info.optionCount++];
    const std::string text = optionText(options, *row);
    value.hash = hashBytes(text);
    text.copy(value.text, sizeof value.text - 1);
  }
  return info;
}

void checkConsensus(const std::vector<RankInfo>& all) {
  for (size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank].magic != kMagic) {
      throw Error(rondoInternalError, format("rank %zu sent something that is no RankInfo", rank));
    }
  }
  const auto version = [](const RankInfo& info) { return "version " + versionText(info.version); };
  requireSame(all, "the library's version", version, version);
  const auto build = [](const RankInfo& info) {
    return format("build %016llx", static_cast<unsigned long long>(info.buildId));
  };
  requireSame(all, "the library's build", build, build);
  const std::vector<const OptionRow*> rows = agreedRows();
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto same = [i](const RankInfo& info) {
      const RankInfo::OptionValue& value = info.options[i];
      return format("%016llx", static_cast<unsigned long long>(value.hash)) + value.text;
    };
    const auto isField = [i](const RankInfo& info) { return (info.fromConfig >> i & 1) != 0; };
    const auto text = [i, &rows, &isField](const RankInfo& info) {
      // The beginnings of two long texts may be equal: the hash shows that the texts are not.
      const RankInfo::OptionValue& value = info.options[i];
      const std::string shown = value.text;
      const bool cut = shown.size() == sizeof value.text - 1;
      const std::string more =
          cut ? format("... (hash %016llx)", static_cast<unsigned long long>(value.hash)) : "";
      return format("%s=\"%s\"%s", isField(info) ? rows[i]->field : rows[i]->name, shown.c_str(),
                    more.c_str());
    };
    std::string what = rows[i]->name;
    if (std::any_of(all.begin(), all.end(), isField)) {
      what = format("%s (or %s)", rows[i]->field, rows[i]->name);
    }
    requireSame(all, what.c_str(), same, text);
  }
}

HostGrouping groupByHost(const std::vector<RankInfo>& all, int rank) {
  HostGrouping grouping{0, {}, {}, 0};
  std::unordered_map<uint64_t, int> numbers;
  for (const RankInfo& info : all) {
    const auto added = numbers.try_emplace(info.hostHash, grouping.hosts);
    if (added.second) ++grouping.hosts;
    grouping.hostOf.push_back(added.first->second);
  }
  const int mine = grouping.hostOf.at(static_cast<size_t>(rank));
  for (int other = 0; other < static_cast<int>(all.size()); ++other) {
    if (grouping.hostOf[static_cast<size_t>(other)] != mine) continue;
    if (other < rank) ++grouping.localRank;
    grouping.localRanks.push_back(other);
  }
  return grouping;
}

NetworkChoice NetworkChoice::ofEnvironment() {
  NetworkChoice choice{};
  const auto read = [](const char* name, char* out, size_t room) {
    if (const char* value = std::getenv(name)) std::string(value).copy(out, room - 1);
  };
  read("UCX_TLS", choice.transports, sizeof choice.transports);
  read("UCX_NET_DEVICES", choice.devices, sizeof choice.devices);
  return choice;
}

void checkNetworks(const std::vector<NetworkChoice>& all) {
  const auto shown = [](const char* name, const char* value) {
    return *value == 0 ? std::string("no ") + name : format("%s=\"%s\"", name, value);
  };
  requireSame(
      all, "the transports that UCX may use",
      [](const NetworkChoice& choice) { return std::string(choice.transports); },
      [&](const NetworkChoice& choice) { return shown("UCX_TLS", choice.transports); });
  requireSame(
      all, "the network devices that UCX may use",
      [](const NetworkChoice& choice) {
        // Cards of one kind are counted through on each host.
        std::string kind = choice.devices;
        std::erase_if(kind, [](char c) { return c >= '0' && c <= '9'; });
        return kind;
      },
      [&](const NetworkChoice& choice) { return shown("UCX_NET_DEVICES", choice.devices); });
}

std::string rankList(const std::vector<int>& ascending) {
  std::string text = ascending.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ascending.size();) {
    size_t last = i;
    while (last + 1 < ascending.size() && ascending[last + 1] == ascending[last] + 1) ++last;
    if (i > 0) text += ", ";
    text += std::to_string(ascending[i]);
    if (last > i) text += "-" + std::to_string(ascending[last]);
    i = last + 1;
  }
  return text;
}

}  // namespace rondo
