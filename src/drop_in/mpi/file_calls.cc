// MPI's reading and writing of files. Of host buffers it is MPI's at once; of device buffers MPI is
// given a host image.

#include <mpi.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "drop_in/mpi/by_image.h"
#include "drop_in/mpi/rehearsed_files.h"

using namespace rondo;
using namespace rondo::drop_in;

namespace {

/// Calls at the file's own place, and at one that is given.
template <auto pmpi>
int readBy(const char* call, MPI_File file, const Buffer& to, MPI_Status* status) {
  return receive(OnFile{file}, call, to,
                 [&](void* given) { return pmpi(file, given, to.count, to.type, status); });
}
template <auto pmpi>
int readAtBy(const char* call, MPI_File file, MPI_Offset at, const Buffer& to, MPI_Status* status) {
  return receive(OnFile{file}, call, to,
                 [&](void* given) { return pmpi(file, at, given, to.count, to.type, status); });
}
template <auto pmpi>
int writeBy(const char* call, MPI_File file, const Buffer& from, MPI_Status* status) {
  return send(OnFile{file}, call, from,
              [&](const void* given) { return pmpi(file, given, from.count, from.type, status); });
}
template <auto pmpi>
int writeAtBy(const char* call, MPI_File file, MPI_Offset at, const Buffer& from,
              MPI_Status* status) {
  return send(OnFile{file}, call, from, [&](const void* given) {
    return pmpi(file, at, given, from.count, from.type, status);
  });
}

/// The non-blocking ones.
template <auto pmpi>
int laterBy(const char* call, MPI_File file, const Buffer& of, bool reads, MPI_Request* request) {
  return begin(OnFile{file}, call, of, reads, request,
               [&](void* given) { return pmpi(file, given, of.count, of.type, request); });
}
template <auto pmpi>
int laterAtBy(const char* call, MPI_File file, MPI_Offset at, const Buffer& of, bool reads,
              MPI_Request* request) {
  return begin(OnFile{file}, call, of, reads, request,
               [&](void* given) { return pmpi(file, at, given, of.count, of.type, request); });
}

/// Split collectives under way, of which a file has one at most. Never destroyed: MPI_Finalize may
/// run in an atexit handler.
struct Splits {
  std::mutex mutex;
  std::unordered_map<MPI_File, std::shared_ptr<StagedMessage>> all;
};
Splits& splits() {
  static Splits* const instance = new Splits;
  return *instance;
}
std::atomic<size_t> splitCount{0};

/// mpis(buffer) begins one.
template <class Mpis>
int beginSplit(const char* call, MPI_File file, const Buffer& of, bool reads, const Mpis& mpis) {
  if (!of.staged()) [[likely]]
    return mpis(const_cast<void*>(of.begin));
  return copied(OnFile{file}, call, [&] {
    const auto message = std::make_shared<StagedMessage>(of.elements(), reads);
    const int code = mpis(message->begin());
    if (code != MPI_SUCCESS) return code;
    Splits& self = splits();
    const std::lock_guard<std::mutex> lock(self.mutex);
    if (self.all.insert_or_assign(file, message).second) splitCount.fetch_add(1);
    return code;
  });
}

/// mpis(buffer) ends it, on the buffer that it began with.
template <class Mpis>
int endSplit(MPI_File file, const void* buffer, const Mpis& mpis) {
  std::shared_ptr<StagedMessage> message;
  if (splitCount.load(std::memory_order_relaxed) != 0) {
    Splits& self = splits();
    const std::lock_guard<std::mutex> lock(self.mutex);
    const auto found = self.all.find(file);
    if (found != self.all.end()) {
      message = std::move(found->second);
      self.all.erase(found);
      splitCount.fetch_sub(1);
    }
  }
  if (message == nullptr) return mpis(const_cast<void*>(buffer));
  const int code = mpis(message->begin());
  const int failure = message->end();
  return code == MPI_SUCCESS ? failure : code;
}

}  // namespace

int MPI_File_read(MPI_File file, void* to, int count, MPI_Datatype type, MPI_Status* status) {
  return readBy<PMPI_File_read>("MPI_File_read", file, {to, count, type}, status);
}

int MPI_File_read_all(MPI_File file, void* to, int count, MPI_Datatype type, MPI_Status* status) {
  return readBy<PMPI_File_read_all>("MPI_File_read_all", file, {to, count, type}, status);
}

int MPI_File_read_shared(MPI_File file, void* to, int count, MPI_Datatype type,
                         MPI_Status* status) {
  int code = MPI_SUCCESS;
  if (refusesShared("MPI_File_read_shared", file, &code)) return code;
  return readBy<PMPI_File_read_shared>("MPI_File_read_shared", file, {to, count, type}, status);
}

