#pragma once
// What is compared: the bytes that a call gives by its MPI_ name, which the layer answers, with
// those of its PMPI_ name, which MPI does. Numbers are exact in any order.

#include <string>
#include <vector>

#include "drop_in/check.h"

namespace drop_in_test {

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

inline const Op kOps[] = {
    {"sum", MPI_SUM, "ifd"},  {"prod", MPI_PROD, "ifd"},    {"max", MPI_MAX, "ifd"},
    {"min", MPI_MIN, "ifd"},  {"land", MPI_LAND, "ib"},     {"lor", MPI_LOR, "ib"},
    {"lxor", MPI_LXOR, "ib"}, {"band", MPI_BAND, "i"},      {"bor", MPI_BOR, "i"},
    {"bxor", MPI_BXOR, "i"},  {"minloc", MPI_MINLOC, "pq"}, {"maxloc", MPI_MAXLOC, "pq"}};

inline std::vector<Type> types() {
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
inline Buffer values(const Type& type, size_t count, int who) {
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

inline Buffer blank(size_t bytes) { return Buffer(bytes, 0xa5); }

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

inline void compare(const Buffer& layers, const Buffer& mpis, const Comm& comm,
                    const std::string& what) {
  expect(layers == mpis, what + " on " + comm.name);
}

/// All reductions of `count` elements.
void reduceOnce(const Comm& comm, const Type& type, const Op& op, int count);
void reduceScatterOnce(const Comm& comm, const Type& type, const Op& op, int count);
/// All movements with blocks of `count` ints or less; even.
void moves(const Comm& comm, int count);

}  // namespace drop_in_test
