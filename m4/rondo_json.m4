# nlohmann-json: JSON output of the programs.
AC_DEFUN([RONDO_JSON], [
  RONDO_DEP([json], [JSON], [nlohmann_json], [], [<nlohmann/json.hpp>],
    [nlohmann::json::object().size()], [nlohmann-json3-dev], [optional],
    [JSON output of the programs])
])
