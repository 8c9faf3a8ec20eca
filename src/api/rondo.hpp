// Rondo for C++17 and later: a thin layer that owns communicators and throws what the C functions
// return.
//
//   rondo::Communicator comm(MPI_COMM_WORLD);            // with rondo_mpi.h included before this
//   header comm.allReduce(in.data(), out.data(), in.size());    // type from the pointer, rondoSum
//   by default
#ifndef RONDO_HPP_
#define RONDO_HPP_

#include <cstdint>
#include <exception>
#include <new>
#include <string>
#include <utility>

#include "rondo.h"

namespace rondo {

/// What a failed call throws: its result and the full sentence.
class Exception : public std::exception {
 public:
  Exception(rondoResult_t result, std::string sentence)
      : result_(result), sentence_(std::move(sentence)) {}
  rondoResult_t result() const noexcept { return result_; }
  const char* what() const noexcept override { return sentence_.c_str(); }

 private:
  rondoResult_t result_;
  std::string sentence_;
};

/// Throws Exception unless `result` is rondoSuccess.
inline void check(rondoResult_t result, rondoComm_t comm = nullptr) {
  if (result == rondoSuccess) return;
  const char* sentence = rondoGetLastError(comm);
  if (*sentence == '\0') sentence = rondoGetLastError(nullptr);
  throw Exception(result, *sentence != '\0' ? sentence : rondoGetErrorString(result));
}

/// The handle of a C++ element type: typeOf<float>() == rondoFloat32. Sixteen-bit floats have no
/// C++17 type: pass rondoFloat16 or rondoBfloat16 to the C functions.
template <class T>
constexpr rondoDataType_t typeOf();
template <>
constexpr rondoDataType_t typeOf<int8_t>() {
  return rondoInt8;
}
template <>
constexpr rondoDataType_t typeOf<uint8_t>() {
  return rondoUint8;
}
template <>
constexpr rondoDataType_t typeOf<int16_t>() {
  return rondoInt16;
}
template <>
constexpr rondoDataType_t typeOf<uint16_t>() {
  return rondoUint16;
}
template <>
constexpr rondoDataType_t typeOf<int32_t>() {
  return rondoInt32;
}
template <>
constexpr rondoDataType_t typeOf<uint32_t>() {
  return rondoUint32;
}
template <>
constexpr rondoDataType_t typeOf<int64_t>() {
  return rondoInt64;
}
template <>
constexpr rondoDataType_t typeOf<uint64_t>() {
  return rondoUint64;
}
template <>
constexpr rondoDataType_t typeOf<float>() {
  return rondoFloat32;
}
template <>
constexpr rondoDataType_t typeOf<double>() {
  return rondoFloat64;
}

/// Owns a communicator. Moves, does not copy; an empty one may only be assigned to or destroyed.
/// The calls are those of rondo.h, with its contracts. Since 0.1.
class Communicator {
 public:
  Communicator() = default;
  /// Takes ownership.
  explicit Communicator(rondoComm_t comm) : comm_(comm) {}
  /// rondoCommInitRankConfig.
  Communicator(int nranks, const rondoUniqueId& id, int rank,
               const rondoConfig_t* config = nullptr) {
    check(rondoCommInitRankConfig(&comm_, nranks, id, rank, config));
  }
#ifdef RONDO_MPI_H_
  /// rondoCommInitMPI.
  explicit Communicator(MPI_Comm mpiComm, const rondoConfig_t* config = nullptr) {
    check(rondoCommInitMPI(&comm_, mpiComm, config));
  }
#endif
  Communicator(Communicator&& other) noexcept : comm_(std::exchange(other.comm_, nullptr)) {}
  Communicator& operator=(Communicator&& other) noexcept {
    std::swap(comm_, other.comm_);
    return *this;
  }
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  ~Communicator() {
    if (comm_ != nullptr) rondoCommDestroy(comm_);
  }

  rondoComm_t get() const noexcept { return comm_; }
  /// Gives up ownership.
  rondoComm_t release() noexcept { return std::exchange(comm_, nullptr); }

  int size() const { return ask(rondoCommCount); }
  int rank() const { return ask(rondoCommUserRank); }
  int localRank() const { return ask(rondoCommLocalRank); }
  int localSize() const { return ask(rondoCommLocalSize); }
  /// CUDA device ordinal, or RONDO_DEVICE_NONE.
  int device() const { return ask(rondoCommCuDevice); }

  template <class T>
  void allReduce(const T* send, T* recv, size_t count, rondoRedOp_t op = rondoSum,
                 rondoStream_t stream = nullptr) {
    check(rondoAllReduce(send, recv, count, typeOf<T>(), op, comm_, stream), comm_);
  }
  template <class T>
  void broadcast(const T* send, T* recv, size_t count, int root, rondoStream_t stream = nullptr) {
    check(rondoBroadcast(send, recv, count, typeOf<T>(), root, comm_, stream), comm_);
  }
  void barrier() { check(rondoBarrier(comm_, nullptr), comm_); }

 private:
  int ask(rondoResult_t (*question)(rondoComm_t, int*)) const {
    int answer = 0;
    check(question(comm_, &answer), comm_);
    return answer;
  }

  rondoComm_t comm_ = nullptr;
};

/// A std::allocator-like allocator of rondoMemAlloc memory: std::vector<float,
/// rondo::Allocator<float>>. Since 0.1.
template <class T>
struct Allocator {
  using value_type = T;
  Allocator() = default;
  template <class U>
  Allocator(const Allocator<U>&) noexcept {}
  T* allocate(size_t count) {
    if (count > SIZE_MAX / sizeof(T)) throw std::bad_array_new_length();
    void* memory = nullptr;
    check(rondoMemAlloc(&memory, count * sizeof(T)));
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, size_t) noexcept { rondoMemFree(memory); }
  bool operator==(const Allocator&) const noexcept { return true; }
  bool operator!=(const Allocator&) const noexcept { return false; }
};

}  // namespace rondo

#endif  // RONDO_HPP_
