#include "shared_object.h"

#include <dlfcn.h>

#include "errors.h"

namespace rondo::bench {

SharedObject::SharedObject(const char* file, const char* purpose)
    : file_(file), handle_(dlopen(file, RTLD_NOW | RTLD_LOCAL)) {
  if (handle_ == nullptr) {
    throw UsageError(std::string(purpose) + " needs " + file + ", which cannot be loaded here (" +
                     dlerror() + ")");
  }
}

SharedObject::~SharedObject() { dlclose(handle_); }

void* SharedObject::findIfThere(const char* name) const { return dlsym(handle_, name); }

void* SharedObject::find(const char* name) const {
  void* symbol = dlsym(handle_, name);
  if (symbol == nullptr) throw UsageError(file_ + " has no function " + name);
  return symbol;
}

}  // namespace rondo::bench
