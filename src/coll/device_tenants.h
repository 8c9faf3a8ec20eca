#pragma once
// Who keeps a device busy: ranks of one communicator that share it, of whatever hosts they are.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace rondo {

/// A rank on its device; equal bytes mean equal devices and processes. Processes that name
/// different hosts (RONDO_HOSTID, containers) may share a device all the same.
struct DeviceTenant {
  std::array<unsigned char, 16> device;
  std::array<uint64_t, 2> process;  ///< processTag()
  int32_t together;                 ///< CudaDevice::runsProcessesTogether()
};

/// Differs between processes, also of different process id name spaces.
std::array<uint64_t, 2> processTag();

/// Among whom what a device holds at once is divided: as much for each process, and of that as much
/// for each of its ranks.
struct DeviceSharers {
  int32_t processes = 1;  ///< That have a rank of the communicator on the device.
  int32_t inProcess = 1;  ///< Ranks of the communicator on it in this process.
};
DeviceSharers sharersOf(const std::vector<DeviceTenant>& tenants, size_t rank);

/// Of the first two ranks whose kernels cannot run at once, being processes that take turns on one
/// device: which they are, and the remedy. Empty: there are none.
std::string turnsTaken(const std::vector<DeviceTenant>& tenants);
/// Rank 0 says so.
void warnOfTurns(const std::vector<DeviceTenant>& tenants, int rank);

}  // namespace rondo
