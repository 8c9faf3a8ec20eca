// Joining by id among strangers: scanners, liars, garbage, ranks that stall or die halfway.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <random>
#include <utility>

#include "p2p/boot_gate.h"
#include "p2p/boot_id.h"
#include "p2p/interrupt.h"
#include "tests/unit/boot_ranks.h"

namespace rondo::test {
namespace {

rondoUniqueId newId() {
  rondoUniqueId id;
  makeUniqueId(kHost, &id);
  return id;
}

Listeners localListeners() {
  return listenAt({{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 127, 0, 0, 1}});
}

/// A blocking connection that gives up reading after ten seconds.
UniqueFd rawConnection(const Endpoints& endpoints) {
  ConnectFailure failure;
  UniqueFd fd = connectAny(endpoints, {}, Deadline(2000), &failure);
  EXPECT_GE(fd.get(), 0) << failure.sentence;
  const timeval limit{10, 0};
  setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  fcntl(fd.get(), F_SETFL, 0);
  return fd;
}

void say(const UniqueFd& fd, const std::vector<char>& bytes) {
  // Who listens may have hung up already.
  [[maybe_unused]] const ssize_t sent = send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

/// One frame, or an empty one at the connection's end.
std::vector<char> hear(const UniqueFd& fd, wire::Kind* kind) {
  wire::Header header{};
  *kind = wire::Kind{0};
  if (recv(fd.get(), &header, sizeof header, MSG_WAITALL) != sizeof header) return {};
  std::vector<char> body(header.bytes);
  EXPECT_LE(body.size(), wire::kMostFailure);
  if (!body.empty()) recv(fd.get(), body.data(), body.size(), MSG_WAITALL);
  *kind = header.kind;
  return body;
}

wire::Challenge hearChallenge(const UniqueFd& fd) {
  wire::Kind kind;
  const std::vector<char> body = hear(fd, &kind);
  wire::Challenge challenge{};
  EXPECT_EQ(kind, wire::Kind::Challenge);
  if (body.size() == sizeof challenge) std::memcpy(&challenge, body.data(), sizeof challenge);
  return challenge;
}

wire::Hello signedHello(const Secret& secret, const wire::Challenge& challenge, int rank,
                        int nranks) {
  wire::Hello hello{};
  hello.version = wire::kVersion;
  hello.purpose = wire::Purpose::Register;
  hello.rank = rank;
  hello.nranks = nranks;
  hello.limitMs = 2000;
  hello.user = geteuid();
  hello.nonce = makeSecret();
  wire::sign(hello, secret, challenge.nonce);
  return hello;
}

std::vector<char> helloMessage(const wire::Hello& hello) {
  return wire::message(wire::Kind::Hello, &hello, sizeof hello);
}

/// A rank that registers by hand, to misbehave afterwards.
UniqueFd registerByHand(const rondoUniqueId& id, int rank, int nranks) {
  const IdBytes bytes = readId(id);
  UniqueFd fd = rawConnection(bytes.endpoints);
  say(fd, helloMessage(signedHello(bytes.secret, hearChallenge(fd), rank, nranks)));
  return fd;
}

std::string failureHeard(const UniqueFd& fd) {
  wire::Kind kind;
  const std::vector<char> body = hear(fd, &kind);
  if (kind != wire::Kind::Failure || body.size() < 4) return "";
  return {body.begin() + 4, body.end()};
}

std::vector<char> noise(std::mt19937& random, size_t count) {
  std::vector<char> bytes(count);
  for (char& c : bytes) c = static_cast<char>(random());
  return bytes;
}

void joinAndGather(const rondoUniqueId& id, int n, int rank, int limitMs) {
  IdBootstrap boot(id, n, rank, kHost, limitMs);
  std::vector<int> all(static_cast<size_t>(n));
  for (int round = 0; round < 2; ++round) boot.allGather(&rank, sizeof rank, all.data());
  for (int r = 0; r < n; ++r) EXPECT_EQ(all[static_cast<size_t>(r)], r);
}

// ---- how much is said ----

TEST(BootMessages, EachRankSendsAndReceivesFewWhateverTheNumberOfRanks) {
  for (const int n : {2, 4, 16, 64}) {
    const rondoUniqueId id = newId();
    std::atomic<uint64_t> mostToJoin{0}, mostToGather{0}, sum{0};
    const auto raise = [](std::atomic<uint64_t>& most, uint64_t value) {
      for (uint64_t seen = most; value > seen && !most.compare_exchange_weak(seen, value);) {
      }
    };
    onThreads(n, [&](int rank) {
      IdBootstrap boot(id, n, rank, kHost);
      const uint64_t joined = boot.messages();
      std::vector<int> all(static_cast<size_t>(n));
      boot.allGather(&rank, sizeof rank, all.data());
      raise(mostToJoin, joined);
      raise(mostToGather, boot.messages() - joined);
      sum += boot.messages() - joined;
    });
    // Challenge, Hello and Welcome with the maker, the parent and each child.
    EXPECT_LE(mostToJoin, 3u * (2 + static_cast<uint64_t>(kTreeChildren)));
    EXPECT_GE(mostToJoin, 6u);
    EXPECT_LE(mostToGather, 2u * (1 + static_cast<uint64_t>(kTreeChildren)));
    EXPECT_EQ(sum, 4u * static_cast<uint64_t>(n - 1));  // each edge: up and down, seen twice
    if (n >= 32) {
      EXPECT_LE(mostToGather, 2u * static_cast<uint64_t>(std::log2(n)));
    }
  }
}

TEST(BootMessages, TheSecretIsNeverSent) {
  const rondoUniqueId id = newId();
  const IdBytes bytes = readId(id);
  Listeners door = localListeners();  // the joiner takes a relay for the maker
  std::string heard;
  std::thread relay([&] {
    pollfd entry{door.sockets[0].get(), POLLIN, 0};
    poll(&entry, 1, 10000);
    const UniqueFd joiner(accept(door.sockets[0].get(), nullptr, nullptr));
    const UniqueFd maker = rawConnection(bytes.endpoints);
    for (bool open = true; open;) {
      pollfd set[2] = {{joiner.get(), POLLIN, 0}, {maker.get(), POLLIN, 0}};
      if (poll(set, 2, 10000) <= 0) break;
      for (int from = 0; from < 2 && open; ++from) {
        char buffer[4096];
        if (set[from].revents == 0) continue;
        const ssize_t got = recv(set[from].fd, buffer, sizeof buffer, 0);
        open = got > 0 &&
               send(set[1 - from].fd, buffer, static_cast<size_t>(got), MSG_NOSIGNAL) == got;
        if (got > 0) heard.append(buffer, static_cast<size_t>(got));
      }
    }
  });
  {
    IdBootstrap boot(packId(bytes.secret, door.endpoints, "relay"), 1, 0, kHost, 5000);
    int all = 0;
    boot.allGather(&all, sizeof all, &all);
  }
  relay.join();
  EXPECT_GT(heard.size(), sizeof(wire::Challenge) + sizeof(wire::Hello) + sizeof(wire::Welcome));
  for (size_t at = 0; at + 4 <= bytes.secret.size(); ++at) {
    const std::string piece(reinterpret_cast<const char*>(bytes.secret.data()) + at, 4);
    EXPECT_EQ(heard.find(piece), std::string::npos) << "bytes " << at;
  }
}

// ---- the gate ----

/// Runs a gate until `until` or ten seconds have passed; who got in.
std::vector<int> runGate(Gate& gate, const std::function<bool(size_t)>& until) {
  std::vector<int> ranks;
  const auto start = Clock::now();
  while (!until(ranks.size()) && millisSince(start) < 10000) {
    std::vector<pollfd> set;
    gate.collect(set);
    if (poll(set.data(), set.size(), 10) < 0) continue;
    for (const Gate::Visitor& visitor : gate.handle(set.data()))
      ranks.push_back(visitor.hello.rank);
  }
  return ranks;
}

TEST(BootGate, GarbageAndTruncatedAndChangedMessagesDoNotGetIn) {
  const Secret secret = makeSecret();
  Gate gate(secret, localListeners());
  std::atomic<bool> done{false};
  std::thread strangers([&] {
    std::mt19937 random(7);
    for (int i = 0; i < 400; ++i) {
      const UniqueFd fd = rawConnection(gate.endpoints());
      const wire::Challenge challenge = hearChallenge(fd);
      std::vector<char> message = helloMessage(signedHello(secret, challenge, 5, 9));
      switch (i % 5) {
        case 0:
          message = noise(random, random() % 300);
          break;
        case 1:  // the right length and kind, and nothing else
          message = helloMessage({});
          break;
        case 2:  // one bit of a right one, headers and hostile lengths included
          message[random() % message.size()] ^= static_cast<char>(1 << random() % 8);
          break;
        case 3:
          message.resize(random() % message.size());
          break;
        case 4: {  // all bits of the length
          const uint32_t length = static_cast<uint32_t>(random());
          if (length == sizeof(wire::Hello)) break;
          std::memcpy(message.data() + 4, &length, sizeof length);
          break;
        }
      }
      say(fd, message);
    }
    const UniqueFd good = rawConnection(gate.endpoints());
    const std::vector<char> message = helloMessage(signedHello(secret, hearChallenge(good), 3, 9));
    for (const char c : message) say(good, {c});  // in the smallest pieces
    const UniqueFd replay = rawConnection(gate.endpoints());
    hearChallenge(replay);
    say(replay, message);
    EXPECT_EQ(failureHeard(replay), "the unique id's secret is wrong");
    done = true;
  });
  // The pieces of the good one may come later than what was said after them on a line of its own.
  const std::vector<int> ranks = runGate(gate, [&](size_t got) { return got > 0 && done.load(); });
  strangers.join();
  EXPECT_EQ(ranks, std::vector<int>{3});
  EXPECT_NE(gate.refusals().find("connections were turned away"), std::string::npos);
}

TEST(BootGate, MoreSilentConnectionsThanItHoldsDoNotKeepARankOut) {
  const Secret secret = makeSecret();
  Gate gate(secret, localListeners());
  std::thread visitors([&] {
    std::vector<UniqueFd> silent;
    for (int i = 0; i < 300; ++i) silent.push_back(rawConnection(gate.endpoints()));
    const UniqueFd good = rawConnection(gate.endpoints());
    say(good, helloMessage(signedHello(secret, hearChallenge(good), 3, 9)));
    wire::Kind kind;
    hear(good, &kind);  // until the gate has it
  });
  const auto start = Clock::now();
  EXPECT_EQ(runGate(gate, [](size_t got) { return got > 0; }), std::vector<int>{3});
  EXPECT_LT(millisSince(start), 6000);
  visitors.join();
}

/// Looks once at what `gate` is asked for, waiting `ms` at most; the ranks that got in.
std::vector<int> lookOnce(Gate& gate, int ms) {
  std::vector<pollfd> set;
  gate.collect(set);
  poll(set.data(), set.size(), ms);
  std::vector<int> ranks;
  for (const Gate::Visitor& visitor : gate.handle(set.data())) ranks.push_back(visitor.hello.rank);
  return ranks;
}

/// As one does that was stopped (SIGSTOP) after it had polled: what a rank said meanwhile is there.
TEST(BootGate, AProcessThatWasStoppedTurnsNobodyAway) {
  const Secret secret = makeSecret();
  Gate gate(secret, localListeners(), 400);
  const UniqueFd rank = rawConnection(gate.endpoints()), silent = rawConnection(gate.endpoints());
  lookOnce(gate, 1000);
  lookOnce(gate, 0);  // both have been let in
  std::vector<pollfd> set;
  gate.collect(set);
  for (pollfd& each : set) each.revents = 0;
  say(rank, helloMessage(signedHello(secret, hearChallenge(rank), 3, 9)));
  usleep(1'000'000);
  EXPECT_TRUE(gate.handle(set.data()).empty());
  std::vector<int> ranks;
  for (int i = 0; i < 20 && ranks.empty(); ++i) ranks = lookOnce(gate, 5);
  EXPECT_EQ(ranks, std::vector<int>{3}) << gate.refusals();
  // Who says nothing while it is looked after is turned away in time.
  const auto start = Clock::now();
  while (gate.refusals().empty() && millisSince(start) < 20000) lookOnce(gate, gate.timeout());
  EXPECT_NE(gate.refusals().find("it said nothing for 400 ms"), std::string::npos)
      << gate.refusals();
}

// ---- the whole group ----

/// A rank that stands still for a while between its connection and its first word, as one of many
/// on a busy machine, is sent away when more come than there is room for, and comes again.
TEST(BootHostile, ASlowRankThatHadToMakeRoomComesAgain) {
  const rondoUniqueId id = newId();
  std::vector<UniqueFd> silent;
  bool slept = false;
  const BootWait slow(nullptr, [&] {
    if (std::exchange(slept, true)) return;
    const Endpoints endpoints = readId(id).endpoints;
    for (int i = 0; i < 300; ++i) silent.push_back(rawConnection(endpoints));
    usleep(2'500'000);
  });
  const Outcome outcome = outcomeOf([&] { IdBootstrap boot(id, 1, 0, kHost, 20000); });
  EXPECT_TRUE(slept);
  EXPECT_EQ(outcome.sentence, "");
}

TEST(BootHostile, AScannerDoesNoHarm) {
  const rondoUniqueId id = newId();
  std::mt19937 random(11);
  std::vector<UniqueFd> silent;
  for (int i = 0; i < 40; ++i) {
    silent.push_back(rawConnection(readId(id).endpoints));
    say(silent.back(), noise(random, i % 3 == 0 ? 0 : random() % 5000));
    if (i % 4 == 0) silent.pop_back();
  }
  for (const Outcome& outcome : onThreads(6, [&](int rank) { joinAndGather(id, 6, rank, 5000); })) {
    EXPECT_EQ(outcome.sentence, "");
  }
}

TEST(BootHostile, WhoeverWasTurnedAwayIsToldOfWithTheMissing) {
  const rondoUniqueId id = newId();
  const IdBytes bytes = readId(id);
  const rondoUniqueId forged = packId(makeSecret(), bytes.endpoints, bytes.hostName);
  const auto outcomes = onThreads(2, [&](int rank) {
    if (rank == 1) usleep(100000);
    IdBootstrap boot(rank == 0 ? id : forged, 2, rank, kHost, 500);
  });
  EXPECT_EQ(outcomes[1].sentence, "the unique id's secret is wrong");
  // With the right id it is told the same as rank 0, and the group ends.
  EXPECT_EQ(outcomeOf([&] { IdBootstrap boot(id, 2, 1, kHost); }).sentence, outcomes[0].sentence);
  EXPECT_EQ(outcomes[0].sentence.rfind("rank 1 of 2 did not join within 500 ms; a connection was "
                                       "turned away, from ",
                                       0),
            0u)
      << outcomes[0].sentence;
}

TEST(BootHostile, ARegisteredRankThatTalksNonsenseEndsTheGroupForAll) {
  std::mt19937 random(13);
  for (int i = 0; i < 30; ++i) {
    const rondoUniqueId id = newId();
    const UniqueFd evil = registerByHand(id, 1, 3);
    std::vector<char> message = noise(random, 8 + random() % 3000);
    if (i % 3 == 1) {  // a known kind, and any length
      const wire::Header header{static_cast<wire::Kind>(i % 9 + 1),
                                static_cast<uint32_t>(random())};
      std::memcpy(message.data(), &header, sizeof header);
    } else if (i % 3 == 2) {  // a failure without sense
      const wire::Header header{wire::Kind::Failure, static_cast<uint32_t>(random() % 12)};
      std::memcpy(message.data(), &header, sizeof header);
    }
    say(evil, message);
    const auto start = Clock::now();
    const auto outcomes = onThreads(2, [&](int thread) {
      IdBootstrap boot(id, 3, thread * 2, kHost, 300);
      int all[3] = {};
      boot.allGather(all, sizeof(int), all);
    });
    for (const Outcome& outcome : outcomes) {
      EXPECT_NE(outcome.code, rondoSuccess);
      EXPECT_NE(outcome.sentence.find("rank 1"), std::string::npos) << outcome.sentence;
    }
    EXPECT_LT(millisSince(start), 5000);
  }
}

TEST(BootHostile, ARankThatStallsOrDiesBetweenRegisteringAndTheTreeIsNamed) {
  for (const bool dies : {false, true}) {
    const rondoUniqueId id = newId();
    UniqueFd ghost = registerByHand(id, 1, 7);
    const auto start = Clock::now();
    const auto outcomes = onThreads(7, [&](int rank) {
      if (rank != 1) return joinAndGather(id, 7, rank, 400);
      wire::Kind kind;
      hear(ghost, &kind);
      EXPECT_EQ(kind, wire::Kind::Welcome);
      if (dies) ghost = UniqueFd();
    });
    for (size_t rank = 0; rank < outcomes.size(); ++rank) {
      if (rank == 1) continue;
      // Whoever needs the ghost as its parent (rank 2) cannot reach it, or hears why.
      EXPECT_NE(outcomes[rank].sentence.find("rank 1 of 7"), std::string::npos)
          << rank << ": " << outcomes[rank].sentence;
    }
    EXPECT_LT(millisSince(start), 4000);
  }
}

TEST(BootHostile, FarFromTheRankThatStopsAllNameIt) {
  constexpr int kRanks = 40;
  for (const int lazy : {0, 1, 17, 39}) {
    const rondoUniqueId id = newId();
    std::atomic<int> told{0};
    const auto outcomes = onThreads(kRanks, [&](int rank) {
      IdBootstrap boot(id, kRanks, rank, kHost, 300);
      std::vector<int> all(kRanks);
      boot.allGather(&rank, sizeof rank, all.data());
      while (rank == lazy && told < kRanks - 1) usleep(1000);
      try {
        if (rank != lazy) boot.allGather(&rank, sizeof rank, all.data());
      } catch (const Error&) {
        ++told;
        throw;
      }
    });
    for (int rank = 0; rank < kRanks; ++rank) {
      if (rank == lazy) continue;
      EXPECT_EQ(outcomes[static_cast<size_t>(rank)].sentence,
                format("rank %d of 40 joined but did not go on within 300 ms", lazy))
          << rank;
    }
  }
}

// ---- a maker that is none ----

/// What a rank says that joins a "maker" which does `body` with its connection.
Outcome joinFalseMaker(const std::function<void(const UniqueFd&, const Secret&)>& body) {
  Listeners door = localListeners();
  const Secret secret = makeSecret();
  std::thread maker([&] {
    pollfd entry{door.sockets[0].get(), POLLIN, 0};
    poll(&entry, 1, 10000);
    const UniqueFd fd(accept(door.sockets[0].get(), nullptr, nullptr));
    body(fd, secret);
    shutdown(fd.get(), SHUT_WR);
    char rest[256];
    while (recv(fd.get(), rest, sizeof rest, 0) > 0) {
    }
  });
  const Outcome outcome = outcomeOf(
      [&] { IdBootstrap boot(packId(secret, door.endpoints, "false"), 2, 0, kHost, 300); });
  maker.join();
  return outcome;
}

TEST(BootFalseMaker, GarbageIsAnErrorWhateverItLooksLike) {
  std::mt19937 random(17);
  for (int i = 0; i < 100; ++i) {
    const Outcome outcome = joinFalseMaker([&](const UniqueFd& fd, const Secret&) {
      const wire::Challenge challenge = wire::makeChallenge();
      std::vector<char> message =
          wire::message(wire::Kind::Challenge, &challenge, sizeof challenge);
      if (i % 4 == 0) message = noise(random, 1 + random() % 300);
      if (i % 4 == 1) message.resize(random() % message.size());
      if (i % 4 == 2) message[random() % 12] ^= static_cast<char>(1 << random() % 8);
      say(fd, message);
      if (i % 4 == 3) say(fd, noise(random, random() % 300));
    });
    EXPECT_NE(outcome.code, rondoSuccess);
    EXPECT_FALSE(outcome.sentence.empty());
  }
}

TEST(BootFalseMaker, MustKnowTheSecretToo) {
  const Outcome outcome = joinFalseMaker([&](const UniqueFd& fd, const Secret&) {
    const wire::Challenge challenge = wire::makeChallenge();
    say(fd, wire::message(wire::Kind::Challenge, &challenge, sizeof challenge));
    wire::Kind kind;
    hear(fd, &kind);
    EXPECT_EQ(kind, wire::Kind::Hello);
    wire::Welcome welcome{};
    wire::sign(welcome, makeSecret(), challenge.nonce);
    say(fd, wire::message(wire::Kind::Welcome, &welcome, sizeof welcome));
  });
  EXPECT_EQ(outcome.code, rondoInvalidArgument);
  EXPECT_EQ(outcome.sentence, "the process that made the id does not know the unique id's secret");
}

TEST(BootFalseMaker, SilenceHasAnEnd) {
  const Outcome outcome = joinFalseMaker([&](const UniqueFd& fd, const Secret&) {
    char nothing;
    recv(fd.get(), &nothing, 1, 0);  // until the joiner gives up
  });
  EXPECT_EQ(outcome.code, rondoSystemError);
  EXPECT_EQ(outcome.sentence, "the process that made the id has not answered for 2300 ms");
}

TEST(BootFalseMaker, AFailuresTextIsMadeHarmless) {
  const Outcome outcome = joinFalseMaker([&](const UniqueFd& fd, const Secret&) {
    say(fd, wire::failureMessage(rondoSystemError, "\x1b[2Jgone\n"));
  });
  EXPECT_EQ(outcome.sentence, "?[2Jgone?");
}

}  // namespace
}  // namespace rondo::test
