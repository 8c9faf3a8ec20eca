// Calls on device buffers that are MPI's whatever their size: it gets copies on the host. On any
// CUDA driver: on one that has no GPU behind it (fake_driver.cc) a touch of a device buffer by host
// code ends the program. Usage: mpirun -n N -x LD_PRELOAD=... -x RONDO_MPI=both device_calls_test
// [PART...]

#include <string>

#include "drop_in/device_calls.h"

using namespace drop_in_test;

namespace {

struct Part {
  const char* name;
  void (*run)(bool device);
};
constexpr Part kParts[] = {{"files", files},
                           {"handed-on", handedOn},
                           {"neighbours", neighbours},
                           {"packing", packing},
                           {"persistent", persistentMessages},
                           {"windows", windows}};

bool isWanted(const std::string& name, int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (name == argv[i]) return true;
  }
  return argc == 1;
}

}  // namespace

int main(int argc, char** argv) {
  start(&argc, &argv);
  useDevice();
  for (const Part& part : kParts) {
    if (!isWanted(part.name, argc, argv)) continue;
    // Where a buffer lies is a rank's own business.
    for (const bool everywhere : {true, false}) part.run(everywhere || rank == 0);
  }
  return finish();
}
