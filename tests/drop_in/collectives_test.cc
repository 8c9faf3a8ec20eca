// A program that knows MPI only: every collective by its MPI_ name, which the layer answers, and by
// its PMPI_ name, which MPI does, must give the same bytes. Numbers are exact in any order.
// Usage: mpirun -n N -x LD_PRELOAD=.../librondo_mpi.so collectives_test [expect-layer]

#include <array>
#include <numeric>
#include <vector>

#include "drop_in/check.h"

using namespace drop_in_test;

namespace {

using Buffer = std::vector<unsigned char>;

struct Type {
  const char* name;
  MPI_Datatype mpi;
  size_t bytes;
  char kind;  // i: integer, f: float, d: double, b: bool, p: pair of {float, int}, q: {double, int}
};

struct Op {
  const char* name;
  MPI_Op mpi;
  const char* kinds;
};

const Op kOps[] = {
    {"sum", MPI_SUM, "ifd"},  {"prod", MPI_PROD, "ifd"},    {"max", MPI_MAX, "ifd"},
    {"min", MPI_MIN, "ifd"},  {"land", MPI_LAND, "ib"},     {"lor", MPI_LOR, "ib"},
    {"lxor", MPI_LXOR, "ib"}, {"band", MPI_BAND, "i"},      {"bor", MPI_BOR, "i"},
    {"bxor", MPI_BXOR, "i"},  {"minloc", MPI_MINLOC, "pq"}, {"maxloc", MPI_MAXLOC, "pq"}};

std::vector<Type> types() {
  return {{"signed char", MPI_SIGNED_CHAR, 1, 'i'},
          {"unsigned short", MPI_UNSIGNED_SHORT, 2, 'i'},
          {"int", MPI_INT, 4, 'i'},
          {"long", MPI_LONG, 8, 'i'},
          {"uint64_t", MPI_UINT64_T, 8, 'i'},
          {"float", MPI_FLOAT, 4, 'f'},
          {"double", MPI_DOUBLE, 8, 'd'},
          {"bool", MPI_C_BOOL, 1, 'b'},
          {"float_int", MPI_FLOAT_INT, 8, 'p'},
          {"double_int", MPI_DOUBLE_INT, 16, 'q'}};
}

template <class T>
void put(Buffer& to, size_t at, T value) {
  std::memcpy(&to[at], &value, sizeof value);
}

/// Small numbers that depend on rank and place: 0 to 2, so that products stay exact.
Buffer values(const Type& type, size_t count, int who) {
  Buffer out(count * type.bytes);
  for (size_t i = 0; i < count; ++i) {
    const int number = static_cast<int>((i * 7 + static_cast<size_t>(who) * 5 + i / 11) % 3);
    const size_t at = i * type.bytes;
    switch (type.kind) {
      case 'f':
        put(out, at, static_cast<float>(number));
        break;
      case 'd':
        put(out, at, static_cast<double>(number));
        break;
      case 'b':
        out[at] = number != 0;
        break;
      case 'p':
        put(out, at, static_cast<float>(number));
        put(out, at + 4, who);
        break;
      case 'q':
        put(out, at, static_cast<double>(number));
        put(out, at + 8, who);
        break;
      default:
        out[at] = static_cast<unsigned char>(number);
    }
  }
  return out;
}

Buffer blank(size_t bytes) { return Buffer(bytes, 0xa5); }

/// A communicator under test.
struct Comm {
  std::string name;
  MPI_Comm mpi;
  int rank = 0, size = 1;
  Comm(std::string called, MPI_Comm comm) : name(std::move(called)), mpi(comm) {
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
  }
};

void compare(const Buffer& layers, const Buffer& mpis, const Comm& comm, const std::string& what) {
  expect(layers == mpis, what + " on " + comm.name);
}

// ---- reductions ----

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

// ---- movements ----

/// Ways to describe the same run of ints, different ones on different ranks.
struct IntLayout {
  MPI_Datatype type;
  int perElement;  ///< ints
  int stride;      ///< ints from one element to the next
  bool owned;
};

IntLayout layoutFor(int which) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  switch (which % 4) {
    case 0:
      return {MPI_INT, 1, 1, false};
    case 1:
      MPI_Type_contiguous(2, MPI_INT, &type);
      MPI_Type_commit(&type);
      return {type, 2, 2, true};
    case 2:  // two ints with a gap behind each
      MPI_Type_create_hindexed_block(2, 1, std::array<MPI_Aint, 2>{0, 8}.data(), MPI_INT, &type);
      break;
    default:  // no gap, but in the other order
      MPI_Type_create_hindexed_block(2, 1, std::array<MPI_Aint, 2>{4, 0}.data(), MPI_INT, &type);
  }
  MPI_Datatype resized = MPI_DATATYPE_NULL;
  const int stride = which % 4 == 2 ? 4 : 2;
  MPI_Type_create_resized(type, 0, stride * 4, &resized);
  MPI_Type_commit(&resized);
  MPI_Type_free(&type);
  return {resized, 2, stride, true};
}

