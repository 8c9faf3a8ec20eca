// A program that knows MPI only, rehearsed as rank 3 of 16: what MPI's one process would get wrong
// is timed like all else, or refused with a sentence.

#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "drop_in/check.h"
#include "drop_in/persistent_names.h"

using namespace drop_in_test;

namespace {

constexpr int kRanks = 16, kOwn = 3;

/// An error whose text names the call and says what is allowed.
void isRefused(int code, const std::string& call) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  if (code != MPI_SUCCESS) MPI_Error_string(code, text, &length);
  const std::string sentence(text);
  expect(sentence.rfind(call + ": in a rehearsal (RONDO_VIRTUAL) nobody knows", 0) == 0 &&
             sentence.find("; allowed: ") != std::string::npos,
         call + " is refused, not: " + (code == MPI_SUCCESS ? "success" : sentence));
}

void replaced() {
  std::vector<char> buffer(2221, 'x');
  MPI_Status status;
  const double begin = MPI_Wtime();
  MPI_Sendrecv_replace(buffer.data(), 2221, MPI_CHAR, 4, 0, 2, 5, MPI_COMM_WORLD, &status);
  expect(MPI_Wtime() > begin, "the clock goes on by an exchange in place");
  int count = 0;
  MPI_Get_count(&status, MPI_CHAR, &count);
  expect(status.MPI_SOURCE == 2 && status.MPI_TAG == 5 && count == 2221, "its status");
  expect(buffer[0] == 'x', "what another rank sends is left alone");
}

