#pragma once
// What tests ask and tell the fake driver (fake_driver.cc); found by dlsym in libcuda.so.1.

#include <cstddef>

/// How the driver behaves from now on, and what it has seen. One in the process.
struct FakeCuda {
  int devices = 2;
  size_t bytesEach = size_t{64} << 20;  ///< Memory of a device.
  bool virtualMemory = true;            ///< The devices' attribute says so.
  bool createFails = false;  ///< cuMemCreate: not supported, whatever the attribute says.
  bool peersReach = true;    ///< cuDeviceCanAccessPeer
  int refusedAccess = -1;    ///< cuMemSetAccess for this device fails.
  int refusedPeer = -1;      ///< cuCtxEnablePeerAccess fails on this device.
  size_t used[8] = {};       ///< By device: memory that is not given back.
  int contexts[8] = {};      ///< By device: how often its primary context is retained.
  int synchronisations = 0;  ///< cuCtxSynchronize
  int frees = 0;             ///< cuMemFree, which waits for the context as well
  bool captures = false;     ///< A stream captures, of a thread whose mode is global.
  int spoiltCaptures = 0;    ///< By calls that are refused while one does.
  int opened = 0;            ///< Mappings of legacy IPC handles that are open.
  int peerEnables = 0;       ///< cuCtxEnablePeerAccess that enabled something.
  int attributeCalls = 0;    ///< cuPointerGetAttributes
  int lost = 0;              ///< What calls on devices come to (fakeCudaLose()).
};

/// The library's one, which is as at the beginning again.
extern "C" FakeCuda* fakeCudaAfresh();
/// Makes the context of a device current on the calling thread; -1: none is.
extern "C" void fakeCudaSetDevice(int device);
/// Says of an allocation that it is of a pool.
extern "C" void fakeCudaPooled(unsigned long long address);
/// Devices are lost: calls come to this CUresult, and nobody reaches their memory. 0: there again.
extern "C" void fakeCudaLose(int error);
