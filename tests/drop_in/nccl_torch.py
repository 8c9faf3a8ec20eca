#!/usr/bin/env python3
"""torch.distributed with its backend "nccl", one process a GPU, every result compared with the CPU's.

nccl_torch.py LIBRARY LOSSES : LIBRARY is part of the path of the libnccl that must answer; the
losses of a training of 200 steps are written to LOSSES, a line each. Knows nothing of Rondo.
TEST_POOLS: results in registered pools, too. TEST_RANKS: so many processes, several to a GPU where there are fewer (start MPS). Exit status 77
without PyTorch or for fewer than two ranks.
"""
import ctypes
import faulthandler
import os
import sys

try:
    import torch
    import torch.distributed as dist
    import torch.multiprocessing as mp
except ImportError:
    sys.exit(77)

FLOATS = [torch.float32, torch.float16, torch.bfloat16, torch.float64]
WHOLE = [torch.int32, torch.int64, torch.uint8, torch.int8]
SIZES = [1, 1000, 65537]


def values(rank, count, dtype):
    """Small whole numbers, which every type holds exactly."""
    return ((torch.arange(count) + rank) % 3 + 1).to(dtype)


def same(got, want, what):
    if not torch.equal(got.cpu(), want):
        wrong = int((got.cpu() != want).sum())
        raise AssertionError(f"{what}: {wrong} of {want.numel()} elements of {want.dtype} differ")
    same.count += 1


same.count = 0


def reductions(rank, size, count, dtype):
    gives = [values(r, count, dtype) for r in range(size)]
    stack = torch.stack([g.double() for g in gives])
    ops = {
        dist.ReduceOp.SUM: stack.sum(0),
        dist.ReduceOp.PRODUCT: stack.prod(0),
        dist.ReduceOp.MIN: stack.min(0).values,
        dist.ReduceOp.MAX: stack.max(0).values,
    }
    if dtype.is_floating_point:
        ops[dist.ReduceOp.AVG] = stack.mean(0)
    for op, want in ops.items():
        data = gives[rank].cuda()
        dist.all_reduce(data, op)
        same(data, want.to(dtype), f"all_reduce {op}")
        data = gives[rank].cuda()
        dist.reduce(data, size - 1, op)
        if rank == size - 1:
            same(data, want.to(dtype), f"reduce {op}")
    all_gives = [values(r, count * size, dtype) for r in range(size)]
    want = torch.stack([g.double() for g in all_gives]).sum(0).to(dtype)
    out = torch.empty(count, dtype=dtype, device="cuda")
    dist.reduce_scatter_tensor(out, all_gives[rank].cuda())
    same(out, want[rank * count:(rank + 1) * count], "reduce_scatter_tensor")
    out = torch.empty(count, dtype=dtype, device="cuda")
    dist.reduce_scatter(out, list(all_gives[rank].cuda().chunk(size)))
    same(out, want[rank * count:(rank + 1) * count], "reduce_scatter")


def premultiplied(rank, size, count):
    for factor in (2.0, torch.tensor([2.0], device="cuda")):
        data = values(rank, count, torch.float32).cuda()
        dist.all_reduce(data, dist._make_nccl_premul_sum(factor))
        want = 2 * torch.stack([values(r, count, torch.float32) for r in range(size)]).sum(0)
        same(data, want, f"all_reduce premultiplied by {type(factor).__name__}")


def movements(rank, size, count, dtype):
    gives = [values(r, count, dtype) for r in range(size)]
    mine = gives[rank].cuda()
    empty = lambda n=count: torch.zeros(n, dtype=dtype, device="cuda")
    data = mine.clone()
    dist.broadcast(data, size - 1)
    same(data, gives[size - 1], "broadcast")
    parts = [empty() for _ in range(size)]
    dist.all_gather(parts, mine)
    same(torch.cat(parts), torch.cat(gives), "all_gather")
    whole = empty(count * size)
    dist.all_gather_into_tensor(whole, mine)
    same(whole, torch.cat(gives), "all_gather_into_tensor")
    parts = [empty() for _ in range(size)] if rank == 0 else None
    dist.gather(mine, parts, 0)
    if rank == 0:
        same(torch.cat(parts), torch.cat(gives), "gather")
    data = empty()
    dist.scatter(data, [g.cuda() for g in gives] if rank == 0 else None, 0)
    same(data, gives[rank], "scatter")
    everything = [values(r, count * size, dtype) for r in range(size)]
    got = empty(count * size)
    dist.all_to_all_single(got, everything[rank].cuda())
    want = torch.cat([e[rank * count:(rank + 1) * count] for e in everything])
    same(got, want, "all_to_all_single")
    # rank r gives rank s so many as r + s + 1
    sizes = [rank + s + 1 for s in range(size)]
    got = empty(sum(sizes))
    dist.all_to_all_single(got, values(rank, sum(sizes), dtype).cuda(), sizes, sizes)
    want = []
    for r in range(size):
        lengths = [r + s + 1 for s in range(size)]
        want.append(values(r, sum(lengths), dtype).split(lengths)[rank])
    same(got, torch.cat(want), "all_to_all_single, uneven")
    data = empty()
    ahead, behind = (rank + 1) % size, (rank - 1) % size
    ops = [dist.P2POp(dist.isend, mine, ahead), dist.P2POp(dist.irecv, data, behind)]
    for request in dist.batch_isend_irecv(ops):
        request.wait()
    same(data, gives[behind], "batch_isend_irecv")
    data = mine.clone()
    if rank == 0:
        dist.send(data, 1)
    elif rank == 1:
        dist.recv(data, 0)
        same(data, gives[0], "recv")


