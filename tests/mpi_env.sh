# How tests (and ./dev run) start MPI jobs: bounded in time, also as root, in containers, and with
# more ranks than cores. Sourced.

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# Ranks that outnumber cores must yield while they wait inside MPI.
export OMPI_MCA_mpi_yield_when_idle=1
# openib only warns that it is obsolete; ofi sleeps for a second in every MPI_Finalize.
export OMPI_MCA_btl=^openib,ofi
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none

# A hang ends, and a slow day is none: two minutes were too few for jobs of some seconds at a load of 15.
# A session directory of its own: of two jobs at once, one removes the one that the other is about to
# enter, which then fails ("File exists").
runMpi() {  # ranks, program, arguments...
  local ranks=$1 status=0 session
  shift
  session=$(mktemp -d "${OMPI_MCA_orte_tmpdir_base:-${TMPDIR:-/tmp}}/mpi.XXXXXX")
  OMPI_MCA_orte_tmpdir_base=$session timeout --foreground -k 10 "${MPI_TIMEOUT:-600}" \
    "${TEST_MPIRUN:-mpirun}" --oversubscribe --bind-to none -n "$ranks" "$@" || status=$?
  rm -rf "$session"
  return $status
}

# Processes on one GPU run at once under MPS only: a daemon of the caller's own, which stops it when it
# ends. Fails where there is none.
startMps() {
  command -v nvidia-cuda-mps-control >/dev/null || return 1
  CUDA_MPS_PIPE_DIRECTORY=$(mktemp -d)
  CUDA_MPS_LOG_DIRECTORY=$CUDA_MPS_PIPE_DIRECTORY
  export CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
  nvidia-cuda-mps-control -d
}

stopMps() {
  echo quit | nvidia-cuda-mps-control
}
