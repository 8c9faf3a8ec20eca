#pragma once
// Memory of the program's that needs no asking.

namespace rondo {

/// Whether `address` lies in the heap that brk grows, where malloc puts the main thread's blocks
/// below 128 KiB, or on the calling thread's stack above the caller: the host's memory, as no
/// driver puts any of its own there. Of all else, other memory of the host's too, false. 5 ns.
bool inHeapOrStack(const void* address);

}  // namespace rondo
