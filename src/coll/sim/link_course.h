#pragma once
// What a link has carried by when: small enough to keep of every link, and exact in its sum.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rondo::sim {

class LinkCourse {
 public:
  /// From `now` on it carries `rate` bytes per picosecond. Times rise from call to call.
  void change(uint64_t now, double rate);
  /// What it has carried is that many bytes less than its rates say: a flow ends with a whole
  /// picosecond, its last byte within it.
  void lessen(double bytes) { bytes_ -= bytes; }

  /// Bytes until `time`; of all of the time, and when that was over.
  double until(uint64_t time) const;
  double bytes() const { return marks_.empty() ? 0 : marks_.back().bytes; }
  uint64_t end() const { return marks_.empty() ? 0 : marks_.back().time; }
  size_t marks() const { return marks_.size(); }

  /// All times are `whole` / `was` times as long.
  void stretch(uint64_t whole, uint64_t was);

 private:
  /// Between two of them it carried evenly.
  struct Mark {
    uint64_t time;
    double bytes;
  };
  void thinOut();

  std::vector<Mark> marks_;
  uint64_t since_ = 0;
  double rate_ = 0, bytes_ = 0;
};

}  // namespace rondo::sim
