#pragma once
// Being called while MPI waits, where MPI has a way to ask for it.

namespace rondo::drop_in {

/// From now on MPI calls pollPending() now and then while it waits for something of its own, so
/// that a collective is done as soon by a thread that waits for a message. With Open MPI; without
/// it (or its functions for that) nothing happens, and Rondo's progress thread is alone.
void askMpiToPoll();
/// Before MPI is finalised.
void askMpiNoMore();

/// While it lives, MPI does not poll on this thread, which is at it already.
class NoPollsOfMpi {
 public:
  NoPollsOfMpi();
  ~NoPollsOfMpi();
  NoPollsOfMpi(const NoPollsOfMpi&) = delete;
  NoPollsOfMpi& operator=(const NoPollsOfMpi&) = delete;

 private:
  bool before_;
};

}  // namespace rondo::drop_in
