# libxml2: reads descriptions of machines for rondo-topo and rondo-sim. librondo itself does not
# need it.
AC_DEFUN([RONDO_XML2], [
  RONDO_DEP([xml2], [XML2], [libxml-2.0], [-lxml2], [<libxml/parser.h>], [xmlFree],
    [libxml2-dev], [optional], [descriptions of machines in XML])
])
