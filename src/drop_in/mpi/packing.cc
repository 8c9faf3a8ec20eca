// MPI's local calls on buffers: packing, unpacking and reducing. Of host buffers they are MPI's at
// once; of device buffers MPI is given host images.

#include <mpi.h>

#include <algorithm>

#include "drop_in/mpi/by_image.h"
#include "drop_in/mpi/staging.h"

using namespace rondo;
using namespace rondo::drop_in;

namespace {

/// A packed buffer as the calls give it; sizes and positions are int or MPI_Aint.
template <class Size>
struct Packed {
  const void* begin;
  Size size;
  Size* position;
  char* here() const { return static_cast<char*>(const_cast<void*>(begin)) + *position; }
  /// What is wrong is left to MPI, which says so before it looks at the buffer.
  bool staged() const {
    return devicesOn && begin != nullptr && position != nullptr && *position >= 0 &&
           *position < size && onDevice(here());
  }
};

/// What one call may read or write of a packed buffer on a device.
template <class Size>
class PackedImage {
 public:
  PackedImage(const Packed<Size>& of, Size most)
      : device_(of.here()),
        before_(*of.position),
        length_(static_cast<size_t>(std::min<Size>(most, of.size - before_))),
        bytes_(stagingBytes(length_, device_)) {}
  /// Where the whole buffer would begin.
  char* begin() { return bytes_.get() - before_; }
  void fill() { copyFromDevice(bytes_.get(), device_, length_); }
  /// As far as `position`.
  void bringBack(Size position) {
    copyToDevice(device_, bytes_.get(), static_cast<size_t>(position - before_));
  }

 private:
  char* device_;
  Size before_;
  size_t length_;
  StagingBytes bytes_;
};

/// The most that elements take packed: by MPI's functions for that. What is wrong takes all, as MPI
/// is to say so in its call.
template <class Size, class PackSize>
Size mostOf(const Buffer& elements, Size size, const PackSize& packSize) {
  Size most = 0;
  const bool good = elements.count >= 0 && layoutOf(elements.type).valid;
  return good && packSize(&most) == MPI_SUCCESS && most >= 0 ? most : size;
}

/// MPI_Pack and its like: mpis(from, to) is MPI's call.
template <class Size, class PackSize, class Mpis>
int packBy(MPI_Comm comm, const char* call, const Buffer& in, const Packed<Size>& out,
           const PackSize& packSize, const Mpis& mpis) {
  return send(comm, call, in, [&](const void* from) {
    if (!out.staged()) [[likely]]
      return mpis(from, const_cast<void*>(out.begin));
    return copied(comm, call, [&] {
      PackedImage image(out, mostOf(in, out.size, packSize));
      const int code = mpis(from, image.begin());
      if (code == MPI_SUCCESS) image.bringBack(*out.position);
      return code;
    });
  });
}

template <class Size, class PackSize, class Mpis>
int unpackBy(MPI_Comm comm, const char* call, const Packed<Size>& in, const Buffer& out,
             const PackSize& packSize, const Mpis& mpis) {
  return receive(comm, call, out, [&](void* to) {
    if (!in.staged()) [[likely]]
      return mpis(in.begin, to);
    return copied(comm, call, [&] {
      PackedImage image(in, mostOf(out, in.size, packSize));
      image.fill();
      return mpis(image.begin(), to);
    });
  });
}

auto packSizeOf(const Buffer& of, MPI_Comm comm) {
  return [&of, comm](int* most) {
    return comm == MPI_COMM_NULL ? MPI_ERR_COMM : PMPI_Pack_size(of.count, of.type, comm, most);
  };
}
auto packSizeOf(const Buffer& of, const char* datarep) {
  return [&of, datarep](MPI_Aint* most) {
    return PMPI_Pack_external_size(datarep, of.count, of.type, most);
  };
}

}  // namespace

int MPI_Pack(const void* in, int count, MPI_Datatype type, void* out, int size, int* position,
             MPI_Comm comm) {
  if (!devicesOn) [[likely]]
    return PMPI_Pack(in, count, type, out, size, position, comm);
  const Buffer elements{in, count, type};
  return packBy(comm, "MPI_Pack", elements, Packed<int>{out, size, position},
                packSizeOf(elements, comm), [&](const void* from, void* to) {
                  return PMPI_Pack(from, count, type, to, size, position, comm);
                });
}

int MPI_Unpack(const void* in, int size, int* position, void* out, int count, MPI_Datatype type,
               MPI_Comm comm) {
  if (!devicesOn) [[likely]]
    return PMPI_Unpack(in, size, position, out, count, type, comm);
  const Buffer elements{out, count, type};
  return unpackBy(comm, "MPI_Unpack", Packed<int>{in, size, position}, elements,
                  packSizeOf(elements, comm), [&](const void* from, void* to) {
                    return PMPI_Unpack(from, size, position, to, count, type, comm);
                  });
}

int MPI_Pack_external(const char datarep[], const void* in, int count, MPI_Datatype type, void* out,
                      MPI_Aint size, MPI_Aint* position) {
  if (!devicesOn) [[likely]]
    return PMPI_Pack_external(datarep, in, count, type, out, size, position);
  const Buffer elements{in, count, type};
  return packBy(MPI_COMM_WORLD, "MPI_Pack_external", elements,
                Packed<MPI_Aint>{out, size, position}, packSizeOf(elements, datarep),
                [&](const void* from, void* to) {
                  return PMPI_Pack_external(datarep, from, count, type, to, size, position);
                });
}

int MPI_Unpack_external(const char datarep[], const void* in, MPI_Aint size, MPI_Aint* position,
                        void* out, int count, MPI_Datatype type) {
  if (!devicesOn) [[likely]]
    return PMPI_Unpack_external(datarep, in, size, position, out, count, type);
  const Buffer elements{out, count, type};
  return unpackBy(MPI_COMM_WORLD, "MPI_Unpack_external", Packed<MPI_Aint>{in, size, position},
                  elements, packSizeOf(elements, datarep), [&](const void* from, void* to) {
                    return PMPI_Unpack_external(datarep, from, size, position, to, count, type);
                  });
}

int MPI_Reduce_local(const void* in, void* inOut, int count, MPI_Datatype type, MPI_Op op) {
  if (!devicesOn) [[likely]]
    return PMPI_Reduce_local(in, inOut, count, type, op);
  return send(MPI_COMM_WORLD, "MPI_Reduce_local", {in, count, type}, [&](const void* from) {
    return receive(MPI_COMM_WORLD, "MPI_Reduce_local", {inOut, count, type},
                   [&](void* to) { return PMPI_Reduce_local(from, to, count, type, op); });
  });
}
