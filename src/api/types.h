#pragma once
// Sizes and names of the public handles, and which operator is defined for which type.

#include <cstddef>

#include "api/rondo_types.h"

namespace rondo {

/// Bytes of one element; 0 for a handle that is not known.
constexpr size_t typeSize(rondoDataType_t type) {
  switch (type) {
    case rondoInt8:
    case rondoUint8:
    case rondoFloat8e4m3:
    case rondoFloat8e5m2:
    case rondoBool:
      return 1;
    case rondoInt16:
    case rondoUint16:
    case rondoFloat16:
    case rondoBfloat16:
      return 2;
    case rondoInt32:
    case rondoUint32:
    case rondoFloat32:
      return 4;
    case rondoInt64:
    case rondoUint64:
    case rondoFloat64:
    case rondoComplex64:
    case rondoFloat32Int32:
    case rondoInt32Int32:
    case rondoInt16Int32:
      return 8;
    case rondoComplex128:
    case rondoFloat64Int32:
    case rondoInt64Int32:
      return 16;
    default:
      return 0;
  }
}

constexpr const char* typeName(rondoDataType_t type) {
  switch (type) {
    case rondoInt8:
      return "int8";
    case rondoUint8:
      return "uint8";
    case rondoInt16:
      return "int16";
    case rondoUint16:
      return "uint16";
    case rondoInt32:
      return "int32";
    case rondoUint32:
      return "uint32";
    case rondoInt64:
      return "int64";
    case rondoUint64:
      return "uint64";
    case rondoFloat16:
      return "float16";
    case rondoBfloat16:
      return "bfloat16";
    case rondoFloat32:
      return "float32";
    case rondoFloat64:
      return "float64";
    case rondoFloat8e4m3:
      return "float8e4m3";
    case rondoFloat8e5m2:
      return "float8e5m2";
    case rondoBool:
      return "bool";
    case rondoComplex64:
      return "complex64";
    case rondoComplex128:
      return "complex128";
    case rondoFloat32Int32:
      return "float32int32";
    case rondoFloat64Int32:
      return "float64int32";
    case rondoInt64Int32:
      return "int64int32";
    case rondoInt32Int32:
      return "int32int32";
    case rondoInt16Int32:
      return "int16int32";
    default:
      return "?";
  }
}

constexpr const char* opName(rondoRedOp_t op) {
  switch (op) {
    case rondoSum:
      return "sum";
    case rondoProd:
      return "prod";
    case rondoMax:
      return "max";
    case rondoMin:
      return "min";
    case rondoAvg:
      return "avg";
    case rondoLogicalAnd:
      return "land";
    case rondoLogicalOr:
      return "lor";
    case rondoLogicalXor:
      return "lxor";
    case rondoBitAnd:
      return "band";
    case rondoBitOr:
      return "bor";
    case rondoBitXor:
      return "bxor";
    case rondoMinLoc:
      return "minloc";
    case rondoMaxLoc:
      return "maxloc";
    default:
      return "?";
  }
}

constexpr rondoDataType_t kAllTypes[] = {
    rondoInt8,       rondoUint8,      rondoInt16,        rondoUint16,       rondoInt32,
    rondoUint32,     rondoInt64,      rondoUint64,       rondoFloat16,      rondoBfloat16,
    rondoFloat32,    rondoFloat64,    rondoFloat8e4m3,   rondoFloat8e5m2,   rondoBool,
    rondoComplex64,  rondoComplex128, rondoFloat32Int32, rondoFloat64Int32, rondoInt64Int32,
    rondoInt32Int32, rondoInt16Int32};
constexpr rondoRedOp_t kAllOps[] = {rondoSum,    rondoProd,       rondoMax,       rondoMin,
                                    rondoAvg,    rondoLogicalAnd, rondoLogicalOr, rondoLogicalXor,
                                    rondoBitAnd, rondoBitOr,      rondoBitXor,    rondoMinLoc,
                                    rondoMaxLoc};

/// What a type's elements are, as far as operators ask.
enum class TypeClass { kUnknown, kInteger, kFloat, kComplex, kBool, kPair };

constexpr TypeClass typeClass(rondoDataType_t type) {
  switch (type) {
    case rondoInt8:
    case rondoUint8:
    case rondoInt16:
    case rondoUint16:
    case rondoInt32:
    case rondoUint32:
    case rondoInt64:
    case rondoUint64:
      return TypeClass::kInteger;
    case rondoFloat8e4m3:
    case rondoFloat8e5m2:
    case rondoFloat16:
    case rondoBfloat16:
    case rondoFloat32:
    case rondoFloat64:
      return TypeClass::kFloat;
    case rondoComplex64:
    case rondoComplex128:
      return TypeClass::kComplex;
    case rondoBool:
      return TypeClass::kBool;
    case rondoFloat32Int32:
    case rondoFloat64Int32:
    case rondoInt64Int32:
    case rondoInt32Int32:
    case rondoInt16Int32:
      return TypeClass::kPair;
    default:
      return TypeClass::kUnknown;
  }
}

/// Whether elements can be added and multiplied; these are the types of a pre-multiplied sum, too.
constexpr bool isNumeric(rondoDataType_t type) {
  const TypeClass kind = typeClass(type);
  return kind == TypeClass::kInteger || kind == TypeClass::kFloat || kind == TypeClass::kComplex;
}

/// Whether `op` makes sense for `type`; false for handles that are not known.
constexpr bool opDefined(rondoDataType_t type, rondoRedOp_t op) {
  const TypeClass kind = typeClass(type);
  switch (op) {
    case rondoSum:
    case rondoProd:
    case rondoAvg:
      return isNumeric(type);
    case rondoMax:
    case rondoMin:
      return kind == TypeClass::kInteger || kind == TypeClass::kFloat;
    case rondoLogicalAnd:
    case rondoLogicalOr:
    case rondoLogicalXor:
    case rondoBitAnd:
    case rondoBitOr:
    case rondoBitXor:
      return kind == TypeClass::kInteger || kind == TypeClass::kBool;
    case rondoMinLoc:
    case rondoMaxLoc:
      return kind == TypeClass::kPair;
    default:
      return false;
  }
}

}  // namespace rondo
