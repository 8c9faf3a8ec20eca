#include "coll/far_predict.h"

#include <algorithm>
#include <array>
#include <vector>

#include "kernels/far.h"

namespace rondo {
namespace {

/// From then on as many chunks take as long again; a multiple of lanes and places.
constexpr uint64_t kSteady = 32;

uint64_t walk(const FarCourse& course, uint64_t chunks) {
  std::vector<uint64_t> lanes(static_cast<size_t>(course.lanes), 0);
  std::array<uint64_t, kFarSlots> answered{};
  uint64_t gives = 0, takes = 0;  // when the kernel comes to its next copy
  const auto timesOf = [&](uint64_t k) { return k + 1 == chunks ? course.last : course.each; };
  for (uint64_t k = 0; k < chunks + kFarSlots; ++k) {
    if (k >= kFarSlots && k - kFarSlots < chunks) {
      const uint64_t done = answered[k % kFarSlots];
      takes = std::max(takes, done) + timesOf(k - kFarSlots).out;
      gives = course.oneWay ? std::max(gives, done) : takes;
    }
    if (k >= chunks) continue;
    gives += timesOf(k).in;
    if (!course.oneWay) takes = gives;
    uint64_t& lane = lanes[k % lanes.size()];
    lane = std::max(lane, gives) + timesOf(k).call;
    answered[k % kFarSlots] = lane;
  }
  return takes;
}

}  // namespace

uint64_t farCourseTime(const FarCourse& course) {
  if (course.chunks <= 2 * kSteady) return walk(course, course.chunks);
  const uint64_t time = walk(course, 2 * kSteady);
  const uint64_t period = time - walk(course, kSteady);
  return time + static_cast<uint64_t>(static_cast<unsigned __int128>(period) *
                                      (course.chunks - 2 * kSteady) / kSteady);
}

}  // namespace rondo