def asynchronous(rank, size):
    """Several collectives under way, on streams of the program's and PyTorch's own."""
    tensors = [values(rank, 1000 * (i + 1), torch.float32).cuda() for i in range(8)]
    works = [dist.all_reduce(t, async_op=True) for t in tensors]
    for work in works:
        work.wait()
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        dist.all_reduce(tensors[0])
    torch.cuda.current_stream().wait_stream(side)
    with dist._coalescing_manager():
        for t in tensors[1:]:
            dist.all_reduce(t)
    for i, t in enumerate(tensors):
        once = torch.stack([values(r, 1000 * (i + 1), torch.float32) for r in range(size)]).sum(0)
        same(t, once * size, "all_reduce twice")
    gathered = [None] * size
    dist.all_gather_object(gathered, {"rank": rank})
    assert gathered == [{"rank": r} for r in range(size)], gathered
    dist.barrier()


def graphs(rank, size):
    data = values(rank, 5000, torch.float32).cuda()
    total = torch.stack([values(r, 5000, torch.float32) for r in range(size)]).sum(0)
    result = torch.zeros_like(data)
    for _ in range(3):
        warm = data.clone()
        dist.all_reduce(warm)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result.copy_(data)
        dist.all_reduce(result)
        result.mul_(2)
    for turn in range(1, 11):
        data.copy_(values(rank, 5000, torch.float32) * turn)
        graph.replay()
        torch.cuda.synchronize()
        same(result, 2 * turn * total, "a replayed graph")


def groups(rank, size):
    """Subgroups: of one rank each, and one of all in another order of making."""
    alone = [dist.new_group([r]) for r in range(size)]
    everyone = dist.new_group(list(range(size)))
    for _ in range(20):
        data = torch.full((100,), rank + 1.0, device="cuda")
        dist.all_reduce(data, group=alone[rank])
        same(data, torch.full((100,), rank + 1.0), "all_reduce of one rank")
        dist.all_reduce(data, group=everyone)
        dist.all_reduce(data)
        same(data, torch.full((100,), size * size * (size + 1) / 2.0), "all_reduce of two groups")
    for group in alone + [everyone]:
        if group != dist.GroupMember.NON_GROUP_MEMBER:
            dist.destroy_process_group(group)


def pools(rank, size, gpu):
    """Results in the backend's own memory, registered as symmetric windows, and after their end."""
    if size > torch.cuda.device_count():
        return  # a pool's memory is one device's
    backend = dist.distributed_c10d._get_default_group()._get_backend(torch.device("cuda", gpu))
    pool = torch.cuda.MemPool(backend.mem_allocator)
    count = 16 << 20
    with torch.cuda.use_mem_pool(pool):
        gathered = torch.empty(size * count, device="cuda")
        reduced = torch.empty(4 * count, device="cuda")
    backend.register_mem_pool(pool, symm=True)

    def calls(long):
        part = count if long else 1000
        dist.all_gather_into_tensor(gathered[: size * part], values(rank, part, torch.float32).cuda())
        want = torch.cat([values(r, part, torch.float32) for r in range(size)])
        same(gathered[: size * part], want, "all_gather into a pool")
        gives = [values(r, size * part, torch.float32) for r in range(size)]
        dist.all_to_all_single(gathered[: size * part], gives[rank].cuda())
        want = torch.cat([give[rank * part : (rank + 1) * part] for give in gives])
        same(gathered[: size * part], want, "all_to_all into a pool")
        sums = [values(r, 4 * part, torch.float32) for r in range(size)]
        data = reduced[: 4 * part]
        data.copy_(sums[rank])
        dist.all_reduce(data)
        same(data, torch.stack(sums).sum(0), "all_reduce in a pool")

    for long in (True, False, True):
        calls(long)
    backend.deregister_mem_pool(pool)
    calls(True)