int MPI_File_read_ordered(MPI_File file, void* to, int count, MPI_Datatype type,
                          MPI_Status* status) {
  int code = MPI_SUCCESS;
  if (refusesShared("MPI_File_read_ordered", file, &code)) return code;
  return readBy<PMPI_File_read_ordered>("MPI_File_read_ordered", file, {to, count, type}, status);
}

int MPI_File_read_at(MPI_File file, MPI_Offset at, void* to, int count, MPI_Datatype type,
                     MPI_Status* status) {
  return readAtBy<PMPI_File_read_at>("MPI_File_read_at", file, at, {to, count, type}, status);
}

int MPI_File_read_at_all(MPI_File file, MPI_Offset at, void* to, int count, MPI_Datatype type,
                         MPI_Status* status) {
  return readAtBy<PMPI_File_read_at_all>("MPI_File_read_at_all", file, at, {to, count, type},
                                         status);
}

int MPI_File_write(MPI_File file, const void* from, int count, MPI_Datatype type,
                   MPI_Status* status) {
  return writeBy<PMPI_File_write>("MPI_File_write", file, {from, count, type}, status);
}

int MPI_File_write_all(MPI_File file, const void* from, int count, MPI_Datatype type,
                       MPI_Status* status) {
  return writeBy<PMPI_File_write_all>("MPI_File_write_all", file, {from, count, type}, status);
}

int MPI_File_write_shared(MPI_File file, const void* from, int count, MPI_Datatype type,
                          MPI_Status* status) {
  int code = MPI_SUCCESS;
  if (refusesShared("MPI_File_write_shared", file, &code)) return code;
  return writeBy<PMPI_File_write_shared>("MPI_File_write_shared", file, {from, count, type},
                                         status);
}

int MPI_File_write_ordered(MPI_File file, const void* from, int count, MPI_Datatype type,
                           MPI_Status* status) {
  int code = MPI_SUCCESS;
  if (refusesShared("MPI_File_write_ordered", file, &code)) return code;
  return writeBy<PMPI_File_write_ordered>("MPI_File_write_ordered", file, {from, count, type},
                                          status);
}

int MPI_File_write_at(MPI_File file, MPI_Offset at, const void* from, int count, MPI_Datatype type,
                      MPI_Status* status) {
  return writeAtBy<PMPI_File_write_at>("MPI_File_write_at", file, at, {from, count, type}, status);
}

int MPI_File_write_at_all(MPI_File file, MPI_Offset at, const void* from, int count,
                          MPI_Datatype type, MPI_Status* status) {
  return writeAtBy<PMPI_File_write_at_all>("MPI_File_write_at_all", file, at, {from, count, type},
                                           status);
}

int MPI_File_iread(MPI_File file, void* of, int count, MPI_Datatype type, MPI_Request* request) {
  return laterBy<PMPI_File_iread>("MPI_File_iread", file, {of, count, type}, true, request);
}

int MPI_File_iread_all(MPI_File file, void* of, int count, MPI_Datatype type,
                       MPI_Request* request) {
  return laterBy<PMPI_File_iread_all>("MPI_File_iread_all", file, {of, count, type}, true, request);
}

int MPI_File_iread_shared(MPI_File file, void* of, int count, MPI_Datatype type,
                          MPI_Request* request) {
  int code = MPI_SUCCESS;
  if (refusesShared("MPI_File_iread_shared", file, request, &code)) return code;
  return laterBy<PMPI_File_iread_shared>("MPI_File_iread_shared", file, {of, count, type}, true,
                                         request);
}

int MPI_File_iread_at(MPI_File file, MPI_Offset at, void* of, int count, MPI_Datatype type,
                      MPI_Request* request) {
  return laterAtBy<PMPI_File_iread_at>("MPI_File_iread_at", file, at, {of, count, type}, true,
                                       request);
}

int MPI_File_iread_at_all(MPI_File file, MPI_Offset at, void* of, int count, MPI_Datatype type,
                          MPI_Request* request) {
  return laterAtBy<PMPI_File_iread_at_all>("MPI_File_iread_at_all", file, at, {of, count, type},
                                           true, request);
}

int MPI_File_iwrite(MPI_File file, const void* of, int count, MPI_Datatype type,
                    MPI_Request* request) {
  return laterBy<PMPI_File_iwrite>("MPI_File_iwrite", file, {of, count, type}, false, request);
}

