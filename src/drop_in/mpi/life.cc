#include "drop_in/mpi/life.h"

#include <array>
#include <atomic>
#include <cstdio>

#include "base/error.h"
#include "drop_in/mpi/comms.h"
#include "drop_in/mpi/device_memory.h"
#include "drop_in/mpi/failure.h"
#include "drop_in/mpi/launcher.h"
#include "drop_in/mpi/layout.h"
#include "drop_in/mpi/own_calls.h"
#include "drop_in/mpi/rehearsal.h"
#include "drop_in/mpi/requests.h"
#include "drop_in/mpi/settings.h"
#include "drop_in/mpi/staged.h"
#include "drop_in/mpi/stats.h"

namespace rondo::drop_in {
namespace {

Settings settings;
/// Why no communicator is converted; Taken: they are. Off before MPI_Init and after MPI_Finalize.
std::atomic<Why> unless{Why::Off};

/// What this rank would do; all must do the same.
struct Intent {
  bool failed = false;
  std::string sentence;
  int threadLevel = MPI_THREAD_SINGLE;
};

Intent readIntent() {
  Intent intent;
  PMPI_Query_thread(&intent.threadLevel);
  threadsBeside = intent.threadLevel == MPI_THREAD_MULTIPLE;
  try {
    settings = readSettings();
  } catch (const Error& error) {
    intent.failed = true;
    intent.sentence = error.sentence();
  }
  return intent;
}

/// Negative of the least and the largest of each number.
template <size_t n>
std::array<int, 2 * n> extremes(const std::array<int, n>& mine) {
  std::array<int, 2 * n> both, all;
  for (size_t i = 0; i < n; ++i) {
    both[i] = mine[i];
    both[n + i] = -mine[i];
  }
  PMPI_Allreduce(both.data(), all.data(), 2 * n, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  return all;
}

/// Where ranks look for device memory.
enum class Devices { Nowhere, Somewhere, Everywhere };

Devices prepareDevices(int rank, Mode mode) {
  if (mode != Mode::Both && mode != Mode::Device) return Devices::Nowhere;
  std::string why;
  if (!findDevices(&why) && rank == 0) {
    std::fprintf(stderr, "rondo_mpi: RONDO_MPI=%s: no device memory is looked for: %s\n",
                 modeName(mode), why.c_str());
  }
  const std::array<int, 2> all = extremes(std::array<int, 1>{devicesOn});
  if (all[0] == 0) return Devices::Nowhere;
  return all[0] == -all[1] ? Devices::Everywhere : Devices::Somewhere;
}

/// Why no communicator is to be converted, if so.
Why reasonAgainst(Mode mode, Devices devices, bool serialized) {
  if (mode == Mode::Off || (mode == Mode::Device && devices == Devices::Nowhere)) return Why::Off;
  return serialized ? Why::ThreadLevel : Why::Taken;
}

std::atomic<bool> hasEnded{false};

int endBeforeSelf(MPI_Comm, int, void*, void*) {
  end();
  return MPI_SUCCESS;
}

/// What programs hang on MPI_COMM_SELF is deleted first of all by MPI_Finalize, in the reverse
/// order, and may call MPI meanwhile, also what waits for a rank that is not there yet: so this is
/// hung there, too, behind what Rondo has there and before any of the program's. Where Rondo may
/// come to have it there later, nobody else is waited for.
void endBehindTheProgram() {
  int ranks = 0, keyval = MPI_KEYVAL_INVALID;
  PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (unless != Why::Taken || ranks == 1) return;
  if (PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, endBeforeSelf, &keyval, nullptr) !=
      MPI_SUCCESS) {
    return;
  }
  PMPI_Comm_set_attr(MPI_COMM_SELF, keyval, nullptr);
  endsByItself = true;
  PMPI_Comm_free_keyval(&keyval);  // lives on until the attribute is deleted
}

}  // namespace

bool endsByItself = false;

int begin() {
  const Intent intent = readIntent();
  // Waits inside Rondo let MPI progress on the thread that made the communicator, or on any if MPI
  // lets any: with MPI_THREAD_SERIALIZED a waiting thread might let nobody.
  const std::array<int, 5> mine = {static_cast<int>(settings.mode), settings.stats,
                                   intent.threadLevel == MPI_THREAD_SERIALIZED, intent.failed,
                                   settings.measure};
  const std::array<int, 10> all = extremes(mine);
  if (intent.failed) return raise(MPI_COMM_WORLD, rondoInvalidArgument, intent.sentence);
  if (all[3] != 0) {
    return raise(MPI_COMM_WORLD, rondoInvalidArgument,
                 "another rank was given a wrong environment variable; its sentence names it");
  }
  if (all[0] != -all[5] || all[1] != -all[6] || all[4] != -all[9]) {
    return raise(MPI_COMM_WORLD, rondoInvalidArgument,
                 format("ranks have different RONDO_MPI, RONDO_MPI_STATS or RONDO_MPI_MEASURE: "
                        "this one %s, %d and %d; allowed: the same on all",
                        modeName(settings.mode), settings.stats, settings.measure));
  }
  statsOn = settings.stats;
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const Devices devices = prepareDevices(rank, settings.mode);
  unless = reasonAgainst(settings.mode, devices, all[2] != 0);
  // Whether a buffer lies on a device is known to its rank only, and MPI might not know what to do.
  leastLater = devices != Devices::Nowhere ? 0 : kLeastLater;
  leastUneven = kLeastUneven;
  leastUnevenLater = kLeastLater;
  // What lies on a device is copied to the host for MPI, which would be measured with it.
  measuring = settings.measure && devices == Devices::Nowhere;
  devicesSomewhere = devices != Devices::Nowhere;
  lingerMicroseconds = settings.linger;
  devicesEverywhere = devices == Devices::Everywhere;
  devicesOnly = devicesEverywhere && settings.mode == Mode::Device;
  const int level = intent.threadLevel;
  oneCaller = !devicesOn && (level == MPI_THREAD_SINGLE || level == MPI_THREAD_FUNNELED);
  usualProgram = oneCaller && !statsOn && !rehearsing;
  if (unless != Why::Off) beginPacking();  // messages on devices, too
  convert(MPI_COMM_SELF, unless);
  convert(MPI_COMM_WORLD, unless);
  endBehindTheProgram();
  return MPI_SUCCESS;
}

void end() {
  if (hasEnded.exchange(true)) return;
  const OwnCalls own;
  drainFreed();
  if (unless == Why::Taken) drainPending();
  stopLauncher();
  endPacking();
  if (statsOn) printStats(modeName(settings.mode));
  statsOn = false;
  devicesOn = devicesSomewhere = devicesEverywhere = oneCaller = usualProgram = false;
  unless = Why::Off;
  forgetAll();
}

void adopt(MPI_Comm parent, MPI_Comm made, bool byAll) {
  if (!knowsParent(parent)) return;
  const Child child = childOf(parent, byAll);  // counts, also where this rank gets none
  if (made == MPI_COMM_NULL) return;
  const Why general = unless;
  convert(made, general == Why::Taken ? child.why : general, child.number);
}

}  // namespace rondo::drop_in
