// Calls that a rehearsal refuses or answers by itself, as Fortran makes them; all others of these
// are left to MPI's own Fortran routines, with their texts and LOGICALs.

#include <cstddef>

#include "drop_in/mpi/fortran.h"
#include "drop_in/mpi/fortran_next.h"
#include "drop_in/mpi/rehearsal.h"
#include "drop_in/mpi/rehearsed_files.h"

#if defined(OPEN_MPI)

using namespace rondo::drop_in;

namespace {

namespace routines {
struct CommAccept;
struct CommConnect;
struct CommIdup;
struct CommSpawn;
struct CommSpawnMultiple;
struct FileOpen;
struct Improbe;
struct Iprobe;
}  // namespace routines

bool isRehearsed(const MPI_Fint* c) { return rehearsed(comm(c)) != nullptr; }

}  // namespace

// mpi.h declares none of them: they would be hidden.
#pragma GCC visibility push(default)
extern "C" {

void mpi_probe_(MPI_Fint* from, MPI_Fint* tag, MPI_Fint* c, MPI_Fint* status, MPI_Fint* ierror) {
  MadeStatus made(status);
  const int code = MPI_Probe(*from, *tag, comm(c), made);
  made.give();
  give(ierror, code);
}

void mpi_iprobe_(MPI_Fint* from, MPI_Fint* tag, MPI_Fint* c, MPI_Fint* flag, MPI_Fint* status,
                 MPI_Fint* ierror) {
  if (!isRehearsed(c) || *from == MPI_PROC_NULL) {
    return callNext<routines::Iprobe>("pmpi_iprobe_", from, tag, c, flag, status,
                                      orNobodys(ierror));
  }
  give(ierror, MPI_Iprobe(*from, *tag, comm(c), flag, MPI_STATUS_IGNORE));
}

void mpi_mprobe_(MPI_Fint* from, MPI_Fint* tag, MPI_Fint* c, MPI_Fint* message, MPI_Fint* status,
                 MPI_Fint* ierror) {
  MadeStatus made(status);
  MPI_Message found = MPI_MESSAGE_NULL;
  const int code = MPI_Mprobe(*from, *tag, comm(c), &found, made);
  *message = MPI_Message_c2f(found);
  made.give();
  give(ierror, code);
}

void mpi_improbe_(MPI_Fint* from, MPI_Fint* tag, MPI_Fint* c, MPI_Fint* flag, MPI_Fint* message,
                  MPI_Fint* status, MPI_Fint* ierror) {
  if (!isRehearsed(c) || *from == MPI_PROC_NULL) {
    return callNext<routines::Improbe>("pmpi_improbe_", from, tag, c, flag, message, status,
                                       orNobodys(ierror));
  }
  MPI_Message none = MPI_MESSAGE_NULL;
  const int code = MPI_Improbe(*from, *tag, comm(c), flag, &none, MPI_STATUS_IGNORE);
  *message = MPI_Message_c2f(none);
  give(ierror, code);
}

void mpi_comm_idup_(MPI_Fint* c, MPI_Fint* out, MPI_Fint* request, MPI_Fint* ierror) {
  // MPI may fill its own handle in until the request ends.
  if (!isRehearsed(c)) {
    return callNext<routines::CommIdup>("pmpi_comm_idup_", c, out, request, ierror);
  }
  MPI_Comm copy = MPI_COMM_NULL;
  MadeRequest made(request, ierror);
  const int code = MPI_Comm_idup(comm(c), &copy, made);
  if (code == MPI_SUCCESS) *out = toFortran(copy);
  made.give(code);
}

void mpi_comm_compare_(MPI_Fint* first, MPI_Fint* second, MPI_Fint* result, MPI_Fint* ierror) {
  give(ierror, MPI_Comm_compare(comm(first), comm(second), result));
}

void mpi_intercomm_create_(MPI_Fint* c, MPI_Fint* leader, MPI_Fint* peers, MPI_Fint* remote,
                           MPI_Fint* tag, MPI_Fint* out, MPI_Fint* ierror) {
  MadeComm made(out, ierror);
  made.give(MPI_Intercomm_create(comm(c), *leader, comm(peers), *remote, *tag, made));
}

void mpi_comm_spawn_(char* command, char* arguments, MPI_Fint* number, MPI_Fint* info,
                     MPI_Fint* root, MPI_Fint* c, MPI_Fint* out, MPI_Fint* codes, MPI_Fint* ierror,
                     size_t commandLength, size_t argumentLength) {
  if (!isRehearsed(c)) {
    return callNext<routines::CommSpawn>("pmpi_comm_spawn_", command, arguments, number, info, root,
                                         c, out, codes, ierror, commandLength, argumentLength);
  }
  MadeComm made(out, ierror);
  made.give(MPI_Comm_spawn(nullptr, nullptr, *number, MPI_INFO_NULL, *root, comm(c), made,
                           MPI_ERRCODES_IGNORE));
}

void mpi_comm_spawn_multiple_(MPI_Fint* number, char* commands, char* arguments, MPI_Fint* numbers,
                              MPI_Fint* infos, MPI_Fint* root, MPI_Fint* c, MPI_Fint* out,
                              MPI_Fint* codes, MPI_Fint* ierror, size_t commandLength,
                              size_t argumentLength) {
  if (!isRehearsed(c)) {
    return callNext<routines::CommSpawnMultiple>("pmpi_comm_spawn_multiple_", number, commands,
                                                 arguments, numbers, infos, root, c, out, codes,
                                                 ierror, commandLength, argumentLength);
  }
  MadeComm made(out, ierror);
  made.give(MPI_Comm_spawn_multiple(*number, nullptr, nullptr, nullptr, nullptr, *root, comm(c),
                                    made, MPI_ERRCODES_IGNORE));
}

void mpi_comm_accept_(char* port, MPI_Fint* info, MPI_Fint* root, MPI_Fint* c, MPI_Fint* out,
                      MPI_Fint* ierror, size_t length) {
  if (!isRehearsed(c)) {
    return callNext<routines::CommAccept>("pmpi_comm_accept_", port, info, root, c, out, ierror,
                                          length);
  }
  MadeComm made(out, ierror);
  made.give(MPI_Comm_accept(nullptr, MPI_INFO_NULL, *root, comm(c), made));
}

void mpi_comm_connect_(char* port, MPI_Fint* info, MPI_Fint* root, MPI_Fint* c, MPI_Fint* out,
                       MPI_Fint* ierror, size_t length) {
  if (!isRehearsed(c)) {
    return callNext<routines::CommConnect>("pmpi_comm_connect_", port, info, root, c, out, ierror,
                                           length);
  }
  MadeComm made(out, ierror);
  made.give(MPI_Comm_connect(nullptr, MPI_INFO_NULL, *root, comm(c), made));
}

void mpi_win_allocate_(MPI_Aint* size, MPI_Fint* unit, MPI_Fint* info, MPI_Fint* c, void* base,
                       MPI_Fint* out, MPI_Fint* ierror) {
  Made<MPI_Win> made(out, ierror);
  made.give(MPI_Win_allocate(*size, *unit, MPI_Info_f2c(*info), comm(c), base, made));
}

void mpi_win_allocate_shared_(MPI_Aint* size, MPI_Fint* unit, MPI_Fint* info, MPI_Fint* c,
                              void* base, MPI_Fint* out, MPI_Fint* ierror) {
  Made<MPI_Win> made(out, ierror);
  made.give(MPI_Win_allocate_shared(*size, *unit, MPI_Info_f2c(*info), comm(c), base, made));
}

void mpi_win_create_dynamic_(MPI_Fint* info, MPI_Fint* c, MPI_Fint* out, MPI_Fint* ierror) {
  Made<MPI_Win> made(out, ierror);
  made.give(MPI_Win_create_dynamic(MPI_Info_f2c(*info), comm(c), made));
}

void mpi_file_open_(MPI_Fint* c, char* name, MPI_Fint* mode, MPI_Fint* info, MPI_Fint* file,
                    MPI_Fint* ierror, size_t length) {
  MPI_Fint code = MPI_SUCCESS;
  callNext<routines::FileOpen>("pmpi_file_open_", c, name, mode, info, file, &code, length);
  if (code == MPI_SUCCESS) noteFile(comm(c), MPI_File_f2c(*file));
  give(ierror, code);
}

void mpi_file_close_(MPI_Fint* file, MPI_Fint* ierror) {
  MPI_File closed = MPI_File_f2c(*file);
  const int code = MPI_File_close(&closed);
  if (code == MPI_SUCCESS) *file = MPI_File_c2f(closed);
  give(ierror, code);
}

void mpi_file_seek_shared_(MPI_Fint* file, MPI_Offset* to, MPI_Fint* from, MPI_Fint* ierror) {
  give(ierror, MPI_File_seek_shared(MPI_File_f2c(*file), *to, *from));
}

void mpi_file_get_position_shared_(MPI_Fint* file, MPI_Offset* at, MPI_Fint* ierror) {
  give(ierror, MPI_File_get_position_shared(MPI_File_f2c(*file), at));
}

void mpi_file_get_group_(MPI_Fint* file, MPI_Fint* out, MPI_Fint* ierror) {
  MadeGroup made(out, ierror);
  made.give(MPI_File_get_group(MPI_File_f2c(*file), made));
}

RONDO_FORTRAN_NAMES(probe, PROBE)
RONDO_FORTRAN_NAMES(iprobe, IPROBE)
RONDO_FORTRAN_F08(iprobe)
RONDO_FORTRAN_NAMES(mprobe, MPROBE)
RONDO_FORTRAN_NAMES(improbe, IMPROBE)
RONDO_FORTRAN_F08(improbe)
RONDO_FORTRAN_NAMES(comm_idup, COMM_IDUP)
RONDO_FORTRAN_NAMES(comm_compare, COMM_COMPARE)
RONDO_FORTRAN_NAMES(intercomm_create, INTERCOMM_CREATE)
RONDO_FORTRAN_NAMES(comm_spawn, COMM_SPAWN)
RONDO_FORTRAN_NAMES(comm_spawn_multiple, COMM_SPAWN_MULTIPLE)
RONDO_FORTRAN_NAMES(comm_accept, COMM_ACCEPT)
RONDO_FORTRAN_NAMES(comm_connect, COMM_CONNECT)
RONDO_FORTRAN_NAMES(win_allocate, WIN_ALLOCATE)
RONDO_FORTRAN_NAMES(win_allocate_shared, WIN_ALLOCATE_SHARED)
RONDO_FORTRAN_NAMES(win_create_dynamic, WIN_CREATE_DYNAMIC)
RONDO_FORTRAN_NAMES(file_open, FILE_OPEN)
RONDO_FORTRAN_NAMES(file_close, FILE_CLOSE)
RONDO_FORTRAN_NAMES(file_seek_shared, FILE_SEEK_SHARED)
RONDO_FORTRAN_NAMES(file_get_position_shared, FILE_GET_POSITION_SHARED)
RONDO_FORTRAN_NAMES(file_get_group, FILE_GET_GROUP)

// A window's memory as TYPE(C_PTR).
decltype(mpi_win_allocate_) mpi_win_allocate_cptr_ [[gnu::alias("mpi_win_allocate_")]];
decltype(mpi_win_allocate_shared_) mpi_win_allocate_shared_cptr_
    [[gnu::alias("mpi_win_allocate_shared_")]];

}  // extern "C"
#pragma GCC visibility pop

#endif
