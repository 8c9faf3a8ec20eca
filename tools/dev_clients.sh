# shellcheck shell=bash
# Programs of others, unchanged, through the layer before MPI on host memory: what a distribution or PyPI has of
# them is fetched first. Sourced by ./dev.

clients() {  # [mpi4py] [debian] [osu]
  local name wanted=("$@") result=0
  if [[ ${#wanted[@]} == 0 ]]; then
    wanted=(mpi4py debian)
    if [[ -n ${RONDO_OSU_DIR-} ]]; then wanted+=(osu); else say "dev: clients: no OSU programs, as RONDO_OSU_DIR is not set"; fi
  fi
  for name in "${wanted[@]}"; do
    [[ $name =~ ^(mpi4py|debian|osu)$ ]] || fail "clients: there is no \"$name\"; there are: mpi4py, debian, osu"
  done
  setUp
  buildTree
  for name in "${wanted[@]}"; do
    say "dev: clients: $name"
    client_"$name" || result=1
  done
  say "dev: clients ${wanted[*]}: $([[ $result == 0 ]] && echo "all passed" || echo "FAILED, see above")"
  return $result
}

# A script of tests/drop_in, in the build folder: it says by 77 that there is nothing to run.
clientScript() {  # script, arguments...
  local script=$root/tests/drop_in/$1
  shift
  (cd "$build" && "$script" "$@")
}

# Its tests come from PyPI, of the version that the distribution installs.
client_mpi4py() {
  local version sources
  installPackages python3-mpi4py python3-pip
  version=$(/usr/bin/python3 -c 'import mpi4py; print(mpi4py.__version__)')
  sources=$build/clients/mpi4py-$version
  if [[ ! -d $sources ]]; then
    mkdir -p "$build/clients"
    /usr/bin/python3 -m pip download -q "mpi4py==$version" --no-deps --no-binary :all: --no-build-isolation \
      -d "$build/clients" && tar xzf "$sources.tar.gz" -C "$build/clients"
  fi
  RONDO_MPI4PY_DIR=$sources clientScript mpi4py.sh 2 4
}

client_debian() {
  installPackages scalapack-mpi-test mumps-test netpipe-openmpi
  clientScript debian_programs.sh
}

# No package has them: RONDO_OSU_DIR names the folder of those that were built.
client_osu() {
  if [[ -z ${RONDO_OSU_DIR-} ]]; then
    say "dev: clients osu: RONDO_OSU_DIR is not set; allowed: the folder of OSU's built programs"
    return 1
  fi
  clientScript osu.sh 2 4
}
