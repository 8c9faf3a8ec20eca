/* The whole way from MPI_Init to an all-reduce. Build: see README.md, "Your program". */
#include <mpi.h>
#include <rondo_mpi.h>
#include <stdio.h>
#include <stdlib.h>

/* Every call can say in a sentence what went wrong. */
static void check(rondoResult_t result) {
  if (result == rondoSuccess) return;
  fprintf(stderr, "%s: %s\n", rondoGetErrorString(result), rondoGetLastError(NULL));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);

  rondoComm_t comm;
  check(rondoCommInitMPI(&comm, MPI_COMM_WORLD, NULL));
  int rank, size;
  check(rondoCommUserRank(comm, &rank));
  check(rondoCommCount(comm, &size));

  const size_t count = 1 << 20;
  float* mine = malloc(count * sizeof *mine);
  float* sum = malloc(count * sizeof *sum);
  if (mine == NULL || sum == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  for (size_t i = 0; i < count; ++i) mine[i] = (float)(rank + 1) + (float)(i % 16);

  check(rondoAllReduce(mine, sum, count, rondoFloat32, rondoSum, comm, NULL));

  size_t wrong = 0;
  for (size_t i = 0; i < count; ++i) {
    const float expected = (float)(size * (size + 1) / 2) + (float)size * (float)(i % 16);
    if (sum[i] != expected) ++wrong;
  }
  printf("rank %d of %d: %zu of %zu elements wrong\n", rank, size, wrong, count);

  check(rondoCommDestroy(comm));
  free(mine);
  free(sum);
  MPI_Finalize();
  return wrong != 0;
}
