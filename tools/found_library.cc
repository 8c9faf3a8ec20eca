#include "found_library.h"

#include <dlfcn.h>

#include "base/shared_library.h"

namespace rondo {

FoundLibrary findLibrary() {
  // As the first number of librondo_la_LDFLAGS's -version-info names it. Never closed: it asks the
  // loader for that.
  static SharedLibrary& library = *new SharedLibrary({"librondo.so.0"});
  rondoResult_t (*getVersion)(int*) = nullptr;
  library.need("rondoGetVersion", &getVersion);
  FoundLibrary found;
  found.missing = library.missing();
  if (!library.complete()) return found;
  Dl_info where{};
  if (dladdr(reinterpret_cast<void*>(getVersion), &where) != 0) found.path = where.dli_fname;
  if (getVersion(&found.version) != rondoSuccess) found.missing = found.path + " has no version";
  return found;
}

}  // namespace rondo
