#pragma once
// How other stand-ins put work on a stream of the stand-in for the CUDA driver.

#include <functional>

/// Runs `work` now, or adds it to the graph that `stream` is capturing.
extern "C" void fakeCudaEnqueue(void* stream, const std::function<void()>* work);
