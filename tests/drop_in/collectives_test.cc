// A program that knows MPI only: every collective by its MPI_ name and by its PMPI_ name, on
// several communicators, among other things that a program does. Usage: mpirun -n N -x
// LD_PRELOAD=.../librondo_mpi.so collectives_test [expect-layer|uneven]

#include "drop_in/cases.h"

using namespace drop_in_test;

namespace {

void everything(const Comm& comm, bool long_) {
  const std::vector<Type> all = types();
  for (size_t i = 0; i < all.size(); i += long_ ? 1 : 3) {
    const Type& type = all[i];
    for (const Op& op : kOps) {
      if (std::strchr(op.kinds, type.kind) == nullptr) continue;
      for (const int count : {0, 1, 3, 257}) {
        reduceOnce(comm, type, op, count);
        if (type.kind != 'q') reduceScatterOnce(comm, type, op, count);
      }
    }
  }
  for (const int count : {0, 4, 1000}) moves(comm, count);
  if (!long_) return;
  reduceOnce(comm, types()[6], kOps[0], 300000);
  reduceScatterOnce(comm, types()[5], kOps[0], 100000);
  moves(comm, 200000);
}

/// Collectives that MPI answers and ones that Rondo does, between messages that cross them.
void mixed(const Comm& comm) {
  const int next = (comm.rank + 1) % comm.size, before = (comm.rank + comm.size - 1) % comm.size;
  std::vector<double> out(200000, comm.rank), in(out.size(), -1);
  for (int round = 0; round < 3; ++round) {
    // Large: it needs the sender's help, who waits in an all-reduce meanwhile.
    MPI_Request request;
    MPI_Isend(out.data(), static_cast<int>(out.size()), MPI_DOUBLE, next, 5, comm.mpi, &request);
    int sum = 0;
    if (comm.rank % 2 == 1) {
      MPI_Recv(in.data(), static_cast<int>(in.size()), MPI_DOUBLE, before, 5, comm.mpi,
               MPI_STATUS_IGNORE);
    }
    MPI_Allreduce(&comm.rank, &sum, 1, MPI_INT, MPI_SUM, comm.mpi);
    if (comm.rank % 2 == 0) {
      MPI_Recv(in.data(), static_cast<int>(in.size()), MPI_DOUBLE, before, 5, comm.mpi,
               MPI_STATUS_IGNORE);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect(sum == comm.size * (comm.size - 1) / 2, "sum between messages on " + comm.name);
    expect(in.back() == before, "message around a collective on " + comm.name);

    int later = comm.rank == 0 ? round : -1, total = 0;
    MPI_Ibcast(&later, 1, MPI_INT, 0, comm.mpi, &request);
    MPI_Barrier(comm.mpi);
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_MAX, comm.mpi);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect(later == round, "ibcast around collectives on " + comm.name);

    long double wide = 1, wideSum = 0;  // Rondo has no such type
    MPI_Allreduce(&wide, &wideSum, 1, MPI_LONG_DOUBLE, MPI_SUM, comm.mpi);
    expect(wideSum == comm.size, "long double on " + comm.name);
    MPI_Op mine;
    MPI_Op_create(
        [](void* a, void* b, int* n, MPI_Datatype*) {
          for (int i = 0; i < *n; ++i) static_cast<int*>(b)[i] += static_cast<int*>(a)[i];
        },
        1, &mine);
    const int one = 1;
    MPI_Allreduce(&one, &total, 1, MPI_INT, mine, comm.mpi);
    MPI_Op_free(&mine);
    expect(total == comm.size, "an operator of the program's on " + comm.name);
  }
}

/// MPI_CHAR, of which MPI defines no reduction, and MPIs do them all the same: as C's char, and
/// sums wrap around (Open MPI's end at 127 where it uses AVX: not compared).
void characters(const Comm& comm) {
  const Type type{"char", MPI_CHAR, 1, 'i'};
  for (const Op& op : kOps) {
    if (std::strchr(op.kinds, 'i') != nullptr) reduceOnce(comm, type, op, 65);
  }
  constexpr int kMany = 8192;  // Rondo's, as a non-blocking call too
  std::vector<char> in(kMany, 100), out(kMany, 0);
  MPI_Allreduce(in.data(), out.data(), kMany, MPI_CHAR, MPI_SUM, comm.mpi);
  const std::vector<char> sum(kMany, static_cast<char>(100 * comm.size));
  expect(comm.size == 1 || !isMapped("/librondo_mpi.so") || out == sum,
         "a sum of characters wraps around");
}

/// Attributes of the program are copied and deleted once by a dup and a free, layer or not.
int copies = 0, deletions = 0;
void attributes() {
  int key;
  MPI_Comm_create_keyval(
      [](MPI_Comm, int, void*, void*, void* out, int* flag) {
        ++copies;
        *static_cast<void**>(out) = nullptr;
        *flag = 1;
        return MPI_SUCCESS;
      },
      [](MPI_Comm, int, void*, void*) {
        ++deletions;
        return MPI_SUCCESS;
      },
      &key, nullptr);
  MPI_Comm_set_attr(MPI_COMM_WORLD, key, nullptr);
  MPI_Comm dup;
  MPI_Comm_dup(MPI_COMM_WORLD, &dup);
  expect(copies == 1 && deletions == 0, "attributes are copied once");
  MPI_Comm_free(&dup);
  expect(copies == 1 && deletions == 1, "attributes are deleted once");
  MPI_Comm_delete_attr(MPI_COMM_WORLD, key);
  MPI_Comm_free_keyval(&key);
}

/// Movements without a type, on one side or the other.
template <class Same>
void noTypes(MPI_Comm comm, const Same& same) {
  const MPI_Datatype none = MPI_DATATYPE_NULL;
  std::vector<int> in(static_cast<size_t>(ranks) * 2), out(in.size());
  const std::vector<int> counts(static_cast<size_t>(ranks), 1), places(counts.size(), 0);
  const int *c = counts.data(), *p = places.data();
  int *i = in.data(), *o = out.data();
  MPI_Request request;
#define SAME(call, ...) \
  same(MPI_##call(__VA_ARGS__), PMPI_##call(__VA_ARGS__), #call " without a type")
  SAME(Bcast, i, 1, none, 0, comm);
  SAME(Allgather, i, 1, none, o, 1, MPI_INT, comm);
  SAME(Allgather, i, 1, MPI_INT, o, 1, none, comm);
  SAME(Alltoall, i, 1, none, o, 1, MPI_INT, comm);
  SAME(Alltoall, i, 1, MPI_INT, o, 1, none, comm);
  SAME(Gather, i, 1, none, o, 1, MPI_INT, 0, comm);
  SAME(Scatter, i, 1, MPI_INT, o, 1, none, 0, comm);
  SAME(Allgatherv, i, 1, none, o, c, p, MPI_INT, comm);
  SAME(Allgatherv, i, 1, MPI_INT, o, c, p, none, comm);
  SAME(Alltoallv, i, c, p, none, o, c, p, MPI_INT, comm);
  SAME(Gatherv, i, 1, none, o, c, p, MPI_INT, 0, comm);
  SAME(Scatterv, i, c, p, MPI_INT, o, 1, none, 0, comm);
  SAME(Ibcast, i, 1, none, 0, comm, &request);
  SAME(Iallgather, i, 1, MPI_INT, o, 1, none, comm, &request);
#undef SAME
}

/// MPI's errors stay MPI's, and end no communicator.
void errors() {
  MPI_Comm dup;
  MPI_Comm_dup(MPI_COMM_WORLD, &dup);
  MPI_Comm_set_errhandler(dup, MPI_ERRORS_RETURN);
  int in = 1, out = 0;
  const auto same = [&](int layers, int mpis, const char* what) {
    expect(layers != MPI_SUCCESS && classOf(layers) == classOf(mpis), what);
  };
  same(MPI_Allreduce(&in, &out, -1, MPI_INT, MPI_SUM, dup),
       PMPI_Allreduce(&in, &out, -1, MPI_INT, MPI_SUM, dup), "a negative count");
  same(MPI_Bcast(&in, 1, MPI_INT, ranks, dup), PMPI_Bcast(&in, 1, MPI_INT, ranks, dup),
       "a root too large");
  same(MPI_Allreduce(&in, &out, 1, MPI_DATATYPE_NULL, MPI_SUM, dup),
       PMPI_Allreduce(&in, &out, 1, MPI_DATATYPE_NULL, MPI_SUM, dup), "no type");
  same(MPI_Allreduce(&in, &out, 1, MPI_FLOAT, MPI_BAND, dup),
       PMPI_Allreduce(&in, &out, 1, MPI_FLOAT, MPI_BAND, dup), "bits of a float");
  noTypes(dup, same);
  MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, dup);
  expect(out == ranks, "a sum after errors");
  MPI_Comm_free(&dup);

  // Errors without a communicator are those of MPI_COMM_WORLD.
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Request request;
  same(MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_NULL),
       PMPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_NULL), "no communicator");
  same(MPI_Ibcast(&in, 1, MPI_INT, 0, MPI_COMM_NULL, &request),
       PMPI_Ibcast(&in, 1, MPI_INT, 0, MPI_COMM_NULL, &request), "none for a request");
  same(MPI_Gatherv(&in, 1, MPI_INT, &out, &in, &in, MPI_INT, 0, MPI_COMM_NULL),
       PMPI_Gatherv(&in, 1, MPI_INT, &out, &in, &in, MPI_INT, 0, MPI_COMM_NULL), "none, v");
  same(MPI_Comm_dup(MPI_COMM_NULL, &dup), PMPI_Comm_dup(MPI_COMM_NULL, &dup), "none to copy");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/// More communicators of one parent than the layer makes its own at once; the last one is used so
