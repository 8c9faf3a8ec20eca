// Rondo for C++17 and later: a thin layer that owns communicators and throws what the C functions
// return.
//
//   rondo::Communicator comm(MPI_COMM_WORLD);  // with rondo_mpi.h included before this header
//   comm.allReduce(in.data(), out.data(), in.size());  // type from the pointer; rondoSum unless
//   said
#ifndef RONDO_HPP_
#define RONDO_HPP_

#include <complex>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <string>
#include <utility>
#include <vector>

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

/// The handle of a C++ element type: typeOf<float>() == rondoFloat32. Eight- and sixteen-bit floats
/// and pairs have no C++17 type: pass their handles to the C functions.
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
template <>
constexpr rondoDataType_t typeOf<bool>() {
  static_assert(sizeof(bool) == 1, "rondoBool is one byte");
  return rondoBool;
}
template <>
constexpr rondoDataType_t typeOf<std::complex<float>>() {
  return rondoComplex64;
}
template <>
constexpr rondoDataType_t typeOf<std::complex<double>>() {
  return rondoComplex128;
}

/// Counts or displacements, one a rank: from a pointer, or from a vector, which must have as many
/// entries as there are ranks or none (then as NULL).
class PerRank {
 public:
  PerRank(std::nullptr_t = nullptr) {}
  PerRank(const size_t* values) : values_(values) {}
  PerRank(const std::vector<size_t>& values)
      : values_(values.empty() ? nullptr : values.data()), entries_(values.size()) {}
  /// For a communicator of `ranks`; throws if the vector does not fit.
  const size_t* of(const char* call, const char* name, int ranks) const {
    if (entries_ != 0 && entries_ != static_cast<size_t>(ranks)) {
      throw Exception(rondoInvalidArgument, std::string(call) + ": argument " + name + " has " +
                                                std::to_string(entries_) + " entries; allowed: " +
                                                std::to_string(ranks) + ", one a rank, or none");
    }
    return values_;
  }

