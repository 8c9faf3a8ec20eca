#pragma once
// MPI's predefined types and operators in Rondo's terms.

#include <mpi.h>

#include <cstddef>
#include <cstdint>

#include "api/rondo.h"
#include "drop_in/mpi/calls.h"

namespace rondo::drop_in {

/// MPI's classes of types (MPI-3.1, 5.9.2): each has its operators.
enum class TypeClass : uint8_t {
  CInteger,
  FortranInteger,
  MultiLanguage,  ///< MPI_AINT, MPI_OFFSET, MPI_COUNT
  Floating,
  Complex,
  Logical,         ///< MPI_C_BOOL, MPI_CXX_BOOL
  FortranLogical,  ///< An integer of 0 and 1 to the operators.
  Byte,
  Pair,
  Mute,  ///< Predefined, but Rondo does not reduce it.
};

struct Layout {
  bool valid = false;    ///< False: not a type; MPI is to say so.
  bool dense = false;    ///< Memory holds the elements in order and without gaps.
  size_t size = 0;       ///< Bytes of data in an element.
  ptrdiff_t extent = 0;  ///< Bytes from one element to the next.
};

/// A predefined type. Its layout is copied as a whole: what was just put together from its parts
/// the processor cannot yet read as one, and waits for some 5 ns.
struct TypeRow {
  MPI_Datatype mpi;
  rondoDataType_t rondo;
  TypeClass kind;
  Layout layout;
};

/// nullptr: not a predefined type that the layer knows.
const TypeRow* predefined(MPI_Datatype type);

/// A reduction in Rondo's terms, or why there is none.
struct Reduction {
  Why why = Why::Type;
  rondoDataType_t type = rondoUint8;
  rondoRedOp_t op = rondoSum;
  size_t size = 0;  ///< Bytes of an element.
  TypeClass kind = TypeClass::Mute;
  size_t per = 1;  ///< Elements of Rondo's in one of MPI's: more than one in rehearsals only.
};
Reduction reductionOf(MPI_Datatype type, MPI_Op op);

}  // namespace rondo::drop_in
