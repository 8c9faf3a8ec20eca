#pragma once
// Device memory that a program gives to MPI: recognised by the CUDA driver, which is found at run
// time, and copied to and from host memory. Needs no CUDA header.

#include <cstddef>

namespace rondo::drop_in {

/// Whether buffers are looked at: RONDO_MPI=both, and there is a driver. Written in MPI_Init.
inline bool devicesOn = false;

/// Sets devicesOn if the driver can be used; false: why not is in *why, a sentence.
bool findDevices(const char** why);

bool isDeviceMemory(const void* address);
/// Memory that only a device can read; false for host memory, pinned and managed memory too. Asks
/// the driver each time: an address may have become another kind of memory since the last call.
inline bool onDevice(const void* address) { return devicesOn && isDeviceMemory(address); }

/// Done on return, after what is on the device at entry: no stream of the program's is waited for,
/// as buffers are ready when they are given to MPI. Throw Error.
void copyFromDevice(void* host, const void* device, size_t bytes);
void copyToDevice(void* device, const void* host, size_t bytes);

}  // namespace rondo::drop_in
