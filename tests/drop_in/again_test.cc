// V-collectives made again with the same arrays and buffers, but for one thing: a layer that
// remembers the last call must see it. Usage: mpirun -n N [-x LD_PRELOAD=...] again_test

#include <algorithm>
#include <string>
#include <vector>

#include "drop_in/check.h"

using namespace drop_in_test;

namespace {

constexpr int kSlot = 400;   ///< Elements from a block's begin to the next one's.
constexpr int kWidest = 24;  ///< Bytes of the widest element, gaps included.
constexpr char kUntouched = 0x5a;
int round_ = 0;  ///< Other bytes in every call.

/// A type, and the places of its bytes in an element.
struct Element {
  MPI_Datatype type;
  std::vector<int> bytes;
  int extent;
};
Element dense(MPI_Datatype type, int size) {
  Element out{type, {}, size};
  for (int i = 0; i < size; ++i) out.bytes.push_back(i);
  return out;
}
/// Two doubles of three.
Element gapped(MPI_Datatype type) {
  Element out = dense(type, 8);
  for (int i = 16; i < 24; ++i) out.bytes.push_back(i);
  out.extent = 24;
  return out;
}

/// Always the same memory, so that nothing but its contents tells one call from another.
struct Side {
  std::vector<int> counts, places;
  std::vector<char> memory;
  Side()
      : counts(static_cast<size_t>(ranks)),
        places(counts),
        memory(static_cast<size_t>(kSlot * kWidest * (ranks + 1))) {}
  /// Block r has count(r) elements, and begins at place(r).
  template <class Count, class Place>
  void describe(const Count& count, const Place& place) {
    for (int r = 0; r < ranks; ++r) {
      counts[static_cast<size_t>(r)] = count(r);
      places[static_cast<size_t>(r)] = place(r);
    }
  }
  char& at(const Element& of, int r, int i) {
    const int perElement = static_cast<int>(of.bytes.size());
    const int element = places[static_cast<size_t>(r)] + i / perElement;
    return memory[static_cast<size_t>(element * of.extent +
                                      of.bytes[static_cast<size_t>(i % perElement)])];
  }
  int bytes(const Element& of, int r) const {
    return counts[static_cast<size_t>(r)] * static_cast<int>(of.bytes.size());
  }
};

/// Byte i from one rank to another; `to` is -1 if all get the same.
char byteOf(int from, int to, int i) {
  return static_cast<char>(17 * from + 5 * to + 3 * i + 29 * round_);
}

/// What is received, and nothing else, is in `got`.
void check(const std::string& what, Side& got, const Element& of, int me, int size, bool toAll,
           const std::vector<char>& before) {
  std::vector<char> rest = before;
  bool good = true;
  for (int r = 0; r < size; ++r) {
    for (int i = 0; i < got.bytes(of, r); ++i) {
      char& byte = got.at(of, r, i);
      good &= byte == byteOf(r, toAll ? -1 : me, i);
      rest[static_cast<size_t>(&byte - got.memory.data())] = byte;
    }
  }
  expect(good, what + ": what came");
  expect(rest == got.memory, what + ": memory between the blocks");
}

struct Calls {
  MPI_Comm comm = MPI_COMM_WORLD;
  int me = rank, size = ranks;
  Side in, out;

  void use(MPI_Comm other) {
    comm = other;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &size);
  }
  void exchange(const std::string& what, const Element& sent, const Element& got,
                bool inPlace = false) {
    ++round_;
    std::fill(out.memory.begin(), out.memory.end(), kUntouched);
    Side& from = inPlace ? out : in;
    const Element& own = inPlace ? got : sent;
    for (int r = 0; r < size; ++r) {
      for (int i = 0; i < from.bytes(own, r); ++i) from.at(own, r, i) = byteOf(me, r, i);
    }
    const std::vector<char> before = out.memory;
    MPI_Alltoallv(inPlace ? MPI_IN_PLACE : in.memory.data(), in.counts.data(), in.places.data(),
                  sent.type, out.memory.data(), out.counts.data(), out.places.data(), got.type,
                  comm);
    check("MPI_Alltoallv, " + what, out, got, me, size, false, before);
  }
  void gather(const std::string& what, const Element& sent, const Element& got,
              bool inPlace = false) {
    ++round_;
    std::fill(out.memory.begin(), out.memory.end(), kUntouched);
    Side& from = inPlace ? out : in;
    const Element& own = inPlace ? got : sent;
    const int bytes = out.bytes(got, me);
    for (int i = 0; i < bytes; ++i) from.at(own, inPlace ? me : 0, i) = byteOf(me, -1, i);
    const std::vector<char> before = out.memory;
    MPI_Allgatherv(inPlace ? MPI_IN_PLACE : &in.at(sent, 0, 0),
                   bytes / static_cast<int>(sent.bytes.size()), sent.type, out.memory.data(),
                   out.counts.data(), out.places.data(), got.type, comm);
    check("MPI_Allgatherv, " + what, out, got, me, size, true, before);
  }
  /// Block of rank r to rank s: base + step * |r - s|; the gathered one's: base + step * r.
  template <class Place>
  void both(const std::string& what, int base, int step, const Place& place, const Element& of) {
    for (const char* time : {"first", "again"}) {
      const auto count = [&](int r) { return base + step * std::abs(me - r); };
      in.describe(count, place);
      out.describe(count, place);
      exchange(what + ", " + time, of, of);
      exchange(what + " in place, " + time, of, of, true);
      exchange(what + " not in place, " + time, of, of);
      out.describe([&](int r) { return base + step * r; }, place);
      gather(what + ", " + time, of, of);
      gather(what + " in place, " + time, of, of, true);
      gather(what + " not in place, " + time, of, of);
    }
  }
};