struct Move {
  const Comm& comm;
  int count;  ///< ints a block; even
  IntLayout send, recv;
  int sendCount, recvCount;
  bool alike = false;  ///< The ranks' layouts are the same.
  Buffer mine, none;   ///< Room for all blocks.
  Move(const Comm& on, int ints, int sendHow, int recvHow)
      : comm(on), count(ints), send(layoutFor(sendHow)), recv(layoutFor(recvHow)) {
    sendCount = count / send.perElement;
    recvCount = count / recv.perElement;
    const size_t room = static_cast<size_t>(count) * 2 * static_cast<size_t>(comm.size) + 4;
    mine = values({"int", MPI_INT, 4, 'i'}, room, comm.rank + 1);
    for (size_t i = 0; i < mine.size(); i += 4)
      put(mine, i, static_cast<int>(i + comm.rank * 1000003));
    none = blank(mine.size());
  }
  ~Move() {
    if (send.owned) MPI_Type_free(&send.type);
    if (recv.owned) MPI_Type_free(&recv.type);
  }
  Move(const Move&) = delete;
  unsigned char* own(Buffer& all) const {
    return &all[static_cast<size_t>(comm.rank) * static_cast<size_t>(recvCount * recv.stride) * 4];
  }
};

/// Calls `call(isLayer, buffer)` for both, on buffers that start as `from`.
template <class Call>
void both(const Move& m, const Buffer& from, const char* name, bool counts, const Call& call) {
  Buffer a = from, b = from;
  call(true, a);
  call(false, b);
  if (counts) {
    compare(a, b, m.comm, std::string(name) + " of " + std::to_string(m.count) + " ints");
  }
}

void evenMoves(const Move& m) {
  const MPI_Comm on = m.comm.mpi;
  const int root = m.count % m.comm.size;
  const bool isRoot = m.comm.rank == root;
  both(m, m.mine, "bcast", true, [&](bool layer, Buffer& at) {
    (layer ? MPI_Bcast : PMPI_Bcast)(at.data(), m.recvCount, m.recv.type, root, on);
  });
  both(m, m.none, "allgather", true, [&](bool layer, Buffer& at) {
    (layer ? MPI_Allgather : PMPI_Allgather)(m.mine.data(), m.sendCount, m.send.type, at.data(),
                                             m.recvCount, m.recv.type, on);
  });
  both(m, m.mine, "allgather in place", true, [&](bool layer, Buffer& at) {
    (layer ? MPI_Allgather : PMPI_Allgather)(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, at.data(),
                                             m.recvCount, m.recv.type, on);
  });
  both(m, m.none, "gather", true, [&](bool layer, Buffer& at) {
    (layer ? MPI_Gather : PMPI_Gather)(m.mine.data(), m.sendCount, m.send.type,
                                       isRoot ? at.data() : nullptr, m.recvCount, m.recv.type, root,
                                       on);
  });
  both(m, m.mine, "gather in place", true, [&](bool layer, Buffer& at) {
    (layer ? MPI_Gather : PMPI_Gather)(isRoot ? MPI_IN_PLACE : m.mine.data(), m.sendCount,
                                       m.send.type, at.data(), m.recvCount, m.recv.type, root, on);
  });
  both(m, m.none, "scatter", true, [&](bool layer, Buffer& at) {
    (layer ? MPI_Scatter : PMPI_Scatter)(m.mine.data(), m.sendCount, m.send.type, at.data(),
                                         m.recvCount, m.recv.type, root, on);
  });
  both(m, m.none, "scatter in place", true, [&](bool layer, Buffer& at) {
    (layer ? MPI_Scatter : PMPI_Scatter)(m.mine.data(), m.sendCount, m.send.type,
                                         isRoot ? MPI_IN_PLACE : at.data(), m.recvCount,
                                         m.recv.type, root, on);
  });
  both(m, m.none, "alltoall", true, [&](bool layer, Buffer& at) {
    (layer ? MPI_Alltoall : PMPI_Alltoall)(m.mine.data(), m.sendCount, m.send.type, at.data(),
                                           m.recvCount, m.recv.type, on);
  });
}

