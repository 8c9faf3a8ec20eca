# CUDA: the kernels. Sets NVCC, NVCC_FLAGS (language and architectures), NVCC_SMALL (more flags for
# kernels that few programs use), CUDA_CPPFLAGS, CUDA_LIBS and the conditional and define HAVE_CUDA.
# The runtime is linked statically and the driver not at all, so that one build runs on machines
# with and without a GPU.
AC_DEFUN([RONDO_CUDA], [
  AC_ARG_WITH([cuda], [AS_HELP_STRING([--with-cuda=DIR|no|guess],
    [CUDA toolkit (default: guess, from nvcc in PATH and /usr/local/cuda; optional)])],
    [], [with_cuda=guess])
  AC_ARG_WITH([cuda-arch], [AS_HELP_STRING([--with-cuda-arch=LIST],
    [GPU architectures, as in 80,90 (default: those of 80,90,100 that nvcc knows)])],
    [], [with_cuda_arch=80,90,100
         rondo_arch_default=yes])
  AC_ARG_VAR([NVCC], [CUDA compiler])
  rondo_have_cuda=no
  AS_CASE([$with_cuda], [no], [rondo_cuda_path=],
    [yes|guess], [rondo_cuda_path=$PATH:/usr/local/cuda/bin],
    [rondo_cuda_path=$with_cuda/bin])
  AS_IF([test "x$with_cuda" != xno], [AC_PATH_PROG([NVCC], [nvcc], [], [$rondo_cuda_path])])
  AS_IF([test "x$with_cuda" != xno && test -n "$NVCC"], [
    rondo_known=" `$NVCC --list-gpu-arch 2>/dev/null | sed -n 's/^compute_//p' | tr '\n' ' '`"
    NVCC_FLAGS="-std=c++20 --fmad=false -cudart static -O3"
    rondo_newest=
    for rondo_arch in `echo "$with_cuda_arch" | tr ',' ' '`; do
      AS_CASE([$rondo_known],
        [*" $rondo_arch "*],
          [NVCC_FLAGS="$NVCC_FLAGS -gencode arch=compute_$rondo_arch,code=sm_$rondo_arch"
           rondo_show_arch="$rondo_show_arch sm_$rondo_arch"
           rondo_newest=$rondo_arch],
        [AS_IF([test "x$rondo_arch_default" != xyes],
          [AC_MSG_ERROR([--with-cuda-arch=$with_cuda_arch: $NVCC does not know "$rondo_arch"; it knows:$rondo_known])])])
    done
    NVCC_FLAGS="$NVCC_FLAGS -gencode arch=compute_$rondo_newest,code=compute_$rondo_newest"
    rondo_cuda_home=`AS_DIRNAME(["$NVCC"])`/..
    rondo_cuda_home=`cd "$rondo_cuda_home" && pwd`
    CUDA_CPPFLAGS="-isystem $rondo_cuda_home/include"
    for rondo_lib in lib64 lib targets/x86_64-linux/lib targets/sbsa-linux/lib; do
      AS_IF([test -z "$CUDA_LIBS" && test -f "$rondo_cuda_home/$rondo_lib/libcudart_static.a"],
        [CUDA_LIBS="-L$rondo_cuda_home/$rondo_lib -lcudart_static -lpthread -ldl -lrt"])
    done
    cat >conftest.cu <<CONFTEST
__global__ void kernel(int* p) { *p = 1; }
int main() { kernel<<<1, 1>>>(nullptr); return cudaGetLastError() == cudaSuccess; }
CONFTEST
    # A fifth of the size, for a longer load. Of older releases some drivers could not read it.
    AC_MSG_CHECKING([whether $NVCC compresses kernels for size])
    rondo_major=`$NVCC --version | sed -n 's/.*release \([[0-9]]*\).*/\1/p'`
    AS_IF([test "${rondo_major:-0}" -ge 13 &&
           $NVCC $NVCC_FLAGS --compress-mode=size -c conftest.cu -o conftest.$ac_objext >&AS_MESSAGE_LOG_FD 2>&1],
      [NVCC_SMALL=--compress-mode=size
       AC_MSG_RESULT([yes])],
      [AC_MSG_RESULT([no])])
    # A kernel goes the whole way of the build: nvcc, our wrapper's flags, the static runtime.
    AC_MSG_CHECKING([whether $NVCC compiles and links a kernel])
    AS_IF([$NVCC $NVCC_FLAGS -c -Xcompiler -fPIC conftest.cu -o conftest.$ac_objext >&AS_MESSAGE_LOG_FD 2>&1 &&
           $CXX -o conftest$ac_exeext conftest.$ac_objext $CUDA_LIBS >&AS_MESSAGE_LOG_FD 2>&1],
      [rondo_have_cuda=yes])
    rm -f conftest.cu conftest.$ac_objext conftest$ac_exeext
    AC_MSG_RESULT([$rondo_have_cuda])
  ])
  AS_IF([test $rondo_have_cuda = no], [AS_CASE([$with_cuda], [no|guess], [],
    [AC_MSG_ERROR([--with-cuda=$with_cuda was asked for, but no working nvcc with libcudart_static.a is there (see config.log)])])])
  rondo_show_cuda=no
  AS_IF([test $rondo_have_cuda = yes], [
    rondo_show_cuda="`$NVCC --version | sed -n 's/.*release \([[0-9.]]*\).*/\1/p'`,$rondo_show_arch + PTX"
    AC_DEFINE([HAVE_CUDA], [1], [Define to 1 if the CUDA kernels are part of this build.])
  ])
  AC_SUBST([NVCC_FLAGS])
  AC_SUBST([NVCC_SMALL])
  AC_SUBST([CUDA_CPPFLAGS])
  AC_SUBST([CUDA_LIBS])
  AM_CONDITIONAL([HAVE_CUDA], [test $rondo_have_cuda = yes])
])