int MPI_File_iwrite_all(MPI_File file, const void* of, int count, MPI_Datatype type,
                        MPI_Request* request) {
  return laterBy<PMPI_File_iwrite_all>("MPI_File_iwrite_all", file, {of, count, type}, false,
                                       request);
}

int MPI_File_iwrite_shared(MPI_File file, const void* of, int count, MPI_Datatype type,
                           MPI_Request* request) {
  int code = MPI_SUCCESS;
  if (refusesShared("MPI_File_iwrite_shared", file, request, &code)) return code;
  return laterBy<PMPI_File_iwrite_shared>("MPI_File_iwrite_shared", file, {of, count, type}, false,
                                          request);
}

int MPI_File_iwrite_at(MPI_File file, MPI_Offset at, const void* of, int count, MPI_Datatype type,
                       MPI_Request* request) {
  return laterAtBy<PMPI_File_iwrite_at>("MPI_File_iwrite_at", file, at, {of, count, type}, false,
                                        request);
}

int MPI_File_iwrite_at_all(MPI_File file, MPI_Offset at, const void* of, int count,
                           MPI_Datatype type, MPI_Request* request) {
  return laterAtBy<PMPI_File_iwrite_at_all>("MPI_File_iwrite_at_all", file, at, {of, count, type},
                                            false, request);
}

int MPI_File_read_all_begin(MPI_File file, void* of, int count, MPI_Datatype type) {
  return beginSplit("MPI_File_read_all_begin", file, {of, count, type}, true, [&](void* given) {
    return PMPI_File_read_all_begin(file, given, count, type);
  });
}

int MPI_File_read_all_end(MPI_File file, void* of, MPI_Status* status) {
  return endSplit(file, of,
                  [&](void* given) { return PMPI_File_read_all_end(file, given, status); });
}

int MPI_File_read_ordered_begin(MPI_File file, void* of, int count, MPI_Datatype type) {
  int code = MPI_SUCCESS;
  if (refusesShared("MPI_File_read_ordered_begin", file, &code)) return code;
  return beginSplit("MPI_File_read_ordered_begin", file, {of, count, type}, true, [&](void* given) {
    return PMPI_File_read_ordered_begin(file, given, count, type);
  });
}

int MPI_File_read_ordered_end(MPI_File file, void* of, MPI_Status* status) {
  return endSplit(file, of,
                  [&](void* given) { return PMPI_File_read_ordered_end(file, given, status); });
}

int MPI_File_read_at_all_begin(MPI_File file, MPI_Offset at, void* of, int count,
                               MPI_Datatype type) {
  return beginSplit("MPI_File_read_at_all_begin", file, {of, count, type}, true, [&](void* given) {
    return PMPI_File_read_at_all_begin(file, at, given, count, type);
  });
}

int MPI_File_read_at_all_end(MPI_File file, void* of, MPI_Status* status) {
  return endSplit(file, of,
                  [&](void* given) { return PMPI_File_read_at_all_end(file, given, status); });
}

int MPI_File_write_all_begin(MPI_File file, const void* of, int count, MPI_Datatype type) {
  return beginSplit("MPI_File_write_all_begin", file, {of, count, type}, false, [&](void* given) {
    return PMPI_File_write_all_begin(file, given, count, type);
  });
}

int MPI_File_write_all_end(MPI_File file, const void* of, MPI_Status* status) {
  return endSplit(file, of,
                  [&](void* given) { return PMPI_File_write_all_end(file, given, status); });
}

int MPI_File_write_ordered_begin(MPI_File file, const void* of, int count, MPI_Datatype type) {
  int code = MPI_SUCCESS;
  if (refusesShared("MPI_File_write_ordered_begin", file, &code)) return code;
  return beginSplit(
      "MPI_File_write_ordered_begin", file, {of, count, type}, false,
      [&](void* given) { return PMPI_File_write_ordered_begin(file, given, count, type); });
}

int MPI_File_write_ordered_end(MPI_File file, const void* of, MPI_Status* status) {
  return endSplit(file, of,
                  [&](void* given) { return PMPI_File_write_ordered_end(file, given, status); });
}

int MPI_File_write_at_all_begin(MPI_File file, MPI_Offset at, const void* of, int count,
                                MPI_Datatype type) {
  return beginSplit(
      "MPI_File_write_at_all_begin", file, {of, count, type}, false,
      [&](void* given) { return PMPI_File_write_at_all_begin(file, at, given, count, type); });
}

int MPI_File_write_at_all_end(MPI_File file, const void* of, MPI_Status* status) {
  return endSplit(file, of,
                  [&](void* given) { return PMPI_File_write_at_all_end(file, given, status); });
}
