#pragma once
// The keyed hash by which a rank proves that it knows an id's secret without sending it.

#include <array>
#include <cstddef>
#include <cstdint>

#include "p2p/bootstrap.h"

namespace rondo {

/// BLAKE2s, RFC 7693: up to 32 bytes of output, keyed by up to 32 bytes (none: a plain hash).
class Blake2s {
 public:
  explicit Blake2s(size_t outBytes, const void* key = nullptr, size_t keyBytes = 0);
  Blake2s& add(const void* bytes, size_t count);
  /// Writes `outBytes` to `out`; nothing may be added afterwards.
  void finish(void* out);

 private:
  void compress(bool last);

  std::array<uint32_t, 8> state_;
  std::array<unsigned char, 64> block_{};
  size_t filled_ = 0;
  uint64_t total_ = 0;
  size_t outBytes_;
};

using Mac = std::array<unsigned char, 16>;

/// The proof of `secret` over a nonce of the one who asks and the bytes said with it. `role` keeps
/// the proof of one side from being the other side's.
Mac proof(const Secret& secret, const char* role, const std::array<unsigned char, 16>& nonce,
          const void* bytes, size_t count);

/// In the same time whatever differs.
bool sameMac(const Mac& a, const Mac& b);

/// A secret for another use, from which `secret` cannot be found.
Secret derivedSecret(const Secret& secret, const char* use);

}  // namespace rondo
