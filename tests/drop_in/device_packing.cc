// Packing, unpacking and reducing on this rank, with buffers on the device and on the host, and the
// messages that use one buffer twice or are matched before.

#include <algorithm>
#include <numeric>

#include "drop_in/device_calls.h"

namespace drop_in_test {
namespace {

constexpr int kCount = 1000;

/// Elements of ints `stride` apart, -1 between them, of values from `first` on.
std::vector<int> spreadOut(size_t stride, int first) {
  std::vector<int> all(kCount * stride, -1);
  for (size_t i = 0; i < kCount; ++i) all[i * stride] = first + static_cast<int>(i);
  return all;
}

/// From one place to a packed buffer and back; nothing else of either is touched.
void packed(bool elementsThere, bool packedThere, MPI_Datatype type, size_t stride) {
  Buffer<int> from(elementsThere, kCount * stride, 0), to(elementsThere, kCount * stride, -1);
  Buffer<int> bytes(packedThere, 2 * kCount + 100, 7);
  from.write(spreadOut(stride, 5));
  const int size = static_cast<int>(bytes.bytes());
  int position = 40;
  MPI_Pack(from.data(), kCount, type, bytes.data(), size, &position, MPI_COMM_WORLD);
  MPI_Pack(from.data(), 1, type, bytes.data(), size, &position, MPI_COMM_WORLD);
  expect(position == 40 + 4 * (kCount + 1), "the position after packing");
  std::vector<int> wanted(2 * kCount + 100, 7);
  std::iota(wanted.begin() + 10, wanted.begin() + 10 + kCount, 5);
  wanted[10 + kCount] = 5;
  expect(bytes.read() == wanted, "what was packed, and nothing beside it");
  position = 40;
  MPI_Unpack(bytes.data(), size, &position, to.data(), kCount, type, MPI_COMM_WORLD);
  expect(position == 40 + 4 * kCount && to.read() == spreadOut(stride, 5), "what was unpacked");
  position = size;
  MPI_Pack(from.data(), 0, type, bytes.data(), size, &position, MPI_COMM_WORLD);
  expect(position == size && bytes.read() == wanted, "nothing to pack and no room");
}

void packedForOthers(bool elementsThere, bool packedThere, MPI_Datatype type, size_t stride) {
  Buffer<int> from(elementsThere, kCount * stride, 0), to(elementsThere, kCount * stride, -1);
  Buffer<int> bytes(packedThere, kCount + 20, 7);
  from.write(spreadOut(stride, 3));
  const auto size = static_cast<MPI_Aint>(bytes.bytes());
  MPI_Aint position = 8;
  MPI_Pack_external("external32", from.data(), kCount, type, bytes.data(), size, &position);
  const std::vector<int> seen = bytes.read();
  expect(position == 8 + 4 * kCount && seen[1] == 7 && seen[kCount + 2] == 7 &&
             static_cast<unsigned>(seen[2]) == __builtin_bswap32(3),
         "packed as external32");
  position = 8;
  MPI_Unpack_external("external32", bytes.data(), size, &position, to.data(), kCount, type);
  expect(to.read() == spreadOut(stride, 3), "unpacked from external32");
}

/// What MPI refuses it still refuses, and nothing is written.
void refused(bool device) {
  Buffer<int> from(device, kCount, 3), bytes(device, kCount, 7);
  MPI_Comm dup = duplicate();
  int position = 0;
  const int code = MPI_Pack(from.data(), kCount, MPI_INT, bytes.data(), 100, &position, dup);
  expect(classOf(code) == MPI_ERR_TRUNCATE && bytes.all(7), "too little room");
  position = 0;
  expect(classOf(MPI_Pack(from.data(), -1, MPI_INT, bytes.data(), 100, &position, dup)) ==
             MPI_ERR_COUNT,
         "a negative count");
  position = 0;
  const int other = MPI_Unpack(bytes.data(), 100, &position, from.data(), kCount, MPI_INT, dup);
  expect(classOf(other) == MPI_ERR_TRUNCATE && from.all(3), "too little to unpack");
  MPI_Comm_free(&dup);
}

void largest(void* in, void* inOut, int* count, MPI_Datatype*) {
  for (int i = 0; i < *count; ++i) {
    int& one = static_cast<int*>(inOut)[i];
    one = std::max(one, static_cast<int*>(in)[i]) + 1;
  }
}

void reducedHere(bool inThere, bool outThere) {
  Buffer<int> in(inThere, kCount, 0), out(outThere, kCount, 100);
  std::vector<int> values(kCount);
  std::iota(values.begin(), values.end(), 0);
  in.write(values);
  MPI_Reduce_local(in.data(), out.data(), kCount, MPI_INT, MPI_SUM);
  for (int& value : values) value += 100;
  expect(out.read() == values, "a sum of this rank's");
  MPI_Op op;
  MPI_Op_create(largest, 1, &op);
  out.fill(500);
  MPI_Reduce_local(in.data(), out.data(), kCount - 1, MPI_INT, op);
  for (int i = 0; i < kCount; ++i) values[static_cast<size_t>(i)] = std::max(500, i) + 1;
  values.back() = 500;
  expect(out.read() == values, "by an operator of the program's");
  MPI_Op_free(&op);
}

/// Messages that take one buffer twice, and those that are matched before they are received.
void twiceAndMatched(bool device) {
  const int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
  Buffer<int> one(device, kCount, rank), other(device, kCount, -1);
  MPI_Sendrecv_replace(one.data(), kCount, MPI_INT, next, 1, before, 1, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE);
  expect(one.all(before), "a buffer that is sent and replaced");
  for (const bool waits : {false, true}) {
    MPI_Request request;
    MPI_Message message;
    one.fill(50 + rank);
    MPI_Isend(one.data(), kCount, MPI_INT, next, 2, MPI_COMM_WORLD, &request);
    MPI_Mprobe(before, 2, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    if (waits) {
      MPI_Request receive;
      MPI_Imrecv(other.data(), kCount, MPI_INT, &message, &receive);
      MPI_Wait(&receive, MPI_STATUS_IGNORE);
    } else {
      MPI_Mrecv(other.data(), kCount, MPI_INT, &message, MPI_STATUS_IGNORE);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect(other.all(50 + before), "a message that was matched before");
    other.fill(-1);
  }
}

}  // namespace

void packing(bool device) {
  MPI_Datatype spread;
  MPI_Type_create_resized(MPI_INT, 0, 12, &spread);
  MPI_Type_commit(&spread);
  for (const bool there : {false, device}) {
    for (const bool packedThere : {false, device}) {
      packed(there, packedThere, MPI_INT, 1);
      packed(there, packedThere, spread, 3);
      packedForOthers(there, packedThere, MPI_INT, 1);
      packedForOthers(there, packedThere, spread, 3);
      reducedHere(there, packedThere);
    }
  }
  refused(device);
  twiceAndMatched(device);
  MPI_Type_free(&spread);
}

}  // namespace drop_in_test