 private:
  const size_t* values_ = nullptr;
  size_t entries_ = 0;  // 0: not known, or none
};

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
  template <class T>
  void reduce(const T* send, T* recv, size_t count, int root, rondoRedOp_t op = rondoSum,
              rondoStream_t stream = nullptr) {
    check(rondoReduce(send, recv, count, typeOf<T>(), op, root, comm_, stream), comm_);
  }
  template <class T>
  void allGather(const T* send, T* recv, size_t sendcount, rondoStream_t stream = nullptr) {
    check(rondoAllGather(send, recv, sendcount, typeOf<T>(), comm_, stream), comm_);
  }
  template <class T>
  void allGatherV(const T* send, size_t sendcount, T* recv, const PerRank& recvcounts,
                  const PerRank& displs = nullptr, rondoStream_t stream = nullptr) {
    const char* const call = "rondo::Communicator::allGatherV";
    check(rondoAllGatherV(send, sendcount, recv, recvcounts.of(call, "recvcounts", size()),
                          displs.of(call, "displs", size()), typeOf<T>(), comm_, stream),
          comm_);
  }
  template <class T>
  void reduceScatter(const T* send, T* recv, size_t recvcount, rondoRedOp_t op = rondoSum,
                     rondoStream_t stream = nullptr) {
    check(rondoReduceScatter(send, recv, recvcount, typeOf<T>(), op, comm_, stream), comm_);
  }
  template <class T>
  void reduceScatterV(const T* send, T* recv, const PerRank& recvcounts, rondoRedOp_t op = rondoSum,
                      rondoStream_t stream = nullptr) {
    const char* const call = "rondo::Communicator::reduceScatterV";
    check(rondoReduceScatterV(send, recv, recvcounts.of(call, "recvcounts", size()), typeOf<T>(),
                              op, comm_, stream),
          comm_);
  }
  template <class T>
  void allToAll(const T* send, T* recv, size_t count, rondoStream_t stream = nullptr) {
    check(rondoAllToAll(send, recv, count, typeOf<T>(), comm_, stream), comm_);
  }
  template <class T>
  void allToAllV(const T* send, const PerRank& sendcounts, const PerRank& sdispls, T* recv,
                 const PerRank& recvcounts, const PerRank& rdispls,
                 rondoStream_t stream = nullptr) {
    const char* const call = "rondo::Communicator::allToAllV";
    check(rondoAllToAllV(send, sendcounts.of(call, "sendcounts", size()),
                         sdispls.of(call, "sdispls", size()), recv,
                         recvcounts.of(call, "recvcounts", size()),
                         rdispls.of(call, "rdispls", size()), typeOf<T>(), comm_, stream),
          comm_);
  }
  template <class T>
  void gather(const T* send, T* recv, size_t sendcount, int root, rondoStream_t stream = nullptr) {
    check(rondoGather(send, recv, sendcount, typeOf<T>(), root, comm_, stream), comm_);
  }
  /// recv, recvcounts and displs count at the root only.
  template <class T>
  void gatherV(const T* send, size_t sendcount, T* recv, const PerRank& recvcounts,
               const PerRank& displs, int root, rondoStream_t stream = nullptr) {
    const char* const call = "rondo::Communicator::gatherV";
    check(rondoGatherV(send, sendcount, recv, recvcounts.of(call, "recvcounts", size()),
                       displs.of(call, "displs", size()), typeOf<T>(), root, comm_, stream),
          comm_);
  }
  template <class T>
  void scatter(const T* send, T* recv, size_t recvcount, int root, rondoStream_t stream = nullptr) {
    check(rondoScatter(send, recv, recvcount, typeOf<T>(), root, comm_, stream), comm_);
  }
  /// send, sendcounts and displs count at the root only.
  template <class T>
  void scatterV(const T* send, const PerRank& sendcounts, const PerRank& displs, T* recv,
                size_t recvcount, int root, rondoStream_t stream = nullptr) {
    const char* const call = "rondo::Communicator::scatterV";
    check(rondoScatterV(send, sendcounts.of(call, "sendcounts", size()),
                        displs.of(call, "displs", size()), recv, recvcount, typeOf<T>(), root,
                        comm_, stream),
          comm_);
  }
  template <class T>
  void scan(const T* send, T* recv, size_t count, rondoRedOp_t op = rondoSum,
            rondoStream_t stream = nullptr) {
    check(rondoScan(send, recv, count, typeOf<T>(), op, comm_, stream), comm_);
  }
  template <class T>
  void exscan(const T* send, T* recv, size_t count, rondoRedOp_t op = rondoSum,
              rondoStream_t stream = nullptr) {
    check(rondoExscan(send, recv, count, typeOf<T>(), op, comm_, stream), comm_);
  }
  void barrier() { check(rondoBarrier(comm_, nullptr), comm_); }

  /// rondoSuccess, or what every call returns from now on.
  rondoResult_t asyncError() const {
    rondoResult_t result = rondoSuccess;
    check(rondoCommGetAsyncError(comm_, &result), comm_);
    return result;
  }
  void revoke() { check(rondoCommRevoke(comm_), comm_); }
  /// Empty for a rank with RONDO_SPLIT_NOCOLOR.
  Communicator split(int color, int key, const rondoConfig_t* config = nullptr) {
    rondoComm_t part = nullptr;
    check(rondoCommSplit(comm_, color, key, &part, config), comm_);
    return Communicator(part);
  }
  Communicator dup(const rondoConfig_t* config = nullptr) {
    rondoComm_t twin = nullptr;
    check(rondoCommDup(comm_, &twin, config), comm_);
    return Communicator(twin);
  }
  /// The ranks that are left without the dead and `exclude`.
  Communicator shrink(const std::vector<int>& exclude = {}, int flags = RONDO_SHRINK_DEFAULT,
                      const rondoConfig_t* config = nullptr) {
    rondoComm_t rest = nullptr;
    check(rondoCommShrink(comm_, exclude.data(), static_cast<int>(exclude.size()), &rest, config,
                          flags),
          comm_);
    return Communicator(rest);
  }

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

/// `count` elements of device memory, holding anything at first and freed with their owner. The
/// host cannot touch them. Since 0.14.
template <class T>
class DeviceBuffer {
 public:
  /// `device` as for rondoMemAllocDevice. Throws Exception.
  explicit DeviceBuffer(size_t count, int device = RONDO_DEVICE_AUTO) : count_(count) {
    if (count > SIZE_MAX / sizeof(T)) throw std::bad_array_new_length();
    void* memory = nullptr;
    check(rondoMemAllocDevice(&memory, count * sizeof(T), device));
    data_ = static_cast<T*>(memory);
  }
  DeviceBuffer(DeviceBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), count_(std::exchange(other.count_, 0)) {}
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
    return *this;
  }
  ~DeviceBuffer() { rondoMemFree(data_); }
  T* data() const noexcept { return data_; }
  size_t size() const noexcept { return count_; }

 private:
  T* data_ = nullptr;
  size_t count_ = 0;
};

}  // namespace rondo

#endif  // RONDO_HPP_