/// much that it does.
void many() {
  constexpr int kMany = 12;
  MPI_Comm parent;
  MPI_Comm_dup(MPI_COMM_WORLD, &parent);
  for (int i = 1; i <= kMany; ++i) {
    MPI_Comm one;
    MPI_Comm_split(parent, 0, rank, &one);
    for (int round = 0; round < (i == kMany ? 40 : 1); ++round) {
      const int mine = rank + round;
      int sum = 0;
      MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, one);
      expect(sum == ranks * (ranks - 1) / 2 + ranks * round, "a sum on one of many communicators");
    }
    if (i == kMany) moves(Comm("the last one of many", one), 4);
    MPI_Comm_free(&one);
  }
  MPI_Comm_free(&parent);
}

void communicators() {
  MPI_Comm dup, half, nested, some, grid;
  MPI_Comm_dup(MPI_COMM_WORLD, &dup);
  everything(Comm("a duplicate", dup), false);
  MPI_Comm_split(dup, rank % 2, -rank, &half);
  MPI_Comm_free(&dup);
  everything(Comm("every other rank, backwards", half), false);
  mixed(Comm("every other rank, backwards", half));
  MPI_Comm_split(half, rank == 0 ? MPI_UNDEFINED : 0, rank, &nested);
  if (nested != MPI_COMM_NULL) {
    mixed(Comm("a half without rank 0", nested));
    MPI_Comm_free(&nested);
  }
  MPI_Comm_free(&half);

  MPI_Group all, last;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  int range[1][3] = {{ranks - 1, ranks / 2, -1}};
  MPI_Group_range_incl(all, 1, range, &last);
  MPI_Comm_create(MPI_COMM_WORLD, last, &some);
  if (some != MPI_COMM_NULL) {
    mixed(Comm("the upper half, backwards", some));
    MPI_Comm_free(&some);
  }
  MPI_Group_free(&all);
  MPI_Group_free(&last);

  int size = ranks, periodic = 1;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &grid);
  mixed(Comm("a ring", grid));
  MPI_Comm_free(&grid);
  for (int i = 0; i < 20; ++i) {
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    int sum = 0;
    MPI_Allreduce(&i, &sum, 1, MPI_INT, MPI_SUM, dup);
    expect(sum == i * ranks, "one of twenty duplicates");
    MPI_Comm_free(&dup);
  }
}

