#include "ucx/ucx_networks.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <sstream>

namespace rondo {
namespace {

/// Memory of this host, or of its GPUs.
bool staysOnHost(const std::string& transport) {
  const auto begins = [&](const char* with) { return transport.rfind(with, 0) == 0; };
  return transport == "self" || transport == "sysv" || transport == "posix" || transport == "cma" ||
         transport == "knem" || transport == "xpmem" || begins("cuda_") || begins("gdr_") ||
         begins("rocm_") || begins("ze_");
}

std::string transportOf(const std::string& network) { return network.substr(0, network.find('/')); }

std::string valueOf(const UcxSettings& settings, const std::string& name) {
  const char* const environment = std::getenv(("UCX_" + name).c_str());
  std::string value = environment == nullptr ? "all" : environment;
  for (const auto& [which, instead] : settings) {
    if (which == name) value = instead;
  }
  return value;
}

}  // namespace

UcxNetworks UcxNetworks::fromText(const std::string& text) {
  UcxNetworks networks;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    // "#      resource 1  :  md 1  dev 1  flags -- tcp/eth0"
    if (line.find(" resource ") == std::string::npos) continue;
    const std::string last = line.substr(line.find_last_of(' ') + 1);
    if (last.find('/') == std::string::npos) continue;
    networks.known_ = true;
    if (!staysOnHost(transportOf(last))) networks.all_.push_back(last);
  }
  return networks;
}

UcxNetworks UcxNetworks::of(ucp_context_h context) {
  char* text = nullptr;
  size_t bytes = 0;
  FILE* const stream = open_memstream(&text, &bytes);
  if (stream == nullptr) return {};
  ucp_context_print_info(context, stream);
  std::fclose(stream);
  const std::unique_ptr<char, void (*)(void*)> owner(text, std::free);
  return fromText(std::string(text, bytes));
}

UcxNetworks UcxNetworks::ofHost() {
  ucp_config_t* config = nullptr;
  if (ucp_config_read(nullptr, nullptr, &config) != UCS_OK) return {};
  const std::unique_ptr<ucp_config_t, void (*)(ucp_config_t*)> owner(config, ucp_config_release);
  ucp_config_modify(config, "TLS", "all");
  ucp_config_modify(config, "NET_DEVICES", "all");
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES;
  params.features = UCP_FEATURE_AM;
  ucp_context_h context = nullptr;
  if (ucp_init(&params, config, &context) != UCS_OK) return {};
  UcxNetworks networks = of(context);
  ucp_cleanup(context);
  return networks;
}

bool UcxNetworks::mayHave(const std::string& name) const {
  return !known_ || std::any_of(all_.begin(), all_.end(), [&](const std::string& network) {
    return transportOf(network) == name;
  });
}

bool UcxNetworks::only(const std::string& name) const {
  return known_ && std::all_of(all_.begin(), all_.end(), [&](const std::string& network) {
           return transportOf(network) == name;
         });
}

bool UcxNetworks::haveRdma() const {
  return std::any_of(all_.begin(), all_.end(), [](const std::string& network) {
    return network.rfind("rc_", 0) == 0 || network.rfind("dc_", 0) == 0;
  });
}

std::string UcxNetworks::text(size_t most) const {
  if (!known_) return "unknown networks";
  std::string text;
  for (const std::string& network : all_) text += (text.empty() ? "" : ", ") + network;
  if (text.size() > most) {
    text.resize(most - 3);
    text += "...";
  }
  return text;
}

Error noNetwork(const UcxSettings& settings, const std::string& why) {
  const UcxNetworks host = UcxNetworks::ofHost();
  return Error(
      rondoSystemError,
      format(
          "UCX %s has no way to other hosts with UCX_TLS=\"%s\" and UCX_NET_DEVICES=\"%s\" (%s); ",
          ucp_get_version_string(), valueOf(settings, "TLS").c_str(),
          valueOf(settings, "NET_DEVICES").c_str(), why.c_str()) +
          (host.none() ? std::string("it knows no network on this host")
                       : "allowed: transports and devices that leave some of " + host.text()));
}

}  // namespace rondo
