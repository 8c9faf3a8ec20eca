#pragma once
// How other stand-ins put work on a stream of the stand-in for the CUDA driver.

#include <functional>

/// Runs `work` now, or adds it to the graph that `stream` is capturing.
extern "C" void fakeCudaEnqueue(void* stream, const std::function<void()>* work);

/// Runs `work` when `stream` is waited for or gets more, not before.
extern "C" void fakeCudaDefer(void* stream, const std::function<void()>* work);

/// Of a call that a graph runs: `library` writes to `result`. A line of the file FAKE_CUDA_LOG.PID.
extern "C" void fakeCudaNote(const char* library, const void* result);
