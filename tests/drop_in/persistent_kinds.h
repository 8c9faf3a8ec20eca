#pragma once
// Every kind of persistent collective, and the same by PMPI at once.

#include <mpi.h>

#include <functional>
#include <vector>

#include "drop_in/check.h"
#include "drop_in/persistent_names.h"

#if defined(INIT)

namespace drop_in_test {

inline const MPI_Info kNoInfo = MPI_INFO_NULL;

using Ints = std::vector<int>;
inline size_t number() { return static_cast<size_t>(ranks); }

/// A collective both ways: its request, and the same by PMPI at once.
struct Kind {
  const char* name;
  std::function<void(int*, int*, MPI_Comm, MPI_Request*)> init;
  std::function<void(int*, int*, MPI_Comm)> atOnce;
};

/// With `n` ints a block. The v forms have n + r for rank r, at places with gaps.
struct Uneven {
  Ints counts, places, mine;  ///< `mine`: what each gives this rank in an all-to-all.
};
inline std::vector<Kind> kinds(int n, const Uneven& uneven) {
  const int last = ranks - 1;
  const auto sum = MPI_SUM;
  const auto type = MPI_INT;
  const int* const c = uneven.counts.data();
  const int* const p = uneven.places.data();
  const int* const to = uneven.mine.data();
  const int mine = n + rank;
  using R = MPI_Request;
  return {
      {"allreduce",
       [=](int* s, int* r, MPI_Comm m, R* q) {
         INIT(Allreduce)(s, r, n, type, sum, m, kNoInfo, q);
       },
       [=](int* s, int* r, MPI_Comm m) { PMPI_Allreduce(s, r, n, type, sum, m); }},
      {"reduce",
       [=](int* s, int* r, MPI_Comm m, R* q) {
         INIT(Reduce)(s, r, n, type, sum, last, m, kNoInfo, q);
       },
       [=](int* s, int* r, MPI_Comm m) { PMPI_Reduce(s, r, n, type, sum, last, m); }},
      {"scan",
       [=](int* s, int* r, MPI_Comm m, R* q) {
         INIT(Scan)
         (s, r, n, type, sum, m, kNoInfo, q);
       },
       [=](int* s, int* r, MPI_Comm m) { PMPI_Scan(s, r, n, type, sum, m); }},
      {"exscan",
       [=](int* s, int* r, MPI_Comm m, R* q) {
         INIT(Exscan)
         (s, r, n, type, sum, m, kNoInfo, q);
       },
       [=](int* s, int* r, MPI_Comm m) { PMPI_Exscan(s, r, n, type, sum, m); }},
      {"reduce_scatter_block",
       [=](int* s, int* r, MPI_Comm m, R* q) {
         INIT(Reduce_scatter_block)(s, r, n, type, sum, m, kNoInfo, q);
       },
       [=](int* s, int* r, MPI_Comm m) { PMPI_Reduce_scatter_block(s, r, n, type, sum, m); }},
      {"reduce_scatter",
       [=](int* s, int* r, MPI_Comm m, R* q) {
         INIT(Reduce_scatter)(s, r, c, type, sum, m, kNoInfo, q);
       },
       [=](int* s, int* r, MPI_Comm m) { PMPI_Reduce_scatter(s, r, c, type, sum, m); }},
      {"bcast",
       [=](int*, int* r, MPI_Comm m, R* q) {
         INIT(Bcast)
         (r, n, type, last, m, kNoInfo, q);
       },
       [=](int*, int* r, MPI_Comm m) { PMPI_Bcast(r, n, type, last, m); }},
      {"allgather",
       [=](int* s, int* r, MPI_Comm m, R* q) {
         INIT(Allgather)(s, n, type, r, n, type, m, kNoInfo, q);
       },
       [=](int* s, int* r, MPI_Comm m) { PMPI_Allgather(s, n, type, r, n, type, m); }},
      {"allgatherv",
       [=](int* s, int* r, MPI_Comm m, R* q) {
         INIT(Allgatherv)(s, mine, type, r, c, p, type, m, kNoInfo, q);
       },
       [=](int* s, int* r, MPI_Comm m) { PMPI_Allgatherv(s, mine, type, r, c, p, type, m); }},
      {"alltoall",
       [=](int* s, int* r, MPI_Comm m, R* q) {
         INIT(Alltoall)(s, n, type, r, n, type, m, kNoInfo, q);
       },
       [=](int* s, int* r, MPI_Comm m) { PMPI_Alltoall(s, n, type, r, n, type, m); }},
      {"gather",
       [=](int* s, int* r, MPI_Comm m, R* q) {
         INIT(Gather)(s, n, type, r, n, type, last, m, kNoInfo, q);
       },
       [=](int* s, int* r, MPI_Comm m) { PMPI_Gather(s, n, type, r, n, type, last, m); }},
      {"gatherv",
       [=](int* s, int* r, MPI_Comm m, R* q) {
         INIT(Gatherv)(s, mine, type, r, c, p, type, last, m, kNoInfo, q);
       },
       [=](int* s, int* r, MPI_Comm m) { PMPI_Gatherv(s, mine, type, r, c, p, type, last, m); }},
      {"scatter",
       [=](int* s, int* r, MPI_Comm m, R* q) {
         INIT(Scatter)(s, n, type, r, n, type, last, m, kNoInfo, q);
       },
       [=](int* s, int* r, MPI_Comm m) { PMPI_Scatter(s, n, type, r, n, type, last, m); }},
      {"scatterv",
       [=](int* s, int* r, MPI_Comm m, R* q) {
         INIT(Scatterv)(s, c, p, type, r, mine, type, last, m, kNoInfo, q);
       },
       [=](int* s, int* r, MPI_Comm m) { PMPI_Scatterv(s, c, p, type, r, mine, type, last, m); }},
      {"alltoallv",
       [=](int* s, int* r, MPI_Comm m, R* q) {
         INIT(Alltoallv)(s, c, p, type, r, to, p, type, m, kNoInfo, q);
       },
       [=](int* s, int* r, MPI_Comm m) { PMPI_Alltoallv(s, c, p, type, r, to, p, type, m); }},
  };
}

}  // namespace drop_in_test

#endif
