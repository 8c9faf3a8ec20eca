#include "shared_object.h"

#include "errors.h"

namespace rondo::bench {

SharedObject::SharedObject(const char* file, const char* purpose) : file_(file), library_({file}) {
  if (!library_.complete()) {
    throw UsageError(std::string(purpose) + " needs " + file + ": " + library_.missing());
  }
}

void SharedObject::lacks(const char* name) const {
  throw UsageError(file_ + " has no function " + name);
}

}  // namespace rondo::bench
