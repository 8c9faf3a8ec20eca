#include "session.h"

#include <chrono>

#include "api/rondo_mpi.h"
#include "errors.h"

namespace rondo::bench {

Session::Session() {
  MPI_Comm_rank(mpi(), &rank_);
  MPI_Comm_size(mpi(), &ranks_);
  barrier();
  const auto before = std::chrono::steady_clock::now();
  checkRondo(rondoCommInitMPI(&rondo_, mpi(), nullptr), "rondoCommInitMPI", nullptr);
  const auto after = std::chrono::steady_clock::now();
  firstInitUsec_ = std::chrono::duration<double, std::micro>(after - before).count();
}

double Session::fromRoot(double value) const {
  MPI_Bcast(&value, 1, MPI_DOUBLE, 0, mpi());
  return value;
}

double Session::largest(double value) const {
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MAX, mpi());
  return value;
}

uint64_t Session::sum(uint64_t value) const {
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_UINT64_T, MPI_SUM, mpi());
  return value;
}

void Session::onRoot(const std::function<void()>& work) const {
  enum : int { kFine, kUsage, kRun };
  int outcome[2] = {kFine, 0};
  std::string sentence;
  if (isRoot()) {
    try {
      work();
    } catch (const UsageError& error) {
      outcome[0] = kUsage;
      sentence = error.what();
    } catch (const RunError& error) {
      outcome[0] = kRun;
      sentence = error.what();
    }
    outcome[1] = static_cast<int>(sentence.size());
  }
  MPI_Bcast(outcome, 2, MPI_INT, 0, mpi());
  sentence.resize(static_cast<size_t>(outcome[1]));
  MPI_Bcast(sentence.data(), outcome[1], MPI_CHAR, 0, mpi());
  if (outcome[0] == kUsage) throw UsageError(sentence);
  if (outcome[0] == kRun) throw RunError(sentence);
}

void checkRondo(rondoResult_t result, const char* call, rondoComm_t comm) {
  if (result == rondoSuccess) return;
  const char* sentence = rondoGetLastError(comm);
  throw RunError(std::string(call) + " returned " + rondoGetErrorString(result) + ": " +
                 (sentence != nullptr && *sentence != '\0' ? sentence : "(no sentence given)"));
}

std::string formatVersion(int code) {
  return std::to_string(code / 10000) + "." + std::to_string(code / 100 % 100) + "." +
         std::to_string(code % 100);
}

std::string rondoVersion() {
  int code = 0;
  checkRondo(rondoGetVersion(&code), "rondoGetVersion", nullptr);
  return formatVersion(code);
}

std::string mpiVersion() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  MPI_Get_library_version(text, &length);
  const std::string full(text);
  return full.substr(0, full.find_first_of(",\n"));
}

}  // namespace rondo::bench
