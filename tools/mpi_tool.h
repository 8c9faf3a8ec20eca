#pragma once
// The beginning and the end of a measuring program that is a job of MPI.

#include <mpi.h>

#include <CLI/CLI.hpp>

#include "command_line.h"

namespace rondo::tune {

/// Reads the options, whose faults rank 0 alone tells (status 2); else run(rank, ranks) gives the
/// exit status, or that standard output cannot be written does (status 1).
template <class Run>
int runAsJob(CLI::App& app, int argc, char** argv, const Run& run) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  nameProgram(app);
  int code = 2;
  try {
    app.parse(argc, argv);
    code = run(rank, ranks);
  } catch (const CLI::ParseError& error) {
    code = rank == 0 ? app.exit(error) : error.get_exit_code();
    code = code == 0 ? 0 : 2;
  }
  MPI_Finalize();
  return statusOfOutput(app.get_name().c_str(), code, 1);
}

}  // namespace rondo::tune
