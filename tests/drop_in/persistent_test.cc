// Persistent collectives as MPI-4.0, 6.13 defines them: started in any order, in another one on
// each rank, beside blocking calls and other requests. Knows MPI only; Open MPI 4.1 has them as
// MPIX_. Usage: mpirun -n N [-x LD_PRELOAD=...] persistent_test [layered]

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <vector>

#include "drop_in/persistent_kinds.h"

using namespace drop_in_test;

#if defined(INIT)

namespace {

bool layered = false;

/// Every kind, started three times on other values, against MPI's own.
void every(MPI_Comm comm, int n) {
  Uneven uneven;
  for (int r = 0; r < ranks; ++r) {
    uneven.counts.push_back(n + r);
    uneven.places.push_back(r * (n + ranks + 1));
    uneven.mine.push_back(n + rank);
  }
  const size_t room = number() * static_cast<size_t>(n + ranks + 2);
  const std::vector<Kind> all = kinds(n, uneven);
  for (size_t k = 0; k < all.size(); ++k) {
    const Kind& kind = all[k];
    Ints in(room), out(room), expected(room);
    MPI_Request request;
    Uneven lent = uneven;
    kinds(n, lent)[k].init(in.data(), out.data(), comm, &request);
    // Open MPI 4.1 looks at them again.
    if (layered && ranks > 1 && n > 1000)
      lent.counts = lent.places = lent.mine = Ints(number(), -1);
    for (int round = 0; round < 3; ++round) {
      for (size_t i = 0; i < room; ++i) in[i] = rank * 1000 + round * 7 + static_cast<int>(i % 97);
      for (size_t i = 0; i < room; ++i) out[i] = expected[i] = rank == ranks - 1 ? in[i] + 1 : -1;
      kind.atOnce(in.data(), expected.data(), comm);
      expect(MPI_Start(&request) == MPI_SUCCESS, std::string(kind.name) + ": MPI_Start");
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      expect(request != MPI_REQUEST_NULL, std::string(kind.name) + ": the request stays");
      expect(out == expected, std::string(kind.name) + " of " + std::to_string(n));
      MPI_Wait(&request, MPI_STATUS_IGNORE);  // inactive: nothing
    }
    MPI_Request_free(&request);
    expect(request == MPI_REQUEST_NULL, std::string(kind.name) + ": freed");
  }
}

constexpr int kCount = 3000;
/// Sums that are known: each is of rank + its number.
struct Sums {
  static constexpr size_t kMany = 5;
  std::array<Ints, kMany> in, out;
  std::array<MPI_Request, kMany> requests;
  Sums(MPI_Comm comm) {
    for (size_t i = 0; i < kMany; ++i) {
      in[i].assign(kCount, rank + static_cast<int>(i));
      out[i].assign(kCount, -1);
      INIT(Allreduce)
      (in[i].data(), out[i].data(), kCount, MPI_INT, MPI_SUM, comm, kNoInfo, &requests[i]);
    }
  }
  bool right(size_t i) const {
    const int sum = ranks * (ranks - 1) / 2 + ranks * static_cast<int>(i);
    return out[i] == Ints(kCount, sum);
  }
  void forget() {
    for (Ints& one : out) one.assign(kCount, -1);
  }
  /// In another order on each rank.
  void free() {
    for (size_t i = 0; i < kMany; ++i)
      MPI_Request_free(&requests[(i + static_cast<size_t>(rank)) % kMany]);
  }
};

/// Ranks start in different orders, with a blocking call between two starts.
void anyOrder(MPI_Comm comm) {
  Sums sums(comm);
  for (size_t round = 0; round < 20; ++round) {
    sums.forget();
    for (size_t n = 0; n < Sums::kMany; ++n) {
      MPI_Start(&sums.requests[(n * 2 + round + static_cast<size_t>(rank)) % Sums::kMany]);
      int one = 1, all = 0;
      if (n == 2) MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, comm);
      if (n == 2) expect(all == ranks, "a sum between two starts");
    }
    for (size_t n = 0; n < Sums::kMany; ++n) {
      const size_t i = (n + static_cast<size_t>(rank) * 3) % Sums::kMany;
      MPI_Wait(&sums.requests[i], MPI_STATUS_IGNORE);
      expect(sums.right(i), "a sum that ranks started in different orders");
    }
  }
  sums.free();
}

