#pragma once
// Failures in MPI's terms.

#include <mpi.h>

#include <string>

#include "api/rondo.h"

namespace rondo::drop_in {

/// A code of the class that fits `result`, whose MPI_Error_string is `sentence`; the sentence goes
/// to standard error. Nothing is raised.
int codeFor(rondoResult_t result, const std::string& sentence);

/// Raises a mistake of MPI's class `errorClass` on `comm` and returns its code.
int raiseMistake(MPI_Comm comm, int errorClass, const std::string& sentence);

/// An MPI error code of the class that fits `result`, whose MPI_Error_string is `sentence`, cut to
/// MPI's length; raised on `comm`, whose error handler may not return. The full sentence goes to
/// standard error.
int raise(MPI_Comm comm, rondoResult_t result, const std::string& sentence);

/// The same on another object's error handler.
struct OnFile {
  MPI_File file;
};
struct OnWindow {
  MPI_Win win;
};
int raise(OnFile where, rondoResult_t result, const std::string& sentence);
int raise(OnWindow where, rondoResult_t result, const std::string& sentence);
int raiseMistake(OnWindow where, int errorClass, const std::string& sentence);

}  // namespace rondo::drop_in
