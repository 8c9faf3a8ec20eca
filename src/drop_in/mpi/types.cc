#include "drop_in/mpi/types.h"

#include <array>
#include <type_traits>
#include <utility>

#include "drop_in/mpi/handles.h"
#include "drop_in/mpi/near_thread.h"

namespace rondo::drop_in {
namespace {

constexpr int kSlotBits = 9;
constexpr size_t kSlots = 1u << kSlotBits;

/// Rondo's integer of `size` bytes; -1: none.
rondoDataType_t integerOf(size_t size, bool isSigned) {
  switch (size) {
    case 1:
      return isSigned ? rondoInt8 : rondoUint8;
    case 2:
      return isSigned ? rondoInt16 : rondoUint16;
    case 4:
      return isSigned ? rondoInt32 : rondoUint32;
    case 8:
      return isSigned ? rondoInt64 : rondoUint64;
    default:
      return -1;
  }
}

rondoDataType_t floatOf(size_t size) {
  return size == 4 ? rondoFloat32 : size == 8 ? rondoFloat64 : -1;
}

rondoDataType_t complexOf(size_t size) {
  return size == 8 ? rondoComplex64 : size == 16 ? rondoComplex128 : -1;
}

/// Open addressing; built once and only read from then on.
class TypeTable {
 public:
  TypeTable() {
    addIntegers();
    addFloats();
    addOthers();
  }

  const TypeRow* find(MPI_Datatype type) const {
    for (size_t at = slotOf<kSlotBits>(type);; at = (at + 1) % kSlots) {
      const TypeRow& row = rows_[at];
      // First: MPI_DATATYPE_NULL is to be found nowhere, and free slots have it.
      if (row.mpi == MPI_DATATYPE_NULL) return nullptr;
      if (row.mpi == type) return &row;
    }
  }

 private:
  void addIntegers() {
    for (const MPI_Datatype type : {MPI_SIGNED_CHAR, MPI_SHORT, MPI_INT, MPI_LONG, MPI_LONG_LONG,
                                    MPI_INT8_T, MPI_INT16_T, MPI_INT32_T, MPI_INT64_T}) {
      add(type, TypeClass::CInteger, integerOf(sizeOf(type), true));
    }
    // Of characters MPI defines no reduction, but MPIs do them as the integers that they are in C,
    // and programs rely on it (the OSU micro-benchmarks reduce nothing else unless told to).
    add(MPI_CHAR, TypeClass::CInteger, integerOf(sizeOf(MPI_CHAR), std::is_signed_v<char>));
    for (const MPI_Datatype type :
         {MPI_UNSIGNED_CHAR, MPI_UNSIGNED_SHORT, MPI_UNSIGNED, MPI_UNSIGNED_LONG,
          MPI_UNSIGNED_LONG_LONG, MPI_UINT8_T, MPI_UINT16_T, MPI_UINT32_T, MPI_UINT64_T}) {
      add(type, TypeClass::CInteger, integerOf(sizeOf(type), false));
    }
    for (const MPI_Datatype type :
         {MPI_INTEGER, MPI_INTEGER1, MPI_INTEGER2, MPI_INTEGER4, MPI_INTEGER8}) {
      add(type, TypeClass::FortranInteger, integerOf(sizeOf(type), true));
    }
    for (const MPI_Datatype type : {MPI_AINT, MPI_OFFSET, MPI_COUNT}) {
      add(type, TypeClass::MultiLanguage, integerOf(sizeOf(type), true));
    }
  }

  void addFloats() {
    for (const MPI_Datatype type :
         {MPI_FLOAT, MPI_DOUBLE, MPI_REAL, MPI_DOUBLE_PRECISION, MPI_REAL4, MPI_REAL8}) {
      add(type, TypeClass::Floating, floatOf(sizeOf(type)));
    }
    for (const MPI_Datatype type :
         {MPI_C_FLOAT_COMPLEX, MPI_C_DOUBLE_COMPLEX, MPI_CXX_FLOAT_COMPLEX, MPI_CXX_DOUBLE_COMPLEX,
          MPI_COMPLEX, MPI_DOUBLE_COMPLEX, MPI_COMPLEX8, MPI_COMPLEX16}) {
      add(type, TypeClass::Complex, complexOf(sizeOf(type)));
    }
  }

  void addOthers() {
    for (const MPI_Datatype type : {MPI_C_BOOL, MPI_CXX_BOOL}) {
      add(type, TypeClass::Logical, sizeOf(type) == 1 ? rondoBool : -1);
    }
    add(MPI_LOGICAL, TypeClass::FortranLogical, integerOf(sizeOf(MPI_LOGICAL), true));
    add(MPI_BYTE, TypeClass::Byte, rondoUint8);
    const std::pair<MPI_Datatype, rondoDataType_t> pairs[] = {
        {MPI_FLOAT_INT, rondoFloat32Int32}, {MPI_DOUBLE_INT, rondoFloat64Int32},
        {MPI_LONG_INT, rondoInt64Int32},    {MPI_2INT, rondoInt32Int32},
        {MPI_SHORT_INT, rondoInt16Int32},
    };
    for (const auto& [type, rondo] : pairs) addPair(type, rondo);
    add(MPI_2INTEGER, TypeClass::Pair, sizeOf(MPI_2INTEGER) == 8 ? rondoInt32Int32 : -1);
    for (const MPI_Datatype type : {MPI_WCHAR, MPI_LONG_DOUBLE, MPI_C_LONG_DOUBLE_COMPLEX,
                                    MPI_CHARACTER, MPI_PACKED, MPI_2REAL, MPI_2DOUBLE_PRECISION}) {
      add(type, TypeClass::Mute, -1);
    }
  }

