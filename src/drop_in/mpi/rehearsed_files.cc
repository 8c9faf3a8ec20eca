#include "drop_in/mpi/rehearsed_files.h"

#include <mutex>
#include <string>
#include <unordered_map>

#include "base/error.h"
#include "drop_in/mpi/failure.h"
#include "drop_in/mpi/rehearsed_groups.h"

namespace rondo::drop_in {
namespace {

/// Those of virtual communicators. Never destroyed, as the layer's other state.
struct Files {
  std::mutex mutex;
  std::unordered_map<MPI_File, Rehearsed> all;
};
Files& files() {
  static Files* const one = new Files;
  return *one;
}

bool isOfOthersToo(MPI_File file, Rehearsed* of = nullptr) {
  if (!rehearsing) [[likely]]
    return false;
  const std::lock_guard<std::mutex> lock(files().mutex);
  const auto found = files().all.find(file);
  if (found == files().all.end()) return false;
  if (of != nullptr) *of = found->second;
  return true;
}

void forget(MPI_File file) {
  if (!rehearsing) [[likely]]
    return;
  const std::lock_guard<std::mutex> lock(files().mutex);
  files().all.erase(file);
}

}  // namespace

void noteFile(MPI_Comm comm, MPI_File file) {
  const KnownComm* known = rehearsed(comm);
  if (known == nullptr) return;
  const std::lock_guard<std::mutex> lock(files().mutex);
  files().all[file] = known->rehearsed;
}

bool refusesShared(const char* call, MPI_File file, int* code) {
  if (!isOfOthersToo(file)) [[likely]]
    return false;
  *code = raise(OnFile{file}, rondoUnsupported,
                format("%s: in a rehearsal (RONDO_VIRTUAL) nobody knows where other ranks leave "
                       "the pointer that they share; allowed: calls at a given place or at the "
                       "rank's own pointer",
                       call));
  return true;
}

bool refusesShared(const char* call, MPI_File file, MPI_Request* request, int* code) {
  if (!refusesShared(call, file, code)) [[likely]]
    return false;
  *request = MPI_REQUEST_NULL;
  return true;
}

}  // namespace rondo::drop_in

using namespace rondo::drop_in;

int MPI_File_open(MPI_Comm comm, const char* name, int mode, MPI_Info info, MPI_File* file) {
  const int code = PMPI_File_open(comm, name, mode, info, file);
  if (code == MPI_SUCCESS) noteFile(comm, *file);
  return code;
}

int MPI_File_close(MPI_File* file) {
  if (file != nullptr) forget(*file);
  return PMPI_File_close(file);
}

int MPI_File_seek_shared(MPI_File file, MPI_Offset to, int from) {
  int code = MPI_SUCCESS;
  if (refusesShared("MPI_File_seek_shared", file, &code)) return code;
  return PMPI_File_seek_shared(file, to, from);
}

int MPI_File_get_position_shared(MPI_File file, MPI_Offset* at) {
  int code = MPI_SUCCESS;
  if (refusesShared("MPI_File_get_position_shared", file, &code)) return code;
  return PMPI_File_get_position_shared(file, at);
}

int MPI_File_get_group(MPI_File file, MPI_Group* group) {
  Rehearsed of;
  if (!isOfOthersToo(file, &of)) return PMPI_File_get_group(file, group);
  return makeGroup(*of.members, group);
}
