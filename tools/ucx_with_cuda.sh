#!/bin/bash
# Builds the distribution's UCX with CUDA, which its packages have not, into the folder given: for
# RONDO_NET_ZERO_COPY, and for its tests (RONDO_UCX_CUDA=FOLDER ./dev gpu-pack). On Debian and its kin; takes
# some five minutes on two cores. Usage: tools/ucx_with_cuda.sh FOLDER [CUDA, default /usr/local/cuda]
set -euo pipefail
to=$(realpath -m "${1:?usage: $0 FOLDER [CUDA]}") cuda=${2:-/usr/local/cuda}
work=$(mktemp -d)
log=$work/log
ended() { local rc=$?; ((rc == 0)) || tail -20 "$log" >&4; rm -rf "$work"; exit $rc; }
trap ended EXIT
cd "$work"
exec 3>&1 4>&2 >"$log" 2>&1  # what it says is shown if it fails

# Sources of what is installed.
mkdir parts lists
for list in /etc/apt/sources.list /etc/apt/sources.list.d/{debian.sources,ubuntu.sources}; do
  [[ -s $list ]] && sed 's/^Types: deb$/Types: deb-src/; s/^deb /deb-src /' "$list" >"parts/${list##*/}"
done
[[ -e parts/sources.list ]] && mv parts/sources.list parts/one-line.list
apt=(apt-get -qq -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$work/parts" -o Dir::State::lists="$work/lists"
  -o APT::Sandbox::User=root)
"${apt[@]}" update
"${apt[@]}" source ucx
cd ucx-*/

# The toolkit may lack NVML's header, and machines without a GPU its library: what UCX's cuda_ipc asks of them. The
# driver's own library is loaded where it runs.
mkdir -p nvml/include nvml/lib
if ! [[ -e $cuda/include/nvml.h ]]; then
  cat >nvml/include/nvml.h <<'H'
#pragma once
typedef enum { NVML_SUCCESS = 0 } nvmlReturn_t;
typedef enum { NVML_VALUE_TYPE_UNSIGNED_INT = 1 } nvmlValueType_t;
typedef struct nvmlDevice_st* nvmlDevice_t;
typedef union { double dVal; unsigned uiVal; unsigned long ulVal; unsigned long long ullVal; long long sllVal; } nvmlValue_t;
typedef struct {
  unsigned fieldId, scopeId;
  long long timestamp, latencyUsec;
  nvmlValueType_t valueType;
  nvmlReturn_t nvmlReturn;
  nvmlValue_t value;
} nvmlFieldValue_t;
typedef struct {
  char busIdLegacy[16];
  unsigned domain, bus, device, pciDeviceId, pciSubSystemId;
  char busId[32];
} nvmlPciInfo_t;
#define NVML_FI_DEV_NVLINK_LINK_COUNT 91
const char* nvmlErrorString(nvmlReturn_t);
nvmlReturn_t nvmlInit_v2(void), nvmlShutdown(void), nvmlInit(void);
nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned, nvmlDevice_t*);
nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t, int, nvmlFieldValue_t*);
nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo(nvmlDevice_t, unsigned, nvmlPciInfo_t*);
H
fi
for name in nvmlInit nvmlInit_v2 nvmlShutdown nvmlErrorString nvmlDeviceGetHandleByIndex nvmlDeviceGetFieldValues \
  nvmlDeviceGetNvLinkRemotePciInfo; do
  echo "void $name(void) {}"
done | gcc -shared -fPIC -Wl,-soname,libnvidia-ml.so.1 -xc - -o nvml/lib/libnvidia-ml.so.1
ln -s libnvidia-ml.so.1 nvml/lib/libnvidia-ml.so

./autogen.sh
./contrib/configure-release --prefix="$to" --enable-mt --with-verbs --enable-cma --without-java --without-go \
  --disable-doxygen-doc --disable-static --with-cuda="$cuda" CPPFLAGS="-I$PWD/nvml/include" \
  LDFLAGS="-L$PWD/nvml/lib -L$cuda/lib64 -L$cuda/lib64/stubs" CFLAGS="-O2 -Wno-error"
# Its tools need another CUDA than some have; the libraries do not.
make -s -k -C src -j"$(nproc)" || true
for part in ucm ucs uct ucp; do make -s -C "src/$part" install; done
cp -P "$cuda"/lib64/libcudart.so.* "$to/lib/"
ls "$to/lib/ucx/libuct_cuda.so" >&3
