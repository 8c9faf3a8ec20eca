#include "p2p/id_wire.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "base/error.h"

namespace rondo::wire {
namespace {

Mac macOf(const Hello& hello, const Secret& secret, const Nonce& nonce) {
  return proof(secret, kHelloRole, nonce, &hello, offsetof(Hello, mac));
}

Mac macOf(const Welcome& welcome, const Secret& secret, const Nonce& nonce) {
  return proof(secret, kWelcomeRole, nonce, &welcome, offsetof(Welcome, mac));
}

}  // namespace

std::vector<char> message(Kind kind, const void* body, size_t bytes) {
  const Header header{kind, static_cast<uint32_t>(bytes)};
  std::vector<char> out(sizeof header + bytes);
  std::memcpy(out.data(), &header, sizeof header);
  if (bytes > 0) std::memcpy(out.data() + sizeof header, body, bytes);
  return out;
}

std::vector<char> failureMessage(int code, const std::string& sentence) {
  const int32_t number = code;
  std::string body(reinterpret_cast<const char*>(&number), sizeof number);
  body += sentence.substr(0, kMostFailure - body.size());
  return message(Kind::Failure, body.data(), body.size());
}

void throwFailure(const std::vector<char>& body, const std::string& from) {
  int32_t code = 0;
  if (body.size() >= sizeof code) std::memcpy(&code, body.data(), sizeof code);
  std::string sentence(body.begin() + std::min<ptrdiff_t>(sizeof code, std::ssize(body)),
                       body.end());
  for (char& c : sentence) {
    if (static_cast<unsigned char>(c) < ' ') c = '?';  // it may be printed on a terminal
  }
  if (sentence.empty() || code < 1 || code > rondoMismatch) {
    throw Error(rondoSystemError, from + " sent a failure that makes no sense");
  }
  throw Error(static_cast<rondoResult_t>(code), sentence);
}

Challenge makeChallenge() {
  Challenge challenge{};
  std::memcpy(challenge.magic, kMagic, sizeof kMagic);
  challenge.version = kVersion;
  challenge.nonce = makeSecret();
  return challenge;
}

void sign(Hello& hello, const Secret& secret, const Nonce& challenge) {
  hello.mac = macOf(hello, secret, challenge);
}

void sign(Welcome& welcome, const Secret& secret, const Nonce& hello) {
  welcome.mac = macOf(welcome, secret, hello);
}

bool isSigned(const Hello& hello, const Secret& secret, const Nonce& challenge) {
  return sameMac(hello.mac, macOf(hello, secret, challenge));
}

bool isSigned(const Welcome& welcome, const Secret& secret, const Nonce& hello) {
  return sameMac(welcome.mac, macOf(welcome, secret, hello));
}

}  // namespace rondo::wire
