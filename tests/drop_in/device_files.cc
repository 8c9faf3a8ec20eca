// Files written from device buffers and read into them, by every call.

#include <unistd.h>

#include <functional>
#include <numeric>

#include "drop_in/device_calls.h"

namespace drop_in_test {
namespace {

constexpr int kCount = 800;

/// A file of a block of ints for each rank, and this rank's buffer.
struct Case {
  MPI_File file;
  MPI_Datatype type;
  size_t stride;
  Buffer<int> buffer;
  int round = 0;
  MPI_Offset first = MPI_Offset{rank} * kCount * 4;  ///< Of this rank's block, in bytes.
  MPI_Offset at() const { return first; }
  std::vector<int> values() const {
    std::vector<int> all(kCount * stride, -1);
    for (size_t i = 0; i < kCount; ++i) {
      all[i * stride] = static_cast<int>(i) + 1000 * rank + 17 * round;
    }
    return all;
  }
};

using Call = std::function<void(Case&, void* buffer, MPI_Status*)>;

/// Writes by one call, looks at the file, and reads what it has by the other.
void once(Case& with, const char* what, const Call& write, const Call& read) {
  ++with.round;
  with.buffer.write(with.values());
  MPI_File_seek(with.file, with.at(), MPI_SEEK_SET);
  MPI_File_seek_shared(with.file, 0, MPI_SEEK_SET);
  MPI_Status status;
  int number = 0;
  write(with, with.buffer.data(), &status);
  MPI_Get_count(&status, with.type, &number);
  expect(number == kCount, std::string("the status of writing, ") + what);
  std::vector<int> there(kCount), wanted(kCount);
  PMPI_File_sync(with.file);
  PMPI_Barrier(MPI_COMM_WORLD);
  PMPI_File_read_at(with.file, with.at(), there.data(), kCount, MPI_INT, MPI_STATUS_IGNORE);
  std::iota(wanted.begin(), wanted.end(), 1000 * rank + 17 * with.round);
  expect(there == wanted, std::string("what was written, ") + what);
  with.buffer.fill(-1);
  MPI_File_seek(with.file, with.at(), MPI_SEEK_SET);
  MPI_File_seek_shared(with.file, 0, MPI_SEEK_SET);
  read(with, with.buffer.data(), &status);
  MPI_Get_count(&status, with.type, &number);
  expect(number == kCount && with.buffer.read() == with.values(),
         std::string("what was read, ") + what);
  PMPI_Barrier(MPI_COMM_WORLD);
}

/// A call at the file's own place, and at a given one; non-blocking ones; the two parts of split
/// ones.
template <class Mpis>
Call here(Mpis* mpis) {
  return [=](Case& with, void* buffer, MPI_Status* status) {
    mpis(with.file, buffer, kCount, with.type, status);
  };
}
template <class Mpis>
Call there(Mpis* mpis) {
  return [=](Case& with, void* buffer, MPI_Status* status) {
    mpis(with.file, with.at(), buffer, kCount, with.type, status);
  };
}
template <class Mpis>
Call later(Mpis* mpis) {
  return [=](Case& with, void* buffer, MPI_Status* status) {
    MPI_Request request;
    mpis(with.file, buffer, kCount, with.type, &request);
    MPI_Wait(&request, status);
  };
}
template <class Mpis>
Call laterThere(Mpis* mpis) {
  return [=](Case& with, void* buffer, MPI_Status* status) {
    MPI_Request request;
    mpis(with.file, with.at(), buffer, kCount, with.type, &request);
    MPI_Wait(&request, status);
  };
}
template <class Begin, class End>
Call split(Begin* begin, End* end) {
  return [=](Case& with, void* buffer, MPI_Status* status) {
    begin(with.file, buffer, kCount, with.type);
    end(with.file, buffer, status);
  };
}

template <class Begin, class End>
Call splitThere(Begin* begin, End* end) {
  return [=](Case& with, void* buffer, MPI_Status* status) {
    begin(with.file, with.at(), buffer, kCount, with.type);
    end(with.file, buffer, status);
  };
}

void byAll(Case& with) {
  once(with, "here", here(MPI_File_write), here(MPI_File_read));
  once(with, "there", there(MPI_File_write_at), there(MPI_File_read_at));
  once(with, "by all", here(MPI_File_write_all), here(MPI_File_read_all));
  once(with, "by all there", there(MPI_File_write_at_all), there(MPI_File_read_at_all));
  once(with, "in order", here(MPI_File_write_ordered), here(MPI_File_read_ordered));
  once(with, "later", later(MPI_File_iwrite), later(MPI_File_iread));
  once(with, "later there", laterThere(MPI_File_iwrite_at), laterThere(MPI_File_iread_at));
  once(with, "later by all", later(MPI_File_iwrite_all), later(MPI_File_iread_all));
  once(with, "later by all there", laterThere(MPI_File_iwrite_at_all),
       laterThere(MPI_File_iread_at_all));
  once(with, "in two parts", split(MPI_File_write_all_begin, MPI_File_write_all_end),
       split(MPI_File_read_all_begin, MPI_File_read_all_end));
  once(with, "in order, in two parts",
       split(MPI_File_write_ordered_begin, MPI_File_write_ordered_end),
       split(MPI_File_read_ordered_begin, MPI_File_read_ordered_end));
  once(with, "there, in two parts",
       splitThere(MPI_File_write_at_all_begin, MPI_File_write_at_all_end),
       splitThere(MPI_File_read_at_all_begin, MPI_File_read_at_all_end));
}

}  // namespace

void files(bool device) {
  char name[] = "/tmp/rondo_device_files_XXXXXX";
  if (rank == 0) close(mkstemp(name));
  PMPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
  MPI_Datatype spread;
  MPI_Type_create_resized(MPI_INT, 0, 12, &spread);
  MPI_Type_commit(&spread);
  for (const size_t stride : {size_t{1}, size_t{3}}) {
    MPI_File file;
    MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    Case with{file, stride == 1 ? MPI_INT : spread, stride, {device, kCount * stride, -1}};
    byAll(with);
    MPI_File_close(&with.file);
    // The shared place is in nobody's order: a file for each rank.
    const std::string own = std::string(name) + std::to_string(rank);
    MPI_File_open(MPI_COMM_SELF, own.c_str(),
                  MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                  &with.file);
    with.first = 0;
    once(with, "at the shared place", here(MPI_File_write_shared), here(MPI_File_read_shared));
    once(with, "later at the shared place", later(MPI_File_iwrite_shared),
         later(MPI_File_iread_shared));
    MPI_File_close(&with.file);
  }
  MPI_Type_free(&spread);
  PMPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) unlink(name);
}

}  // namespace drop_in_test