  /// Only where the struct is laid out as Rondo's.
  void addPair(MPI_Datatype type, rondoDataType_t rondo) {
    MPI_Aint lower = 0, extent = 0;
    PMPI_Type_get_extent(type, &lower, &extent);
    const MPI_Aint bytes = rondo == rondoFloat64Int32 || rondo == rondoInt64Int32 ? 16 : 8;
    add(type, TypeClass::Pair, extent == bytes ? rondo : -1);
  }

  static size_t sizeOf(MPI_Datatype type) {
    int size = 0;
    if (type != MPI_DATATYPE_NULL) PMPI_Type_size(type, &size);
    return size > 0 ? static_cast<size_t>(size) : 0;
  }

  /// Types that this MPI lacks (no Fortran: size 0) are left out, those that Rondo lacks are Mute.
  void add(MPI_Datatype type, TypeClass kind, rondoDataType_t rondo) {
    if (type == MPI_DATATYPE_NULL) return;
    const size_t size = sizeOf(type);
    if (size == 0) return;
    MPI_Aint lower = 0, extent = 0;
    PMPI_Type_get_extent(type, &lower, &extent);
    size_t at = slotOf<kSlotBits>(type);
    while (rows_[at].mpi != MPI_DATATYPE_NULL && rows_[at].mpi != type) at = (at + 1) % kSlots;
    const bool dense = lower == 0 && extent == static_cast<MPI_Aint>(size);
    rows_[at] = {type, rondo, rondo < 0 ? TypeClass::Mute : kind, {true, dense, size, extent}};
  }

  std::array<TypeRow, kSlots> rows_ = [] {
    std::array<TypeRow, kSlots> empty;
    empty.fill({MPI_DATATYPE_NULL, -1, TypeClass::Mute, {}});
    return empty;
  }();
};

constexpr uint32_t bit(rondoRedOp_t op) { return 1u << (op < 32 ? op : op - 32 + 8); }
constexpr uint32_t kOrder = bit(rondoMax) | bit(rondoMin);
constexpr uint32_t kArithmetic = bit(rondoSum) | bit(rondoProd);
constexpr uint32_t kLogic = bit(rondoLogicalAnd) | bit(rondoLogicalOr) | bit(rondoLogicalXor);
constexpr uint32_t kBits = bit(rondoBitAnd) | bit(rondoBitOr) | bit(rondoBitXor);

/// What MPI defines on a class. The rest is MPI's to refuse.
constexpr uint32_t operatorsOf(TypeClass kind) {
  switch (kind) {
    case TypeClass::CInteger:
      return kOrder | kArithmetic | kLogic | kBits;
    case TypeClass::FortranInteger:
    case TypeClass::MultiLanguage:
      return kOrder | kArithmetic | kBits;
    case TypeClass::Floating:
      return kOrder | kArithmetic;
    case TypeClass::Complex:
      return kArithmetic;
    case TypeClass::Logical:
    case TypeClass::FortranLogical:
      return kLogic;
    case TypeClass::Byte:
      return kBits;
    case TypeClass::Pair:
      return bit(rondoMinLoc) | bit(rondoMaxLoc);
    case TypeClass::Mute:
      break;
  }
  return 0;
}

/// -1: not one of Rondo's.
rondoRedOp_t operatorOf(MPI_Op op) {
  if (op == MPI_SUM) return rondoSum;
  if (op == MPI_MAX) return rondoMax;
  if (op == MPI_MIN) return rondoMin;
  if (op == MPI_PROD) return rondoProd;
  if (op == MPI_LAND) return rondoLogicalAnd;
  if (op == MPI_LOR) return rondoLogicalOr;
  if (op == MPI_LXOR) return rondoLogicalXor;
  if (op == MPI_BAND) return rondoBitAnd;
  if (op == MPI_BOR) return rondoBitOr;
  if (op == MPI_BXOR) return rondoBitXor;
  if (op == MPI_MINLOC) return rondoMinLoc;
  if (op == MPI_MAXLOC) return rondoMaxLoc;
  return -1;
}

}  // namespace

const TypeRow* predefined(MPI_Datatype type) {
  static const TypeTable table;
  return table.find(type);
}

namespace {

Reduction lookUp(MPI_Datatype type, MPI_Op op) {
  const TypeRow* row = predefined(type);
  if (row == nullptr || row->kind == TypeClass::Mute) return {};
  const rondoRedOp_t known = operatorOf(op);
  if (known < 0 || (operatorsOf(row->kind) & bit(known)) == 0) return {Why::Operator};
  // Its elements lie an extent apart: what moves from one to the next, gaps included.
  return {Why::Taken, row->rondo, known, static_cast<size_t>(row->layout.extent), row->kind};
}

/// What a thread asked for last, if there is one: then both handles are predefined ones, which are
/// never freed.
struct Latest {
  MPI_Datatype type;
  MPI_Op op;
  Reduction reduction;  ///< Taken, or nothing.
};
RONDO_NEAR_THREAD constinit thread_local Latest latest{};

}  // namespace

Reduction reductionOf(MPI_Datatype type, MPI_Op op) {
  if (latest.type == type && latest.op == op && latest.reduction.why == Why::Taken) [[likely]]
    return latest.reduction;
  const Reduction found = lookUp(type, op);
  if (found.why == Why::Taken) latest = {type, op, found};
  return found;
}

}  // namespace rondo::drop_in
