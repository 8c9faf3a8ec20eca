#include "p2p/bootstrap.h"

#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

namespace rondo {

Secret makeSecret() {
  Secret secret;
  ssize_t got = 0;
  do {
    got = getrandom(secret.data(), secret.size(), 0);
  } while (got < 0 && errno == EINTR);
  if (got != static_cast<ssize_t>(secret.size())) {
    throw systemError("getrandom gave no random bits for a group's secret", errno);
  }
  return secret;
}

void Bootstrap::agree(int code, const std::string& sentence) {
  if (const std::optional<Error> failure = verdict(code, sentence)) throw *failure;
}

std::optional<Error> Bootstrap::verdict(int code, const std::string& sentence) {
  // Two steps: the usual case, nobody failed, costs four bytes a rank.
  const bool failed = code != rondoSuccess || !sentence.empty();
  const int32_t mine = !failed ? rondoSuccess : code == rondoSuccess ? rondoInternalError : code;
  std::vector<int32_t> codes(static_cast<size_t>(size()));
  allGather(&mine, sizeof mine, codes.data());
  // A rank that only saw another one go is not the cause, if there is a better one.
  auto first = std::find_if(codes.begin(), codes.end(),
                            [](int32_t c) { return c != rondoSuccess && c != rondoRemoteError; });
  if (first == codes.end()) first = std::find(codes.begin(), codes.end(), rondoRemoteError);
  if (first == codes.end()) return std::nullopt;

  struct Text {
    char text[1024];
  };
  Text text{};
  sentence.copy(text.text, sizeof text.text - 1);
  std::vector<Text> texts(codes.size());
  allGather(&text, sizeof text, texts.data());
  const auto culprit = static_cast<size_t>(first - codes.begin());
  std::string whole = texts[culprit].text;
  if (whole.empty()) whole = format("failed with code %d and no sentence", *first);
  if (size() > 1) whole = format("rank %zu: ", culprit) + whole;
  return Error(static_cast<rondoResult_t>(*first), whole);
}

}  // namespace rondo
