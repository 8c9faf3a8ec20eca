#pragma once
// What the programs share that are run with the layer before MPI. They know nothing of Rondo.

#include <mpi.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

namespace drop_in_test {

inline int rank = 0, ranks = 1, failures = 0, checks = 0;

inline void start(int* argc, char*** argv, bool threads = false) {
  int level = 0;
  threads ? MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &level) : MPI_Init(argc, argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
}

inline void expect(bool good, const std::string& what) {
  ++checks;
  if (good) return;
  if (++failures > 10) return;
  std::printf("rank %d of %d: wrong: %s\n", rank, ranks, what.c_str());
  std::fflush(stdout);
}

/// Whether this process has the file mapped: whose functions it runs.
inline bool isMapped(const char* file) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find(file) != std::string::npos) return true;
  }
  return false;
}

/// A duplicate of MPI_COMM_WORLD that returns errors.
inline MPI_Comm duplicate() {
  MPI_Comm dup;
  MPI_Comm_dup(MPI_COMM_WORLD, &dup);
  MPI_Comm_set_errhandler(dup, MPI_ERRORS_RETURN);
  return dup;
}

inline int classOf(int code) {
  int errorClass = MPI_SUCCESS;
  if (code != MPI_SUCCESS) MPI_Error_class(code, &errorClass);
  return errorClass;
}

/// The exit status of the program, the same on all ranks.
inline int finish() {
  int all = 0, least = 0;
  PMPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  PMPI_Allreduce(&checks, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (rank == 0) std::printf("%d ranks, from %d checks on a rank, %d wrong\n", ranks, least, all);
  MPI_Finalize();
  return all > 0 || least == 0;
}

}  // namespace drop_in_test
