#include "drop_in/mpi/fortran_next.h"

#include <dlfcn.h>
#include <link.h>

#include <cstdio>
#include <cstdlib>

namespace rondo::drop_in {
namespace {

struct Search {
  const char* name;
  void* found;
};

// The loader's lists hold what RTLD_DEFAULT does not: libraries that were opened for themselves.
int lookInto(dl_phdr_info* info, size_t, void* data) {
  auto* search = static_cast<Search*>(data);
  if (info->dlpi_name == nullptr || info->dlpi_name[0] == '\0') return 0;
  void* library = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return 0;
  search->found = dlsym(library, search->name);
  dlclose(library);
  return search->found != nullptr;
}

}  // namespace

void* findRoutine(const char* name) {
  if (void* routine = dlsym(RTLD_DEFAULT, name)) return routine;
  Search search{name, nullptr};
  dl_iterate_phdr(lookInto, &search);
  if (search.found != nullptr) return search.found;
  std::fprintf(stderr, "rondo_mpi: no library of this process has %s, which MPI's Fortran has\n",
               name);
  std::abort();
}

}  // namespace rondo::drop_in
