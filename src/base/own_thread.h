#pragma once
// Threads of the library's own in somebody else's program.

#include <functional>
#include <thread>

namespace rondo {

/// Starts a thread that takes none of the process's signals: their handlers are for the
/// application's threads. Throws an Error of rondoSystemError, "starting `what`: ...", if none can
/// be had; the caller's signals are then as they were.
std::thread ownThread(const char* what, std::function<void()> body);

/// Whether the calling thread may run on one processor only, and so may the threads it makes.
bool boundToOneCore();

}  // namespace rondo