def training(rank, device):
    torch.manual_seed(7)
    torch.use_deterministic_algorithms(True)
    model = torch.nn.Sequential(
        torch.nn.Linear(64, 256), torch.nn.GELU(), torch.nn.Linear(256, 256), torch.nn.GELU(),
        torch.nn.Linear(256, 8)).cuda()
    model = torch.nn.parallel.DistributedDataParallel(model, device_ids=[device])
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    make = torch.Generator().manual_seed(100 + rank)
    teach = torch.randn(64, 8, generator=torch.Generator().manual_seed(5))
    losses = []
    for _ in range(200):
        x = torch.randn(32, 64, generator=make)
        loss = torch.nn.functional.mse_loss(model(x.cuda()), torch.sin(x @ teach / 8).cuda())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        whole = loss.detach().clone()
        dist.all_reduce(whole, dist.ReduceOp.AVG)
        losses.append(float(whole))
    assert losses[-1] < 0.5 * losses[0], (losses[0], losses[-1])
    return losses


class DlInfo(ctypes.Structure):
    _fields_ = [("file", ctypes.c_char_p), ("base", ctypes.c_void_p),
                ("symbol", ctypes.c_char_p), ("address", ctypes.c_void_p)]


def mapped():
    """The libnccl that are mapped. PyTorch maps its own by its path whatever was loaded before."""
    with open("/proc/self/maps") as maps:
        return sorted({line.split()[-1] for line in maps if "libnccl" in line})


def answering(name):
    """The file whose `name` PyTorch is bound to: one that was loaded first, else its own."""
    info = DlInfo()
    try:
        function = getattr(ctypes.CDLL(None), name)
    except AttributeError:
        function = getattr(ctypes.CDLL("libtorch_cuda.so"), name)
    address = ctypes.cast(function, ctypes.c_void_p)
    assert ctypes.CDLL(None).dladdr(address, ctypes.byref(info)) != 0
    return info.file.decode()


def work(rank, size, library, losses_file):
    faulthandler.dump_traceback_later(150, exit=True)  # where it hangs, if it does
    os.environ.update(MASTER_ADDR="127.0.0.1", RANK=str(rank), WORLD_SIZE=str(size))
    gpu = rank % torch.cuda.device_count()
    torch.cuda.set_device(gpu)
    said = lambda text: print(text, flush=True) if rank == 0 else None
    for turn in range(2):
        os.environ["MASTER_PORT"] = str(int(os.environ["TEST_PORT"]) + turn)
        dist.init_process_group("nccl", device_id=torch.device("cuda", gpu) if turn else None)
        data = torch.ones(1, device="cuda")
        dist.all_reduce(data)
        assert data.item() == size, data
        if turn == 0:
            said(f"maps: {mapped()}")
            files = {answering(name) for name in ("ncclAllReduce", "ncclCommInitRankConfig")}
            said(f"answers: {files}")
            assert any(library in path for path in mapped()), mapped()
            assert all(library in file for file in files), files
            for count in SIZES:
                for dtype in FLOATS + WHOLE:
                    reductions(rank, size, count, dtype)
                    movements(rank, size, count, dtype)
                premultiplied(rank, size, count)
            said(f"collectives: {same.count} results are the CPU's")
            asynchronous(rank, size)
            graphs(rank, size)
            groups(rank, size)
            said(f"streams, graphs and groups: {same.count} results are the CPU's")
            if "TEST_POOLS" in os.environ:
                pools(rank, size, gpu)
                said(f"pools: {same.count} results are the CPU's")
        else:
            losses = training(rank, gpu)
            if rank == 0:
                with open(losses_file, "w") as out:
                    out.writelines(f"{loss!r}\n" for loss in losses)
            said(f"200 steps after destroy and init again: loss {losses[0]:.5f} to {losses[-1]:.5f}")
        dist.destroy_process_group()


def main():
    size = int(os.environ.get("TEST_RANKS", torch.cuda.device_count()))
    if size < 2 or not torch.cuda.is_available():
        sys.exit(77)
    os.environ.setdefault("TEST_PORT", "29511")
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    mp.spawn(work, (size, sys.argv[1], sys.argv[2]), size)
    print("all is well")


if __name__ == "__main__":
    main()
