# Google Benchmark: micro-benchmarks of planning and of the host reductions.
AC_DEFUN([RONDO_BENCHMARK], [
  RONDO_DEP([benchmark], [BENCHMARK], [benchmark], [-lbenchmark -lpthread],
    [<benchmark/benchmark.h>], [benchmark::ReportUnrecognizedArguments(0, nullptr)],
    [libbenchmark-dev], [optional], [micro-benchmarks])
])
