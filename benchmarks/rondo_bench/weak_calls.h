#pragma once
// Calls that the header declares and an older librondo may lack: they are null there instead of
// failing the link. A call that is in every librondo leaves this list.

#include "api/rondo.h"

extern "C" {
#define RONDO_BENCH_WEAK(call) extern __typeof(call) call __attribute__((weak))
RONDO_BENCH_WEAK(rondoReduce);
RONDO_BENCH_WEAK(rondoAllGather);
RONDO_BENCH_WEAK(rondoAllGatherV);
RONDO_BENCH_WEAK(rondoReduceScatter);
RONDO_BENCH_WEAK(rondoReduceScatterV);
RONDO_BENCH_WEAK(rondoAllToAll);
RONDO_BENCH_WEAK(rondoAllToAllV);
RONDO_BENCH_WEAK(rondoGather);
RONDO_BENCH_WEAK(rondoGatherV);
RONDO_BENCH_WEAK(rondoScatter);
RONDO_BENCH_WEAK(rondoScatterV);
RONDO_BENCH_WEAK(rondoScan);
RONDO_BENCH_WEAK(rondoExscan);
RONDO_BENCH_WEAK(rondoSend);
RONDO_BENCH_WEAK(rondoRecv);
RONDO_BENCH_WEAK(rondoGroupStart);
RONDO_BENCH_WEAK(rondoGroupEnd);
RONDO_BENCH_WEAK(rondoGroupEndAsync);
RONDO_BENCH_WEAK(rondoWait);
RONDO_BENCH_WEAK(rondoTest);
#undef RONDO_BENCH_WEAK
}
