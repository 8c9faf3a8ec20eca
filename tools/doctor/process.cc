// Facts of this process: what stands in no file.

#include <sys/statvfs.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string_view>

#include "api/rondo.h"
#include "doctor/facts.h"
#include "doctor/gpus.h"
#include "doctor/job.h"
#include "found_library.h"
#include "p2p/net_interfaces.h"
#include "ucx/ucx_devices.h"

extern char** environ;

namespace rondo::doctor {

void addProcessFacts(Facts* facts) {
  for (char** at = environ; *at != nullptr; ++at) {
    const std::string_view entry(*at);
    for (const char* const begin : {"OMPI_MCA_", "RONDO_", "UCX_"}) {
      if (entry.substr(0, std::string_view(begin).size()) != begin) continue;
      const size_t equals = entry.find('=');
      facts->env[std::string(entry.substr(0, equals))] = entry.substr(equals + 1);
    }
  }
  if (const char* const home = std::getenv("HOME"); home != nullptr) readUserParams(home, facts);
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) == 0) facts->host = name.data();
  struct statvfs shm {};
  if (statvfs("/dev/shm", &shm) == 0) {
    facts->shmBytes = static_cast<int64_t>(shm.f_blocks * shm.f_frsize);
    facts->shmFree = static_cast<int64_t>(shm.f_bavail * shm.f_frsize);
  }
  for (const NetInterface& each : listInterfaces()) {
    if (each.kind != NetInterface::Loopback) facts->interfaces.push_back(each.name);
  }
  rondoGetVersion(&facts->rondoVersion);
  const FoundLibrary library = findLibrary();
  facts->libraryVersion = library.version;
  facts->libraryPath = library.path;
  facts->mpiVersion = Job::mpiVersion();
  facts->ucxVersion = ucxVersionText();
  facts->pairs = tryPeerCopies();
}

}  // namespace rondo::doctor
