# RONDO_DEP(NAME, PREFIX, MODULE, FALLBACK-LIBS, INCLUDE, EXPRESSION, PACKAGE, required|optional, PURPOSE)
#
# Handles --with-NAME=DIR|no|guess for one library. The flags come from pkg-config's MODULE (looked
# for in DIR first), else they are guessed from DIR and FALLBACK-LIBS; a C++ program that includes
# INCLUDE and evaluates EXPRESSION decides. Sets PREFIX_CFLAGS and PREFIX_LIBS, the shell variable
# rondo_have_NAME (yes|no), rondo_show_NAME (for the summary) and the conditional HAVE_PREFIX.
# Not finding a required library is an error in any case, an optional one only if it was asked for.
AC_DEFUN([RONDO_DEP], [
  AC_REQUIRE([PKG_PROG_PKG_CONFIG])
  AC_ARG_WITH([$1], [AS_HELP_STRING([--with-$1=DIR|no|guess], [$9 (default: guess; $8)])],
    [], [with_$1=guess])
  rondo_dir=
  AS_CASE([$with_$1], [no|yes|guess], [], [rondo_dir=$with_$1])
  rondo_have_$1=no
  rondo_show_$1=no
  $2_CFLAGS=
  $2_LIBS=
  AS_IF([test "x$with_$1" != xno], [
    AC_MSG_CHECKING([for $1])
    # A DIR that was asked for is where the library is, not a hint: the system's must not stand in.
    rondo_pc_path=
    AS_IF([test -n "$rondo_dir"], [
      for rondo_pc in "$rondo_dir"/lib/pkgconfig "$rondo_dir"/lib64/pkgconfig \
          "$rondo_dir"/share/pkgconfig "$rondo_dir"/lib/*/pkgconfig; do
        AS_IF([test -f "$rondo_pc/$3.pc"], [rondo_pc_path=$rondo_pc:$PKG_CONFIG_PATH])
      done
    ], [rondo_pc_path=$PKG_CONFIG_PATH:])
    AS_IF([test -n "$PKG_CONFIG" && test -n "$rondo_pc_path" &&
           PKG_CONFIG_PATH=$rondo_pc_path $PKG_CONFIG --exists "$3" 2>/dev/null], [
      $2_CFLAGS=`PKG_CONFIG_PATH=$rondo_pc_path $PKG_CONFIG --cflags "$3"`
      $2_LIBS=`PKG_CONFIG_PATH=$rondo_pc_path $PKG_CONFIG --libs "$3"`
      rondo_version=`PKG_CONFIG_PATH=$rondo_pc_path $PKG_CONFIG --modversion "$3"`
    ], [
      AS_IF([test -n "$rondo_dir"], [
        $2_CFLAGS="-I$rondo_dir/include"
        $2_LIBS="-L$rondo_dir/lib"
        AS_IF([test ! -d "$rondo_dir/include"], [$2_LIBS="$rondo_dir/include/is/missing"])
      ])
      $2_LIBS="$$2_LIBS $4"
      rondo_version=yes
    ])
    rondo_save_CXXFLAGS=$CXXFLAGS
    rondo_save_LIBS=$LIBS
    CXXFLAGS="$CXXFLAGS $RONDO_CXX20 $$2_CFLAGS"
    LIBS="$$2_LIBS $LIBS"
    # The answer for a DIR is none for another configure, which may look elsewhere.
    AS_IF([test -n "$rondo_dir"], [AS_UNSET([rondo_cv_link_$1])])
    AC_CACHE_VAL([rondo_cv_link_$1],
      [AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include $5]], [[(void)($6);]])],
        [rondo_cv_link_$1=yes], [rondo_cv_link_$1=no])])
    rondo_links=$rondo_cv_link_$1
    AS_IF([test -n "$rondo_dir"], [AS_UNSET([rondo_cv_link_$1])])
    AS_IF([test $rondo_links = yes],
      [rondo_have_$1=yes
       rondo_show_$1="$rondo_version"],
      [$2_CFLAGS=
       $2_LIBS=])
    CXXFLAGS=$rondo_save_CXXFLAGS
    LIBS=$rondo_save_LIBS
    AC_MSG_RESULT([$rondo_show_$1])
  ])
  AS_IF([test $rondo_have_$1 = no], [
    m4_if([$8], [required],
      [AC_MSG_ERROR([Rondo needs $1 ($9): install the package $7 (its name on Debian and Ubuntu), or say where it is with --with-$1=DIR; --with-$1=$with_$1 did not find it])],
      [AS_CASE([$with_$1], [no|guess], [],
        [AC_MSG_ERROR([--with-$1=$with_$1 was asked for, but no working $1 is there; the package on Debian and Ubuntu is $7])])])
  ])
  AC_SUBST([$2_CFLAGS])
  AC_SUBST([$2_LIBS])
  AM_CONDITIONAL([HAVE_$2], [test $rondo_have_$1 = yes])
])
