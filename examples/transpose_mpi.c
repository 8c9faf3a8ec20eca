/* A matrix that lies on all ranks by rows is transposed with one all-to-all; then every rank learns
 * what the others found in their rows, lists of different lengths, with an all-gather-v. Build: see
 * README.md, "Your program". */
#include <mpi.h>
#include <rondo_mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kRows = 24 }; /* of every rank */

/* Every call can say in a sentence what went wrong. */
static void check(rondoResult_t result) {
  if (result == rondoSuccess) return;
  fprintf(stderr, "%s: %s\n", rondoGetErrorString(result), rondoGetLastError(NULL));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void* room(size_t bytes) {
  void* memory = NULL;
  check(rondoMemAlloc(&memory, bytes)); /* read in place by the other ranks */
  return memory;
}

/* The matrix before: element (row, column). */
static double element(size_t row, size_t column) { return (double)(row * 1000 + column); }

/* blocks[r][i][j] = rows[i][r * kRows + j]: what goes to rank r lies together. */
static void pack(const double* rows, double* blocks, size_t size) {
  for (size_t r = 0; r < size; ++r)
    for (size_t i = 0; i < kRows; ++i)
      for (size_t j = 0; j < kRows; ++j)
        blocks[(r * kRows + i) * kRows + j] = rows[i * size * kRows + r * kRows + j];
}
static void unpackTransposed(const double* blocks, double* rows, size_t size) {
  for (size_t r = 0; r < size; ++r)
    for (size_t i = 0; i < kRows; ++i)
      for (size_t j = 0; j < kRows; ++j)
        rows[j * size * kRows + r * kRows + i] = blocks[(r * kRows + i) * kRows + j];
}

/* Turns this rank's rows into its rows of the transposed matrix; the number of wrong elements. */
static size_t transpose(rondoComm_t comm, size_t rank, size_t size) {
  const size_t columns = size * kRows, block = kRows * kRows;
  double* rows = room(kRows * columns * sizeof *rows);
  double* blocks = room(size * block * sizeof *blocks);
  for (size_t i = 0; i < kRows; ++i)
    for (size_t j = 0; j < columns; ++j) rows[i * columns + j] = element(rank * kRows + i, j);

  pack(rows, blocks, size);
  check(rondoAllToAll(blocks, blocks, block, rondoFloat64, comm, NULL)); /* in place */
  unpackTransposed(blocks, rows, size);

  size_t wrong = 0;
  for (size_t i = 0; i < kRows; ++i)
    for (size_t j = 0; j < columns; ++j)
      if (rows[i * columns + j] != element(j, rank * kRows + i)) ++wrong;
  check(rondoMemFree(rows));
  check(rondoMemFree(blocks));
  return wrong;
}

/* Rank r finds r + 2 numbers, and gets those of all ranks; the number of wrong ones. */
static size_t share(rondoComm_t comm, size_t rank, size_t size) {
  const size_t found = rank + 2;
  size_t* counts = malloc(size * sizeof *counts);
  int32_t* mine = malloc(found * sizeof *mine);
  if (counts == NULL || mine == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  for (size_t i = 0; i < found; ++i) mine[i] = (int32_t)(rank * 100 + i);

  /* How many there are of each rank, then the numbers themselves, one list after the other. */
  check(rondoAllGather(&found, counts, 1, rondoUint64, comm, NULL));
  size_t total = 0;
  for (size_t r = 0; r < size; ++r) total += counts[r];
  int32_t* all = malloc(total * sizeof *all);
  if (all == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  check(rondoAllGatherV(mine, found, all, counts, NULL, rondoInt32, comm, NULL));

  size_t wrong = 0, at = 0;
  for (size_t r = 0; r < size; ++r)
    for (size_t i = 0; i < r + 2; ++i, ++at)
      if (at >= total || all[at] != (int32_t)(r * 100 + i)) ++wrong;
  if (at != total) ++wrong;
  free(all);
  free(mine);
  free(counts);
  return wrong;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  rondoComm_t comm;
  check(rondoCommInitMPI(&comm, MPI_COMM_WORLD, NULL));
  int rank, size;
  check(rondoCommUserRank(comm, &rank));
  check(rondoCommCount(comm, &size));

  const size_t elements = transpose(comm, (size_t)rank, (size_t)size);
  const size_t numbers = share(comm, (size_t)rank, (size_t)size);
  printf("rank %d of %d: %zu elements and %zu numbers wrong\n", rank, size, elements, numbers);

  check(rondoCommDestroy(comm));
  MPI_Finalize();
  return elements + numbers != 0;
}
