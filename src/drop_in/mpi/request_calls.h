#pragma once
// What the calls that end requests do before and after MPI's own work, which is left to MPI: null
// and inactive requests, statuses and indices are its business in every mixture.

#include <mpi.h>

#include <span>
#include <vector>

#include "drop_in/mpi/own_calls.h"
#include "drop_in/mpi/rehearsal.h"
#include "drop_in/mpi/requests.h"
#include "drop_in/mpi/staged.h"
#include "drop_in/mpi/stats.h"

namespace rondo::drop_in {

/// Whether a request is not MPI's. What a rehearsal's requests began is timed now.
inline bool anyWaitedFor() {
  if (rehearsing) [[unlikely]]
    flushTransfers();
  return anyPending();
}

/// The requests of one call. Only made while some are Rondo's.
class RequestArray {
 public:
  /// `count` may be wrong and `requests` NULL: MPI is to say so.
  RequestArray(Call call, int count, const MPI_Request* requests);
  ~RequestArray();
  RequestArray(const RequestArray&) = delete;
  RequestArray& operator=(const RequestArray&) = delete;

  /// Does what can be done for all that is under way.
  void poll();
  /// Until all of the array are complete, MPI's too, which MPI has not ended then.
  void waitForAll();
  /// After `number` of them were ended by MPI, whose call gave `code`; `which`: their indices,
  /// nullptr: all. Gives the call's result: raises what Rondo failed at.
  int ended(int code, int number, const int* which, MPI_Status* statuses);
  /// Whether a call that gave `code` has ended some, as those of which one failed have.
  static bool hasEndedSome(int code);
  /// The same for a call that ends at most one.
  int endedOne(int code, bool flag, int index);

 private:
  /// What has ended among messages of device buffers; gives `code`, or a failure if it is none.
  int endMessages(int code);
  struct Message {
    const MPI_Request* at;
    MPI_Request request;
    HeldMessage staged;
  };
  static bool hasEnded(const Message& message);
  void waitForMpis(MPI_Request request);
  void endTimedAt(int code, int index);

  const OwnCalls own_;
  Call call_;
  const MPI_Request* requests_;
  Held one_;                        ///< Of an array of one.
  std::vector<Held> more_;          ///< Of a longer one.
  std::vector<Message> messages_;   ///< Those of device buffers.
  std::vector<MPI_Request> timed_;  ///< All of them, if the thread has some whose times are wanted.
  std::span<const Held> ours_;      ///< Either, by index; nullptr: MPI's.
  bool any_ = false;
  uint64_t idle_ = 0;  ///< Polls so far.
  uint64_t start_ = 0;
};

}  // namespace rondo::drop_in