/// Beside messages, persistent ones too, null and inactive requests, by every call that ends them.
void mixtures(MPI_Comm comm) {
  constexpr int kNumber = 7;
  Sums sums(comm);
  const int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
  int far = -1, near = rank, again = -1;
  std::array<MPI_Request, kNumber> all;
  std::array<MPI_Status, kNumber> statuses;
  std::array<int, kNumber> indices;
  MPI_Recv_init(&again, 1, MPI_INT, before, 5, comm, &all[5]);
  for (int way = 0; way < 6; ++way) {
    sums.forget();
    far = again = -1;
    all[0] = MPI_REQUEST_NULL;
    all[1] = sums.requests[1];
    all[3] = sums.requests[3];
    all[6] = sums.requests[4];  // stays inactive
    MPI_Irecv(&far, 1, MPI_INT, before, 4, comm, &all[2]);
    MPI_Request startable[3] = {all[3], all[5], all[1]};
    MPI_Startall(3, startable);
    all[5] = startable[1];
    MPI_Isend(&near, 1, MPI_INT, next, 4, comm, &all[4]);
    MPI_Send(&near, 1, MPI_INT, next, 5, comm);
    int flag = 0, got = 0, index = -1;
    const auto seen = [&](int i) {
      expect(i >= 1 && i <= 5, "an index");
      ++got;
    };
    switch (way) {
      case 0:
        MPI_Waitall(kNumber, all.data(), statuses.data());
        break;
      case 1:
        while (!flag) MPI_Testall(kNumber, all.data(), &flag, statuses.data());
        break;
      case 2:
        while (got < 5 && MPI_Waitany(kNumber, all.data(), &index, statuses.data()) == MPI_SUCCESS)
          seen(index);
        MPI_Waitany(kNumber, all.data(), &index, statuses.data());
        expect(index == MPI_UNDEFINED, "Waitany of nothing active");
        break;
      case 3:
        while (got < 5) {
          MPI_Testany(kNumber, all.data(), &index, &flag, statuses.data());
          if (flag) seen(index);
        }
        break;
      case 4:
      case 5:
        for (int some = 0; got < 5;) {
          (way == 4 ? MPI_Waitsome : MPI_Testsome)(kNumber, all.data(), &some, indices.data(),
                                                   statuses.data());
          for (int k = 0; k < some; ++k) seen(indices[static_cast<size_t>(k)]);
        }
        break;
    }
    expect(far == before && again == before, "messages beside persistent collectives");
    expect(sums.right(1) && sums.right(3), "persistent collectives beside messages");
    expect(all[1] == sums.requests[1] && all[3] == sums.requests[3] && all[6] == sums.requests[4],
           "the program's requests are in the array again");
    expect(all[2] == MPI_REQUEST_NULL && all[4] == MPI_REQUEST_NULL && all[5] != MPI_REQUEST_NULL,
           "MPI's requests");
  }
  MPI_Request_free(&all[5]);
  sums.free();
}

/// A start that cannot end, and what may not be done with it.
void underWay(MPI_Comm comm) {
  if (ranks == 1) return;
  Sums sums(comm);
  MPI_Request& request = sums.requests[0];
  int flag = 1, token = 0;
  MPI_Status status;
  if (rank == 0) {
    MPI_Start(&request);
    for (int i = 0; i < 20; ++i) {
      MPI_Test(&request, &flag, &status);
      expect(!flag, "Test of what cannot be done");
      MPI_Request_get_status(request, &flag, &status);
      expect(!flag && request != MPI_REQUEST_NULL, "Request_get_status of what cannot be done");
    }
    if (layered) {
      expect(classOf(MPI_Start(&request)) == MPI_ERR_REQUEST, "started twice");
      expect(classOf(MPI_Request_free(&request)) == MPI_ERR_REQUEST, "freed while active");
      expect(classOf(MPI_Cancel(&request)) == MPI_ERR_REQUEST, "cancelled");
    }
    MPI_Send(&token, 1, MPI_INT, 1, 1, comm);
  } else {
    if (rank == 1) MPI_Recv(&token, 1, MPI_INT, 0, 1, comm, MPI_STATUS_IGNORE);
    MPI_Start(&request);
  }
  for (flag = 0; !flag;) MPI_Request_get_status(request, &flag, &status);
  MPI_Wait(&request, &status);
  int count = -1;
  MPI_Get_count(&status, MPI_BYTE, &count);
  expect(count == 0 && sums.right(0), "what one rank started later");
  sums.free();
}

