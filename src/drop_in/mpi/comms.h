#pragma once
// Which of MPI's communicators are Rondo's too.

#include <mpi.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "api/rondo.h"
#include "drop_in/mpi/agreed_size.h"
#include "drop_in/mpi/call_turn.h"
#include "drop_in/mpi/calls.h"
#include "drop_in/mpi/device_path.h"
#include "drop_in/mpi/kept_blocks.h"
#include "drop_in/mpi/measured_choice.h"
#include "drop_in/mpi/persistent.h"

namespace rondo::drop_in {

struct Members;
struct Topology;
/// What only a rehearsal has to know of a communicator, as MPI sees one process.
struct Rehearsed {
  std::shared_ptr<const Members> members;
  std::shared_ptr<const Topology> topology;  ///< nullptr: it has none.
};

/// What the layer knows of a communicator. All of it is the same on all its ranks, but `rank`
/// and `kept`.
struct KnownComm {
  rondoComm_t rondo = nullptr;  ///< nullptr: `why` says the reason.
  Why why = Why::NotConverted;
  int rank = 0;
  int size = 0;
  bool begunAsMany = false;                  ///< It was Why::Many when it was made.
  mutable std::atomic<bool> aborted{false};  ///< `rondo` is freed already.
  mutable std::atomic<int> pending{0};       ///< Non-blocking calls under way.
  mutable std::atomic<int> children{0};      ///< Made from it by calls of all its ranks.
  mutable std::atomic<int> calls{0};         ///< Blocking collectives while it is Why::Many.
  mutable CallTurns turns{};                 ///< Of the threads that call on it.
  mutable AgreedSize uneven{};               ///< What its v-collectives move.
  mutable bool hasMet = false;               ///< Ranks have added up times, or tried how it goes.
  mutable MeasuredChoices measured{};        ///< Who is quicker at its blocking calls.
  mutable LaterChoices laters{};             ///< And at its non-blocking ones.
  mutable DevicePath devices{};              ///< How its calls on device memory go.
  mutable KeptCalls kept{};                  ///< Its latest v-collectives on this rank.
  mutable OwnOrders orders{};                ///< Of its persistent collectives.
  Rehearsed rehearsed{};

  /// For a CallTurn. Communicators that are not Rondo's, and will not be, may be one KnownComm.
  CallTurns* itsTurns() const { return rondo != nullptr || begunAsMany ? &turns : nullptr; }
};

/// Local and quick; a communicator that the layer does not know has Why::NotConverted, and all have
/// Why::Inside while the calling thread makes one. Any thread.
const KnownComm& find(MPI_Comm comm);

/// True if `parent` is a communicator the layer knows, so that all its ranks are in this
/// MPI_COMM_WORLD, where all ranks have the layer: what comes of it may be converted.
bool knowsParent(MPI_Comm parent);

/// `comm` is answered by `rondo`, in which this is rank `rank` of `size`, whatever MPI would say
/// and the layer knew. It owns it from now on.
void keepAs(MPI_Comm comm, rondoComm_t rondo, int rank, int size, const Rehearsed& rehearsed);

/// Makes the Rondo communicator of `comm`, or notes why there is none. Collective over `comm`,
/// which the layer must not know yet. `children`: where the counting of its children begins.
void convert(MPI_Comm comm, Why unless, int children = 0);

/// For a program that makes communicators all the time, each used a few times (a grid with its rows
/// and columns for one operation): Why::Taken for the first children of `parent`, then Why::Many.
struct Child {
  Why why;
  int number;  ///< A child counts its own children from here.
};
/// The same on all ranks of `parent` if all are in the call that makes the child, which `counted`
/// says.
Child childOf(MPI_Comm parent, bool counted);

/// All ranks of `comm`, which is Why::Many, are in the same blocking collective: makes its Rondo
/// communicator after all if it is used so much. Why it stays MPI's, or Why::Taken.
Why useOnceMore(MPI_Comm comm);

/// A second Rondo communicator of `comm`, in which this is rank `rank`, with device `device`.
/// Collective over `comm`. `unless`: a sentence that says why this rank cannot; mostly empty.
/// nullptr, on all ranks, if one cannot: who knows why says so on standard error, once.
rondoComm_t makeDeviceRondo(MPI_Comm comm, int rank, int device, const std::string& unless);
/// All ranks know, by the same sentence, that there is no such communicator: rank 0 says so.
void refuseDevices(int rank, const std::string& why);

/// A third one, without a device, for what ranks tell each other of non-blocking calls. As above.
rondoComm_t makeAskingRondo(MPI_Comm comm, int rank, const std::string& unless);

/// Destroys the Rondo communicators whose MPI communicator was freed before the last non-blocking
/// call on it was done. Next to nothing if there are none.
void destroyIdle();

/// Forgets `comm` and destroys its Rondo communicator, once the last non-blocking call on it is
/// done. What MPI has of it stays.
void retire(MPI_Comm comm);

/// Destroys all Rondo communicators; afterwards no communicator is known.
void forgetAll();

/// The sentences with which Rondo refused communicators on this rank, each once, and what for.
std::vector<std::string> refusals();

}  // namespace rondo::drop_in
