#pragma once
// The parts of device_calls_test: what MPI does itself with device buffers.

#include "drop_in/device_buffers.h"

namespace drop_in_test {

/// Each with this rank's buffers on the device, or on the host.
void files(bool device);
void handedOn(bool device);
void neighbours(bool device);
void packing(bool device);
void persistentMessages(bool device);
void windows(bool device);

}  // namespace drop_in_test