/// Whether block r of `per[r]` ints each begins with r * 1000 + `what`.
void expectBlocks(const std::vector<int>& all, const std::vector<int>& at,
                  const std::vector<int>& per, int what, const char* call) {
  for (int r = 0; r < ranks; ++r) {
    const auto i = static_cast<size_t>(r);
    expect(per[i] == 0 || all[static_cast<size_t>(at[i])] == r * 1000 + what, call);
  }
}

/// The v-collectives whose counts nobody knows all of, with blocks of up to `most` ints, only rank
/// 1's so large; each round with MPI_Barrier after them, or with blocking calls.
void unevenRounds(const Comm& comm, int rounds, int most, bool later) {
  std::vector<int> per(static_cast<size_t>(ranks)), at(per.size()), same(per.size());
  for (int r = 0, next = 0; r < ranks; ++r) {
    const auto i = static_cast<size_t>(r);
    per[i] = r == 1 ? most : r % 3 == 2 ? 0 : 1;
    at[i] = next;
    next += per[i];
    same[i] = r * most;
  }
  const int mine = per[static_cast<size_t>(rank)];
  const auto bytes = static_cast<size_t>(most) * per.size();
  for (int round = 0; round < rounds; ++round) {
    std::vector<int> in(bytes, rank * 1000 + round), gathered(bytes), got(bytes), exchanged(bytes);
    std::vector<int> parts(bytes);
    for (int r = 0; r < ranks; ++r) parts[static_cast<size_t>(r * most)] = r * 1000 + round;
    std::vector<int> to(per.size(), mine);  // a rank gives everybody a block of its own length
    std::vector<int> from(same);
    if (later) {
      MPI_Request some[3];
      MPI_Igatherv(in.data(), mine, MPI_INT, gathered.data(), per.data(), at.data(), MPI_INT, 0,
                   comm.mpi, &some[0]);
      MPI_Iscatterv(parts.data(), per.data(), same.data(), MPI_INT, got.data(), mine, MPI_INT, 0,
                    comm.mpi, &some[1]);
      MPI_Ialltoallv(in.data(), to.data(), same.data(), MPI_INT, exchanged.data(), per.data(),
                     from.data(), MPI_INT, comm.mpi, &some[2]);
      MPI_Waitall(3, some, MPI_STATUSES_IGNORE);
      MPI_Barrier(comm.mpi);
    } else {
      MPI_Gatherv(in.data(), mine, MPI_INT, gathered.data(), per.data(), at.data(), MPI_INT, 0,
                  comm.mpi);
      MPI_Scatterv(parts.data(), per.data(), same.data(), MPI_INT, got.data(), mine, MPI_INT, 0,
                   comm.mpi);
      MPI_Alltoallv(in.data(), to.data(), same.data(), MPI_INT, exchanged.data(), per.data(),
                    from.data(), MPI_INT, comm.mpi);
    }
    if (rank == 0) expectBlocks(gathered, at, per, round, "gatherv");
    expect(mine == 0 || got[0] == rank * 1000 + round, "scatterv");
    expectBlocks(exchanged, from, per, round, "alltoallv");
  }
}

