#pragma once
// How a communicator comes to be, whichever door it came through.

#include <functional>
#include <memory>
#include <string>

#include "api/rondo.h"
#include "base/options.h"
#include "p2p/bootstrap.h"
#include "p2p/channels.h"

namespace rondo {

class Communicator;
class DeviceRunner;
class FarDevice;

/// rondoConfig_t after checking: every field has a value.
struct Config {
  int device = RONDO_DEVICE_AUTO;
  std::string name = "comm";
  bool blocking = true;
  Options options;  ///< The environment, overridden by the configuration's fields.
  std::function<void(Channels&, int rank)> decorate;  ///< Tests: replaces ports; may be empty.
  /// Tests: calls are numbered as if so many of each kind, and messages of other hosts, had come
  /// before.
  uint64_t callsBefore = 0;
  /// Communicators of Rondo's own: Communicator::Parts.
  bool carries = false;
  int averagesOver = 0;
  /// Of what it is made of: Communicator::Parts::ranksOfProcess; 0: it is nobody's part.
  size_t ranksOfProcess = 0;
  /// Tests: the runner of a communicator on one host, or of a host's ranks of one that spans
  /// several; may be empty.
  std::function<std::unique_ptr<DeviceRunner>(int rank)> nearDevice;
  /// Tests: the device of a communicator that spans hosts; may be empty.
  std::function<std::unique_ptr<FarDevice>(int rank)> farDevice;
  int farLanes = 2;  ///< Tests: chunks that such a device moves at once: 1, 2 or 4.
};

/// The caller's struct in this library's layout; size and version are checked. Throws Error.
rondoConfig_t adoptConfig(const char* call, const rondoConfig_t& given);

/// Checks size, version and fields; `config` may be nullptr. `call` names the C function in
/// sentences. Throws Error.
Config checkConfig(const char* call, const rondoConfig_t* config);

/// Whether a configuration that may be wrong elsewhere asks for the background; may be nullptr.
bool asksNotToWait(const rondoConfig_t* config);

/// What a host wait does besides looking at memory, if the communicator came from MPI: polls MPI.
/// May be empty. Must be safe to call at any time until the communicator is destroyed. It may come
/// back with calls on other communicators: MPI's progress calls librondo_mpi.so.
using WaitHook = std::function<void()>;

/// Frees the communicator as rondoCommDestroy does (locally), also one that MPI owns.
void freeComm(rondoComm* comm) noexcept;

struct CommDeleter {
  void operator()(rondoComm* comm) const noexcept { freeComm(comm); }
};
using CommPtr = std::unique_ptr<rondoComm, CommDeleter>;

/// Builds the communicator over `boot` (collective: identities, consensus, shared memory,
/// channels). Throws the same Error on all ranks. `boot` is not used after it returns.
std::unique_ptr<Communicator> buildComm(Bootstrap& boot, const Config& config, WaitHook hook);

/// The same, with a handle.
CommPtr createComm(Bootstrap& boot, const Config& config, WaitHook hook);

/// `comm` belongs to an MPI_Comm from now on: rondoCommDestroy on it is rondoInvalidUsage, and
/// rondoCommAbort ends it but leaves the handle (freeComm does that later).
void setOwnedByMpi(rondoComm& comm);

/// `hook` runs once, first thing when `comm` is freed, by whatever call.
void onFree(rondoComm& comm, std::function<void()> hook);

/// `hook` runs on every communicator that is made of `comm`, and is theirs too.
void onChild(rondoComm& comm, std::function<void(rondoComm&)> hook);

/// Runs a step that may fail on this rank alone, and makes its failure everybody's
/// (Bootstrap::agree).
void together(Bootstrap& boot, const std::function<void()>& step);

/// Runs `body` at the C boundary: catches everything, records the sentence for rondoGetLastError,
/// returns the code. `comm` may be nullptr.
rondoResult_t guarded(rondoComm* comm, const char* call, const std::function<void()>& body);
/// In a catch clause: what was thrown, as guarded() has it.
rondoResult_t caught(rondoComm* comm, const char* call) noexcept;

/// Records a failed call's sentence for rondoGetLastError (thread, and communicator if given);
/// returns `code`.
rondoResult_t fail(rondoComm* comm, rondoResult_t code, std::string sentence);

}  // namespace rondo
