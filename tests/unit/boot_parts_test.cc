// The parts of joining by id that need no other rank: the keyed hash, the tree, the choice of a
// network, the id's bytes.

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cmath>
#include <cstring>
#include <set>

#include "p2p/boot_id.h"
#include "p2p/boot_link.h"
#include "p2p/boot_mac.h"
#include "p2p/boot_tree.h"
#include "p2p/net_interfaces.h"
#include "tests/unit/boot_ranks.h"

namespace rondo::test {
namespace {

std::string hex(const unsigned char* bytes, size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i) text += format("%02x", bytes[i]);
  return text;
}

std::string blake2s(const std::string& text, size_t outBytes = 32, const std::string& key = "") {
  unsigned char out[32];
  Blake2s(outBytes, key.data(), key.size()).add(text.data(), text.size()).finish(out);
  return hex(out, outBytes);
}

// RFC 7693, appendix B.
TEST(Blake2s, TheStandardsExample) {
  EXPECT_EQ(blake2s("abc"), "508c5e8c327c14e2e1a72ba34eeb452f37458b209ed63a294d999b4c86675982");
}

/// RFC 7693, appendix E: bytes that both sides of the self-test can make.
std::string sequence(size_t count, uint32_t seed) {
  std::string out;
  uint32_t a = 0xDEAD4BAD * seed, b = 1;
  for (size_t i = 0; i < count; ++i) {
    const uint32_t t = a + b;
    a = b;
    b = t;
    out += static_cast<char>(t >> 24);
  }
  return out;
}

// RFC 7693, appendix E: plain and keyed hashes of several lengths, all in one.
TEST(Blake2s, TheStandardsSelfTest) {
  Blake2s sum(32);
  for (const uint32_t outBytes : {16u, 20u, 28u, 32u}) {
    for (const uint32_t inBytes : {0u, 3u, 64u, 65u, 255u, 1024u}) {
      const std::string in = sequence(inBytes, inBytes), key = sequence(outBytes, outBytes);
      for (const std::string& with : {std::string(), key}) {
        unsigned char out[32];
        Blake2s(outBytes, with.data(), with.size()).add(in.data(), in.size()).finish(out);
        sum.add(out, outBytes);
      }
    }
  }
  unsigned char out[32];
  sum.finish(out);
  EXPECT_EQ(hex(out, 32), "6a411f08ce25adcdfb02aba641451cec53c598b24f4fc787fbdc88797f4c1dfe");
}

TEST(Blake2s, AProofDependsOnEverythingAndTellsNothing) {
  const Secret secret = makeSecret(), other = makeSecret();
  const Secret nonce = makeSecret(), later = makeSecret();
  const Mac mac = proof(secret, "a", nonce, "text", 4);
  EXPECT_TRUE(sameMac(mac, proof(secret, "a", nonce, "text", 4)));
  EXPECT_FALSE(sameMac(mac, proof(other, "a", nonce, "text", 4)));
  EXPECT_FALSE(sameMac(mac, proof(secret, "b", nonce, "text", 4)));
  EXPECT_FALSE(sameMac(mac, proof(secret, "a", later, "text", 4)));  // no replay
  EXPECT_FALSE(sameMac(mac, proof(secret, "a", nonce, "texu", 4)));
  EXPECT_FALSE(sameMac(mac, proof(secret, "a", nonce, "text", 3)));
  EXPECT_NE(derivedSecret(secret, "a"), secret);
  EXPECT_NE(derivedSecret(secret, "a"), derivedSecret(secret, "b"));
}

TEST(BootTree, EveryRankHasOnePlaceAndTheTreeIsFlat) {
  for (int n = 1; n <= 300; ++n) {
    std::vector<int> seen(static_cast<size_t>(n));
    ++seen[0];
    for (int rank = 0; rank < n; ++rank) {
      const TreePlace place = treePlace(rank, n);
      EXPECT_EQ(place.own.first, rank);
      ASSERT_LE(place.children.size(), static_cast<size_t>(kTreeChildren));
      EXPECT_EQ(place.parent < 0, rank == 0);
      EXPECT_LE(place.depth, std::ceil(std::log2(n))) << rank << " of " << n;
      int next = rank + 1;  // its branch is what its children's branches make, side by side
      for (const TreeBranch& child : place.children) {
        EXPECT_EQ(child.first, next);
        EXPECT_GT(child.end, child.first);
        next = child.end;
        ++seen[static_cast<size_t>(child.first)];
        const TreePlace below = treePlace(child.first, n);
        EXPECT_EQ(below.parent, rank);
        EXPECT_EQ(below.own.end, child.end);
      }
      EXPECT_EQ(next, place.own.end);
    }
    for (int count : seen) EXPECT_EQ(count, 1);
  }
  EXPECT_LE(treePlace(65535, 65536).depth, 9);
}

TEST(BootTree, LongListsOfRanksAreCut) {
  EXPECT_EQ(ranksText({3}), "rank 3");
  EXPECT_EQ(ranksText({3, 5}), "ranks 3, 5");
  EXPECT_EQ(ranksText({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}),
            "ranks 1, 2, 3, 4, 5, 6, 7, 8 and 2 others");
}

NetAddress ip(unsigned char last) {
  return {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 10, 0, 0, last};
}

NetInterface net(const char* name, NetInterface::Kind kind, int metric = -1) {
  return {name, kind, metric, {ip(1)}};
}

std::string chosen(const std::vector<NetInterface>& all, const std::string& wish = "") {
  return chooseInterface(all, wish).name;
}

TEST(NetInterfaces, ARealOneBeforeAllOthers) {
  const NetInterface lo = net("lo", NetInterface::Loopback);
  const NetInterface docker = net("docker0", NetInterface::Virtual);
  const NetInterface veth = net("veth1", NetInterface::Virtual, 0);
  const NetInterface ib = net("ib0", NetInterface::Real);
  const NetInterface wlan = net("wlan0", NetInterface::Real, 600);
  const NetInterface eth = net("eth0", NetInterface::Real, 100);
  EXPECT_EQ(chosen({lo, docker, veth, ib, wlan, eth}), "eth0");
  EXPECT_EQ(chosen({lo, docker, veth, ib, wlan}), "wlan0");  // has the default route
  EXPECT_EQ(chosen({lo, docker, veth, ib}), "ib0");          // real, even without one
  EXPECT_EQ(chosen({lo, docker, veth}), "veth1");            // only such exist
  EXPECT_EQ(chosen({lo, docker}), "docker0");
  EXPECT_EQ(chosen({lo}), "lo");
  EXPECT_EQ(outcomeOf([] { chosen({}); }).code, rondoSystemError);
}

TEST(NetInterfaces, TheWishOverrides) {
  const std::vector<NetInterface> all = {
      net("lo", NetInterface::Loopback), net("docker0", NetInterface::Virtual),
      net("eth0", NetInterface::Real, 100), net("ib0", NetInterface::Real)};
  EXPECT_EQ(chosen(all, "ib0"), "ib0");
  EXPECT_EQ(chosen(all, "docker0"), "docker0");
  EXPECT_EQ(chosen(all, "lo,docker0"), "docker0");
  EXPECT_EQ(chosen(all, "^eth0"), "ib0");
  EXPECT_EQ(chosen(all, "^eth0,^ib0,^virbr0"), "docker0");
  for (const char* bad :
       {"eth1", "eth0,eth1", ",", "^", "eth0,,ib0", "lo,^lo", "^lo,^docker0,^eth0,^ib0", "eth"}) {
    const Outcome outcome = outcomeOf([&] { chosen(all, bad); });
    EXPECT_EQ(outcome.code, rondoInvalidArgument) << bad;
    EXPECT_NE(outcome.sentence.find(std::string("RONDO_NET_IF is \"") + bad + "\""),
              std::string::npos)
        << outcome.sentence;
    EXPECT_NE(outcome.sentence.find("(lo, docker0, eth0, ib0)"), std::string::npos)
        << outcome.sentence;
  }
}

TEST(NetInterfaces, KindsByDriverAndName) {
  const auto kind = [](const char* name, const char* driver, bool routed = false) {
    return interfaceKind({name, driver, false, routed});
  };
  EXPECT_EQ(kind("eth0", "mlx5_core"), NetInterface::Real);
  EXPECT_EQ(kind("ib0", "ib_ipoib"), NetInterface::Real);
  EXPECT_EQ(kind("eth0", "veth"), NetInterface::Virtual);  // inside a container
  EXPECT_EQ(kind("docker0", "bridge"), NetInterface::Virtual);
  EXPECT_EQ(kind("br0", "bridge", true), NetInterface::Real);
  EXPECT_EQ(kind("docker0", ""), NetInterface::Virtual);
  EXPECT_EQ(kind("virbr0", ""), NetInterface::Virtual);
  EXPECT_EQ(kind("vethab12", ""), NetInterface::Virtual);
  EXPECT_EQ(kind("enp3s0", ""), NetInterface::Real);
  EXPECT_EQ(interfaceKind({"lo", "", true, true}), NetInterface::Loopback);
}

TEST(NetInterfaces, ThisHostsHaveAddressesThatCanBeListenedAt) {
  const std::vector<NetInterface> all = listInterfaces();
  ASSERT_FALSE(all.empty());
  for (const NetInterface& each : all) {
    ASSERT_FALSE(each.addresses.empty()) << each.name;
    for (const NetAddress& address : each.addresses) {
      EXPECT_NE(addressText(address).rfind("fe80", 0), 0u) << each.name;
    }
    EXPECT_EQ(each.kind == NetInterface::Loopback, each.name == "lo") << each.name;
  }
  const Listeners listeners = listenAt(chooseInterface(all, "").addresses);
  EXPECT_GE(listeners.sockets.size(), 1u);
  for (size_t i = 0; i < listeners.endpoints.size(); ++i) {
    EXPECT_EQ(listeners.endpoints[i].port != 0, i < listeners.sockets.size());
  }
}

TEST(TcpSocket, SaysWhyNobodyAnswers) {
  Endpoints endpoints;
  {
    const Listeners listeners = listenAt({{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 127, 0, 0, 1}});
    endpoints = listeners.endpoints;
    ConnectFailure failure;
    EXPECT_GE(connectAny(endpoints, {}, Deadline(1000), &failure).get(), 0);
  }
  ConnectFailure refused;
  EXPECT_LT(connectAny(endpoints, {}, Deadline(1000), &refused).get(), 0);
  EXPECT_TRUE(refused.refused);
  EXPECT_EQ(refused.sentence, endpointText(endpoints) + ": Connection refused");
  ConnectFailure elsewhere;  // no connection goes to a multicast address
  endpoints[0].address[12] = 224;
  EXPECT_LT(connectAny(endpoints, {}, Deadline(50), &elsewhere).get(), 0);
  EXPECT_FALSE(elsewhere.refused);
  EXPECT_NE(elsewhere.sentence.find("224.0.0.1 port"), std::string::npos) << elsewhere.sentence;
}

TEST(BootId, IsReadAsItWasPacked) {
  const Secret secret = makeSecret();
  Endpoints endpoints{};
  endpoints[0] = {ip(7), 4000};
  endpoints[1].address = {0xfd};
  endpoints[1].address[15] = 2;
  endpoints[1].port = 4001;
  const IdBytes bytes = readId(packId(secret, endpoints, std::string(100, 'h')));
  EXPECT_EQ(bytes.secret, secret);
  EXPECT_EQ(endpointText(bytes.endpoints), "10.0.0.7 port 4000 or fd00::2 port 4001");
  EXPECT_EQ(std::strlen(bytes.hostName), sizeof bytes.hostName - 1);
}

// A frame that its reader did not take in time must not be followed by another: the reader would
// take that for the rest.
TEST(BootLink, AfterHalfAFrameNothingFollows) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
  BootLink link(1, UniqueFd(ends[0]));
  const UniqueFd other(ends[1]);
  const std::vector<char> body(8u << 20, 'x');
  EXPECT_FALSE(link.send({wire::Kind::Part, static_cast<uint32_t>(body.size())}, body.data(),
                         body.size(), Deadline(10)));
  std::vector<char> taken(body.size());
  const auto takeAll = [&] {
    size_t bytes = 0;
    for (ssize_t got = 1; got > 0; bytes += got > 0 ? static_cast<size_t>(got) : 0) {
      got = recv(other.get(), taken.data(), taken.size(), 0);
    }
    return bytes;
  };
  EXPECT_GT(takeAll(), sizeof(wire::Header));
  EXPECT_FALSE(link.send(wire::message(wire::Kind::Ask), Deadline(1000)));
  EXPECT_EQ(takeAll(), 0u);
}

}  // namespace
}  // namespace rondo::test
