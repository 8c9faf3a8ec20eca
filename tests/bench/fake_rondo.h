#pragma once
// What the parts of the stand-in for Rondo share.

#include <mpi.h>

#include <functional>

#include "api/rondo.h"
#include "api/rondo_mpi.h"

struct rondoComm {
  MPI_Comm mpi;
  int rank;
  int ranks;
  int calls;
};

/// Whether FAKE_RONDO_FAULT chooses this one.
bool fakeFault(const char* name);

double fakeCombine(rondoRedOp_t op, double a, double b);

/// Runs `call` now or, within a group, at its end.
void fakeRunOrCollect(std::function<void()> call);
