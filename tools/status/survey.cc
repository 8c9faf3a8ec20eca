#include "status/survey.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <thread>

#include "base/error.h"
#include "base/printable.h"
#include "status/processes.h"

namespace rondo::status {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kSeconds = 2;
constexpr std::chrono::milliseconds kBetweenLooks{5};

bool hasFarRanks(const FlightProcess& process) {
  return std::any_of(process.comms.begin(), process.comms.end(), [](const FlightComm& comm) {
    return comm.alive && comm.localSize < comm.size;
  });
}

FarSurvey read(PlaceBoard& board) {
  FarSurvey out;
  out.silence = format("no answer from its host within %d s", kSeconds);
  const uint32_t count = std::atomic_ref(board.count).load(std::memory_order_acquire);
  for (uint32_t i = 0; i < std::min(count, PlaceBoard::kMost); ++i) {
    PlaceBoard::Entry& entry = board.entries[i];
    FarPlace place;
    place.answered = std::atomic_ref(entry.answered).load(std::memory_order_acquire) != 0;
    place.comm = entry.comm;
    place.rank = entry.rank;
    if (place.answered) {
      place.flags = entry.flags;
      place.sequence = entry.sequence;
      place.ageMs = entry.ageMs;
      place.text = printable(entry.text.read());
    }
    out.places.push_back(std::move(place));
  }
  return out;
}

bool complete(const FarSurvey& survey) {
  return std::all_of(survey.places.begin(), survey.places.end(),
                     [](const FarPlace& place) { return place.answered; });
}

/// Nothing while a request is open that came after what stands there: then it is made anew.
std::optional<FarSurvey> readWhole(PlaceBoard& board) {
  std::atomic_ref<uint32_t> wanted(board.wanted);
  const uint32_t served = std::atomic_ref(board.served).load(std::memory_order_acquire);
  if (wanted.load(std::memory_order_acquire) != served) return std::nullopt;
  FarSurvey out = read(board);
  std::atomic_thread_fence(std::memory_order_acquire);
  if (wanted.load(std::memory_order_relaxed) != served) return std::nullopt;
  return out;
}

}  // namespace

FarSurvey askBy(PlaceBoard& board, int pid) {
  std::atomic_ref(board.wanted).fetch_add(1, std::memory_order_acq_rel);
  ringBell(&board.bell);
  const auto end = Clock::now() + std::chrono::seconds(kSeconds);
  for (;;) {
    const bool late = Clock::now() >= end;
    if (const std::optional<FarSurvey> survey = readWhole(board)) {
      if (late || complete(*survey)) return *survey;
    } else if (late) {
      FarSurvey none;
      none.why = format("process %d was told to ask, and did not within %d s", pid, kSeconds);
      return none;
    }
    std::this_thread::sleep_for(kBetweenLooks);
  }
}

FarSurvey surveyFrom(int pid) {
  FarSurvey none;
  std::string why;
  const std::unique_ptr<AreaMapping> area = mapArea(pid, &why);
  if (area == nullptr || !hasFarRanks(readFlights(area->base()))) return none;
  if (readProcessState(pid).stopped()) {
    none.why = format("process %d is stopped and cannot ask; try one that is not", pid);
    return none;
  }
  const std::unique_ptr<AreaMapping> open = mapArea(pid, &why, Access::Write);
  if (open == nullptr) {
    none.why = format("process %d may be read but not told to ask", pid);
    return none;
  }
  return askBy(StatusArea::places(open->base()), pid);
}

}  // namespace rondo::status
