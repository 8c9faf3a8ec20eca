# hwloc: the CPUs, caches and PCI devices of a node.
AC_DEFUN([RONDO_HWLOC], [
  RONDO_DEP([hwloc], [HWLOC], [hwloc], [-lhwloc], [<hwloc.h>], [hwloc_get_api_version()],
    [libhwloc-dev], [required], [discovery of the node's topology])
])
