# NVTX, of which only headers are needed: they come with the CUDA toolkit. Sets NVTX_CPPFLAGS and the
# conditional and define HAVE_NVTX. After RONDO_CUDA.
AC_DEFUN([RONDO_NVTX], [
  AC_ARG_WITH([nvtx], [AS_HELP_STRING([--with-nvtx=DIR|no|guess],
    [NVTX 3: ranges for profilers (default: guess, from the CUDA toolkit; optional)])],
    [], [with_nvtx=guess])
  rondo_have_nvtx=no
  AS_CASE([$with_nvtx], [no], [rondo_nvtx_dirs=],
    [yes|guess], [rondo_nvtx_dirs="${NVCC:+`dirname "$NVCC"`/..} /usr/local/cuda /usr"],
    [rondo_nvtx_dirs=$with_nvtx])
  AC_MSG_CHECKING([for nvtx])
  rondo_save_CPPFLAGS=$CPPFLAGS
  for rondo_dir in $rondo_nvtx_dirs; do
    AS_IF([test $rondo_have_nvtx = no && test -f "$rondo_dir/include/nvtx3/nvToolsExtPayload.h"], [
      rondo_dir=`cd "$rondo_dir" && pwd`
      # The compiler knows /usr/include, and loses its way when told of it.
      rondo_nvtx_flags=
      AS_IF([test "$rondo_dir" != /usr], [rondo_nvtx_flags="-isystem $rondo_dir/include"])
      CPPFLAGS="$rondo_save_CPPFLAGS $rondo_nvtx_flags"
      AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>
]], [[return nvtxDomainCreateA("x") != nullptr && NVTX_PAYLOAD_SCHEMA_ID_STATIC_START == 0;]])],
        [rondo_have_nvtx=yes
         NVTX_CPPFLAGS=$rondo_nvtx_flags])
    ])
  done
  CPPFLAGS=$rondo_save_CPPFLAGS
  AC_MSG_RESULT([$rondo_have_nvtx])
  AS_IF([test $rondo_have_nvtx = no], [AS_CASE([$with_nvtx], [no|guess], [],
    [AC_MSG_ERROR([--with-nvtx=$with_nvtx was asked for, but include/nvtx3/nvToolsExtPayload.h is not there, or does not compile])])])
  AS_IF([test $rondo_have_nvtx = yes],
    [AC_DEFINE([HAVE_NVTX], [1], [Define to 1 if calls are NVTX ranges.])])
  AC_SUBST([NVTX_CPPFLAGS])
  AM_CONDITIONAL([HAVE_NVTX], [test $rondo_have_nvtx = yes])
])
