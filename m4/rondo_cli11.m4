# CLI11: command lines of the programs.
AC_DEFUN([RONDO_CLI11], [
  RONDO_DEP([cli11], [CLI11], [CLI11], [], [<CLI/CLI.hpp>], [CLI::App().get_name()],
    [libcli11-dev], [optional], [command lines of the programs])
])
