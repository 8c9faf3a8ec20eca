#include "drop_in/mpi/layout.h"

#include <algorithm>
#include <climits>
#include <cstring>
#include <optional>

#include "base/error.h"
#include "drop_in/mpi/device_memory.h"
#include "drop_in/mpi/image.h"
#include "drop_in/mpi/types.h"

namespace rondo::drop_in {
namespace {

/// What MPI_Pack is given at once, far below its limit: its positions are ints.
constexpr size_t kPieceBytes = 1u << 20;

void check(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char said[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  PMPI_Error_string(code, said, &length);
  throw Error(rondoMpiError, format("%s failed: %s", call, said));
}

/// What MPI_Type_get_contents gave: predefined types are not the caller's to free.
void freeUnlessPredefined(MPI_Datatype type) {
  int integers, addresses, types, combiner;
  PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
  const bool parametrized = combiner == MPI_COMBINER_F90_INTEGER ||
                            combiner == MPI_COMBINER_F90_REAL ||
                            combiner == MPI_COMBINER_F90_COMPLEX;
  if (combiner != MPI_COMBINER_NAMED && !parametrized) PMPI_Type_free(&type);
}

/// Dense for sure: a copy of, or a row of, what is dense. Size and extent do not suffice, for a
/// type may name its elements in another order than that of their addresses.
bool isDense(MPI_Datatype type) {
  if (const TypeRow* row = predefined(type)) return row->layout.dense;
  int integers, addresses, types, combiner;
  PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
  if (combiner != MPI_COMBINER_DUP && combiner != MPI_COMBINER_CONTIGUOUS) return false;
  int number = 0;
  MPI_Aint address = 0;
  MPI_Datatype inner = MPI_DATATYPE_NULL;
  PMPI_Type_get_contents(type, integers, addresses, types, &number, &address, &inner);
  const bool dense = isDense(inner);
  freeUnlessPredefined(inner);
  return dense;
}

/// The key of the attribute that remembers isDense().
int keyval() {
  static const int key = [] {
    int made = MPI_KEYVAL_INVALID;
    PMPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &made, nullptr);
    return made;
  }();
  return key;
}

/// For packing, whose mistakes are told on the program's communicator: MPI_COMM_SELF's handler may
/// end the program.
MPI_Comm packing = MPI_COMM_NULL;

/// Whether MPI would take it, which it does not before MPI_Type_commit.
bool isUsable(MPI_Datatype type) {
  char nothing[8];
  int position = 0;
  return PMPI_Pack(nothing, 0, type, nothing, sizeof nothing, &position, packing) == MPI_SUCCESS;
}

/// None: MPI would not take it.
std::optional<bool> isDenseCached(MPI_Datatype type) {
  static char yes, no;
  void* known = nullptr;
  int found = 0;
  PMPI_Type_get_attr(type, keyval(), &known, &found);
  if (found) return known == &yes;
  if (!isUsable(type)) return std::nullopt;
  const bool dense = isDense(type);
  PMPI_Type_set_attr(type, keyval(), dense ? &yes : &no);
  return dense;
}

/// Calls once(first, number) for pieces of at most kPieceBytes.
template <class Once>
void inPieces(const Elements& elements, const Once& once) {
  if (elements.bytes() == 0) return;
  const size_t size = elements.layout.size;
  if (size > INT_MAX) {
    throw Error(rondoUnsupported, format("an element of a derived datatype with gaps has %zu "
                                         "bytes; allowed: at most %d",
                                         size, INT_MAX));
  }
  const size_t most = std::max<size_t>(1, kPieceBytes / size);
  for (size_t first = 0; first < elements.count; first += most) {
    once(first, static_cast<int>(std::min(most, elements.count - first)));
  }
}

}  // namespace

Layout layoutOfDerived(MPI_Datatype type) {
  if (type == MPI_DATATYPE_NULL) return {};
  MPI_Count size = 0;
  MPI_Aint lower = 0, extent = 0;
  if (PMPI_Type_size_x(type, &size) != MPI_SUCCESS || size < 0) return {};
  PMPI_Type_get_extent(type, &lower, &extent);
  const std::optional<bool> dense = isDenseCached(type);
  if (!dense) return {};
  return {true, *dense, static_cast<size_t>(size), extent};
}

void beginPacking() {
  PMPI_Comm_split(MPI_COMM_SELF, 0, 0, &packing);
  PMPI_Comm_set_errhandler(packing, MPI_ERRORS_RETURN);
}

void endPacking() {
  if (packing != MPI_COMM_NULL) PMPI_Comm_free(&packing);
}

void requireSameBytes(size_t sent, size_t received) {
  if (sent == received) return;
  throw Error(rondoInvalidArgument,
              format("sendcount and sendtype make blocks of %zu bytes, recvcount and recvtype "
                     "blocks of %zu bytes; allowed: the same type signature",
                     sent, received));
}

namespace {

void packFromDevice(const Elements& elements, char* packed) {
  if (elements.bytes() == 0) return;
  if (elements.layout.dense) return copyFromDevice(packed, elements.begin, elements.bytes());
  Image image(elements, false);
  pack(image.onHost(), packed);
}

void unpackToDevice(const char* packed, const Elements& elements) {
  if (elements.bytes() == 0) return;
  if (elements.layout.dense) return copyToDevice(elements.begin, packed, elements.bytes());
  Image image(elements, true);
  unpack(packed, image.onHost());
  image.bringBack();
}

}  // namespace

bool liesOnDevice(const void* begin, MPI_Datatype type) {
  if (!devicesOn) [[likely]]
    return false;
  if (type == MPI_DATATYPE_NULL) return false;  // Of an argument that is not read here.
  MPI_Aint lower = 0, extent = 0;
  if (predefined(type) == nullptr) PMPI_Type_get_true_extent(type, &lower, &extent);
  return onDevice(static_cast<const char*>(begin) + lower);
}

void pack(const Elements& elements, char* packed) {
  if (elements.device) [[unlikely]]
    return packFromDevice(elements, packed);
  if (elements.layout.dense) {
    if (elements.bytes() > 0) std::memcpy(packed, elements.begin, elements.bytes());
    return;
  }
  inPieces(elements, [&](size_t first, int number) {
    const Elements piece = elements.part(static_cast<ptrdiff_t>(first), number);
    int position = 0;
    check(PMPI_Pack(piece.begin, number, piece.type, packed + first * elements.layout.size,
                    static_cast<int>(piece.bytes()), &position, packing),
          "MPI_Pack");
  });
}

void unpack(const char* packed, const Elements& elements) {
  if (elements.device) [[unlikely]]
    return unpackToDevice(packed, elements);
  if (elements.layout.dense) {
    if (elements.bytes() > 0) std::memcpy(elements.begin, packed, elements.bytes());
    return;
  }
  inPieces(elements, [&](size_t first, int number) {
    const Elements piece = elements.part(static_cast<ptrdiff_t>(first), number);
    int position = 0;
    check(PMPI_Unpack(packed + first * elements.layout.size, static_cast<int>(piece.bytes()),
                      &position, piece.begin, number, piece.type, packing),
          "MPI_Unpack");
  });
}

// Not a duplicate, which would run copy functions of the program's attributes.
MPI_Datatype KeptType::keep(MPI_Datatype type) {
  if (kept_ != MPI_DATATYPE_NULL || predefined(type) != nullptr) return type;
  check(PMPI_Type_contiguous(1, type, &kept_), "MPI_Type_contiguous");
  check(PMPI_Type_commit(&kept_), "MPI_Type_commit");
  return kept_;
}

void Bytes::copy() {
  if (copy_) return;
  copy_ = stagingBytes(elements_.bytes(), elements_.device ? elements_.begin : nullptr);
}

void Bytes::outlast() {
  if (copy_) elements_.type = kept_.keep(elements_.type);
}

}  // namespace rondo::drop_in
