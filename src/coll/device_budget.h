#pragma once
// Which part of a device's multiprocessors a communicator may keep busy. Kernels of different
// communicators wait for peers that may run them in another order; if all of them fit on the device
// at once, none can keep another from running.

namespace rondo {

/// Blocks of a device that are promised to a communicator of this process; given back at the end.
class DeviceBudget {
 public:
  DeviceBudget() = default;
  DeviceBudget(DeviceBudget&& other) noexcept;
  DeviceBudget& operator=(DeviceBudget&& other) noexcept;
  ~DeviceBudget();

  /// Blocks of device `ordinal`, of `total`, that nobody has been promised.
  static int free(int ordinal, int total);

  /// What a communicator gets of a share of a device without asking: half of it the first, and each
  /// further one the sixteenth part of what is left, so that fifty have something. 0: nothing left.
  static int usual(int total, int free);

  /// Takes `blocks` blocks; false if there are not so many.
  bool take(int ordinal, int total, int blocks);

 private:
  int ordinal_ = 0;
  int blocks_ = 0;
};

}  // namespace rondo