/// Both ends of what a rank sends to itself are there.
void ownMessages() {
  std::vector<int> in = {1, 2, 3, 4, 5, 6}, out(6, -1);
  const auto came = [&](std::vector<int> wanted, const char* what) {
    wanted.resize(6, -1);
    expect(out == wanted, what);
    out.assign(6, -1);
  };
  MPI_Status status;
  int count = 0;
  MPI_Sendrecv(in.data(), 4, MPI_INT, kOwn, 7, out.data(), 6, MPI_INT, kOwn, 7, MPI_COMM_WORLD,
               &status);
  MPI_Get_count(&status, MPI_INT, &count);
  came({1, 2, 3, 4}, "an exchange with itself");
  expect(status.MPI_SOURCE == kOwn && status.MPI_TAG == 7 && count == 4, "its status");
  MPI_Sendrecv(in.data(), 2, MPI_INT, kOwn, 7, out.data(), 2, MPI_INT, 5, 7, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  came({}, "what another rank sends is left alone");
  MPI_Recv(out.data(), 6, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
  came({1, 2}, "from anybody: from itself");
  expect(status.MPI_SOURCE == kOwn && status.MPI_TAG == 7, "that it is its own");

  // Every other one, in the order in which they were begun, whichever side is first.
  MPI_Datatype even;
  MPI_Type_vector(3, 1, 2, MPI_INT, &even);
  MPI_Type_commit(&even);
  MPI_Request requests[4];
  MPI_Irecv(&out[0], 1, MPI_INT, kOwn, 1, MPI_COMM_WORLD, &requests[0]);
  MPI_Irecv(&out[1], 1, even, kOwn, 2, MPI_COMM_WORLD, &requests[1]);
  MPI_Isend(&in[0], 1, even, kOwn, 2, MPI_COMM_WORLD, &requests[2]);
  MPI_Type_free(&even);
  MPI_Isend(&in[5], 1, MPI_INT, kOwn, 1, MPI_COMM_WORLD, &requests[3]);
  MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
  came({6, 1, -1, 3, -1, 5}, "two that were awaited");
  for (int i : {0, 1}) MPI_Send(&in[static_cast<size_t>(i)], 1, MPI_INT, kOwn, 1, MPI_COMM_WORLD);
  MPI_Send(&in[2], 1, MPI_INT, kOwn, 2, MPI_COMM_WORLD);
  for (int i : {2, 1, 0}) {
    MPI_Recv(&out[static_cast<size_t>(2 - i)], 1, MPI_INT, kOwn, i == 2 ? 2 : 1, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
  }
  came({3, 1, 2}, "three that were there");
  MPI_Recv_init(&out[0], 3, MPI_INT, kOwn, 1, MPI_COMM_WORLD, &requests[0]);
  MPI_Send_init(&in[0], 3, MPI_INT, kOwn, 1, MPI_COMM_WORLD, &requests[1]);
  for (int round = 0; round < 2; ++round) {
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    came({1, 2, 3}, "persistent ones");
  }
  for (int i : {0, 1}) MPI_Request_free(&requests[i]);

  // A receive that is over, and a communicator that is.
  MPI_Irecv(out.data(), 1, MPI_INT, kOwn, 1, MPI_COMM_WORLD, &requests[0]);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  MPI_Comm copy;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Send(in.data(), 1, MPI_INT, kOwn, 1, copy);
  MPI_Comm_free(&copy);
  MPI_Send(in.data(), 2, MPI_INT, kOwn, 1, MPI_COMM_WORLD);
  came({}, "nothing comes after a wait");
  expect(classOf(MPI_Recv(out.data(), 1, MPI_INT, kOwn, 1, MPI_COMM_WORLD, &status)) ==
             MPI_ERR_TRUNCATE,
         "a message that is longer");
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Irecv(out.data(), 1, MPI_INT, kOwn, 1, MPI_COMM_WORLD, &requests[0]);
  MPI_Send(in.data(), 2, MPI_INT, kOwn, 1, MPI_COMM_WORLD);
  expect(classOf(MPI_Wait(&requests[0], &status)) == MPI_ERR_TRUNCATE, "one that was awaited");
  came({}, "neither is moved");
}

/// Blocks of types of their own: one to rank 7, one from rank 11, and one that stays.
struct Blocks {
  std::vector<int> sends, sendAt, receives, recvAt;
  std::vector<MPI_Datatype> from, to;
  std::vector<char> in, out;
  explicit Blocks(int sent)
      : sends(kRanks),
        sendAt(kRanks),
        receives(kRanks),
        recvAt(kRanks),
        from(kRanks, MPI_CHAR),
        to(kRanks, MPI_CHAR),
        in(100000, 'i'),
        out(100000, 'o') {
    sends[7] = sent, sendAt[7] = 100;
    receives[11] = 2 * sent, recvAt[11] = 1000;
    // Four bytes, every other one of which goes to the begin.
    MPI_Type_vector(4, 1, 2, MPI_CHAR, &from[kOwn]);
    MPI_Type_commit(&from[kOwn]);
    sends[kOwn] = 1, receives[kOwn] = 4;
  }
  void expectOwn(const char* what) {
    expect(std::string(out.data(), 5) == "iiiio" && out[1000] == 'o', what);
    out[0] = 'o';
  }
  ~Blocks() {
    if (from[kOwn] != MPI_CHAR) MPI_Type_free(&from[kOwn]);
  }
};

void typedBlocks() {
  Blocks now(3331), later(4441);
  const double begin = MPI_Wtime();
  MPI_Alltoallw(now.in.data(), now.sends.data(), now.sendAt.data(), now.from.data(), now.out.data(),
                now.receives.data(), now.recvAt.data(), now.to.data(), MPI_COMM_WORLD);
  expect(MPI_Wtime() > begin, "the clock goes on by an all-to-all of typed blocks");
  now.expectOwn("its own block of an all-to-all is in its place");
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ialltoallw(later.in.data(), later.sends.data(), later.sendAt.data(), later.from.data(),
                 later.out.data(), later.receives.data(), later.recvAt.data(), later.to.data(),
                 MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  later.expectOwn("and of a non-blocking one");
  MPI_Alltoallw(MPI_IN_PLACE, nullptr, nullptr, nullptr, now.out.data(), now.receives.data(),
                now.recvAt.data(), now.to.data(), MPI_COMM_WORLD);
#if defined(INIT)
  Blocks often(5551);
  INIT(Alltoallw)
  (often.in.data(), often.sends.data(), often.sendAt.data(), often.from.data(), often.out.data(),
   often.receives.data(), often.recvAt.data(), often.to.data(), MPI_COMM_WORLD, MPI_INFO_NULL,
   &request);
  // What the request was made of may go.
  MPI_Type_free(&often.from[kOwn]);
  often.from[kOwn] = MPI_CHAR;
  for (std::vector<int>* each : {&often.sends, &often.receives}) each->assign(kRanks, 0);
  for (int round = 0; round < 2; ++round) {
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    often.expectOwn("and of a start");
  }
  MPI_Request_free(&request);
#endif
  now.receives[kOwn] = 5;
  expect(MPI_Alltoallw(now.in.data(), now.sends.data(), now.sendAt.data(), now.from.data(),
                       now.out.data(), now.receives.data(), now.recvAt.data(), now.to.data(),
                       MPI_COMM_WORLD) != MPI_SUCCESS,
         "a rank's own block that is longer there");
  now.receives[kOwn] = 4, now.to[5] = MPI_DATATYPE_NULL;
  expect(MPI_Alltoallw(now.in.data(), now.sends.data(), now.sendAt.data(), now.from.data(),
                       now.out.data(), now.receives.data(), now.recvAt.data(), now.to.data(),
                       MPI_COMM_WORLD) != MPI_SUCCESS,
         "a block of no type");
}

void probes() {
  int flag = 1;
  MPI_Message message = MPI_MESSAGE_NO_PROC;
  MPI_Status status;
  isRefused(MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &flag, &status), "MPI_Iprobe");
  expect(flag == 0, "no message");
  isRefused(MPI_Improbe(0, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &message, &status), "MPI_Improbe");
  expect(message == MPI_MESSAGE_NULL, "no message's handle");
  MPI_Probe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status);
  expect(status.MPI_SOURCE == MPI_PROC_NULL, "nobody's message");
  MPI_Mprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &message, &status);
  expect(message == MPI_MESSAGE_NO_PROC, "nobody's message by its handle");
  char byte = 0;
  expect(MPI_Mrecv(&byte, 1, MPI_CHAR, &message, &status) == MPI_SUCCESS, "its receive");
  // To itself MPI's one process can send.
  MPI_Request request;
  MPI_Isend(&byte, 1, MPI_CHAR, 0, 9, MPI_COMM_SELF, &request);
  MPI_Mprobe(0, 9, MPI_COMM_SELF, &message, &status);
  expect(MPI_Mrecv(&byte, 1, MPI_CHAR, &message, &status) == MPI_SUCCESS, "its own message");
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  isRefused(MPI_Probe(5, 0, MPI_COMM_WORLD, &status), "MPI_Probe");
  isRefused(MPI_Mprobe(5, 0, MPI_COMM_WORLD, &message, &status), "MPI_Mprobe");
}

void communicators() {
  MPI_Comm copy = MPI_COMM_NULL, turned = MPI_COMM_NULL, inter = MPI_COMM_WORLD;
  MPI_Request request;
  MPI_Comm_idup(MPI_COMM_WORLD, &copy, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  int size = 0, place = 0, same = -1;
  MPI_Comm_size(copy, &size);
  MPI_Comm_rank(copy, &place);
  expect(size == kRanks && place == kOwn, "a copy made by a non-blocking call");
  MPI_Group world, back;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  int all[1][3] = {{kRanks - 1, 0, -1}};
  MPI_Group_range_incl(world, 1, all, &back);
  MPI_Comm_create(MPI_COMM_WORLD, back, &turned);
  const auto compared = [&](MPI_Comm other) {
    MPI_Comm_compare(MPI_COMM_WORLD, other, &same);
    return same;
  };
  expect(compared(MPI_COMM_WORLD) == MPI_IDENT && compared(copy) == MPI_CONGRUENT, "a copy is one");
  expect(compared(turned) == MPI_SIMILAR, "the same ranks in another order");
  expect(compared(MPI_COMM_SELF) == MPI_UNEQUAL, "one rank is not all");
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  // Parts of eight ranks each, of which nobody says that they are the same.
  MPI_Comm parts[2];
  for (MPI_Comm& part : parts) {
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &part);
  }
  expect(compared(parts[0]) == MPI_UNEQUAL, "a host's ranks are not all");
  expect(MPI_Comm_compare(parts[0], parts[1], &same) != MPI_SUCCESS, "parts that may be the same");
  for (MPI_Comm& part : parts) MPI_Comm_free(&part);
  MPI_Comm alone;
  MPI_Group self, both;
  MPI_Comm_dup(MPI_COMM_SELF, &alone);
  MPI_Comm_group(alone, &self);
  MPI_Group_difference(world, self, &both);
  MPI_Group_size(both, &size);
  expect(size == kRanks - 1, "all but this rank");
  const int first = 0;
  MPI_Group_translate_ranks(self, 1, &first, world, &place);
  expect(place == kOwn, "this rank among all");
  for (MPI_Group* each : {&self, &both}) MPI_Group_free(each);
  MPI_Comm_free(&alone);
  isRefused(MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, 5, 0, &inter),
            "MPI_Intercomm_create");
  expect(inter == MPI_COMM_NULL, "no inter-communicator");
  isRefused(MPI_Comm_spawn("/bin/true", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter,
                           MPI_ERRCODES_IGNORE),
            "MPI_Comm_spawn");
  char command[] = "/bin/true";
  char* commands[] = {command};
  const int one = 1;
  const MPI_Info none = MPI_INFO_NULL;
  isRefused(MPI_Comm_spawn_multiple(1, commands, MPI_ARGVS_NULL, &one, &none, 0, MPI_COMM_WORLD,
                                    &inter, MPI_ERRCODES_IGNORE),
            "MPI_Comm_spawn_multiple");
  char port[] = "nowhere";
  isRefused(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter), "MPI_Comm_connect");
  isRefused(MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter), "MPI_Comm_accept");
  for (MPI_Group* each : {&world, &back}) MPI_Group_free(each);
  for (MPI_Comm* each : {&copy, &turned}) MPI_Comm_free(each);
}

