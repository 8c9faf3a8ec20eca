#pragma once
// Device memory in collectives that MPI does, which may know host memory only: MPI gets a copy on
// the host, whose type and counts are the program's. That is a rank's own business.

#include <mpi.h>

#include <cstddef>
#include <exception>
#include <memory>
#include <vector>

#include "drop_in/mpi/device_memory.h"
#include "drop_in/mpi/runs.h"
#include "drop_in/mpi/staged.h"
#include "drop_in/mpi/staging.h"

namespace rondo::drop_in {

/// A block, or one for each of several ranks, as MPI's arguments give them.
struct Argument {
  const void* buffer;
  MPI_Datatype type;
  const int* counts;  ///< nullptr: not significant here.
  const int* displs;  ///< nullptr: one block, at the buffer.
  int ranks = 1;
  const MPI_Datatype* types = nullptr;  ///< Else one for each block, and displs are bytes.
  const MPI_Aint* places = nullptr;     ///< Else instead of displs, in bytes.
};

class HostTwin {
 public:
  /// Copies what lies on a device; what does not, or is no good, is left to MPI as it is. Throws
  /// Error, std::bad_alloc. `receives`: it will be brought back, even if types are freed by then.
  /// `filled`: at once, else by refill().
  HostTwin(const Argument& of, bool receives, bool filled = true);
  bool used() const { return bytes_ != nullptr; }
  /// What MPI is to be given.
  void* data() const { return given_; }
  /// What the device has now. Throws Error.
  void refill();
  /// The blocks' elements to the device again, and nothing of what lies between them. Throws Error.
  void bringBack();

 private:
  /// Bytes from the buffer's address.
  struct Range {
    ptrdiff_t begin, end;
  };
  void findBlocks(const Argument& of);
  void findRuns(const Argument& of);
  void addBlock(MPI_Datatype type, int count, ptrdiff_t at);

  char* buffer_;
  void* given_;
  std::vector<Range> blocks_;  ///< Neighbours as one.
  ptrdiff_t first_ = 0;        ///< Where the bytes begin.
  StagingBytes bytes_;
  std::vector<Run> runs_;  ///< Of elements, if they are brought back.
};

/// What a blocking call does with device memory: mpi(send, recv) is MPI's call. Its code.
template <class Mpi>
int handOn(MPI_Comm comm, const Argument& send, const Argument& recv, const Mpi& mpi);

/// The same for a non-blocking call: what it received goes to the device when *request ends.
template <class Mpi>
int handOnLater(MPI_Comm comm, const Argument& send, const Argument& recv, MPI_Request* request,
                const Mpi& mpi);

// Implementation.

/// A collective under way.
class StagedBlocks final : public Staged {
 public:
  StagedBlocks(const Argument& send, const Argument& recv, Starts starts = Starts::Once)
      : Staged(starts),
        send_(send, false, starts == Starts::Once),
        recv_(recv, true, starts == Starts::Once) {}
  HostTwin& send() { return send_; }
  HostTwin& recv() { return recv_; }
  bool used() const { return send_.used() || recv_.used(); }

 private:
  void refill() override {
    send_.refill();
    recv_.refill();
  }
  void bringBack() override { recv_.bringBack(); }
  HostTwin send_, recv_;
};

/// A request that has ended already may be one that MPI gives out several times.
int holdUntilEnd(MPI_Request request, const HeldMessage& blocks);

/// Raises what was thrown while buffers were copied. Its code.
int raiseCopy(MPI_Comm comm, const std::exception& error);

template <class Mpi>
int handOn(MPI_Comm comm, const Argument& send, const Argument& recv, const Mpi& mpi) {
  if (!devicesOn) [[likely]]
    return mpi(send.buffer, const_cast<void*>(recv.buffer));
  try {
    const HostTwin from(send, false);
    HostTwin to(recv, true);
    const int code = mpi(from.data(), to.data());
    if (code == MPI_SUCCESS) to.bringBack();
    return code;
  } catch (const std::exception& error) {
    return raiseCopy(comm, error);
  }
}

template <class Mpi>
int handOnLater(MPI_Comm comm, const Argument& send, const Argument& recv, MPI_Request* request,
                const Mpi& mpi) {
  if (!devicesOn) [[likely]]
    return mpi(send.buffer, const_cast<void*>(recv.buffer));
  try {
    const auto blocks = std::make_shared<StagedBlocks>(send, recv);
    const int code = mpi(blocks->send().data(), blocks->recv().data());
    return code == MPI_SUCCESS && blocks->used() ? holdUntilEnd(*request, blocks) : code;
  } catch (const std::exception& error) {
    return raiseCopy(comm, error);
  }
}

}  // namespace rondo::drop_in
