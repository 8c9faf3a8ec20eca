#include "drop_in/mpi/persistent_messages.h"

#include <memory>
#include <mutex>
#include <unordered_map>

#include "drop_in/mpi/by_image.h"

using namespace rondo;
using namespace rondo::drop_in;

namespace {

class PersistentMessage final : public Staged {
 public:
  PersistentMessage(const Elements& elements, bool receives)
      : image_(elements, receives, false), receives_(receives) {}
  bool isPersistent() const override { return true; }
  char* begin() { return image_.begin(); }
  /// It is about to start. Throws Error. What is received into is filled too, as a message may be
  /// shorter than the buffer.
  void start() {
    image_.refill();
    beginAgain();
  }

 private:
  void bringBack() override {
    if (receives_) image_.bringBack();
  }
  Image image_;
  bool receives_;
};
using HeldPersistent = std::shared_ptr<PersistentMessage>;

/// Never destroyed: MPI_Finalize may run in an atexit handler.
struct Table {
  std::mutex mutex;
  std::unordered_map<MPI_Request, HeldPersistent> all;
};
Table& table() {
  static Table* const instance = new Table;
  return *instance;
}

void add(MPI_Request request, const HeldPersistent& message) {
  Table& self = table();
  const std::lock_guard<std::mutex> lock(self.mutex);
  if (self.all.insert_or_assign(request, message).second) persistentMessages.fetch_add(1);
}

HeldPersistent findMessage(MPI_Request request) {
  if (!anyPersistentMessage()) return nullptr;
  Table& self = table();
  const std::lock_guard<std::mutex> lock(self.mutex);
  const auto found = self.all.find(request);
  return found == self.all.end() ? nullptr : found->second;
}

/// MPI_Send_init and others: `mpis` makes the request of the buffer that it is given.
template <class Mpis>
int init(MPI_Comm comm, const char* call, const Buffer& buffer, bool receives, MPI_Request* request,
         const Mpis& mpis) {
  if (!buffer.staged()) [[likely]]
    return mpis(const_cast<void*>(buffer.begin));
  return guarded(comm, call, [&] {
    const auto message = std::make_shared<PersistentMessage>(buffer.elements(), receives);
    const int code = mpis(message->begin());
    if (code == MPI_SUCCESS) add(*request, message);
    return code;
  });
}

using InitCall = int (*)(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);

template <InitCall pmpi>
int initBy(const char* call, const Buffer& of, int to, int tag, MPI_Comm comm,
           MPI_Request* request) {
  return init(comm, call, of, false, request, [&](const void* from) {
    return pmpi(from, of.count, of.type, to, tag, comm, request);
  });
}

}  // namespace

namespace rondo::drop_in {

bool startMessage(MPI_Request* request, int* code) {
  const HeldPersistent message = findMessage(*request);
  if (message == nullptr) return false;
  const MPI_Request before = *request;
  // That it is active is for MPI to say, which still has the image.
  const bool active = findStaged(before) == message;
  *code = guarded(MPI_COMM_WORLD, "MPI_Start", [&] {
    if (!active) message->start();
    return PMPI_Start(request);
  });
  if (active || *code != MPI_SUCCESS) return true;
  if (*request != before) {  // Open MPI's, if it is not quite done with the one before
    forgetMessage(before);
    add(*request, message);
  }
  addStaged(*request, message);
  return true;
}

void forgetMessage(MPI_Request request) {
  if (!anyPersistentMessage()) return;
  Table& self = table();
  const std::lock_guard<std::mutex> lock(self.mutex);
  persistentMessages.fetch_sub(self.all.erase(request));
}

}  // namespace rondo::drop_in

int MPI_Send_init(const void* buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                  MPI_Request* request) {
  return initBy<PMPI_Send_init>("MPI_Send_init", {buffer, count, type}, to, tag, comm, request);
}

int MPI_Bsend_init(const void* buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                   MPI_Request* request) {
  return initBy<PMPI_Bsend_init>("MPI_Bsend_init", {buffer, count, type}, to, tag, comm, request);
}

int MPI_Ssend_init(const void* buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                   MPI_Request* request) {
  return initBy<PMPI_Ssend_init>("MPI_Ssend_init", {buffer, count, type}, to, tag, comm, request);
}

int MPI_Rsend_init(const void* buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                   MPI_Request* request) {
  return initBy<PMPI_Rsend_init>("MPI_Rsend_init", {buffer, count, type}, to, tag, comm, request);
}

int MPI_Recv_init(void* buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                  MPI_Request* request) {
  return init(comm, "MPI_Recv_init", {buffer, count, type}, true, request,
              [&](void* to) { return PMPI_Recv_init(to, count, type, from, tag, comm, request); });
}
