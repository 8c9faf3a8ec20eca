#pragma once
// Whether the costs that jobs find still hold.

#include <cstdint>

namespace rondo::tune {

/// Prints, for ring and two-shot all-reduces, and stripes if the hosts are `layered`, from 64 KiB
/// to `most` bytes, what new communicators predict beside what they then measure, and the errors'
/// median and worst. Calls for which the machine did not stay in its state long enough are made
/// again, on new communicators. Collective over MPI_COMM_WORLD.
void checkFile(uint64_t most, bool mapped, bool layered);

}  // namespace rondo::tune