/// Sizes that grow and shrink again: tests/drop_in.sh holds who answered against the rules.
void uneven() {
  const Comm world("MPI_COMM_WORLD", MPI_COMM_WORLD);
  for (const int most : {2, 20000, 2}) unevenRounds(world, 24, most, true);
  MPI_Comm dup;
  MPI_Comm_dup(MPI_COMM_WORLD, &dup);
  for (const int most : {2, 20000}) unevenRounds(Comm("a duplicate", dup), 16, most, false);
  MPI_Comm_free(&dup);
}

}  // namespace

int main(int argc, char** argv) {
  start(&argc, &argv);
  if (argc > 1 && std::string(argv[1]) == "uneven") {
    uneven();
    return finish();
  }
  if (argc > 1 && std::string(argv[1]) == "expect-layer") {
    expect(isMapped("/librondo_mpi.so"), "the layer is mapped");
  }
  everything(Comm("MPI_COMM_WORLD", MPI_COMM_WORLD), true);
  mixed(Comm("MPI_COMM_WORLD", MPI_COMM_WORLD));
  mixed(Comm("MPI_COMM_SELF", MPI_COMM_SELF));
  characters(Comm("MPI_COMM_WORLD", MPI_COMM_WORLD));
  errors();  // on one of the first communicators: the later ones are MPI's
  communicators();
  many();
  attributes();
  return finish();
}
