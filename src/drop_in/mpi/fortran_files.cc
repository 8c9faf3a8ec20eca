// Reading and writing of files as Fortran calls it. MPI's own Fortran routines call PMPI functions,
// which know nothing of device buffers.

#include "drop_in/mpi/fortran.h"

#if defined(OPEN_MPI)

using namespace rondo::drop_in;

namespace {

MPI_File file(const MPI_Fint* given) { return MPI_File_f2c(*given); }

/// Elements in memory, as a call gives them.
struct Memory {
  void* data;
  const MPI_Fint *count, *type;
};

/// `at` is the place in the file, if the call has one.
template <class Mpi, class... At>
void atOnce(const Mpi& mpi, const MPI_Fint* f, const Memory& of, MPI_Fint* status, MPI_Fint* ierror,
            At... at) {
  MadeStatus made(status);
  const int code = mpi(file(f), at..., buffer(of.data), *of.count, type(of.type), made);
  made.give();
  give(ierror, code);
}
template <class Mpi, class... At>
void later(const Mpi& mpi, const MPI_Fint* f, const Memory& of, MPI_Fint* request, MPI_Fint* ierror,
           At... at) {
  MadeRequest made(request, ierror);
  made.give(mpi(file(f), at..., buffer(of.data), *of.count, type(of.type), made));
}
/// A call in two parts.
template <class Mpi, class... At>
void begin(const Mpi& mpi, const MPI_Fint* f, const Memory& of, MPI_Fint* ierror, At... at) {
  give(ierror, mpi(file(f), at..., buffer(of.data), *of.count, type(of.type)));
}
template <class Mpi>
void end(const Mpi& mpi, const MPI_Fint* f, void* data, MPI_Fint* status, MPI_Fint* ierror) {
  MadeStatus made(status);
  const int code = mpi(file(f), buffer(data), made);
  made.give();
  give(ierror, code);
}

}  // namespace

