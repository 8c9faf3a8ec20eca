#pragma once
// Which part of a device's multiprocessors a communicator may keep busy. Kernels of different
// communicators wait for peers that may run them in another order; if all of them fit on the device
// at once, none can keep another from running.

#include <atomic>
#include <cstdint>
#include <string>

#include "coll/device_tenants.h"

namespace rondo {

/// What a process knows of a device's blocks.
struct DeviceRoom {
  int32_t total;          ///< That it holds at once, of any kernel.
  int32_t taken;          ///< Promised to communicators of this process.
  int32_t processes = 1;  ///< That share it, as far as any communicator of this process has said.
  int32_t looking = 0;    ///< Ranks of this process that have looked and not taken of it yet.

  /// Nobody else's, of each of a communicator's ranks in this process.
  int share(const DeviceSharers& sharers) const;
  /// The beginning of a sentence: what it holds, and what of it is left to each of those ranks.
  std::string text(const DeviceSharers& sharers) const;
};

/// Blocks of a device that are promised to a communicator of this process; given back at the end.
class DeviceBudget {
 public:
  DeviceBudget() = default;
  DeviceBudget(DeviceBudget&& other) noexcept;
  DeviceBudget& operator=(DeviceBudget&& other) noexcept;
  ~DeviceBudget();

  /// Of device `ordinal`, which holds `total`.
  static DeviceRoom room(int ordinal, int total);
  /// The same before this one takes of it: until it has, or ends, others find that it looks.
  DeviceRoom look(int ordinal, int total);
  /// So many processes share device `ordinal`: what communicators of this one take from now on
  /// leaves as much to each other. No fewer are ever taken for its sharers.
  static void sharedBy(int ordinal, int processes);

  /// How many use device `ordinal`: communicators of this process that have taken blocks of it, and
  /// other processes, as far as any of them has said. May be looked at at any time.
  static const std::atomic<int>& users(int ordinal);

  /// What a communicator gets of a share of a device without asking: half of it the first, and each
  /// further one a fifth of what is left beside a third of it all, at least 28 and 44 at most,
  /// which is for those that come late and have one block each. So of an H200's 264, 128 of which
  /// the first has, seven further ones have 19, 15, 12, 10, 8, 6 and 5 blocks, and sixty something.
  /// 0: nothing left. Where `others` were being made as well and had taken nothing yet, each gets
  /// no more than the last of them would after all others: of a device that nobody has half of what
  /// the one before it does.
  static int usual(int total, int free, int others = 0);

  /// What a communicator between hosts gets of a share for the kernels that talk to the host, of
  /// which `wanted` may be asked for (0: what is usual): a sixteenth, half for collectives and half
  /// for sends and receives. Few blocks fill PCIe, and it waits for a network. Two at least, and
  /// else no more than `most` (0: no bound).
  static int carrying(int share, int wanted, int most = 0);

  /// Takes `blocks` blocks; false if of this process's part of `total` not so many are left.
  bool take(int ordinal, int total, int blocks);

 private:
  int ordinal_ = 0;
  int blocks_ = 0;
  bool looks_ = false;
};

}  // namespace rondo
