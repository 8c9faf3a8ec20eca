// Watches between processes of several hosts, in one process over the loopback device: how they
// find each other, what an end is, and that nobody else gets in. Silence needs a cable:
// tests/hosts_death.sh.

#include "ucx/host_watch.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <functional>
#include <memory>

namespace rondo {
namespace {

using Events = std::vector<HostWatch::Event>;

std::unique_ptr<HostWatch> watchOn(uint64_t token) {
  auto made = std::make_unique<HostWatch>(token);
  EXPECT_NE(made->open("lo")[0].port, 0);
  return made;
}

/// For what shall not happen.
constexpr int64_t kShort = 400;

/// Lets all of `watches` look until `done`, for so long at most; what they saw goes to `seen`.
bool until(const std::vector<HostWatch*>& watches, const std::function<bool()>& done,
           Events* seen = nullptr, int64_t limitMs = 5000) {
  const auto start = Clock::now();
  while (millisSince(start) < limitMs) {
    for (HostWatch* each : watches) {
      for (const HostWatch::Event& event : each->look({})) {
        if (seen != nullptr) seen->push_back(event);
      }
    }
    if (done()) return true;
    usleep(1000);
  }
  return false;
}

void pair(HostWatch& a, uint64_t tokenA, HostWatch& b, uint64_t tokenB) {
  a.watch(tokenB, b.open(""));
  b.watch(tokenA, a.open(""));
  EXPECT_TRUE(until({&a, &b}, [&] { return a.watches(tokenB) && b.watches(tokenA); }));
}

TEST(HostWatch, AnEndIsToldOnceAndAfterAWhile) {
  for (const uint64_t other : {1u, 9u}) {  // whoever connects
    const auto a = watchOn(5);
    auto b = watchOn(other);
    pair(*a, 5, *b, other);
    Events seen;
    const auto any = [&] { return !seen.empty(); };
    EXPECT_FALSE(until({a.get(), b.get()}, any, &seen, kShort));
    b.reset();
    const auto end = Clock::now();
    ASSERT_TRUE(until({a.get()}, any, &seen));
    EXPECT_GE(millisSince(end), HostWatch::kGrace.count() - 1);
    EXPECT_EQ(seen[0].token, other);
    EXPECT_EQ(seen[0].what, HostWatch::What::Ended);
    const auto never = [] { return false; };
    until({a.get()}, never, &seen, kShort);
    EXPECT_EQ(seen.size(), 1u);
  }
}

TEST(HostWatch, ManyWatchEachOther) {
  std::vector<std::unique_ptr<HostWatch>> all;
  std::vector<HostWatch*> each;
  for (uint64_t k = 0; k < 12; ++k) {
    all.push_back(watchOn(k + 1));
    each.push_back(all.back().get());
  }
  // Late ones, too: a connection may come before its end is meant to be watched.
  for (uint64_t k = 0; k < 12; ++k) {
    for (uint64_t other = 0; other < 12; ++other) all[k]->watch(other + 1, all[other]->open(""));
    until(each, [] { return true; });
  }
  EXPECT_TRUE(until(each, [&] {
    for (uint64_t k = 0; k < 12; ++k) {
      for (uint64_t other = 0; other < 12; ++other) {
        if (k != other && !all[k]->watches(other + 1)) return false;
      }
    }
    return true;
  }));
  EXPECT_FALSE(all[3]->watches(4)) << "itself";
}

/// Says something to a watch, and whether that hangs up on it.
bool isTurnedAway(HostWatch& watch, const void* bytes, size_t count) {
  const UniqueFd fd = beginConnect(watch.open("")[0], {}, nullptr);
  pollfd entry{fd.get(), POLLOUT, 0};
  poll(&entry, 1, 1000);
  EXPECT_EQ(send(fd.get(), bytes, count, MSG_NOSIGNAL), static_cast<ssize_t>(count));
  char answer[64];
  return until({&watch}, [&] {
    const ssize_t got = recv(fd.get(), answer, sizeof answer, MSG_DONTWAIT);
    EXPECT_LE(got, 0) << "it was answered";
    return got == 0 || (got < 0 && errno == ECONNRESET);
  });
}

TEST(HostWatch, StrangersAreTurnedAway) {
  const auto a = watchOn(5);
  const std::string http = "GET / HTTP/1.0\r\nHost: somewhere\r\n\r\n";
  EXPECT_TRUE(isTurnedAway(*a, http.data(), http.size()));
  const uint64_t wrongToken[3] = {0x3143544157444e52, 7, 6};
  EXPECT_TRUE(isTurnedAway(*a, wrongToken, sizeof wrongToken));
  const uint64_t wrongMagic[3] = {1, 7, 5};
  EXPECT_TRUE(isTurnedAway(*a, wrongMagic, sizeof wrongMagic));
  EXPECT_FALSE(a->watches(7));
  const auto b = watchOn(7);
  pair(*a, 5, *b, 7);
}

TEST(HostWatch, AnotherProcessAtTheSameAddressIsNobodysEnd) {
  const auto a = watchOn(5), stranger = watchOn(8);
  a->watch(9, stranger->open(""));  // 9 was there, says somebody
  Events seen;
  const auto any = [&] { return !seen.empty(); };
  EXPECT_FALSE(until({a.get(), stranger.get()}, any, &seen, kShort));
  EXPECT_FALSE(a->watches(9));
}

TEST(HostWatch, WhereNobodyListensNobodyIsWatched) {
  const auto a = watchOn(5);
  Endpoints nowhere{};
  a->watch(9, nowhere);
  nowhere[0] = a->open("")[0];
  nowhere[0].port = 1;
  a->watch(10, nowhere);
  Events seen;
  const auto any = [&] { return !seen.empty(); };
  EXPECT_FALSE(until({a.get()}, any, &seen, kShort));
  EXPECT_FALSE(a->watches(9) || a->watches(10));
}

/// As for the next communicator, after a firewall or a cable was put right.
TEST(HostWatch, WhatCouldNotBeReachedIsTriedAgain) {
  const auto a = watchOn(5), b = watchOn(9);
  Endpoints nowhere{};
  nowhere[0] = b->open("")[0];
  nowhere[0].port = 1;
  a->watch(9, nowhere);
  EXPECT_FALSE(until(
      {a.get(), b.get()}, [&] { return a->watches(9); }, nullptr, 100));
  EXPECT_TRUE(until({a.get(), b.get()}, [&] {
    a->watch(9, b->open(""));
    b->watch(5, a->open(""));
    return a->watches(9) && b->watches(5);
  }));
}

}  // namespace
}  // namespace rondo
