# UCX: the transport between nodes.
AC_DEFUN([RONDO_UCX], [
  RONDO_DEP([ucx], [UCX], [ucx], [-lucp -luct -lucs -lucm], [<ucp/api/ucp.h>],
    [ucp_get_version_string()], [libucx-dev], [required], [the transport between nodes])
])
