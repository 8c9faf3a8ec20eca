#!/bin/bash
# alt.sh EACH SECS "COLL BYTES;COLL BYTES" MODES...
cd /tmp
[[ ${1-} != inside ]] && exec /work/wt/hosts/tests/testbed/hosts 2 /tmp/hosts/alt.sh inside "$@"
shift; each=$1 secs=$2 list=$3; shift 3
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl=^openib OMPI_MCA_mpi_yield_when_idle=1 RONDO_TUNE_DIR=/nowhere
export MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=-1 MALLOC_TOP_PAD_=1073741824
B=/tmp/hosts/d/alt
if [ $each = 1 ]; then
printf '#!/bin/sh\nexec taskset -c $OMPI_COMM_WORLD_RANK %q "$@"\n' "$B" >/tmp/hosts/pinned2; chmod +x /tmp/hosts/pinned2; B=/tmp/hosts/pinned2; fi
IFS=';'; for x in $list; do unset IFS
mpirun ${MPIARGS-} -n $((2*each)) --bind-to none --host h0:$each,h1:$each -x LD_LIBRARY_PATH=${LIB:-/tmp/hosts/new/build/.libs} ${ENVS-} $B ${x% *} ${x#* } $secs "$@"
done
