// alt COLL BYTES MODES SECONDS: alternates environment settings "VAR=VAL" between blocks of calls; also MPI itself with "mpi"
#include <mpi.h>
#include <rondo.h>
#include <rondo_mpi.h>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>
#include <sys/prctl.h>
int main(int c, char** v) {
  MPI_Init(&c, &v);
  prctl(PR_SET_TIMERSLACK, 1000);
  int r, n; MPI_Comm_rank(MPI_COMM_WORLD, &r); MPI_Comm_size(MPI_COMM_WORLD, &n);
  std::string what = v[1]; size_t bytes = atol(v[2]); double secs = atof(v[3]);
  std::vector<std::string> modes(v + 4, v + c);
  rondoComm_t comm; if (rondoCommInitMPI(&comm, MPI_COMM_WORLD, nullptr) != rondoSuccess) { puts("init"); return 1; }
  size_t all = bytes * (what == "allgather" || what == "alltoall" || what == "rs" ? n : 1);
  if (what == "alltoall" || what == "rs") { all = bytes; bytes /= n; }
  char* s = (char*)malloc(all + 64); char* d = (char*)malloc(all + 64); memset(s, 0, all); memset(d, 0, all);
  auto call = [&](bool mpi) {
    size_t k = bytes / 4; int e = 0;
    if (mpi) {
      if (what == "allgather") MPI_Allgather(s, k, MPI_FLOAT, d, k, MPI_FLOAT, MPI_COMM_WORLD);
      if (what == "bcast") MPI_Bcast(d, k, MPI_FLOAT, 0, MPI_COMM_WORLD);
      if (what == "allreduce") MPI_Allreduce(s, d, k, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
      if (what == "alltoall") MPI_Alltoall(s, k, MPI_FLOAT, d, k, MPI_FLOAT, MPI_COMM_WORLD);
      if (what == "rs") MPI_Reduce_scatter_block(s, d, k, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
      return;
    }
    if (what == "allgather") e = rondoAllGather(s, d, k, rondoFloat32, comm, 0);
    if (what == "bcast") e = rondoBroadcast(d, d, k, rondoFloat32, 0, comm, 0);
    if (what == "allreduce") e = rondoAllReduce(s, d, k, rondoFloat32, rondoSum, comm, 0);
    if (what == "alltoall") e = rondoAllToAll(s, d, k, rondoFloat32, comm, 0);
    if (what == "rs") e = rondoReduceScatter(s, d, k, rondoFloat32, rondoSum, comm, 0);
    if (e) { printf("error %d\n", e); exit(1); }
  };
  std::vector<std::vector<double>> t(modes.size());
  double start = MPI_Wtime(); int go = 1;
  for (int round = 0; go; ++round) {
    for (size_t m0 = 0; m0 < modes.size(); ++m0) {
      size_t m = (m0 + round) % modes.size();
      bool mpi = modes[m] == "mpi";
      unsetenv("RONDO_X"); unsetenv("RONDO_Y"); unsetenv("RONDO_Z");
      if (!mpi && modes[m] != "-") {
        std::string all = modes[m]; size_t at = 0;
        while (at < all.size()) { size_t e = std::min(all.find('+', at), all.size()); std::string one = all.substr(at, e - at); size_t q = one.find('='); setenv(one.substr(0, q).c_str(), one.substr(q + 1).c_str(), 1); at = e + 1; }
      }
      for (int k = 0; k < 3; ++k) {
        MPI_Barrier(MPI_COMM_WORLD);
        double a = MPI_Wtime(); call(mpi); double b = MPI_Wtime() - a;
        double sum; MPI_Allreduce(&b, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        if (k && round) t[m].push_back(sum / n * 1e6);
      }
    }
    go = MPI_Wtime() - start < secs; MPI_Bcast(&go, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
  if (r == 0) {
    printf("%-10s %9zu", what.c_str(), (size_t)atol(v[2])); double base = 0;
    for (size_t m = 0; m < modes.size(); ++m) {
      auto x = t[m]; std::sort(x.begin(), x.end());
      double p50 = x[x.size() / 2], p25 = x[x.size() / 10]; if (!m) base = p50;
      static double b25; if (!m) b25 = p25;
      printf(" | %s %.0f (%.2f, p10 %.0f %.2f)", modes[m].c_str(), p50, p50 / base, p25, p25 / b25);
    }
    printf(" | n=%zu\n", t[0].size());
  }
  rondoCommDestroy(comm);
  MPI_Finalize();
}