/// More than Rondo does of one communicator, again and again, and the last one of a freed
/// communicator.
void many() {
  MPI_Comm comm = duplicate();
  for (int round = 0; round < 3; ++round) {
    Sums one(comm), two(comm), three(comm);
    for (Sums* sums : {&three, &one, &two}) MPI_Startall(Sums::kMany, sums->requests.data());
    for (Sums* sums : {&one, &two, &three}) {
      MPI_Waitall(Sums::kMany, sums->requests.data(), MPI_STATUSES_IGNORE);
      for (size_t i = 0; i < Sums::kMany; ++i) expect(sums->right(i), "one of many");
      sums->free();
    }
  }
  if (!layered) {  // Open MPI 4.1 does not hold on to the communicator, and crashes
    MPI_Comm_free(&comm);
    return;
  }
  Sums last(comm);
  MPI_Comm_free(&comm);
  for (int round = 0; round < 2; ++round) {
    last.forget();
    MPI_Start(&last.requests[2]);
    MPI_Wait(&last.requests[2], MPI_STATUS_IGNORE);
    expect(last.right(2), "of a freed communicator");
  }
  last.free();
}

/// Communicators with a request each, one after the other: MPI has numbers for some thousands at a
/// time. Enough calls on each that the layer takes it.
void oneAfterTheOther() {
  constexpr int kRounds = 24;
  MPI_Fint early = 0, late = 0;  // what the next one after a round's would have
  for (int round = 0; round < kRounds; ++round) {
    MPI_Comm comm = duplicate(), next = duplicate();
    MPI_Fint& most = round < kRounds / 2 ? early : late;
    most = std::max(most, MPI_Comm_c2f(next));
    MPI_Comm_free(&next);
    int one = 1, sum = 0;
    for (int i = 0; i < 40; ++i) MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    Sums sums(comm);
    MPI_Startall(Sums::kMany, sums.requests.data());
    MPI_Waitall(Sums::kMany, sums.requests.data(), MPI_STATUSES_IGNORE);
    expect(sums.right(3), "on one of many communicators");
    // Of some, requests live longer, others on each rank, and one on all of them.
    const bool longer = layered && round % 8 == 7;
    const size_t others = rank % 2 != 0 ? 1 : 0;
    for (size_t i = 0; i < Sums::kMany; ++i) {
      if (!longer || (i != others && i != 2)) MPI_Request_free(&sums.requests[i]);
    }
    MPI_Comm_free(&comm);
    if (!longer) continue;
    sums.forget();
    MPI_Start(&sums.requests[2]);
    MPI_Wait(&sums.requests[2], MPI_STATUS_IGNORE);
    expect(sums.right(2), "of one that is freed");
    for (const size_t i : {others, size_t{2}}) MPI_Request_free(&sums.requests[i]);
  }
#if defined(OPEN_MPI)
  expect(late <= early + kRounds, "numbers of communicators come again");
#endif
}

/// Ranks free different requests before they make the next one.
void freedDifferently(MPI_Comm comm) {
  Sums sums(comm);
  const size_t freed = static_cast<size_t>(rank) % 2;
  MPI_Request_free(&sums.requests[freed]);
  Ints out(kCount, -1);
  MPI_Request next;
  INIT(Allreduce)(sums.in[0].data(), out.data(), kCount, MPI_INT, MPI_SUM, comm, kNoInfo, &next);
  MPI_Start(&next);
  MPI_Start(&sums.requests[2]);
  MPI_Wait(&sums.requests[2], MPI_STATUS_IGNORE);
  MPI_Wait(&next, MPI_STATUS_IGNORE);
  expect(out == Ints(kCount, ranks * (ranks - 1) / 2) && sums.right(2), "after different ones");
  MPI_Request_free(&next);
  for (size_t i = 0; i < Sums::kMany; ++i) {
    if (i != freed) MPI_Request_free(&sums.requests[i]);
  }
}

