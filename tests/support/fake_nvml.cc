// An NVML of two GPUs on an NVSwitch that a virtual machine hides, and a third one joined to the
// first directly.

#include <cstdio>
#include <cstring>

namespace {

struct PciInfo {
  char busIdLegacy[16];
  unsigned domain, bus, device, deviceId, subsystemId;
  char busId[32];
};

unsigned numberOf(void* device) {
  return static_cast<unsigned>(reinterpret_cast<size_t>(device)) - 1;
}

}  // namespace

extern "C" {

int nvmlInit_v2() { return 0; }
int nvmlShutdown() { return 0; }
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 3;
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  *device = reinterpret_cast<void*>(static_cast<size_t>(index) + 1);
  return 0;
}
int nvmlDeviceGetName(void*, char* name, unsigned length) {
  std::snprintf(name, length, "FAKE H200");
  return 0;
}
int nvmlDeviceGetPciInfo_v3(void* device, PciInfo* pci) {
  std::memset(pci, 0, sizeof *pci);
  pci->bus = 0x10 + numberOf(device);
  return 0;
}
int nvmlDeviceGetCudaComputeCapability(void*, int* major, int* minor) {
  *major = 9;
  *minor = 0;
  return 0;
}
// GPUs 0 and 1: links 0 to 3 to a switch. GPUs 0 and 2: links 4 and 5 to each other.
int nvmlDeviceGetNvLinkState(void* device, unsigned link, unsigned* active) {
  if (link >= 8) return 2;
  const unsigned gpu = numberOf(device);
  *active = (link < 4 && gpu != 2) || ((link == 4 || link == 5) && gpu != 1);
  return 0;
}
int nvmlDeviceGetNvLinkRemotePciInfo_v2(void* device, unsigned link, PciInfo* pci) {
  if (link < 4) return 3;  // a virtual machine does not see the switch
  std::memset(pci, 0, sizeof *pci);
  pci->bus = numberOf(device) == 0 ? 0x12 : 0x10;
  return 0;
}
int nvmlDeviceGetNvLinkRemoteDeviceType(void*, unsigned link, unsigned* type) {
  *type = link < 4 ? 2 : 0;
  return 0;
}
}