// mpi.h declares none of them: they would be hidden.
#pragma GCC visibility push(default)
extern "C" {

void mpi_file_read_(MPI_Fint* f, void* data, MPI_Fint* n, MPI_Fint* t, MPI_Fint* status,
                    MPI_Fint* ierror) {
  atOnce(MPI_File_read, f, {data, n, t}, status, ierror);
}

void mpi_file_read_all_(MPI_Fint* f, void* data, MPI_Fint* n, MPI_Fint* t, MPI_Fint* status,
                        MPI_Fint* ierror) {
  atOnce(MPI_File_read_all, f, {data, n, t}, status, ierror);
}

void mpi_file_read_shared_(MPI_Fint* f, void* data, MPI_Fint* n, MPI_Fint* t, MPI_Fint* status,
                           MPI_Fint* ierror) {
  atOnce(MPI_File_read_shared, f, {data, n, t}, status, ierror);
}

void mpi_file_read_ordered_(MPI_Fint* f, void* data, MPI_Fint* n, MPI_Fint* t, MPI_Fint* status,
                            MPI_Fint* ierror) {
  atOnce(MPI_File_read_ordered, f, {data, n, t}, status, ierror);
}

void mpi_file_read_at_(MPI_Fint* f, MPI_Offset* at, void* data, MPI_Fint* n, MPI_Fint* t,
                       MPI_Fint* status, MPI_Fint* ierror) {
  atOnce(MPI_File_read_at, f, {data, n, t}, status, ierror, *at);
}

void mpi_file_read_at_all_(MPI_Fint* f, MPI_Offset* at, void* data, MPI_Fint* n, MPI_Fint* t,
                           MPI_Fint* status, MPI_Fint* ierror) {
  atOnce(MPI_File_read_at_all, f, {data, n, t}, status, ierror, *at);
}

void mpi_file_iread_(MPI_Fint* f, void* data, MPI_Fint* n, MPI_Fint* t, MPI_Fint* request,
                     MPI_Fint* ierror) {
  later(MPI_File_iread, f, {data, n, t}, request, ierror);
}

void mpi_file_iread_all_(MPI_Fint* f, void* data, MPI_Fint* n, MPI_Fint* t, MPI_Fint* request,
                         MPI_Fint* ierror) {
  later(MPI_File_iread_all, f, {data, n, t}, request, ierror);
}

void mpi_file_iread_shared_(MPI_Fint* f, void* data, MPI_Fint* n, MPI_Fint* t, MPI_Fint* request,
                            MPI_Fint* ierror) {
  later(MPI_File_iread_shared, f, {data, n, t}, request, ierror);
}

void mpi_file_iread_at_(MPI_Fint* f, MPI_Offset* at, void* data, MPI_Fint* n, MPI_Fint* t,
                        MPI_Fint* request, MPI_Fint* ierror) {
  later(MPI_File_iread_at, f, {data, n, t}, request, ierror, *at);
}

void mpi_file_iread_at_all_(MPI_Fint* f, MPI_Offset* at, void* data, MPI_Fint* n, MPI_Fint* t,
                            MPI_Fint* request, MPI_Fint* ierror) {
  later(MPI_File_iread_at_all, f, {data, n, t}, request, ierror, *at);
}

void mpi_file_read_all_begin_(MPI_Fint* f, void* data, MPI_Fint* n, MPI_Fint* t, MPI_Fint* ierror) {
  begin(MPI_File_read_all_begin, f, {data, n, t}, ierror);
}

void mpi_file_read_ordered_begin_(MPI_Fint* f, void* data, MPI_Fint* n, MPI_Fint* t,
                                  MPI_Fint* ierror) {
  begin(MPI_File_read_ordered_begin, f, {data, n, t}, ierror);
}

void mpi_file_read_at_all_begin_(MPI_Fint* f, MPI_Offset* at, void* data, MPI_Fint* n, MPI_Fint* t,
                                 MPI_Fint* ierror) {
  begin(MPI_File_read_at_all_begin, f, {data, n, t}, ierror, *at);
}

void mpi_file_read_all_end_(MPI_Fint* f, void* data, MPI_Fint* status, MPI_Fint* ierror) {
  end(MPI_File_read_all_end, f, data, status, ierror);
}

void mpi_file_read_ordered_end_(MPI_Fint* f, void* data, MPI_Fint* status, MPI_Fint* ierror) {
  end(MPI_File_read_ordered_end, f, data, status, ierror);
}

void mpi_file_read_at_all_end_(MPI_Fint* f, void* data, MPI_Fint* status, MPI_Fint* ierror) {
  end(MPI_File_read_at_all_end, f, data, status, ierror);
}

void mpi_file_write_(MPI_Fint* f, void* data, MPI_Fint* n, MPI_Fint* t, MPI_Fint* status,
                     MPI_Fint* ierror) {
  atOnce(MPI_File_write, f, {data, n, t}, status, ierror);
}

void mpi_file_write_all_(MPI_Fint* f, void* data, MPI_Fint* n, MPI_Fint* t, MPI_Fint* status,
                         MPI_Fint* ierror) {
  atOnce(MPI_File_write_all, f, {data, n, t}, status, ierror);
}

void mpi_file_write_shared_(MPI_Fint* f, void* data, MPI_Fint* n, MPI_Fint* t, MPI_Fint* status,
                            MPI_Fint* ierror) {
  atOnce(MPI_File_write_shared, f, {data, n, t}, status, ierror);
}

void mpi_file_write_ordered_(MPI_Fint* f, void* data, MPI_Fint* n, MPI_Fint* t, MPI_Fint* status,
                             MPI_Fint* ierror) {
  atOnce(MPI_File_write_ordered, f, {data, n, t}, status, ierror);
}

void mpi_file_write_at_(MPI_Fint* f, MPI_Offset* at, void* data, MPI_Fint* n, MPI_Fint* t,
                        MPI_Fint* status, MPI_Fint* ierror) {
  atOnce(MPI_File_write_at, f, {data, n, t}, status, ierror, *at);
}

void mpi_file_write_at_all_(MPI_Fint* f, MPI_Offset* at, void* data, MPI_Fint* n, MPI_Fint* t,
                            MPI_Fint* status, MPI_Fint* ierror) {
  atOnce(MPI_File_write_at_all, f, {data, n, t}, status, ierror, *at);
}

void mpi_file_iwrite_(MPI_Fint* f, void* data, MPI_Fint* n, MPI_Fint* t, MPI_Fint* request,
                      MPI_Fint* ierror) {
  later(MPI_File_iwrite, f, {data, n, t}, request, ierror);
}

void mpi_file_iwrite_all_(MPI_Fint* f, void* data, MPI_Fint* n, MPI_Fint* t, MPI_Fint* request,
                          MPI_Fint* ierror) {
  later(MPI_File_iwrite_all, f, {data, n, t}, request, ierror);
}

void mpi_file_iwrite_shared_(MPI_Fint* f, void* data, MPI_Fint* n, MPI_Fint* t, MPI_Fint* request,
                             MPI_Fint* ierror) {
  later(MPI_File_iwrite_shared, f, {data, n, t}, request, ierror);
}

void mpi_file_iwrite_at_(MPI_Fint* f, MPI_Offset* at, void* data, MPI_Fint* n, MPI_Fint* t,
                         MPI_Fint* request, MPI_Fint* ierror) {
  later(MPI_File_iwrite_at, f, {data, n, t}, request, ierror, *at);
}

void mpi_file_iwrite_at_all_(MPI_Fint* f, MPI_Offset* at, void* data, MPI_Fint* n, MPI_Fint* t,
                             MPI_Fint* request, MPI_Fint* ierror) {
  later(MPI_File_iwrite_at_all, f, {data, n, t}, request, ierror, *at);
}

void mpi_file_write_all_begin_(MPI_Fint* f, void* data, MPI_Fint* n, MPI_Fint* t,
                               MPI_Fint* ierror) {
  begin(MPI_File_write_all_begin, f, {data, n, t}, ierror);
}

void mpi_file_write_ordered_begin_(MPI_Fint* f, void* data, MPI_Fint* n, MPI_Fint* t,
                                   MPI_Fint* ierror) {
  begin(MPI_File_write_ordered_begin, f, {data, n, t}, ierror);
}

void mpi_file_write_at_all_begin_(MPI_Fint* f, MPI_Offset* at, void* data, MPI_Fint* n, MPI_Fint* t,
                                  MPI_Fint* ierror) {
  begin(MPI_File_write_at_all_begin, f, {data, n, t}, ierror, *at);
}

void mpi_file_write_all_end_(MPI_Fint* f, void* data, MPI_Fint* status, MPI_Fint* ierror) {
  end(MPI_File_write_all_end, f, data, status, ierror);
}

void mpi_file_write_ordered_end_(MPI_Fint* f, void* data, MPI_Fint* status, MPI_Fint* ierror) {
  end(MPI_File_write_ordered_end, f, data, status, ierror);
}

void mpi_file_write_at_all_end_(MPI_Fint* f, void* data, MPI_Fint* status, MPI_Fint* ierror) {
  end(MPI_File_write_at_all_end, f, data, status, ierror);
}

RONDO_FORTRAN_NAMES(file_read, FILE_READ)
RONDO_FORTRAN_NAMES(file_read_all, FILE_READ_ALL)
RONDO_FORTRAN_NAMES(file_read_shared, FILE_READ_SHARED)
RONDO_FORTRAN_NAMES(file_read_ordered, FILE_READ_ORDERED)
RONDO_FORTRAN_NAMES(file_read_at, FILE_READ_AT)
RONDO_FORTRAN_NAMES(file_read_at_all, FILE_READ_AT_ALL)
RONDO_FORTRAN_NAMES(file_iread, FILE_IREAD)
RONDO_FORTRAN_NAMES(file_iread_all, FILE_IREAD_ALL)
RONDO_FORTRAN_NAMES(file_iread_shared, FILE_IREAD_SHARED)
RONDO_FORTRAN_NAMES(file_iread_at, FILE_IREAD_AT)
RONDO_FORTRAN_NAMES(file_iread_at_all, FILE_IREAD_AT_ALL)
RONDO_FORTRAN_NAMES(file_read_all_begin, FILE_READ_ALL_BEGIN)
RONDO_FORTRAN_NAMES(file_read_ordered_begin, FILE_READ_ORDERED_BEGIN)
RONDO_FORTRAN_NAMES(file_read_at_all_begin, FILE_READ_AT_ALL_BEGIN)
RONDO_FORTRAN_NAMES(file_read_all_end, FILE_READ_ALL_END)
RONDO_FORTRAN_NAMES(file_read_ordered_end, FILE_READ_ORDERED_END)
RONDO_FORTRAN_NAMES(file_read_at_all_end, FILE_READ_AT_ALL_END)
RONDO_FORTRAN_NAMES(file_write, FILE_WRITE)
RONDO_FORTRAN_NAMES(file_write_all, FILE_WRITE_ALL)
RONDO_FORTRAN_NAMES(file_write_shared, FILE_WRITE_SHARED)
RONDO_FORTRAN_NAMES(file_write_ordered, FILE_WRITE_ORDERED)
RONDO_FORTRAN_NAMES(file_write_at, FILE_WRITE_AT)
RONDO_FORTRAN_NAMES(file_write_at_all, FILE_WRITE_AT_ALL)
RONDO_FORTRAN_NAMES(file_iwrite, FILE_IWRITE)
RONDO_FORTRAN_NAMES(file_iwrite_all, FILE_IWRITE_ALL)
RONDO_FORTRAN_NAMES(file_iwrite_shared, FILE_IWRITE_SHARED)
RONDO_FORTRAN_NAMES(file_iwrite_at, FILE_IWRITE_AT)
RONDO_FORTRAN_NAMES(file_iwrite_at_all, FILE_IWRITE_AT_ALL)
RONDO_FORTRAN_NAMES(file_write_all_begin, FILE_WRITE_ALL_BEGIN)
RONDO_FORTRAN_NAMES(file_write_ordered_begin, FILE_WRITE_ORDERED_BEGIN)
RONDO_FORTRAN_NAMES(file_write_at_all_begin, FILE_WRITE_AT_ALL_BEGIN)
RONDO_FORTRAN_NAMES(file_write_all_end, FILE_WRITE_ALL_END)
RONDO_FORTRAN_NAMES(file_write_ordered_end, FILE_WRITE_ORDERED_END)
RONDO_FORTRAN_NAMES(file_write_at_all_end, FILE_WRITE_AT_ALL_END)

}  // extern "C"
#pragma GCC visibility pop

#endif
