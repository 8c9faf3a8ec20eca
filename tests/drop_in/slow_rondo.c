/* Rondo's rooted movements, each some microseconds late: 60, or RONDO_LATE_US, so that MPI is the
 * quicker one at them on every machine. Loaded behind the layer. */
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

#include "rondo.h"

static void late(void) {
  struct timespec begin, now;
  static long ns;
  if (ns == 0) {
    const char* const us = getenv("RONDO_LATE_US");
    ns = us == NULL ? 60000 : 1000 * atol(us);
  }
  clock_gettime(CLOCK_MONOTONIC, &begin);
  do {
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while ((now.tv_sec - begin.tv_sec) * 1000000000L + now.tv_nsec - begin.tv_nsec < ns);
}

/* The one that is hidden here. */
#define RONDOS(name, found) \
  static void* found;       \
  if (found == NULL) found = dlsym(RTLD_NEXT, name)

RONDO_API rondoResult_t rondoBroadcast(const void* from, void* to, size_t count,
                                       rondoDataType_t type, int root, rondoComm_t comm,
                                       rondoStream_t stream) {
  RONDOS("rondoBroadcast", found);
  late();
  return ((__typeof__(&rondoBroadcast))found)(from, to, count, type, root, comm, stream);
}
RONDO_API rondoResult_t rondoGather(const void* from, void* to, size_t count, rondoDataType_t type,
                                    int root, rondoComm_t comm, rondoStream_t stream) {
  RONDOS("rondoGather", found);
  late();
  return ((__typeof__(&rondoGather))found)(from, to, count, type, root, comm, stream);
}
RONDO_API rondoResult_t rondoScatter(const void* from, void* to, size_t count, rondoDataType_t type,
                                     int root, rondoComm_t comm, rondoStream_t stream) {
  RONDOS("rondoScatter", found);
  late();
  return ((__typeof__(&rondoScatter))found)(from, to, count, type, root, comm, stream);
}
