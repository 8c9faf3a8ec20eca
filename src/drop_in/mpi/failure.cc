#include "drop_in/mpi/failure.h"

#include <cstdio>
#include <map>
#include <mutex>

namespace rondo::drop_in {
namespace {

int classOf(rondoResult_t result) {
  switch (result) {
    case rondoInvalidArgument:
      return MPI_ERR_ARG;
    case rondoOutOfMemory:
      return MPI_ERR_NO_MEM;
    case rondoInternalError:
      return MPI_ERR_INTERN;
    default:
      return MPI_ERR_OTHER;
  }
}

/// One code a class: its text is that of the latest failure.
int codeOf(int errorClass, const std::string& sentence) {
  static std::mutex mutex;
  static auto* const codes = new std::map<int, int>;
  const std::lock_guard<std::mutex> lock(mutex);
  const auto [at, isNew] = codes->try_emplace(errorClass, errorClass);
  if (isNew && PMPI_Add_error_code(errorClass, &at->second) != MPI_SUCCESS) at->second = errorClass;
  if (at->second != errorClass) {
    PMPI_Add_error_string(at->second, sentence.substr(0, MPI_MAX_ERROR_STRING - 1).c_str());
  }
  return at->second;
}

/// Says it on standard error.
int mistakeCode(int errorClass, const std::string& sentence) {
  std::fprintf(stderr, "rondo_mpi: %s\n", sentence.c_str());
  return codeOf(errorClass, sentence);
}

}  // namespace

int codeFor(rondoResult_t result, const std::string& sentence) {
  return mistakeCode(classOf(result), sentence);
}

int raiseMistake(MPI_Comm comm, int errorClass, const std::string& sentence) {
  const int code = mistakeCode(errorClass, sentence);
  PMPI_Comm_call_errhandler(comm, code);
  return code;
}

int raise(MPI_Comm comm, rondoResult_t result, const std::string& sentence) {
  const int code = codeFor(result, sentence);
  PMPI_Comm_call_errhandler(comm, code);
  return code;
}

int raise(OnFile where, rondoResult_t result, const std::string& sentence) {
  const int code = codeFor(result, sentence);
  PMPI_File_call_errhandler(where.file, code);
  return code;
}

int raise(OnWindow where, rondoResult_t result, const std::string& sentence) {
  const int code = codeFor(result, sentence);
  PMPI_Win_call_errhandler(where.win, code);
  return code;
}

int raiseMistake(OnWindow where, int errorClass, const std::string& sentence) {
  const int code = mistakeCode(errorClass, sentence);
  PMPI_Win_call_errhandler(where.win, code);
  return code;
}

}  // namespace rondo::drop_in