void inPlaceAllToAlls(const Comm& comm, int count, int how) {
  const Move m(comm, count, how, how);
  both(m, m.mine, "alltoall in place", true, [&](bool layer, Buffer& at) {
    (layer ? MPI_Alltoall : PMPI_Alltoall)(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, at.data(),
                                           m.recvCount, m.recv.type, comm.mpi);
  });
  std::vector<int> counts(static_cast<size_t>(comm.size)), displs(counts.size());
  for (size_t r = 0; r < counts.size(); ++r) {
    counts[r] = static_cast<int>((r + static_cast<size_t>(comm.rank)) % 3) * (m.recvCount / 2);
    displs[r] = static_cast<int>(r) * m.recvCount;
  }
  both(m, m.mine, "alltoallv in place", true, [&](bool layer, Buffer& at) {
    (layer ? MPI_Alltoallv : PMPI_Alltoallv)(MPI_IN_PLACE, nullptr, nullptr, MPI_DATATYPE_NULL,
                                             at.data(), counts.data(), displs.data(), m.recv.type,
                                             comm.mpi);
  });
}

/// The ints that rank `from` gives rank `to`; some pairs have none.
int intsBetween(int from, int to, int count) { return (from + 2 * to) % 3 * (count / 4) * 2; }

struct Uneven {
  std::vector<int> counts, displs;
  /// Blocks in descending order, with a gap of one element between them.
  Uneven(const Comm& comm, const IntLayout& how, const std::vector<int>& ints)
      : counts(ints.size()), displs(ints.size()) {
    int at = 0;
    for (int r = comm.size - 1; r >= 0; --r) {
      const auto i = static_cast<size_t>(r);
      counts[i] = ints[i] / how.perElement;
      displs[i] = at;
      at += counts[i] + 1;
    }
  }
};

/// Open MPI 4.1 chooses its all-gather by the count of the local type, and ranks that describe
/// their blocks in different ways never meet: MPI's answer comes by way of ints.
void allGatherInts(const Move& m, const Buffer& source, int mine, const std::vector<int>& ints,
                   const Uneven& to, Buffer& at) {
  std::vector<int> displs(ints.size());
  std::exclusive_scan(ints.begin(), ints.end(), displs.begin(), 0);
  std::vector<int> packed(static_cast<size_t>(mine) + 1),
      all(static_cast<size_t>(displs.back() + ints.back()) + 1);
  int position = 0;
  PMPI_Pack(source.data(), mine / m.send.perElement, m.send.type, packed.data(), mine * 4,
            &position, MPI_COMM_SELF);
  PMPI_Allgatherv(packed.data(), mine, MPI_INT, all.data(), ints.data(), displs.data(), MPI_INT,
                  m.comm.mpi);
  for (size_t r = 0; r < ints.size(); ++r) {
    position = 0;
    PMPI_Unpack(&all[static_cast<size_t>(displs[r])], ints[r] * 4, &position,
                &at[static_cast<size_t>(to.displs[r] * m.recv.stride) * 4], to.counts[r],
                m.recv.type, MPI_COMM_SELF);
  }
}

