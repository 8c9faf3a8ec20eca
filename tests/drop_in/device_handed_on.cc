// Collectives that are MPI's with device buffers, blocking, not, and persistent: on communicators
// that the layer leaves to MPI, and with operators of the program's. Each against MPI's own on host
// buffers.

#include <functional>
#include <list>
#include <numeric>

#include "drop_in/device_calls.h"
#include "drop_in/persistent_names.h"

namespace drop_in_test {
namespace {

constexpr int kBlock = 700;

enum class Way { Mpis, Now, Later, Again };
/// A call with its buffers, by the given way.
using Run = std::function<int(Way, void* send, void* recv, MPI_Request* request)>;

/// A communicator, and who is where in it.
struct Place {
  const char* name;
  MPI_Comm comm;
  bool inter = false;
  int rank = 0, own = 1, others = 1, root = 0;
  bool isRoot = true;
  size_t blocks() const { return static_cast<size_t>(std::max(own, others)); }
};

Place placeOf(const char* name, MPI_Comm comm) {
  Place place{name, comm};
  int inter = 0;
  MPI_Comm_test_inter(comm, &inter);
  PMPI_Comm_rank(comm, &place.rank);
  PMPI_Comm_size(comm, &place.own);
  place.others = place.own;
  place.inter = inter != 0;
  place.root = place.own - 1;
  place.isRoot = place.rank == place.root;
  if (!place.inter) return place;
  PMPI_Comm_remote_size(comm, &place.others);
  // The root is rank 0 of the side of rank 0.
  place.isRoot = rank == 0;
  place.root = rank == 0 ? MPI_ROOT : rank % 2 == 0 ? MPI_PROC_NULL : 0;
  return place;
}

/// The persistent twin, made on buffers that are full of zeros, and started three times.
template <class Fill, class IsRight>
void again(const std::string& what, Buffer<int>& from, Buffer<int>& to, const Run& run,
           const Fill& fill, const IsRight& isRight) {
  from.fill(0);
  to.fill(0);
  MPI_Request request = MPI_REQUEST_NULL;
  run(Way::Again, from.data(), to.data(), &request);
  if (request == MPI_REQUEST_NULL) return;  // this MPI has none
  for (int round = 0; round < 3; ++round) {
    fill();
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect(isRight(), what);
    to.fill(-7);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect(to.all(-7), what + ": a wait for an inactive request writes nothing");
  }
  MPI_Request_free(&request);
}

/// One call and its twins: the whole buffers, but of what comes out `compared` ints.
void against(const std::string& what, bool device, size_t sends, size_t receives, size_t compared,
             const Run& run) {
  std::vector<int> send(sends), recv(receives);
  std::iota(send.begin(), send.end(), 1000 * rank);
  std::iota(recv.begin(), recv.end(), 5 - 1000 * (rank + 1));
  const std::vector<int> before = recv;
  run(Way::Mpis, send.data(), recv.data(), nullptr);
  Buffer<int> from(device, sends, 0), to(device, receives, 0);
  from.write(send);
  for (const Way way : {Way::Now, Way::Later}) {
    to.write(before);
    MPI_Request request = MPI_REQUEST_NULL;
    run(way, from.data(), to.data(), &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    const std::vector<int> now = to.read();
    const auto end = static_cast<ptrdiff_t>(compared);
    expect(std::equal(now.begin(), now.begin() + end, recv.begin()),
           what + (way == Way::Now ? "" : ", not blocking"));
    expect(from.read() == send, what + " leaves what is sent");
  }
  again(
      what + ", persistent", from, to, run,
      [&] {
        to.write(before);
        from.write(send);
      },
      [&] {
        const std::vector<int> now = to.read();
        return std::equal(now.begin(), now.begin() + static_cast<ptrdiff_t>(compared),
                          recv.begin()) &&
               from.read() == send;
      });
}

// What differs between them is their names.
#define RONDO_BY(name, later, ...)                                     \
  (way == Way::Mpis    ? PMPI_##name(__VA_ARGS__, place.comm)          \
   : way == Way::Later ? MPI_##later(__VA_ARGS__, place.comm, request) \
   : way == Way::Again ? RONDO_AGAIN(name, __VA_ARGS__)                \
                       : MPI_##name(__VA_ARGS__, place.comm))
#if defined(INIT)
#define RONDO_AGAIN(name, ...) INIT(name)(__VA_ARGS__, place.comm, MPI_INFO_NULL, request)
#else
#define RONDO_AGAIN(...) MPI_SUCCESS
#endif

void reduceAll(const Place& place, bool device, MPI_Op op) {
  const std::string on = std::string(" on ") + place.name;
  const size_t whole = kBlock * place.blocks();
  const auto same = [&](const char* name, const Run& run) {
    against(name + on, device, kBlock, kBlock, kBlock, run);
  };
  same("allreduce", [&](Way way, void* s, void* r, MPI_Request* request) {
    return RONDO_BY(Allreduce, Iallreduce, s, r, kBlock, MPI_INT, op);
  });
  same("reduce", [&](Way way, void* s, void* r, MPI_Request* request) {
    return RONDO_BY(Reduce, Ireduce, s, r, kBlock, MPI_INT, op, place.root);
  });
  if (!place.inter) {
    same("allreduce in place", [&](Way way, void*, void* r, MPI_Request* request) {
      return RONDO_BY(Allreduce, Iallreduce, MPI_IN_PLACE, r, kBlock, MPI_INT, op);
    });
    same("reduce in place", [&](Way way, void* s, void* r, MPI_Request* request) {
      return RONDO_BY(Reduce, Ireduce, place.isRoot ? MPI_IN_PLACE : s, r, kBlock, MPI_INT, op,
                      place.root);
    });
    same("scan", [&](Way way, void* s, void* r, MPI_Request* request) {
      return RONDO_BY(Scan, Iscan, s, r, kBlock, MPI_INT, op);
    });
    same("exscan", [&](Way way, void* s, void* r, MPI_Request* request) {
      return RONDO_BY(Exscan, Iexscan, s, r, kBlock, MPI_INT, op);
    });
  }
  // Both sides of an inter-communicator bring a vector of one length, however many they are.
  const int block = kBlock * static_cast<int>(place.blocks()) / place.own / 6 * 6;
  const int all = place.inter ? 60 : block * place.own;
  std::vector<int> counts(static_cast<size_t>(place.own), all / place.own);
  if (place.own > 1) ++counts[0], --counts[1];
  const int mine = counts[static_cast<size_t>(place.rank)], even = all / place.own;
  const auto vector = static_cast<size_t>(all);
  against("reduce_scatter" + on, device, vector, whole, whole,
          [&](Way way, void* s, void* r, MPI_Request* request) {
            return RONDO_BY(Reduce_scatter, Ireduce_scatter, s, r, counts.data(), MPI_INT, op);
          });
  against("reduce_scatter_block" + on, device, vector, whole, whole,
          [&](Way way, void* s, void* r, MPI_Request* request) {
            return RONDO_BY(Reduce_scatter_block, Ireduce_scatter_block, s, r, even, MPI_INT, op);
          });
  if (place.inter) return;
  against("reduce_scatter in place" + on, device, 1, vector, static_cast<size_t>(mine),
          [&](Way way, void*, void* r, MPI_Request* request) {
            return RONDO_BY(Reduce_scatter, Ireduce_scatter, MPI_IN_PLACE, r, counts.data(),
                            MPI_INT, op);
          });
  against("reduce_scatter_block in place" + on, device, 1, vector, static_cast<size_t>(even),
          [&](Way way, void*, void* r, MPI_Request* request) {
            return RONDO_BY(Reduce_scatter_block, Ireduce_scatter_block, MPI_IN_PLACE, r, even,
                            MPI_INT, op);
          });
}

/// Blocks of `n` elements of a type that is `stride` ints long.
void moveAll(const Place& place, bool device, MPI_Datatype type, int stride) {
  const std::string on = std::string(" on ") + place.name;
  constexpr int n = kBlock;
  const size_t one = n * static_cast<size_t>(stride), whole = one * place.blocks();
  const auto number = place.blocks();
  std::vector<int> counts(number, n), places(number);
  for (size_t r = 0; r < number; ++r) places[r] = static_cast<int>(number - 1 - r) * n;
  const int *c = counts.data(), *p = places.data();
  std::vector<MPI_Datatype> types(number, type);
  std::vector<int> bytes(places);
  for (int& at : bytes) at *= 4 * stride;
  const auto compare = [&](const char* name, const Run& run) {
    against(name + on, device, whole, whole, whole, run);
  };
  void* const here = MPI_IN_PLACE;
  compare("bcast", [&](Way way, void* s, void* r, MPI_Request* request) {
    return RONDO_BY(Bcast, Ibcast, place.isRoot ? s : r, n, type, place.root);
  });
  compare("allgather", [&](Way way, void* s, void* r, MPI_Request* request) {
    return RONDO_BY(Allgather, Iallgather, s, n, type, r, n, type);
  });
  compare("allgatherv", [&](Way way, void* s, void* r, MPI_Request* request) {
    return RONDO_BY(Allgatherv, Iallgatherv, s, n, type, r, c, p, type);
  });
  compare("gather", [&](Way way, void* s, void* r, MPI_Request* request) {
    return RONDO_BY(Gather, Igather, s, n, type, r, n, type, place.root);
  });
  compare("gatherv", [&](Way way, void* s, void* r, MPI_Request* request) {
    return RONDO_BY(Gatherv, Igatherv, s, n, type, r, c, p, type, place.root);
  });
  compare("scatter", [&](Way way, void* s, void* r, MPI_Request* request) {
    return RONDO_BY(Scatter, Iscatter, s, n, type, r, n, type, place.root);
  });
  compare("scatterv", [&](Way way, void* s, void* r, MPI_Request* request) {
    return RONDO_BY(Scatterv, Iscatterv, s, c, p, type, r, n, type, place.root);
  });
  compare("alltoall", [&](Way way, void* s, void* r, MPI_Request* request) {
    return RONDO_BY(Alltoall, Ialltoall, s, n, type, r, n, type);
  });
  compare("alltoallv", [&](Way way, void* s, void* r, MPI_Request* request) {
    return RONDO_BY(Alltoallv, Ialltoallv, s, c, p, type, r, c, p, type);
  });
  compare("alltoallw", [&](Way way, void* s, void* r, MPI_Request* request) {
    return RONDO_BY(Alltoallw, Ialltoallw, s, c, bytes.data(), types.data(), r, c, bytes.data(),
                    types.data());
  });
  if (place.inter) return;
  compare("allgather in place", [&](Way way, void*, void* r, MPI_Request* request) {
    return RONDO_BY(Allgather, Iallgather, here, 0, MPI_DATATYPE_NULL, r, n, type);
  });
  compare("gather in place", [&](Way way, void* s, void* r, MPI_Request* request) {
    return RONDO_BY(Gather, Igather, place.isRoot ? here : s, n, type, r, n, type, place.root);
  });
  compare("scatter in place", [&](Way way, void* s, void* r, MPI_Request* request) {
    return RONDO_BY(Scatter, Iscatter, s, n, type, place.isRoot ? here : r, n, type, place.root);
  });
}

#undef RONDO_BY
#undef RONDO_AGAIN

void add(void* in, void* inOut, int* count, MPI_Datatype*) {
  for (int i = 0; i < *count; ++i) static_cast<int*>(inOut)[i] += static_cast<int*>(in)[i];
}

/// More persistent requests of one communicator than can be Rondo's, in one array: some are MPI's.
void manyRequests(bool device) {
#if defined(INIT)
  constexpr size_t kRequests = 11;
  constexpr int kInts = 3000;
  std::list<Buffer<int>> from, to;
  std::vector<MPI_Request> requests(kRequests);
  for (MPI_Request& request : requests) {
    from.emplace_back(device, size_t{kInts}, 0);
    to.emplace_back(device, size_t{kInts}, 0);
    INIT(Allreduce)
    (from.back().data(), to.back().data(), kInts, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
     &request);
  }
  for (int round = 0; round < 3; ++round) {
    int value = round;
    for (Buffer<int>& buffer : from) buffer.fill(++value);
    for (Buffer<int>& buffer : to) buffer.fill(-1);
    MPI_Startall(kRequests, requests.data());
    MPI_Waitall(kRequests, requests.data(), MPI_STATUSES_IGNORE);
    value = round;
    for (Buffer<int>& buffer : to) expect(buffer.all(++value * ranks), "one of many requests");
  }
  for (MPI_Request& request : requests) MPI_Request_free(&request);
#endif
}

void everyCall(const Place& place, bool device) {
  MPI_Datatype spread;
  MPI_Type_create_resized(MPI_INT, 0, 12, &spread);
  MPI_Type_commit(&spread);
  reduceAll(place, device, MPI_SUM);
  moveAll(place, device, MPI_INT, 1);
  moveAll(place, device, spread, 3);
  MPI_Type_free(&spread);
}

}  // namespace

void handedOn(bool device) {
  manyRequests(device);
  everyCall(placeOf("one rank", MPI_COMM_SELF), device);
  MPI_Comm later;
  MPI_Request request;
  MPI_Comm_idup(MPI_COMM_WORLD, &later, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  everyCall(placeOf("a communicator that the layer does not know", later), device);
  MPI_Comm_free(&later);
  MPI_Op op;
  MPI_Op_create(add, 1, &op);
  reduceAll(placeOf("all, by an operator of the program's", MPI_COMM_WORLD), device, op);
  MPI_Op_free(&op);
  if (ranks < 2) return;
  MPI_Comm half, both;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 12, &both);
  everyCall(placeOf("two sides", both), device);
  MPI_Comm_free(&both);
  MPI_Comm_free(&half);
}

}  // namespace drop_in_test
