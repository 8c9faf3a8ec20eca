#pragma once
// What is free while a process has one thread. With more of them the kernel waits, for each of
// these, until no CPU can be at work with what there was before: 10 to 40 ms. So the library does
// both when it is loaded, which usually is before there are threads. The first communicator of four
// processes took 115 to 150 ms before that, and 71 to 92 since (4 x H200, 64 CPUs, 2026-11-27).

namespace rondo {

/// Makes the kernel's table of this process's descriptors hold so many, or as many as RLIMIT_NOFILE
/// allows if that is less. Otherwise it doubles, and waits, each time that it is full: CUDA opens
/// dozens for each GPU, so that ranks found it full in the middle of trading theirs. In a process
/// with threads this does nothing, and returns false.
bool growDescriptorTable(unsigned descriptors);

/// Whether the kernel puts a fence into all threads of the process when asked to
/// (MEMBARRIER_CMD_PRIVATE_EXPEDITED). The first call asks for it. Any thread.
bool canFenceAllThreads();

}  // namespace rondo