void unevenMoves(const Move& m) {
  const MPI_Comm on = m.comm.mpi;
  const int n = m.comm.size, me = m.comm.rank, root = (m.count + 1) % n;
  const bool isRoot = me == root;
  std::vector<int> toAll(static_cast<size_t>(n)), fromAll(toAll), each(toAll);
  for (int r = 0; r < n; ++r) {
    toAll[static_cast<size_t>(r)] = intsBetween(me, r, m.count);
    fromAll[static_cast<size_t>(r)] = intsBetween(r, me, m.count);
    each[static_cast<size_t>(r)] = intsBetween(r, 1, m.count);
  }
  const Uneven to(m.comm, m.send, toAll), from(m.comm, m.recv, fromAll),
      gathered(m.comm, m.recv, each), scattered(m.comm, m.send, each);
  const size_t room = m.none.size() * 2 + static_cast<size_t>(n) * 16;
  const Buffer none = blank(room);
  Buffer source(room);
  for (size_t i = 0; i + 4 <= room; i += 4) put(source, i, static_cast<int>(i) + me * 77777);
  const int mine = each[static_cast<size_t>(me)];

  both(m, none, "allgatherv", true, [&](bool layer, Buffer& at) {
    if (layer || m.alike) {
      (layer ? MPI_Allgatherv : PMPI_Allgatherv)(source.data(), mine / m.send.perElement,
                                                 m.send.type, at.data(), gathered.counts.data(),
                                                 gathered.displs.data(), m.recv.type, on);
    } else {
      allGatherInts(m, source, mine, each, gathered, at);
    }
  });
  if (m.alike) {
    both(m, source, "allgatherv in place", true, [&](bool layer, Buffer& at) {
      (layer ? MPI_Allgatherv : PMPI_Allgatherv)(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, at.data(),
                                                 gathered.counts.data(), gathered.displs.data(),
                                                 m.recv.type, on);
    });
  }
  both(m, none, "gatherv", true, [&](bool layer, Buffer& at) {
    (layer ? MPI_Gatherv : PMPI_Gatherv)(source.data(), mine / m.send.perElement, m.send.type,
                                         at.data(), isRoot ? gathered.counts.data() : nullptr,
                                         isRoot ? gathered.displs.data() : nullptr, m.recv.type,
                                         root, on);
  });
  both(m, source, "gatherv in place", true, [&](bool layer, Buffer& at) {
    (layer ? MPI_Gatherv : PMPI_Gatherv)(
        isRoot ? MPI_IN_PLACE : source.data(), mine / m.send.perElement, m.send.type, at.data(),
        gathered.counts.data(), gathered.displs.data(), m.recv.type, root, on);
  });
  both(m, none, "scatterv", true, [&](bool layer, Buffer& at) {
    (layer ? MPI_Scatterv : PMPI_Scatterv)(
        source.data(), isRoot ? scattered.counts.data() : nullptr,
        isRoot ? scattered.displs.data() : nullptr, m.send.type, at.data(),
        mine / m.recv.perElement, m.recv.type, root, on);
  });
  both(m, none, "scatterv in place", true, [&](bool layer, Buffer& at) {
    (layer ? MPI_Scatterv : PMPI_Scatterv)(
        source.data(), scattered.counts.data(), scattered.displs.data(), m.send.type,
        isRoot ? MPI_IN_PLACE : at.data(), mine / m.recv.perElement, m.recv.type, root, on);
  });
  both(m, none, "alltoallv", true, [&](bool layer, Buffer& at) {
    (layer ? MPI_Alltoallv : PMPI_Alltoallv)(source.data(), to.counts.data(), to.displs.data(),
                                             m.send.type, at.data(), from.counts.data(),
                                             from.displs.data(), m.recv.type, on);
  });
}

void moves(const Comm& comm, int count) {
  for (int how = 0; how < 4; ++how) {
    Move alike(comm, count, how, how + 1);
    alike.alike = true;
    evenMoves(alike);
    unevenMoves(alike);
    // Ranks describe the same elements in different ways.
    const Move m(comm, count, how + comm.rank, how + 2 * comm.rank + 1);
    evenMoves(m);
    unevenMoves(m);
  }
  for (int how = 0; how < 4; ++how) inPlaceAllToAlls(comm, count, how);
}

// ---- communicators and what else a program does ----

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

/// MPI's errors stay MPI's, and end no communicator.
void errors() {
  MPI_Comm dup;
  MPI_Comm_dup(MPI_COMM_WORLD, &dup);
  MPI_Comm_set_errhandler(dup, MPI_ERRORS_RETURN);
  const auto classOf = [](int code) {
    int errorClass = 0;
    MPI_Error_class(code, &errorClass);
    return errorClass;
  };
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
  MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, dup);
  expect(out == ranks, "a sum after errors");
  MPI_Comm_free(&dup);
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

}  // namespace

int main(int argc, char** argv) {
  start(&argc, &argv);
  if (argc > 1 && std::string(argv[1]) == "expect-layer") {
    expect(isMapped("/librondo_mpi.so"), "the layer is mapped");
  }
  everything(Comm("MPI_COMM_WORLD", MPI_COMM_WORLD), true);
  mixed(Comm("MPI_COMM_WORLD", MPI_COMM_WORLD));
  mixed(Comm("MPI_COMM_SELF", MPI_COMM_SELF));
  communicators();
  attributes();
  errors();
  return finish();
}
