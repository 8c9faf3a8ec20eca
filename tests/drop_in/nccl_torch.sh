#!/usr/bin/env bash
# nccl_torch.sh LIBRARY : nccl_torch.py on Rondo's libnccl.so.2 and then on PyTorch's own; the losses of
# the trainings must be the same. Not part of `make check`: needs PyTorch and two GPUs (else 77).
set -euo pipefail
library=$1
script=$(dirname "$0")/nccl_torch.py
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export NCCL_NVLS_ENABLE=${NCCL_NVLS_ENABLE:-0}
# PyTorch's RPATH beats LD_LIBRARY_PATH; a library that is loaded first has the name already.
# In pools NCCL 2.28.9 by itself gives wrong values (all-to-all, 2 x H200, 2026-11-29).
TEST_POOLS=1 LD_PRELOAD=$library python3 "$script" "$library" "$scratch/rondo"
TEST_PORT=29521 python3 "$script" nvidia/nccl "$scratch/nccl"
python3 - "$scratch/rondo" "$scratch/nccl" <<'END'
import sys
rondo, nccl = ([float(line) for line in open(name)] for name in sys.argv[1:])
assert len(rondo) == len(nccl) == 200
worst = max(abs(a - b) / abs(b) for a, b in zip(rondo, nccl))
equal = sum(a == b for a, b in zip(rondo, nccl))
print(f"losses of 200 steps: {equal} equal to the bit, largest difference {worst:.2e}")
assert worst < 1e-4
END
