#pragma once
// Communicators that are made in the background (config.blocking 0).

#include <functional>
#include <memory>

#include "api/handle.h"
#include "p2p/interrupt.h"

namespace rondo {

/// Makes a communicator; may wait for peers. Throws Error.
using Make = std::function<std::unique_ptr<Communicator>()>;

/// A handle at once, in state kForming; `make` runs on a thread of its own, in the caller's CUDA
/// context, and then the handle is alive, or unmade with the reason behind rondoGetLastError.
/// `adopt` gets the handle before the thread starts. `call` begins the reason. Throws Error.
rondoComm* formInBackground(const char* call, const std::shared_ptr<const Config>& config,
                            Make make, const std::function<void(rondoComm&)>& adopt);

/// Whether `comm` (may be nullptr) is still being made, or could not be.
bool isUnready(const rondoComm* comm);

/// Ends the making of `comm`, if it is under way; afterwards the handle is alive or unmade.
void stopForming(rondoComm* comm);

/// Once the making is over: frees what it took.
void endForming(rondoComm* comm);

/// Runs `make` now, or in the background if `config` says so; the handle goes to *comm. `adopt` may
/// be empty. The result is rondoInProgress for the latter.
rondoResult_t makeNowOrInBackground(const char* call, rondoComm_t* comm, const Config& config,
                                    Make make, const std::function<void(rondoComm&)>& adopt);

}  // namespace rondo
