// Movements by both names, of ints that ranks describe in different ways.

#include <array>
#include <numeric>

#include "drop_in/cases.h"

namespace drop_in_test {
namespace {

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
void both(const Move& m, const Buffer& from, const char* name, const Call& call) {
  Buffer a = from, b = from;
  call(true, a);
  call(false, b);
  compare(a, b, m.comm, std::string(name) + " of " + std::to_string(m.count) + " ints");
}

void evenMoves(const Move& m) {
  const MPI_Comm on = m.comm.mpi;
  const int root = m.count % m.comm.size;
  const bool isRoot = m.comm.rank == root;
  both(m, m.mine, "bcast", [&](bool layer, Buffer& at) {
    (layer ? MPI_Bcast : PMPI_Bcast)(at.data(), m.recvCount, m.recv.type, root, on);
  });
  both(m, m.none, "allgather", [&](bool layer, Buffer& at) {
    (layer ? MPI_Allgather : PMPI_Allgather)(m.mine.data(), m.sendCount, m.send.type, at.data(),
                                             m.recvCount, m.recv.type, on);
  });
  both(m, m.mine, "allgather in place", [&](bool layer, Buffer& at) {
    (layer ? MPI_Allgather : PMPI_Allgather)(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, at.data(),
                                             m.recvCount, m.recv.type, on);
  });
  both(m, m.none, "gather", [&](bool layer, Buffer& at) {
    (layer ? MPI_Gather : PMPI_Gather)(m.mine.data(), m.sendCount, m.send.type,
                                       isRoot ? at.data() : nullptr, m.recvCount, m.recv.type, root,
                                       on);
  });
  both(m, m.mine, "gather in place", [&](bool layer, Buffer& at) {
    (layer ? MPI_Gather : PMPI_Gather)(isRoot ? MPI_IN_PLACE : m.mine.data(), m.sendCount,
                                       m.send.type, at.data(), m.recvCount, m.recv.type, root, on);
  });
  both(m, m.none, "scatter", [&](bool layer, Buffer& at) {
    (layer ? MPI_Scatter : PMPI_Scatter)(m.mine.data(), m.sendCount, m.send.type, at.data(),
                                         m.recvCount, m.recv.type, root, on);
  });
  both(m, m.none, "scatter in place", [&](bool layer, Buffer& at) {
    (layer ? MPI_Scatter : PMPI_Scatter)(m.mine.data(), m.sendCount, m.send.type,
                                         isRoot ? MPI_IN_PLACE : at.data(), m.recvCount,
                                         m.recv.type, root, on);
  });
  both(m, m.none, "alltoall", [&](bool layer, Buffer& at) {
    (layer ? MPI_Alltoall : PMPI_Alltoall)(m.mine.data(), m.sendCount, m.send.type, at.data(),
                                           m.recvCount, m.recv.type, on);
  });
}

void inPlaceAllToAlls(const Comm& comm, int count, int how) {
  const Move m(comm, count, how, how);
  both(m, m.mine, "alltoall in place", [&](bool layer, Buffer& at) {
    (layer ? MPI_Alltoall : PMPI_Alltoall)(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, at.data(),
                                           m.recvCount, m.recv.type, comm.mpi);
  });
  std::vector<int> counts(static_cast<size_t>(comm.size)), displs(counts.size());
  for (size_t r = 0; r < counts.size(); ++r) {
    counts[r] = static_cast<int>((r + static_cast<size_t>(comm.rank)) % 3) * (m.recvCount / 2);
    displs[r] = static_cast<int>(r) * m.recvCount;
  }
  both(m, m.mine, "alltoallv in place", [&](bool layer, Buffer& at) {
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

  both(m, none, "allgatherv", [&](bool layer, Buffer& at) {
    if (layer || m.alike) {
      (layer ? MPI_Allgatherv : PMPI_Allgatherv)(source.data(), mine / m.send.perElement,
                                                 m.send.type, at.data(), gathered.counts.data(),
                                                 gathered.displs.data(), m.recv.type, on);
    } else {
      allGatherInts(m, source, mine, each, gathered, at);
    }
  });
  if (m.alike) {
    both(m, source, "allgatherv in place", [&](bool layer, Buffer& at) {
      (layer ? MPI_Allgatherv : PMPI_Allgatherv)(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, at.data(),
                                                 gathered.counts.data(), gathered.displs.data(),
                                                 m.recv.type, on);
    });
  }
  both(m, none, "gatherv", [&](bool layer, Buffer& at) {
    (layer ? MPI_Gatherv : PMPI_Gatherv)(source.data(), mine / m.send.perElement, m.send.type,
                                         at.data(), isRoot ? gathered.counts.data() : nullptr,
                                         isRoot ? gathered.displs.data() : nullptr, m.recv.type,
                                         root, on);
  });
  both(m, source, "gatherv in place", [&](bool layer, Buffer& at) {
    (layer ? MPI_Gatherv : PMPI_Gatherv)(
        isRoot ? MPI_IN_PLACE : source.data(), mine / m.send.perElement, m.send.type, at.data(),
        gathered.counts.data(), gathered.displs.data(), m.recv.type, root, on);
  });
  both(m, none, "scatterv", [&](bool layer, Buffer& at) {
    (layer ? MPI_Scatterv : PMPI_Scatterv)(
        source.data(), isRoot ? scattered.counts.data() : nullptr,
        isRoot ? scattered.displs.data() : nullptr, m.send.type, at.data(),
        mine / m.recv.perElement, m.recv.type, root, on);
  });
  both(m, none, "scatterv in place", [&](bool layer, Buffer& at) {
    (layer ? MPI_Scatterv : PMPI_Scatterv)(
        source.data(), scattered.counts.data(), scattered.displs.data(), m.send.type,
        isRoot ? MPI_IN_PLACE : at.data(), mine / m.recv.perElement, m.recv.type, root, on);
  });
  both(m, none, "alltoallv", [&](bool layer, Buffer& at) {
    (layer ? MPI_Alltoallv : PMPI_Alltoallv)(source.data(), to.counts.data(), to.displs.data(),
                                             m.send.type, at.data(), from.counts.data(),
                                             from.displs.data(), m.recv.type, on);
  });
}

}  // namespace

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

}  // namespace drop_in_test
