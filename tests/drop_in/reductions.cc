// Reductions by both names.

#include <algorithm>

#include "drop_in/cases.h"

namespace drop_in_test {

void reduceOnce(const Comm& comm, const Type& type, const Op& op, int count) {
  const std::string what = std::string(type.name) + " " + op.name + " x " + std::to_string(count);
  const Buffer mine = values(type, static_cast<size_t>(count), comm.rank);
  const Buffer none = blank(mine.size());
  Buffer a = none, b = none;

  MPI_Allreduce(mine.data(), a.data(), count, type.mpi, op.mpi, comm.mpi);
  PMPI_Allreduce(mine.data(), b.data(), count, type.mpi, op.mpi, comm.mpi);
  if (type.kind == 'q') {  // between the int and the next double lies no value
    for (size_t at = 12; at < a.size(); at += 16) std::memset(&a[at], 0, 4);
    for (size_t at = 12; at < b.size(); at += 16) std::memset(&b[at], 0, 4);
  }
  compare(a, b, comm, "allreduce " + what);
  if (type.kind == 'q') return;

  a = b = mine;
  MPI_Allreduce(MPI_IN_PLACE, a.data(), count, type.mpi, op.mpi, comm.mpi);
  PMPI_Allreduce(MPI_IN_PLACE, b.data(), count, type.mpi, op.mpi, comm.mpi);
  compare(a, b, comm, "allreduce in place " + what);

  const int root = count % comm.size;
  a = b = none;
  MPI_Reduce(mine.data(), a.data(), count, type.mpi, op.mpi, root, comm.mpi);
  PMPI_Reduce(mine.data(), b.data(), count, type.mpi, op.mpi, root, comm.mpi);
  if (comm.rank == root) compare(a, b, comm, "reduce " + what);
  a = b = mine;
  const bool isRoot = comm.rank == root;
  MPI_Reduce(isRoot ? MPI_IN_PLACE : mine.data(), isRoot ? a.data() : nullptr, count, type.mpi,
             op.mpi, root, comm.mpi);
  PMPI_Reduce(isRoot ? MPI_IN_PLACE : mine.data(), isRoot ? b.data() : nullptr, count, type.mpi,
              op.mpi, root, comm.mpi);
  compare(a, b, comm, "reduce in place " + what);

  a = b = none;
  MPI_Scan(mine.data(), a.data(), count, type.mpi, op.mpi, comm.mpi);
  PMPI_Scan(mine.data(), b.data(), count, type.mpi, op.mpi, comm.mpi);
  compare(a, b, comm, "scan " + what);
  a = b = mine;
  MPI_Scan(MPI_IN_PLACE, a.data(), count, type.mpi, op.mpi, comm.mpi);
  PMPI_Scan(MPI_IN_PLACE, b.data(), count, type.mpi, op.mpi, comm.mpi);
  compare(a, b, comm, "scan in place " + what);
  a = b = none;
  MPI_Exscan(mine.data(), a.data(), count, type.mpi, op.mpi, comm.mpi);
  PMPI_Exscan(mine.data(), b.data(), count, type.mpi, op.mpi, comm.mpi);
  if (comm.rank > 0) compare(a, b, comm, "exscan " + what);
  a = b = mine;
  MPI_Exscan(MPI_IN_PLACE, a.data(), count, type.mpi, op.mpi, comm.mpi);
  PMPI_Exscan(MPI_IN_PLACE, b.data(), count, type.mpi, op.mpi, comm.mpi);
  if (comm.rank > 0) compare(a, b, comm, "exscan in place " + what);
}

void reduceScatterOnce(const Comm& comm, const Type& type, const Op& op, int count) {
  const std::string what = std::string(type.name) + " " + op.name + " x " + std::to_string(count);
  const size_t n = static_cast<size_t>(comm.size), block = static_cast<size_t>(count) * type.bytes;
  const Buffer mine = values(type, static_cast<size_t>(count) * n, comm.rank);
  const auto firstEqual = [&](const Buffer& a, const Buffer& b, size_t bytes) {
    return std::equal(a.begin(), a.begin() + static_cast<ptrdiff_t>(bytes), b.begin());
  };
  Buffer a = blank(block), b = blank(block);
  MPI_Reduce_scatter_block(mine.data(), a.data(), count, type.mpi, op.mpi, comm.mpi);
  PMPI_Reduce_scatter_block(mine.data(), b.data(), count, type.mpi, op.mpi, comm.mpi);
  compare(a, b, comm, "reduce_scatter_block " + what);
  a = b = mine;
  MPI_Reduce_scatter_block(MPI_IN_PLACE, a.data(), count, type.mpi, op.mpi, comm.mpi);
  PMPI_Reduce_scatter_block(MPI_IN_PLACE, b.data(), count, type.mpi, op.mpi, comm.mpi);
  expect(firstEqual(a, b, block), "reduce_scatter_block in place " + what + " on " + comm.name);

  std::vector<int> counts(n);
  for (size_t r = 0; r < n; ++r) counts[r] = r % 3 == 1 ? 0 : count - static_cast<int>(r % 2);
  if (count == 0) counts.assign(n, 0);
  const size_t own = static_cast<size_t>(counts[static_cast<size_t>(comm.rank)]) * type.bytes;
  a = b = blank(block);
  MPI_Reduce_scatter(mine.data(), a.data(), counts.data(), type.mpi, op.mpi, comm.mpi);
  PMPI_Reduce_scatter(mine.data(), b.data(), counts.data(), type.mpi, op.mpi, comm.mpi);
  compare(a, b, comm, "reduce_scatter " + what);
  a = b = mine;
  MPI_Reduce_scatter(MPI_IN_PLACE, a.data(), counts.data(), type.mpi, op.mpi, comm.mpi);
  PMPI_Reduce_scatter(MPI_IN_PLACE, b.data(), counts.data(), type.mpi, op.mpi, comm.mpi);
  expect(firstEqual(a, b, own), "reduce_scatter in place " + what + " on " + comm.name);
}

}  // namespace drop_in_test
