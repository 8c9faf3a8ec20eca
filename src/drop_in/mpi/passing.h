#pragma once
// Collectives that are handed on to MPI, whatever their communicator is and whether the layer knows
// it or not: which of a call's buffers are this rank's to read and to write, so that those on a
// device go by way of the host.

#include <mpi.h>

#include <vector>

#include "drop_in/mpi/host_twin.h"
#include "drop_in/mpi/layout.h"

namespace rondo::drop_in {

/// Who takes part.
struct Sides {
  bool inter = false;
  int rank = 0;
  int own = 0;     ///< Ranks on this rank's side.
  int others = 0;  ///< Ranks that blocks are for: the same, or those on the other side.

  bool isRoot(int root) const { return inter ? root == MPI_ROOT : rank == root; }
  /// Whether this rank has a block of its own for a root, or gets one. Of an inter-communicator
  /// only those opposite the root do.
  bool facesRoot(int root) const { return !inter || root >= 0; }
};
/// None, where MPI is to refuse the call.
Sides sidesOf(MPI_Comm comm);

/// A buffer as MPI's arguments describe it: a block, or one for each of `others`, of one length or
/// of several, of one type or of several.
struct PassedBuffer {
  const void* buffer;
  int count = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  bool each = false;
  const int* counts = nullptr;
  const int* displs = nullptr;
  const MPI_Datatype* types = nullptr;  ///< Then displs are bytes.
};
inline PassedBuffer oneBlock(const void* buffer, int count, MPI_Datatype type) {
  return {buffer, count, type};
}
inline PassedBuffer evenBlocks(const void* buffer, int count, MPI_Datatype type) {
  return {buffer, count, type, true};
}
inline PassedBuffer blocksOf(const void* buffer, const int counts[], const int displs[],
                             MPI_Datatype type) {
  return {buffer, 0, type, true, counts, displs};
}
inline PassedBuffer blocksOf(const void* buffer, const int counts[], const int displs[],
                             const MPI_Datatype types[]) {
  return {buffer, 0, MPI_DATATYPE_NULL, true, counts, displs, types};
}

/// Blocks of one length, one after the other.
class EvenBlocks {
 public:
  EvenBlocks(const void* buffer, int count, MPI_Datatype type, int number);
  Argument argument() const {
    return {buffer_, type_,         counts_.data(), nullptr, static_cast<int>(counts_.size()),
            nullptr, places_.data()};
  }

 private:
  const void* buffer_;
  MPI_Datatype type_;
  std::vector<int> counts_;
  std::vector<MPI_Aint> places_;
};

/// then(argument of the buffer), which is not significant here unless `used`.
template <class Then>
int described(const PassedBuffer& of, bool used, int others, const Then& then) {
  if (!used) return then(Argument{of.buffer, of.type, nullptr, nullptr});
  if (!of.each) return then(Argument{of.buffer, of.type, &of.count, nullptr});
  if (of.counts != nullptr && of.displs != nullptr) {
    return then(Argument{of.buffer, of.type, of.counts, of.displs, others, of.types});
  }
  const bool even = of.type != MPI_DATATYPE_NULL && of.counts == nullptr && of.displs == nullptr;
  return then(EvenBlocks(of.buffer, of.count, of.type, even ? others : 0).argument());
}

/// What all send and receive.
struct AmongAll {
  PassedBuffer send, recv;
  bool sends(const Sides&) const { return true; }
  bool receives(const Sides&) const { return true; }
};
/// The first rank's result of an exclusive scan is nobody's; its input may be there.
struct AfterOthers {
  PassedBuffer send, recv;
  bool sends(const Sides&) const { return true; }
  bool receives(const Sides& who) const { return who.rank > 0 || send.buffer == MPI_IN_PLACE; }
};
struct ToRoot {
  PassedBuffer send, recv;
  int root;
  bool sends(const Sides& who) const { return who.facesRoot(root); }
  bool receives(const Sides& who) const { return who.isRoot(root); }
};
struct FromRoot {
  PassedBuffer send, recv;
  int root;
  bool sends(const Sides& who) const { return who.isRoot(root); }
  bool receives(const Sides& who) const { return who.facesRoot(root); }
};
/// A broadcast, whose buffer is for one of the two.
struct FromRootToOthers {
  PassedBuffer send, recv;
  int root;
  bool sends(const Sides& who) const { return who.isRoot(root); }
  bool receives(const Sides& who) const { return who.facesRoot(root) && !who.isRoot(root); }
};

template <class Buffers, class Then>
int described(const Buffers& of, const Sides& who, const Then& then) {
  return described(of.send, of.sends(who), who.others, [&](const Argument& send) {
    return described(of.recv, of.receives(who), who.others,
                     [&](const Argument& recv) { return then(send, recv); });
  });
}

/// A reduce-scatter: a vector of a block for each rank of this side comes in, which is in the
/// receive buffer if that is in place, and this rank's block comes out.
struct Scattered {
  PassedBuffer send, recv;  ///< `recv` has the count, or the counts, of the blocks.
};
template <class Then>
int described(const Scattered& of, const Sides& who, const Then& then) {
  const bool even = of.recv.counts == nullptr, inPlace = of.send.buffer == MPI_IN_PLACE;
  const std::vector<int> alike(static_cast<size_t>(even ? who.own : 0), of.recv.count);
  const int* const counts = even ? alike.data() : of.recv.counts;
  std::vector<MPI_Aint> places;
  const ptrdiff_t extent = layoutOf(of.recv.type).extent;
  for (ptrdiff_t r = 0, at = 0; r < who.own; at += counts[r++]) places.push_back(at * extent);
  const Argument whole{inPlace ? of.recv.buffer : of.send.buffer,
                       of.recv.type,
                       counts,
                       nullptr,
                       who.own,
                       nullptr,
                       places.data()};
  if (inPlace) return then(Argument{of.send.buffer, of.recv.type, nullptr, nullptr}, whole);
  return then(whole, Argument{of.recv.buffer, of.recv.type, counts + who.rank, nullptr});
}

/// The call that is MPI's: mpi(send, recv), on copies of what lies on a device. `of` gives the
/// buffers. With a request it is a non-blocking one.
template <class Of, class Mpi>
class Passing {
 public:
  Passing(MPI_Comm comm, MPI_Request* request, const Of& of, const Mpi& mpi)
      : comm_(comm), request_(request), of_(of), mpi_(mpi) {}
  int operator()() const {
    if (!devicesOn) [[likely]]
      return onHost();
    const Sides who = sidesOf(comm_);
    if (who.own == 0) return onHost();
    return described(of_(), who, [&](const Argument& send, const Argument& recv) {
      return request_ == nullptr ? handOn(comm_, send, recv, mpi_)
                                 : handOnLater(comm_, send, recv, request_, mpi_);
    });
  }
  /// Where no rank has device memory.
  int onHost() const { return mpi_(of_().send.buffer, const_cast<void*>(of_().recv.buffer)); }

 private:
  MPI_Comm comm_;
  MPI_Request* request_;
  const Of& of_;
  const Mpi& mpi_;
};

}  // namespace rondo::drop_in
