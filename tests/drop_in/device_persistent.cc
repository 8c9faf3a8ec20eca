// Persistent messages of device buffers, started again and again, by every call that ends them.

#include <array>

#include "drop_in/device_calls.h"

namespace drop_in_test {
namespace {

int next() { return (rank + 1) % ranks; }
int before() { return (rank + ranks - 1) % ranks; }

/// How the two requests of an array are ended.
using End = void (*)(MPI_Request* requests, MPI_Status* statuses);

void byWait(MPI_Request* requests, MPI_Status* statuses) {
  MPI_Wait(&requests[1], &statuses[1]);
  MPI_Wait(&requests[0], &statuses[0]);
}
void byTest(MPI_Request* requests, MPI_Status* statuses) {
  for (const int i : {0, 1}) {
    for (int flag = 0; !flag;) MPI_Test(&requests[i], &flag, &statuses[i]);
  }
}
void byWaitall(MPI_Request* requests, MPI_Status* statuses) { MPI_Waitall(2, requests, statuses); }
void byTestall(MPI_Request* requests, MPI_Status* statuses) {
  for (int flag = 0; !flag;) MPI_Testall(2, requests, &flag, statuses);
}
void byWaitany(MPI_Request* requests, MPI_Status* statuses) {
  MPI_Status status;
  for (int i = 0, index = -1; i < 2; ++i) {
    MPI_Waitany(2, requests, &index, &status);
    expect(index == 0 || index == 1, "an index of waitany");
    statuses[index] = status;
  }
  int index = 0;
  MPI_Waitany(2, requests, &index, &status);
  expect(index == MPI_UNDEFINED, "waitany of inactive ones");
}
void byTestany(MPI_Request* requests, MPI_Status* statuses) {
  MPI_Status status;
  for (int ended = 0; ended < 2;) {
    int flag = 0, index = -1;
    MPI_Testany(2, requests, &index, &flag, &status);
    if (!flag) continue;
    statuses[index] = status;
    ++ended;
  }
}
void bySome(MPI_Request* requests, MPI_Status* statuses, decltype(MPI_Waitsome)* some) {
  for (int ended = 0; ended < 2;) {
    int number = 0, indices[2];
    MPI_Status given[2];
    some(2, requests, &number, indices, given);
    for (int k = 0; k < number; ++k) statuses[indices[k]] = given[k];
    ended += number;
  }
}
void byWaitsome(MPI_Request* requests, MPI_Status* statuses) {
  bySome(requests, statuses, MPI_Waitsome);
}
void byTestsome(MPI_Request* requests, MPI_Status* statuses) {
  bySome(requests, statuses, MPI_Testsome);
}
constexpr End kEnds[] = {byWait,    byTest,    byWaitall,  byTestall,
                         byWaitany, byTestany, byWaitsome, byTestsome};

using Init = decltype(MPI_Send_init)*;
constexpr Init kInits[] = {MPI_Send_init, MPI_Ssend_init, MPI_Rsend_init, MPI_Bsend_init};

/// `count` elements of ints `stride` apart; what lies between is -1.
struct Ints {
  Buffer<int> at;
  size_t stride;
  Ints(bool device, int count, size_t apart, int value)
      : at(device, static_cast<size_t>(count) * apart, value), stride(apart) {}
  /// The first `number` elements have values from `first` on, and all else is -1.
  bool are(int number, int first) {
    const std::vector<int>& now = at.read();
    bool right = true;
    for (size_t i = 0; i < now.size(); ++i) {
      const size_t element = i / stride;
      const bool filled = i % stride == 0 && element < static_cast<size_t>(number);
      right &= now[i] == (filled ? first + static_cast<int>(element) : -1);
    }
    return right;
  }
  void count(int first) {
    std::vector<int> values(at.bytes() / sizeof(int), -1);
    for (size_t i = 0; i < values.size(); i += stride) {
      values[i] = first + static_cast<int>(i / stride);
    }
    at.write(values);
  }
};

/// One pair of requests for all ways of ending them, started once more for each.
void around(bool device, Init init, MPI_Datatype type, int count, size_t stride, bool fromAny) {
  Ints out(device, count, stride, 0), in(device, count, stride, -1);
  std::array<MPI_Request, 2> requests;
  std::array<MPI_Status, 2> statuses;
  MPI_Recv_init(in.at.data(), count, type, fromAny ? MPI_ANY_SOURCE : before(), 3, MPI_COMM_WORLD,
                &requests[0]);
  init(out.at.data(), count, type, next(), 3, MPI_COMM_WORLD, &requests[1]);
  int first = 1000;
  for (const End end : kEnds) {
    in.at.fill(-1);
    out.count(++first + 100 * rank);
    if (init == MPI_Rsend_init) {
      MPI_Start(&requests[0]);
      PMPI_Barrier(MPI_COMM_WORLD);
      MPI_Start(&requests[1]);
    } else {
      MPI_Startall(2, requests.data());
    }
    end(requests.data(), statuses.data());
    expect(in.are(count, first + 100 * before()), "a persistent receive");
    expect(requests[0] != MPI_REQUEST_NULL && requests[1] != MPI_REQUEST_NULL,
           "inactive requests are not null");
    int number = 0;
    MPI_Get_count(&statuses[0], type, &number);
    expect(statuses[0].MPI_SOURCE == before() && statuses[0].MPI_TAG == 3 && number == count,
           "the status of a persistent receive");
    in.at.fill(-1);  // it is the program's now, and stays so while the request is inactive
    end == byWaitany ? byWaitall(requests.data(), statuses.data())
                     : byWait(requests.data(), statuses.data());
    expect(in.at.all(-1), "a wait for an inactive request writes nothing");
    PMPI_Barrier(MPI_COMM_WORLD);  // MPI_ANY_SOURCE is to have its own round
  }
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
  expect(requests[0] == MPI_REQUEST_NULL, "a freed request is null");
}

/// Beside null, inactive and other active requests, and seen by MPI_Request_get_status first.
void amongOthers(bool device) {
  constexpr int kCount = 3000;
  Ints out(device, kCount, 1, 0), in(device, kCount, 1, -1), idle(device, kCount, 1, -1),
      once(device, kCount, 1, -1);
  int sum = 0;
  std::array<MPI_Request, 6> requests;
  MPI_Recv_init(idle.at.data(), kCount, MPI_INT, before(), 9, MPI_COMM_WORLD, &requests[0]);
  MPI_Recv_init(in.at.data(), kCount, MPI_INT, before(), 4, MPI_COMM_WORLD, &requests[1]);
  MPI_Send_init(out.at.data(), kCount, MPI_INT, next(), 4, MPI_COMM_WORLD, &requests[2]);
  for (int round = 0; round < 3; ++round) {
    out.count(round);
    in.at.fill(-1);
    once.at.fill(-1);
    MPI_Irecv(once.at.data(), kCount, MPI_INT, before(), 5, MPI_COMM_WORLD, &requests[3]);
    MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[4]);
    requests[5] = MPI_REQUEST_NULL;
    MPI_Startall(2, &requests[1]);
    MPI_Send(out.at.data(), kCount, MPI_INT, next(), 5, MPI_COMM_WORLD);
    if (round == 1) {
      for (int flag = 0; !flag;) {
        MPI_Request_get_status(requests[1], &flag, MPI_STATUS_IGNORE);
      }
      expect(in.are(kCount, round), "what get_status has seen is there");
      in.at.fill(7);
    }
    std::array<MPI_Status, 6> statuses;
    MPI_Waitall(6, requests.data(), statuses.data());
    expect(round == 1 ? in.at.all(7) : in.are(kCount, round), "a persistent one among others");
    expect(once.are(kCount, round) && sum == ranks * (ranks - 1) / 2, "others beside it");
    expect(idle.at.all(-1) && statuses[0].MPI_SOURCE == MPI_ANY_SOURCE, "an inactive one");
    expect(requests[3] == MPI_REQUEST_NULL && requests[2] != MPI_REQUEST_NULL, "which are null");
  }
  for (size_t i = 0; i < 3; ++i) MPI_Request_free(&requests[i]);
}

/// The rest of the buffer is as it was when the receive began, whatever it was at the start before.
void shorter(bool device) {
  constexpr int kCount = 2000;
  Ints out(device, kCount, 1, 0), in(device, kCount, 1, -1);
  MPI_Request receive;
  MPI_Recv_init(in.at.data(), kCount, MPI_INT, before(), 6, MPI_COMM_WORLD, &receive);
  out.count(0);
  for (int number = 1; number < kCount; number *= 7) {
    in.at.fill(-1);
    MPI_Start(&receive);
    MPI_Send(out.at.data(), number, MPI_INT, next(), 6, MPI_COMM_WORLD);
    MPI_Status status;
    MPI_Wait(&receive, &status);
    int got = 0;
    MPI_Get_count(&status, MPI_INT, &got);
    expect(got == number && in.are(number, 0), "a message that is shorter than the buffer");
    in.at.fill(number);
  }
  MPI_Request_free(&receive);
}

/// Freed while they are active; the data arrive all the same, and then MPI tells of it no more.
void freedWhileActive(bool device) {
  constexpr int kCount = 100000;
  Ints out(device, kCount, 1, 0), in(device, kCount, 1, -1);
  MPI_Request requests[2];
  MPI_Recv_init(in.at.data(), kCount, MPI_INT, before(), 7, MPI_COMM_WORLD, &requests[0]);
  MPI_Send_init(out.at.data(), kCount, MPI_INT, next(), 7, MPI_COMM_WORLD, &requests[1]);
  out.count(5);
  MPI_Startall(2, requests);
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
  expect(requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL, "freed, so null");
  const double end = MPI_Wtime() + 20;
  for (int flag = 0; !in.are(kCount, 5) && MPI_Wtime() < end;) {
    MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
  }
  expect(in.are(kCount, 5), "a persistent receive that was freed");
  MPI_Barrier(MPI_COMM_WORLD);
}

/// Without a sender, then with one; and with nobody at the other side.
void cancelled(bool device) {
  constexpr int kCount = 1000;
  Ints out(device, kCount, 1, 0), in(device, kCount, 1, -1);
  MPI_Request requests[2];
  MPI_Status status;
  int flag = 0;
  MPI_Recv_init(in.at.data(), kCount, MPI_INT, before(), 8, MPI_COMM_WORLD, &requests[0]);
  MPI_Start(&requests[0]);
  MPI_Cancel(&requests[0]);
  MPI_Wait(&requests[0], &status);
  MPI_Test_cancelled(&status, &flag);
  expect(flag != 0 && in.at.all(-1) && requests[0] != MPI_REQUEST_NULL, "a cancelled receive");
  PMPI_Barrier(MPI_COMM_WORLD);
  out.count(1);
  MPI_Start(&requests[0]);
  MPI_Send(out.at.data(), kCount, MPI_INT, next(), 8, MPI_COMM_WORLD);
  MPI_Wait(&requests[0], &status);
  MPI_Test_cancelled(&status, &flag);
  expect(flag == 0 && in.are(kCount, 1), "a receive that was cancelled before");
  MPI_Request_free(&requests[0]);

  MPI_Recv_init(in.at.data(), kCount, MPI_INT, MPI_PROC_NULL, 8, MPI_COMM_WORLD, &requests[0]);
  MPI_Send_init(out.at.data(), kCount, MPI_INT, MPI_PROC_NULL, 8, MPI_COMM_WORLD, &requests[1]);
  in.at.fill(3);
  for (int round = 0; round < 3; ++round) {
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    expect(in.at.all(3), "a receive from nobody");
  }
  for (MPI_Request& request : requests) MPI_Request_free(&request);
}

/// Communicator and type are freed after the requests are made; an error of a start is MPI's.
void withoutHandles(bool device) {
  constexpr int kCount = 500;
  Ints out(device, kCount, 3, 0), in(device, kCount, 3, -1);
  MPI_Comm dup = duplicate();
  MPI_Datatype spread;
  MPI_Type_create_resized(MPI_INT, 0, 12, &spread);
  MPI_Type_commit(&spread);
  MPI_Request requests[2];
  MPI_Recv_init(in.at.data(), kCount, spread, before(), 1, dup, &requests[0]);
  MPI_Send_init(out.at.data(), kCount, spread, next(), 1, dup, &requests[1]);
  MPI_Type_free(&spread);
  MPI_Comm_free(&dup);
  for (int round = 0; round < 3; ++round) {
    in.at.fill(-1);
    out.count(round);
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    expect(in.are(kCount, round), "requests whose communicator and type are freed");
  }
  for (MPI_Request& request : requests) MPI_Request_free(&request);

  dup = duplicate();
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = MPI_Send_init(out.at.data(), kCount, MPI_INT, ranks, 1, dup, &request);
  expect(classOf(code) == MPI_ERR_RANK, "a wrong rank is MPI's to refuse");
  MPI_Comm_free(&dup);
}

}  // namespace

void persistentMessages(bool device) {
  MPI_Datatype spread;
  MPI_Type_create_resized(MPI_INT, 0, 12, &spread);
  MPI_Type_commit(&spread);
  std::vector<char> attached(size_t{4} << 20);
  MPI_Buffer_attach(attached.data(), static_cast<int>(attached.size()));
  for (const Init init : kInits) {
    around(device, init, MPI_INT, 50, 1, true);
    around(device, init, spread, 50, 3, false);
    if (init == MPI_Bsend_init) continue;  // Open MPI 4.1.4's sends only zeros the second time
    around(device, init, MPI_INT, 60000, 1, false);
    around(device, init, spread, 5000, 3, false);
  }
  void* detached = nullptr;
  int size = 0;
  MPI_Buffer_detach(&detached, &size);
  MPI_Type_free(&spread);
  amongOthers(device);
  shorter(device);
  freedWhileActive(device);
  cancelled(device);
  withoutHandles(device);
}

}  // namespace drop_in_test
