#pragma once
// Fortran's side of Open MPI: its handles are numbers, its MPI_IN_PLACE and MPI_BOTTOM are the
// addresses of variables, and a routine has as many names as there are ways to decorate one.

#include <mpi.h>

#if defined(OPEN_MPI)

// The macros of the layer: an alias needs its target's name as text. ompi_NAME_f is what mpi_f08's
// routines call. The names of MPI's extensions begin otherwise.
#define RONDO_FORTRAN_NAMES(lower, upper) RONDO_FORTRAN_ALIASES(mpi, MPI, lower, upper)
#define RONDO_FORTRAN_EXTENSION(lower, upper) RONDO_FORTRAN_ALIASES(mpix, MPIX, lower, upper)
// Of calls with LOGICALs mpi_f08's routines call MPI's by their second names.
#define RONDO_FORTRAN_F08(lower) \
  decltype(mpi_##lower##_) mpi_##lower##_f08_ [[gnu::alias("mpi_" #lower "_")]];
#define RONDO_FORTRAN_ALIASES(mpi, MPI, lower, upper)                               \
  decltype(mpi##_##lower##_) mpi##_##lower [[gnu::alias(#mpi "_" #lower "_")]];     \
  decltype(mpi##_##lower##_) mpi##_##lower##__ [[gnu::alias(#mpi "_" #lower "_")]]; \
  decltype(mpi##_##lower##_) MPI##_##upper [[gnu::alias(#mpi "_" #lower "_")]];     \
  decltype(mpi##_##lower##_) o##mpi##_##lower##_f [[gnu::alias(#mpi "_" #lower "_")]];

extern "C" {
extern int mpi_fortran_in_place_, mpi_fortran_bottom_;
extern MPI_Fint mpi_fortran_status_ignore_, mpi_fortran_statuses_ignore_;
}

namespace rondo::drop_in {

static_assert(sizeof(MPI_Fint) == sizeof(int),
              "the Fortran entry points pass arrays of integers on as they are");

inline void* buffer(void* given) {
  if (given == &mpi_fortran_in_place_) return MPI_IN_PLACE;
  if (given == &mpi_fortran_bottom_) return MPI_BOTTOM;
  return given;
}
inline MPI_Comm comm(const MPI_Fint* given) { return MPI_Comm_f2c(*given); }
inline MPI_Datatype type(const MPI_Fint* given) { return MPI_Type_f2c(*given); }
inline MPI_Op op(const MPI_Fint* given) { return MPI_Op_f2c(*given); }

/// mpi_f08 may leave ierror out.
inline void give(MPI_Fint* ierror, int code) {
  if (ierror != nullptr) *ierror = code;
}

/// For MPI's own routines.
inline MPI_Fint* orNobodys(MPI_Fint* ierror) {
  static thread_local MPI_Fint nobodys = MPI_SUCCESS;
  return ierror != nullptr ? ierror : &nobodys;
}

inline MPI_Fint toFortran(MPI_Comm c) { return MPI_Comm_c2f(c); }
inline MPI_Fint toFortran(MPI_Group c) { return MPI_Group_c2f(c); }
inline MPI_Fint toFortran(MPI_Request c) { return MPI_Request_c2f(c); }
inline MPI_Fint toFortran(MPI_Win c) { return MPI_Win_c2f(c); }

/// A handle that a call made or changed, unless it failed.
template <class Handle>
void giveHandle(MPI_Fint* out, Handle now, MPI_Fint* ierror, int code) {
  if (code == MPI_SUCCESS) *out = toFortran(now);
  give(ierror, code);
}

/// What a call may make.
template <class Handle>
class Made {
 public:
  Made(MPI_Fint* out, MPI_Fint* ierror) : out_(out), ierror_(ierror) {}
  operator Handle*() { return &made_; }
  void give(int code) { giveHandle(out_, made_, ierror_, code); }

 private:
  MPI_Fint* out_;
  MPI_Fint* ierror_;
  Handle made_{};
};
using MadeComm = Made<MPI_Comm>;
using MadeGroup = Made<MPI_Group>;
using MadeRequest = Made<MPI_Request>;

/// A status that the program may not want.
class MadeStatus {
 public:
  explicit MadeStatus(MPI_Fint* out) : out_(out) {}
  operator MPI_Status*() { return wanted() ? &made_ : MPI_STATUS_IGNORE; }
  /// After the call.
  void give() {
    if (wanted()) PMPI_Status_c2f(&made_, out_);
  }

 private:
  bool wanted() const { return out_ != &mpi_fortran_status_ignore_; }
  MPI_Fint* out_;
  MPI_Status made_{};
};

/// Types of the blocks of `of` as C has them; MPI looks at none if it is in place. Open MPI may
/// look at the array until a request ends, so each that a program has is kept for good.
const MPI_Datatype* types(void* of, const MPI_Fint* given, int number);

}  // namespace rondo::drop_in

#endif
