#pragma once
// Text in memory that processes share.

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

namespace rondo {

/// Text that one thread writes and any process may read at any time.
template <int kBytes>
class SharedText {
 public:
  static_assert(kBytes % 8 == 0);
  /// What is too long is cut.
  void write(std::string_view text) {
    std::atomic_ref<uint64_t> version(version_);
    const uint64_t before = version.load(std::memory_order_relaxed);
    version.store(before + 1, std::memory_order_relaxed);
    for (int w = 0; w < kBytes / 8; ++w) {
      uint64_t word = 0;
      for (int b = 0; b < 8; ++b) {
        const auto i = static_cast<size_t>(w) * 8 + static_cast<size_t>(b);
        if (i < text.size() && i + 1 < kBytes) {
          word |= static_cast<uint64_t>(static_cast<unsigned char>(text[i])) << (8 * b);
        }
      }
      std::atomic_ref(words_[w]).store(word, std::memory_order_release);
    }
    version.store(before + 2, std::memory_order_release);
  }
  /// The text, or what is there after a few attempts: a process may have died while it wrote.
  std::string read() const {
    auto& self = const_cast<SharedText&>(*this);
    std::string text;
    for (int attempt = 0; attempt < 100; ++attempt) {
      const uint64_t before = std::atomic_ref(self.version_).load(std::memory_order_acquire);
      text.clear();
      for (uint64_t& each : self.words_) {
        const uint64_t word = std::atomic_ref(each).load(std::memory_order_acquire);
        for (int b = 0; b < 8; ++b) text += static_cast<char>(word >> (8 * b) & 0xff);
      }
      const uint64_t after = std::atomic_ref(self.version_).load(std::memory_order_relaxed);
      if (before % 2 == 0 && before == after) break;
    }
    return text.substr(0, text.find('\0'));
  }

 private:
  uint64_t version_;  // odd while it is written
  uint64_t words_[kBytes / 8];
};

}  // namespace rondo
