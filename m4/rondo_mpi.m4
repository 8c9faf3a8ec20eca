# MPI: the launcher and the first door in. The flags are those of its C compiler wrapper, because
# librondo itself is linked by the C++ compiler. Sets MPICC, MPIRUN, MPI_CFLAGS, MPI_LIBS.
AC_DEFUN([RONDO_MPI], [
  AC_ARG_WITH([mpi], [AS_HELP_STRING([--with-mpi=DIR|guess],
    [Open MPI (default: guess, from mpicc in PATH; required)])], [], [with_mpi=guess])
  AC_ARG_VAR([MPICC], [MPI C compiler wrapper])
  AC_ARG_VAR([MPIRUN], [MPI launcher for the tests])
  rondo_mpi_path=$PATH
  AS_CASE([$with_mpi], [no|yes|guess], [], [rondo_mpi_path=$with_mpi/bin])
  rondo_have_mpi=no
  AS_IF([test "x$with_mpi" != xno], [
    AC_PATH_PROG([MPICC], [mpicc], [], [$rondo_mpi_path])
    AC_PATH_PROG([MPIRUN], [mpirun], [], [$rondo_mpi_path])
    AS_IF([test -n "$MPICC"], [
      AC_MSG_CHECKING([for MPI])
      # Open MPI's C++ bindings are not used and would add a library.
      MPI_CFLAGS="`$MPICC --showme:compile 2>/dev/null` -DOMPI_SKIP_MPICXX=1"
      MPI_LIBS=`$MPICC --showme:link 2>/dev/null`
      rondo_save_CXXFLAGS=$CXXFLAGS
      rondo_save_LIBS=$LIBS
      CXXFLAGS="$CXXFLAGS $MPI_CFLAGS"
      LIBS="$MPI_LIBS $LIBS"
      AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <mpi.h>]], [[return MPI_Init(0, 0);]])],
        [rondo_have_mpi=yes])
      CXXFLAGS=$rondo_save_CXXFLAGS
      LIBS=$rondo_save_LIBS
      AC_MSG_RESULT([$rondo_have_mpi])
    ])
  ])
  AS_IF([test $rondo_have_mpi = no], [
    AC_MSG_ERROR([Rondo needs Open MPI: install the packages libopenmpi-dev and openmpi-bin (their names on Debian and Ubuntu), or say where it is with --with-mpi=DIR; --with-mpi=$with_mpi found no working mpicc])
  ])
  # With ULFM a program goes on after the death of a rank. In the flags, and not in config.h: nothing
  # but the door for MPI programs asks.
  AC_CACHE_CHECK([for MPIX_Comm_shrink (ULFM)], [rondo_cv_mpi_ulfm], [
    rondo_save_CXXFLAGS=$CXXFLAGS
    rondo_save_LIBS=$LIBS
    CXXFLAGS="$CXXFLAGS $MPI_CFLAGS"
    LIBS="$MPI_LIBS $LIBS"
    AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <mpi.h>
#include <mpi-ext.h>]], [[MPI_Comm rest;
return MPIX_Comm_shrink(MPI_COMM_WORLD, &rest) == MPIX_ERR_PROC_FAILED ? MPIX_ERR_REVOKED : 0;]])],
      [rondo_cv_mpi_ulfm=yes], [rondo_cv_mpi_ulfm=no])
    CXXFLAGS=$rondo_save_CXXFLAGS
    LIBS=$rondo_save_LIBS
  ])
  AS_IF([test $rondo_cv_mpi_ulfm = yes], [MPI_CFLAGS="$MPI_CFLAGS -DHAVE_MPI_ULFM=1"])
  rondo_show_mpi=`$MPICC --showme:version 2>/dev/null | sed -n 's/^.*Open MPI \([[0-9.]]*\).*/Open MPI \1/p'`
  AC_SUBST([MPI_CFLAGS])
  AC_SUBST([MPI_LIBS])
])
