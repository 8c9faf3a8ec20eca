#pragma once
// The memory in which the ranks of a job meet, where they can.

#include <mpi.h>

#include <optional>
#include <string>

#include "meeting.h"

namespace rondo::bench {

/// Made collectively; freed by each rank for itself.
class MeetingPlace {
 public:
  /// `wanted`: false leaves it at MPI_Barrier.
  MeetingPlace(MPI_Comm comm, bool wanted);
  ~MeetingPlace();
  MeetingPlace(const MeetingPlace&) = delete;
  MeetingPlace& operator=(const MeetingPlace&) = delete;

  /// nullptr where the ranks have to meet in MPI_Barrier.
  Meeting* meeting() { return meeting_ ? &*meeting_ : nullptr; }
  /// All ranks are on one host, which has fewer cores for them.
  bool crowded() const { return crowded_; }
  /// How they meet, and if it is in MPI_Barrier, why.
  const std::string& text() const { return text_; }

 private:
  void map(MPI_Comm comm, int rank, int ranks);

  MeetingLine* lines_ = nullptr;
  size_t bytes_ = 0;
  std::optional<Meeting> meeting_;
  std::string text_;
  bool crowded_ = false;
};

}  // namespace rondo::bench
