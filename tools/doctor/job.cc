#include "doctor/job.h"

#include <mpi.h>

#include <cstdlib>
#include <numeric>

namespace rondo::doctor {

Job::Job(int* argc, char*** argv) {
  for (const char* const sign : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"}) {
    launched_ |= std::getenv(sign) != nullptr;
  }
  if (!launched_) return;
  MPI_Init(argc, argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
}

Job::~Job() {
  if (launched_) MPI_Finalize();
}

std::vector<std::string> Job::gather(const std::string& mine) const {
  if (!launched_) return {mine};
  const auto ranks = static_cast<size_t>(size_);
  int bytes = static_cast<int>(mine.size());
  std::vector<int> counts(ranks), from(ranks, 0);
  MPI_Allgather(&bytes, 1, MPI_INT, counts.data(), 1, MPI_INT, MPI_COMM_WORLD);
  std::partial_sum(counts.begin(), counts.end() - 1, from.begin() + 1);
  std::string all(static_cast<size_t>(from.back() + counts.back()), '\0');
  MPI_Allgatherv(mine.data(), bytes, MPI_CHAR, all.data(), counts.data(), from.data(), MPI_CHAR,
                 MPI_COMM_WORLD);
  std::vector<std::string> texts;
  for (size_t r = 0; r < ranks; ++r) {
    texts.push_back(all.substr(static_cast<size_t>(from[r]), static_cast<size_t>(counts[r])));
  }
  return texts;
}

int Job::share(int number) const {
  if (launched_) MPI_Bcast(&number, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return number;
}

std::string Job::mpiVersion() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(text, &length);  // allowed before MPI_Init
  const std::string whole(text, static_cast<size_t>(length));
  return whole.substr(0, whole.find_first_of(",\n"));
}

}  // namespace rondo::doctor
