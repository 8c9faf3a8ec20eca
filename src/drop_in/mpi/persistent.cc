#include "drop_in/mpi/persistent.h"

#include <algorithm>
#include <bit>

#include "base/error.h"
#include "drop_in/mpi/comms.h"
#include "drop_in/mpi/failure.h"
#include "drop_in/mpi/own_calls.h"
#include "drop_in/mpi/rehearsal.h"
#include "drop_in/mpi/request_table.h"
#include "drop_in/mpi/requests.h"

namespace rondo::drop_in {

OwnOrder::~OwnOrder() { retire(comm_); }

namespace {

/// By one thread at a time, as MPI demands of its request.
struct Persistent {
  Start start;
  std::atomic<MPI_Comm> comm;            ///< The program's.
  std::shared_ptr<OwnOrder> order;       ///< nullptr: it is rehearsed.
  MPI_Request begun = MPI_REQUEST_NULL;  ///< While it is active.
  bool active = false;
};
using HeldPersistent = std::shared_ptr<Persistent>;

/// Never destroyed: MPI_Finalize may run in an atexit handler.
RequestTable<Persistent>& table() {
  static auto* const instance = new RequestTable<Persistent>(persistentCount);
  return *instance;
}

int refuse(const Persistent& one, const char* call, const char* allowed) {
  return raiseMistake(
      one.comm, MPI_ERR_REQUEST,
      format("%s: the request is an active persistent collective; allowed: %s", call, allowed));
}

int startOnNothing(MPI_Comm comm, MPI_Request*) {
  return raiseMistake(comm, MPI_ERR_COMM,
                      "MPI_Start: the request's communicator is freed; allowed in a rehearsal: one "
                      "that is there");
}

// What ranks tell each other of a request: which orders are busy, and two more bits.
constexpr uint64_t kWorth = uint64_t{1} << 62, kFailed = uint64_t{1} << 63;

/// What all ranks say, or-ed, in a call of all of them. Those before it that do not block may have
/// begun on some ranks only, on the same communicator: they come first on all.
rondoResult_t tellAll(const KnownComm& known, uint64_t mine, uint64_t* all) {
  known.devices.later().flush(known);
  return rondoAllReduce(&mine, all, 1, rondoUint64, rondoBitOr, known.rondo, nullptr);
}

/// A bit for each order that a request of this rank has.
uint64_t busyOrders(const OwnOrders& orders) {
  uint64_t word = 0;
  for (size_t i = 0; i < OwnOrders::kMost; ++i) {
    if (orders.all[i] != nullptr && orders.all[i]->busy()) word |= uint64_t{1} << i;
  }
  return word;
}

/// Of a communicator that all its ranks free. A program that makes communicators and requests again
/// and again would else come to the end of MPI's numbers for them.
void freeIdleOrders(const KnownComm& known) {
  auto& orders = known.orders.all;
  const bool any = std::any_of(orders.begin(), orders.end(), [](const auto& o) { return !!o; });
  if (!any || known.aborted.load(std::memory_order_relaxed)) return;
  const OwnCalls own;
  uint64_t all = 0;
  if (tellAll(known, busyOrders(known.orders), &all) != rondoSuccess) return;
  for (size_t i = 0; i < OwnOrders::kMost; ++i) {
    if (orders[i] == nullptr || (all >> i & 1) != 0) continue;
    MPI_Comm idle = orders[i]->comm();
    orders[i].reset();
    PMPI_Comm_free(&idle);
  }
}

/// The same on all ranks: an order that is free on all of them; nullptr: there is none.
std::shared_ptr<OwnOrder> freeOrder(const KnownComm& known, MPI_Comm comm, uint64_t word) {
  OwnOrders& orders = known.orders;
  uint64_t all = kFailed;
  const rondoResult_t result = tellAll(known, word | busyOrders(orders), &all);
  if (result != rondoSuccess || (all & kFailed) != 0 || (all & kWorth) == 0) return nullptr;
  const auto place = static_cast<size_t>(std::countr_one(all));
  if (place >= OwnOrders::kMost) return nullptr;
  std::shared_ptr<OwnOrder>& order = orders.all[place];
  if (order != nullptr) return order;
  MPI_Comm made = MPI_COMM_NULL;
  if (PMPI_Comm_split(comm, 0, known.rank, &made) != MPI_SUCCESS) return nullptr;
  // What goes wrong on it is raised on the program's.
  PMPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
  convert(made, Why::Taken);
  orders.closed = find(made).why != Why::Taken;
  if (orders.closed) {
    PMPI_Comm_free(&made);
    return nullptr;
  }
  find(made).laters.close();  // on it are starts only, in none of which ranks could decide
  order = std::make_shared<OwnOrder>(made);
  return order;
}

/// nullptr: there is no memory for it.
HeldPersistent ready(MPI_Comm comm, const std::function<Start()>& start) {
  try {
    auto one = std::make_shared<Persistent>();
    one->start = start();
    one->comm = comm;
    return one;
  } catch (const std::exception&) {
    return nullptr;
  }
}

}  // namespace

bool keepPersistent(int code, MPI_Comm comm, const MPI_Request* request,
                    const std::function<bool()>& worth, const std::function<Start()>& start) {
  const KnownComm& known = find(comm);
  if (known.why != Why::Taken || rehearsing || known.orders.closed) return false;
  if (known.aborted.load(std::memory_order_relaxed)) return false;  // the others learn of it, too
  const OwnCalls own;
  const CallTurn turn(known.itsTurns());
  // All that takes memory first: afterwards the other ranks rely on this one.
  const HeldPersistent one = code == MPI_SUCCESS ? ready(comm, start) : nullptr;
  const uint64_t word = one == nullptr ? kFailed : worth() ? kWorth : 0;
  std::shared_ptr<OwnOrder> order = freeOrder(known, comm, word);
  if (order == nullptr) return false;
  order->setBusy(true);
  one->order = std::move(order);
  table().add(*request, one);
  return true;
}

int rehearsePersistent(MPI_Comm comm, const std::function<Start()>& start, MPI_Request* request) {
  auto one = std::make_shared<Persistent>();
  one->comm = comm;
  try {
    one->start = start();
  } catch (const Error& error) {
    return raise(comm, error.code(), "a persistent request: " + error.sentence());
  }
  const int code = PMPI_Send_init(nullptr, 0, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_SELF, request);
  if (code == MPI_SUCCESS) table().add(*request, one);
  return code;
}

bool startPersistent(MPI_Request request, int* code) {
  const HeldPersistent one = table().find(request);
  if (one == nullptr) return false;
  if (one->active) {
    *code = refuse(*one, "MPI_Start", "an inactive request");
    return true;
  }
  const bool ordered = one->order != nullptr;
  *code = one->start(ordered ? one->order->comm() : one->comm.load(), &one->begun);
  if (*code != MPI_SUCCESS) {
    if (ordered) PMPI_Comm_call_errhandler(one->comm, *code);
    return true;
  }
  one->active = true;
  pendingCount.fetch_add(1);
  if (const Held begun = findPending(one->begun)) begun->raiseOn(one->comm);
  return true;
}

bool freePersistent(MPI_Request* request, int* code) {
  const HeldPersistent one = table().find(*request);
  if (one == nullptr) return false;
  const bool ordered = one->order != nullptr;
  if (one->active && ordered) {
    *code = refuse(*one, "MPI_Request_free", "an inactive one (MPI-4.0, 6.13)");
    return true;
  }
  if (one->active) {  // a message, which may be over at any time
    PMPI_Request_free(&one->begun);
    pendingCount.fetch_sub(1);
  }
  table().remove(*request);
  one->start = nullptr;
  if (ordered) one->order->setBusy(false);
  *code = PMPI_Request_free(request);
  return true;
}

bool cancelPersistent(MPI_Request request, int* code) {
  const HeldPersistent one = table().find(request);
  if (one == nullptr || !one->active) return false;
  if (one->order == nullptr) {
    *code = PMPI_Cancel(&one->begun);
    return true;
  }
  *code = refuse(*one, "MPI_Cancel", "requests of point-to-point calls and files");
  return true;
}

void forgetPersistents(MPI_Comm comm) {
  if (const KnownComm& known = find(comm); known.why == Why::Taken && !rehearsing) {
    freeIdleOrders(known);
  }
  table().each([comm](Persistent& one) {
    if (one.comm != comm) return;
    one.comm = MPI_COMM_WORLD;
    if (one.order == nullptr) one.start = startOnNothing;
  });
}

void StartedOnes::replace(int count, MPI_Request* requests) {
  for (int i = 0; i < count; ++i) {
    const HeldPersistent one = table().find(requests[i]);
    if (one == nullptr || !one->active) continue;
    replaced_.push_back({&requests[i], requests[i]});
    requests[i] = one->begun;
  }
}

void StartedOnes::putBack() {
  for (const Replaced& each : replaced_) {
    const HeldPersistent one = table().find(each.programs);
    if (*each.at == MPI_REQUEST_NULL) {
      one->active = false;
      one->begun = MPI_REQUEST_NULL;
      pendingCount.fetch_sub(1);
    }
    *each.at = each.programs;
  }
}

}  // namespace rondo::drop_in
