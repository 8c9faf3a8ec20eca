#include "p2p/boot_mac.h"

#include <bit>
#include <cstring>

namespace rondo {
namespace {

constexpr std::array<uint32_t, 8> kStart = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                            0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

constexpr unsigned char kSigma[10][16] = {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
                                          {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
                                          {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
                                          {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
                                          {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
                                          {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
                                          {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
                                          {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
                                          {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
                                          {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0}};

uint32_t load(const unsigned char* from) {
  return uint32_t{from[0]} | uint32_t{from[1]} << 8 | uint32_t{from[2]} << 16 |
         uint32_t{from[3]} << 24;
}

void mix(std::array<uint32_t, 16>& v, size_t a, size_t b, size_t c, size_t d, uint32_t x,
         uint32_t y) {
  v[a] += v[b] + x;
  v[d] = std::rotr(v[d] ^ v[a], 16);
  v[c] += v[d];
  v[b] = std::rotr(v[b] ^ v[c], 12);
  v[a] += v[b] + y;
  v[d] = std::rotr(v[d] ^ v[a], 8);
  v[c] += v[d];
  v[b] = std::rotr(v[b] ^ v[c], 7);
}

}  // namespace

Blake2s::Blake2s(size_t outBytes, const void* key, size_t keyBytes)
    : state_(kStart), outBytes_(outBytes) {
  state_[0] ^= 0x01010000 ^ static_cast<uint32_t>(keyBytes << 8) ^ static_cast<uint32_t>(outBytes);
  if (keyBytes == 0) return;
  std::memcpy(block_.data(), key, keyBytes);
  filled_ = block_.size();
}

Blake2s& Blake2s::add(const void* bytes, size_t count) {
  const auto* from = static_cast<const unsigned char*>(bytes);
  for (size_t i = 0; i < count; ++i) {
    if (filled_ == block_.size()) compress(false);  // only once more comes: the last one differs
    block_[filled_++] = from[i];
  }
  return *this;
}

void Blake2s::compress(bool last) {
  total_ += filled_;
  std::array<uint32_t, 16> v, m;
  for (size_t i = 0; i < 8; ++i) {
    v[i] = state_[i];
    v[i + 8] = kStart[i];
  }
  v[12] ^= static_cast<uint32_t>(total_);
  v[13] ^= static_cast<uint32_t>(total_ >> 32);
  if (last) v[14] = ~v[14];
  for (size_t i = 0; i < 16; ++i) m[i] = load(&block_[4 * i]);
  for (const auto& s : kSigma) {
    for (size_t i = 0; i < 4; ++i) {
      mix(v, i, i + 4, i + 8, i + 12, m[s[2 * i]], m[s[2 * i + 1]]);
    }
    for (size_t i = 0; i < 4; ++i) {
      mix(v, i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4, m[s[2 * i + 8]],
          m[s[2 * i + 9]]);
    }
  }
  for (size_t i = 0; i < 8; ++i) state_[i] ^= v[i] ^ v[i + 8];
  block_.fill(0);
  filled_ = 0;
}

void Blake2s::finish(void* out) {
  compress(true);
  auto* to = static_cast<unsigned char*>(out);
  for (size_t i = 0; i < outBytes_; ++i) {
    to[i] = static_cast<unsigned char>(state_[i / 4] >> (8 * (i % 4)));
  }
}

Mac proof(const Secret& secret, const char* role, const std::array<unsigned char, 16>& nonce,
          const void* bytes, size_t count) {
  Mac mac;
  Blake2s(mac.size(), secret.data(), secret.size())
      .add(role, std::strlen(role) + 1)
      .add(nonce.data(), nonce.size())
      .add(bytes, count)
      .finish(mac.data());
  return mac;
}

bool sameMac(const Mac& a, const Mac& b) {
  unsigned difference = 0;
  for (size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned>(a[i] ^ b[i]);
  return difference == 0;
}

Secret derivedSecret(const Secret& secret, const char* use) {
  Secret derived;
  Blake2s(derived.size(), secret.data(), secret.size())
      .add(use, std::strlen(use))
      .finish(derived.data());
  return derived;
}

}  // namespace rondo