void windows() {
  int word = 5, got = 0;
  void* base = nullptr;
  MPI_Win win = MPI_WIN_NULL;
  isRefused(MPI_Win_create(&word, sizeof word, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win),
            "MPI_Win_create");
  isRefused(MPI_Win_allocate(8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win), "MPI_Win_allocate");
  isRefused(MPI_Win_allocate_shared(8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win),
            "MPI_Win_allocate_shared");
  isRefused(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win), "MPI_Win_create_dynamic");
  expect(win == MPI_WIN_NULL, "no window");
  int* own = nullptr;
  MPI_Win_allocate(sizeof word, 1, MPI_INFO_NULL, MPI_COMM_SELF, &own, &win);
  *own = word;
  MPI_Win_fence(0, win);
  MPI_Get(&got, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
  MPI_Win_fence(0, win);
  expect(got == 5, "a window of its own");
  MPI_Win_free(&win);
}

void files(const char* name) {
  MPI_File file = MPI_FILE_NULL;
  int code =
      MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  if (code != MPI_SUCCESS) return expect(false, "a file is opened");
  MPI_Group group;
  MPI_File_get_group(file, &group);
  int size = 0;
  MPI_Group_size(group, &size);
  expect(size == kRanks, "a file's ranks");
  MPI_Group_free(&group);
  int word = 77, got = 0;
  MPI_Status status;
  MPI_File_write_at_all(file, kOwn * 4, &word, 1, MPI_INT, &status);
  MPI_File_read_at(file, kOwn * 4, &got, 1, MPI_INT, &status);
  expect(got == 77, "its own part of a file");
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Offset at = 0;
  isRefused(MPI_File_read_shared(file, &got, 1, MPI_INT, &status), "MPI_File_read_shared");
  isRefused(MPI_File_write_shared(file, &got, 1, MPI_INT, &status), "MPI_File_write_shared");
  isRefused(MPI_File_read_ordered(file, &got, 1, MPI_INT, &status), "MPI_File_read_ordered");
  isRefused(MPI_File_write_ordered(file, &got, 1, MPI_INT, &status), "MPI_File_write_ordered");
  isRefused(MPI_File_iread_shared(file, &got, 1, MPI_INT, &request), "MPI_File_iread_shared");
  isRefused(MPI_File_iwrite_shared(file, &got, 1, MPI_INT, &request), "MPI_File_iwrite_shared");
  expect(request == MPI_REQUEST_NULL, "no request of a file's");
  isRefused(MPI_File_read_ordered_begin(file, &got, 1, MPI_INT), "MPI_File_read_ordered_begin");
  isRefused(MPI_File_write_ordered_begin(file, &got, 1, MPI_INT), "MPI_File_write_ordered_begin");
  isRefused(MPI_File_seek_shared(file, 0, MPI_SEEK_SET), "MPI_File_seek_shared");
  isRefused(MPI_File_get_position_shared(file, &at), "MPI_File_get_position_shared");
  MPI_File_close(&file);
  MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                &file);
  expect(MPI_File_seek_shared(file, kOwn * 4, MPI_SEEK_SET) == MPI_SUCCESS, "a file of its own");
  MPI_File_close(&file);
}