/// Types with gaps that the program frees. Open MPI 4.1 does not hold on to them, and crashes.
void freedType(MPI_Comm comm) {
  MPI_Datatype every2nd;
  MPI_Type_vector(kCount, 1, 2, MPI_INT, &every2nd);
  MPI_Type_commit(&every2nd);
  Ints data(2 * kCount, rank);
  MPI_Request request;
  INIT(Bcast)(data.data(), 1, every2nd, 0, comm, kNoInfo, &request);
  MPI_Type_free(&every2nd);
  for (int round = 1; round < 3; ++round) {
    for (int& one : data) one = rank == 0 ? round : -rank;
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    bool right = true;
    for (size_t i = 0; i + 1 < data.size(); ++i)
      right &= data[i] == (i % 2 == 0 || rank == 0 ? round : -rank);
    expect(right, "a broadcast by a freed type");
  }
  MPI_Request_free(&request);
}

/// An operator of the program's, which looks at its type.
MPI_Datatype pair = MPI_DATATYPE_NULL;
bool strange = false;
void addPairs(void* in, void* inOut, int* count, MPI_Datatype* type) {
  strange = strange || *type != pair;
  const int* const from = static_cast<const int*>(in);
  int* const to = static_cast<int*>(inOut);
  for (int i = 0; i < 2 * *count; ++i) to[i] += from[i];
}

void ownOperator(MPI_Comm comm) {
  MPI_Op add;
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  MPI_Op_create(addPairs, 1, &add);
  const Ints in(2 * kCount, rank);
  Ints out(2 * kCount, -1);
  MPI_Request request;
  INIT(Allreduce)(in.data(), out.data(), kCount, pair, add, comm, kNoInfo, &request);
  for (int round = 0; round < 3; ++round) {
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect(out == Ints(2 * kCount, ranks * (ranks - 1) / 2), "by an operator of the program's");
  }
  expect(!strange, "the operator's type is the program's");
  MPI_Request_free(&request);
  MPI_Op_free(&add);
  MPI_Type_free(&pair);
}

int handled = 0;
MPI_Comm handledOn = MPI_COMM_NULL;
void handle(MPI_Comm* comm, int*, ...) {
  ++handled;
  handledOn = *comm;
}

/// Blocks that differ, which MPI does not look for: every rank gets an error, on its own
/// communicator.
void mistakes() {
  MPI_Comm comm = duplicate();
  MPI_Errhandler own;
  MPI_Comm_create_errhandler(handle, &own);
  Ints in(2 * kCount), out(2 * number() * kCount);
  MPI_Request request;
  expect(INIT(Allreduce)(in.data(), out.data(), -1, MPI_INT, MPI_SUM, comm, kNoInfo, &request) !=
             MPI_SUCCESS,
         "a negative count");
  if (layered && ranks > 1) {
    const int sent = rank == 0 ? kCount / 2 : kCount;
    INIT(Allgather)(in.data(), sent, MPI_INT, out.data(), kCount, MPI_INT, comm, kNoInfo, &request);
    MPI_Comm_set_errhandler(comm, own);
    int code = MPI_Start(&request);
    expect(code != MPI_SUCCESS || rank != 0, "rank 0 is told by MPI_Start");
    if (code == MPI_SUCCESS) code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect(code != MPI_SUCCESS, "every rank is told by MPI_Wait");
    expect(handled == 1 && handledOn == comm, "the program's error handler and communicator");
    MPI_Request_free(&request);
  }
  MPI_Errhandler_free(&own);
  MPI_Comm_free(&comm);
}

}  // namespace

int main(int argc, char** argv) {
  start(&argc, &argv);
  layered = argc > 1;
  MPI_Comm comm = duplicate();
  for (const int n : {3, 2000, 70000}) every(comm, n);
  anyOrder(comm);
  mixtures(comm);
  for (int i = 0; i < 3; ++i) underWay(comm);
  many();
  freedDifferently(comm);
  if (layered) freedType(comm);
  ownOperator(comm);
  mistakes();
  oneAfterTheOther();
  MPI_Comm_free(&comm);
  return finish();
}

#else

int main(int argc, char** argv) {
  start(&argc, &argv);
  expect(true, "this MPI has no persistent collectives");
  return finish();
}

#endif
