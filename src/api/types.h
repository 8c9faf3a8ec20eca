#pragma once
// Sizes and names of the public handles.

#include <cstddef>

#include "api/rondo.h"

namespace rondo {

/// Bytes of one element; 0 for a handle that is not known.
constexpr size_t typeSize(rondoDataType_t type) {
  switch (type) {
    case rondoInt8:
    case rondoUint8:
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
      return 8;
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
    default:
      return "?";
  }
}

constexpr rondoDataType_t kAllTypes[] = {rondoInt8,    rondoUint8,    rondoInt16,   rondoUint16,
                                         rondoInt32,   rondoUint32,   rondoInt64,   rondoUint64,
                                         rondoFloat16, rondoBfloat16, rondoFloat32, rondoFloat64};
constexpr rondoRedOp_t kAllOps[] = {rondoSum, rondoProd, rondoMax, rondoMin, rondoAvg};

}  // namespace rondo
