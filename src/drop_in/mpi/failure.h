#pragma once
// Failures in MPI's terms.

#include <mpi.h>

#include <string>

#include "api/rondo.h"

namespace rondo::drop_in {

/// An MPI error code of the class that fits `result`, whose MPI_Error_string is `sentence`, cut to
/// MPI's length; raised on `comm`, whose error handler may not return. The full sentence goes to
/// standard error.
int raise(MPI_Comm comm, rondoResult_t result, const std::string& sentence);

}  // namespace rondo::drop_in
