#pragma once
// MPI's own Fortran routines, for entry points that leave the work to them. They are in a library
// that C programs do not have, and that others may have loaded late and for themselves.

namespace rondo::drop_in {

/// The routine of that name in any library of the process. Ends the program with a sentence if
/// there is none, though MPI's routine beside it was called.
void* findRoutine(const char* name);

/// The same, found once. `Tag` tells routines with the same arguments from each other.
template <class Tag, class... Arguments>
void callNext(const char* name, Arguments... arguments) {
  using Routine = void (*)(Arguments...);
  static const auto routine = reinterpret_cast<Routine>(findRoutine(name));
  routine(arguments...);
}

}  // namespace rondo::drop_in
