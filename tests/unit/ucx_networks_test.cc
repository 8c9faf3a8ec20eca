// What UCX has opened, read from what it prints, and what is said where that leads nowhere.

#include "ucx/ucx_networks.h"

#include <gtest/gtest.h>

#include <string>

#include "ucx/ucx_worker.h"

namespace rondo {
namespace {

/// As UCX 1.13 prints it.
constexpr const char* kPrinted =
    "#\n# UCP context\n#\n#     component 0  :  self\n#            md 0  :  component 0  self \n"
    "#      resource 0  :  md 0  dev 0  flags -- self/memory0\n"
    "#      resource 1  :  md 1  dev 1  flags -- tcp/eth0\n"
    "#      resource 2  :  md 2  dev 2  flags -a rc_verbs/mlx5_0:1\n"
    "#      resource 3  :  md 3  dev 3  flags -- cuda_ipc/cuda\n"
    "#      resource 4  :  md 4  dev 4  flags -- posix/memory\n#\n";

TEST(UcxNetworks, OnlyWhatLeadsToOtherHosts) {
  const UcxNetworks networks = UcxNetworks::fromText(kPrinted);
  EXPECT_EQ(networks.text(), "tcp/eth0, rc_verbs/mlx5_0:1");
  EXPECT_EQ(networks.text(12), "tcp/eth0,...");
  EXPECT_TRUE(networks.mayHave("tcp"));
  EXPECT_FALSE(networks.mayHave("ud_verbs"));
  EXPECT_FALSE(networks.only("tcp"));  // a card packs nothing quicker
  EXPECT_FALSE(networks.none());
}

TEST(UcxNetworks, MemoryAloneIsNone) {
  EXPECT_TRUE(UcxNetworks::fromText("# resource 0 : md 0 dev 0 flags -- self/memory0\n").none());
}

/// A version that prints something else is trusted.
TEST(UcxNetworks, WhatIsNotUnderstoodIsNotHeldAgainstIt) {
  const UcxNetworks networks = UcxNetworks::fromText("# transports: 3\n# resource list: many\n");
  EXPECT_FALSE(networks.known());
  EXPECT_FALSE(networks.none());
  EXPECT_TRUE(networks.mayHave("tcp"));
  EXPECT_FALSE(networks.only("tcp"));
  EXPECT_EQ(networks.text(), "unknown networks");
}

/// This machine's own UCX is understood.
TEST(UcxNetworks, ThisHostHasSome) {
  const UcxNetworks host = UcxNetworks::ofHost();
  EXPECT_TRUE(host.known());
  EXPECT_TRUE(host.mayHave("tcp")) << host.text();
  const UcxWorker worker(UcxSettings{{"TLS", "tcp,self"}});
  EXPECT_NE(worker.networks().text().find("tcp/"), std::string::npos);
  EXPECT_TRUE(worker.packsShort());
}

std::string refusalOf(const UcxSettings& settings) {
  try {
    const UcxWorker worker(settings);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), rondoSystemError);
    return error.sentence();
  }
  return "none";
}

TEST(UcxNetworks, SettingsThatLeaveNoneAreNamed) {
  for (const char* tls : {"nosuch", "self", "sm,self", "nosuch,self"}) {
    const std::string said = refusalOf({{"TLS", tls}, {"NET_DEVICES", "all"}});
    for (const std::string& part :
         {std::string(" has no way to other hosts with UCX_TLS=\"") + tls + "\"",
          std::string("UCX_NET_DEVICES=\"all\""),
          std::string("allowed: transports and devices that leave some of tcp/")}) {
      EXPECT_NE(said.find(part), std::string::npos) << said;
    }
  }
  const std::string said = refusalOf({{"TLS", "tcp,self"}, {"NET_DEVICES", "nosuch0"}});
  EXPECT_NE(said.find("UCX_TLS=\"tcp,self\" and UCX_NET_DEVICES=\"nosuch0\""), std::string::npos)
      << said;
}

}  // namespace
}  // namespace rondo