/// Of blocks that differ this rank's own is in its place, too.
void unevenBlocks() {
  std::vector<int> counts(kRanks, 1), places(kRanks), in(64, 1), out(64, -1);
  for (int r = 0; r < kRanks; ++r) places[static_cast<size_t>(r)] = 3 * r;
  counts[kOwn] = 2;
  in[3 * kOwn] = 7, in[3 * kOwn + 1] = 8;
  const auto isAt = [&](int at, const char* what) {
    const auto i = static_cast<size_t>(at);
    expect(out[i] == 7 && out[i + 1] == 8 && out[i + 2] == -1 && (at == 0 || out[0] == -1), what);
    out.assign(out.size(), -1);
  };
  const int* const own = &in[3 * kOwn];
  MPI_Allgatherv(own, 2, MPI_INT, out.data(), counts.data(), places.data(), MPI_INT,
                 MPI_COMM_WORLD);
  isAt(3 * kOwn, "its own block of an uneven all-gather");
  MPI_Alltoallv(in.data(), counts.data(), places.data(), MPI_INT, out.data(), counts.data(),
                places.data(), MPI_INT, MPI_COMM_WORLD);
  isAt(3 * kOwn, "its own block of an uneven all-to-all");
  MPI_Gatherv(own, 2, MPI_INT, out.data(), counts.data(), places.data(), MPI_INT, kOwn,
              MPI_COMM_WORLD);
  isAt(3 * kOwn, "its own block of an uneven gather");
  MPI_Scatterv(in.data(), counts.data(), places.data(), MPI_INT, out.data(), 2, MPI_INT, kOwn,
               MPI_COMM_WORLD);
  isAt(0, "its own block of an uneven scatter");
  MPI_Scatterv(nullptr, nullptr, nullptr, MPI_INT, out.data(), 2, MPI_INT, 0, MPI_COMM_WORLD);
  expect(out[0] == -1, "what another root sends is left alone");
  MPI_Request request;
  MPI_Iallgatherv(own, 2, MPI_INT, out.data(), counts.data(), places.data(), MPI_INT,
                  MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  isAt(3 * kOwn, "its own block of a non-blocking one");
}

/// A block of 4 GiB, which nobody touches, from a rank that MPI's one process has not.
void largeBlock() {
  char byte = 'x';
  const double begin = MPI_Wtime();
  expect(MPI_Bcast(&byte, 1 << 30, MPI_INT, 5, MPI_COMM_WORLD) == MPI_SUCCESS, "a large block");
  expect(MPI_Wtime() > begin + 1e-3 && byte == 'x', "it is timed");
  // One element of as many bytes.
  MPI_Datatype all;
  MPI_Type_contiguous(1 << 30, MPI_INT, &all);
  MPI_Type_commit(&all);
  MPI_Status status;
  const double begun = MPI_Wtime();
  expect(MPI_Send(&byte, 1, all, 4, 0, MPI_COMM_WORLD) == MPI_SUCCESS, "a large element is sent");
  expect(MPI_Wtime() > begun + 1e-3, "it is timed, too");
  expect(MPI_Recv(&byte, 1, all, 4, 0, MPI_COMM_WORLD, &status) == MPI_SUCCESS, "one is received");
  int count = 0;
  MPI_Get_count(&status, all, &count);
  expect(count == 1, "a large element's status");
  MPI_Type_free(&all);
}

/// Threads that plan at the same time, each on a communicator of its own.
void clockOfThreads() {
  constexpr int kThreads = 4;
  std::vector<MPI_Comm> comms(kThreads);
  for (MPI_Comm& comm : comms) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  std::vector<int> backwards(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      const auto at = static_cast<size_t>(t);
      std::vector<char> in(10000), out(10000);
      double last = MPI_Wtime();
      for (int i = 1; i <= 50; ++i) {
        MPI_Allreduce(in.data(), out.data(), 100 * i + t, MPI_BYTE, MPI_BOR, comms[at]);
        // Another thread's call on this communicator would end the job.
        MPI_Request request;
        MPI_Irecv(out.data(), 10 * i + t, MPI_BYTE, 4, 0, comms[at], &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        const double now = MPI_Wtime();
        if (now < last) ++backwards[at];
        last = now;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  expect(backwards == std::vector<int>(kThreads), "no thread's clock goes back");
  for (MPI_Comm& comm : comms) MPI_Comm_free(&comm);
}

/// What a status says of types that are made of several.
void typedStatus() {
  std::vector<int> buffer(100);
  MPI_Datatype ten;
  MPI_Type_contiguous(10, MPI_INT, &ten);
  MPI_Type_commit(&ten);
  MPI_Status status;
  int count = 0, elements = 0;
  MPI_Recv(buffer.data(), 3, ten, 4, 0, MPI_COMM_WORLD, &status);
  MPI_Get_count(&status, ten, &count);
  MPI_Get_elements(&status, ten, &elements);
  expect(count == 3 && elements == 30, "a receive of a type of ten");
  MPI_Request request;
  MPI_Irecv(buffer.data(), 2, ten, 4, 0, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, &status);
  MPI_Get_count(&status, ten, &count);
  expect(count == 2, "a non-blocking one");
  MPI_Type_free(&ten);
}

void ofPairs(void* in, void* inOut, int* count, MPI_Datatype*) {
  for (int i = 0; i < 2 * *count; ++i) static_cast<int*>(inOut)[i] += static_cast<int*>(in)[i];
}

/// Reductions by an operator of the program's, of pairs of numbers.
void ownOperators() {
  MPI_Op op;
  MPI_Datatype pair, apart;
  MPI_Op_create(ofPairs, 1, &op);
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  MPI_Type_create_resized(MPI_INT, 0, 8, &apart);
  MPI_Type_commit(&apart);
  std::vector<int> in(2 * kRanks), out(2 * kRanks, -1);
  for (int i = 0; i < 2 * kRanks; ++i) in[static_cast<size_t>(i)] = i;
  const double begin = MPI_Wtime();
  MPI_Allreduce(in.data(), out.data(), kRanks, pair, op, MPI_COMM_WORLD);
  expect(out == in && MPI_Wtime() > begin, "a reduction by the program's operator is timed");
  MPI_Request request;
  out.assign(out.size(), -1);
  MPI_Ireduce(in.data(), nullptr, 3, pair, op, 5, MPI_COMM_WORLD, &request);
  expect(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS, "one to another rank");
  expect(MPI_Reduce(in.data(), nullptr, 3, pair, op, 0, MPI_COMM_WORLD) == MPI_SUCCESS,
         "one to the first rank");
  MPI_Reduce(in.data(), out.data(), 3, pair, op, kOwn, MPI_COMM_WORLD);
  expect(out[5] == 5 && out[6] == -1, "one to this rank");
  MPI_Reduce_scatter_block(in.data(), out.data(), 1, pair, op, MPI_COMM_WORLD);
  expect(out[0] == 2 * kOwn && out[1] == 2 * kOwn + 1, "its own block of the vector");
  std::vector<int> counts(kRanks);
  counts[0] = 5, counts[kOwn] = 2;
  MPI_Reduce_scatter(in.data(), out.data(), counts.data(), pair, op, MPI_COMM_WORLD);
  expect(out[0] == 10 && out[3] == 13, "its own block of an uneven vector");
  out.assign(out.size(), -1);
  MPI_Allreduce(in.data(), out.data(), 3, apart, op, MPI_COMM_WORLD);
  expect(out[2] == 2 && out[3] == -1, "types with gaps: its own data");
  isRefused(MPI_Reduce(in.data(), out.data(), 3, apart, op, 0, MPI_COMM_WORLD), "MPI_Reduce");
  isRefused(MPI_Reduce_scatter_block(in.data(), out.data(), 1, apart, op, MPI_COMM_WORLD),
            "MPI_Reduce_scatter_block");
  isRefused(MPI_Reduce_scatter(in.data(), out.data(), counts.data(), apart, op, MPI_COMM_WORLD),
            "MPI_Reduce_scatter");
  // Local calls are MPI's.
  expect(MPI_Reduce_local(in.data(), out.data(), 1, pair, op) == MPI_SUCCESS, "a local reduction");
  expect(
      classOf(MPI_Reduce(in.data(), out.data(), 3, pair, MPI_SUM, 0, MPI_COMM_WORLD)) == MPI_ERR_OP,
      "a sum of pairs is MPI's error");
  MPI_Op_free(&op);
  for (MPI_Datatype* each : {&pair, &apart}) MPI_Type_free(each);
}

}  // namespace

int main(int argc, char** argv) {
  start(&argc, &argv, /*threads=*/true);
  expect(rank == kOwn && ranks == kRanks, "this is rank 3 of 16");
  if (rank == kOwn && argc > 1) {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    // One part alone, or all.
    const std::string part = argc > 2 ? argv[2] : "";
    const auto wanted = [&](const char* name) { return part.empty() || part == name; };
    if (wanted("replaced")) replaced();
    if (wanted("own")) ownMessages();
    if (wanted("blocks")) typedBlocks();
    if (wanted("uneven")) unevenBlocks();
    if (wanted("large")) largeBlock();
    if (wanted("status")) typedStatus();
    if (wanted("threads")) clockOfThreads();
    if (wanted("operators")) ownOperators();
    if (wanted("probes")) probes();
    if (wanted("windows")) windows();
    if (wanted("files")) files(argv[1]);
    if (wanted("communicators")) communicators();
  }
  return finish();
}