constexpr auto inSlots = [](int r) { return r * kSlot; };
const auto backwards = [](int r) { return (ranks - 1 - r) * kSlot + 7; };

void changedInPlace(Calls& calls) {
  const Element of = dense(MPI_DOUBLE, 8);
  calls.both("blocks in slots", 130, 1, inSlots, of);
  calls.both("other counts", 90, 2, inSlots, of);
  calls.both("other places", 90, 2, backwards, of);
  calls.both(
      "blocks of one length, one behind the other", 100, 0, [](int r) { return 100 * r; }, of);
  calls.both("of one length, apart", 100, 0, inSlots, of);
  // Places are a rank's own affair: all ranks must make the same call of it.
  calls.both(
      "of one length, apart on some ranks", 100, 0,
      [](int r) { return rank % 2 == 0 ? 100 * r : r * kSlot; }, of);
  calls.both(
      "of one length, apart on the other ones", 100, 0,
      [](int r) { return rank % 2 == 1 ? 100 * r : backwards(r); }, of);
  calls.both(
      "one behind the other again", 100, 0, [](int r) { return 100 * r; }, of);
  calls.both(
      "another type", 100, 0, [](int r) { return 100 * r; }, dense(MPI_INT, 4));
  calls.both(
      "empty blocks anywhere", 0, 1, [](int r) { return r == 0 ? 1 : r * kSlot; }, of);
  calls.both(
      "nothing at all", 0, 0, [](int) { return -12345; }, of);
  calls.both("blocks in slots once more", 130, 1, inSlots, of);
}

/// Types of the same counts, whose handles may be the same.
void freedTypes(Calls& calls) {
  for (int turn = 0; turn < 3; ++turn) {
    MPI_Datatype whole, holes;
    MPI_Type_contiguous(2, MPI_DOUBLE, &whole);
    MPI_Type_commit(&whole);
    calls.both("a type without gaps", 60, 1, inSlots, dense(whole, 16));
    MPI_Type_free(&whole);
    MPI_Type_vector(2, 1, 2, MPI_DOUBLE, &holes);
    MPI_Type_commit(&holes);
    calls.both("a type with gaps", 60, 1, inSlots, gapped(holes));
    MPI_Type_free(&holes);
    calls.both("a predefined one", 60, 1, inSlots, dense(MPI_DOUBLE, 8));
  }
}

/// Ranks of one may be others of the next one, or fewer.
void freedCommunicators(Calls& calls) {
  const Element of = dense(MPI_DOUBLE, 8);
  for (int turn = 0; turn < 4; ++turn) {
    MPI_Comm some;
    const bool all = turn % 2 == 0 || ranks < 3;
    MPI_Comm_split(MPI_COMM_WORLD, all || rank > 0 ? 0 : 1, turn % 4 < 2 ? rank : -rank, &some);
    calls.use(some);
    calls.both("a communicator made again", 120, 1, inSlots, of);
    MPI_Comm_free(&some);
  }
  calls.use(MPI_COMM_WORLD);
  calls.both("the world again", 120, 1, inSlots, of);
}

/// Sent as other elements than received, and between the blocks that are received.
void otherSides(Calls& calls) {
  const Element of = dense(MPI_DOUBLE, 8), bytes = dense(MPI_BYTE, 1);
  for (int turn = 0; turn < 3; ++turn) {
    calls.both("as doubles", 100, 0, inSlots, of);
    calls.in.describe([](int) { return 800; }, [](int r) { return r * 8 * kSlot; });
    calls.exchange("sent as bytes", bytes, of);
    calls.gather("sent as bytes", bytes, of);
    // Blocks of both sides in one memory, in turn.
    Side& all = calls.out;
    all.describe([](int) { return 100; }, [](int r) { return 2 * r * 100; });
    std::vector<int> between(all.places);
    for (int& place : between) place += 100;
    ++round_;
    std::fill(all.memory.begin(), all.memory.end(), kUntouched);
    all.places.swap(between);
    for (int r = 0; r < calls.size; ++r) {
      for (int i = 0; i < 800; ++i) all.at(of, r, i) = byteOf(calls.me, r, i);
    }
    all.places.swap(between);
    const std::vector<char> before = all.memory;
    MPI_Alltoallv(all.memory.data(), all.counts.data(), between.data(), MPI_DOUBLE,
                  all.memory.data(), all.counts.data(), all.places.data(), MPI_DOUBLE, calls.comm);
    check("MPI_Alltoallv between its own blocks", all, of, calls.me, calls.size, false, before);
  }
}

}  // namespace

int main(int argc, char** argv) {
  start(&argc, &argv);
  Calls calls;
  changedInPlace(calls);
  freedTypes(calls);
  freedCommunicators(calls);
  otherSides(calls);
  return finish();
}
