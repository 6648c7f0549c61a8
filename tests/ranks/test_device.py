"""Backends: which one a launch runs on, a rank on its GPU, and the same answers on NCCL as on gloo.

`python -m pytest -m gpu` runs what needs GPUs: one is enough for most, two for what takes two ranks. What is here for
both backends runs on gloo everywhere.
"""

import functools
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import cloudpickle
import pytest
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from autograder.classroom.verify import load
from autograder.grading import run_trials
from autograder.judge import Hearing
from autograder.ranks import device, wire
from autograder.ranks.launch import Launch, RanksFailed, Task, pickled_function, run_on_ranks
from autograder.ranks.ledger import _Seen, collectives
from autograder.ranks.processes import StartError
from autograder.ranks.server import PRELOAD
from autograder.stages.call import call_freely

BANKS = Path(__file__).parents[1] / "banks"
GPUS = torch.cuda.device_count()
backends = pytest.mark.parametrize("backend", ["gloo", pytest.param("nccl", marks=pytest.mark.gpu)])


def ranks_of(backend: str) -> int:
    return min(GPUS, 2) if backend == "nccl" else 2


def two_ranks_of(backend: str) -> int:
    if ranks_of(backend) < 2:
        pytest.skip("needs two GPUs: one per rank")
    return 2


# ---- which backend


@pytest.mark.parametrize(("wanted", "world_size", "gpus", "chosen"), [
    ("auto", 1, 0, "gloo"), ("auto", 1, 1, "nccl"), ("auto", 2, 1, "gloo"), ("auto", 8, 8, "nccl"),
    ("gloo", 2, 8, "gloo"), ("nccl", 8, 8, "nccl"), ("nccl", 1, 1, "nccl")])
def test_the_backend_follows_from_ranks_and_gpus(monkeypatch, wanted, world_size, gpus, chosen):
    monkeypatch.delenv("AUTOGRADER_BACKEND")
    monkeypatch.setattr(device, "gpu_count", lambda: gpus)
    assert device.chosen_backend(wanted, world_size) == chosen


def test_nccl_without_a_gpu_per_rank_says_how_many_there_are(monkeypatch):
    monkeypatch.setattr(device, "gpu_count", lambda: 1)
    with pytest.raises(ValueError, match="one GPU per rank: 2 ranks, 1 GPU.*backend='gloo'"):
        device.chosen_backend("nccl", 2)


def test_the_environment_can_say_what_auto_means(monkeypatch):
    monkeypatch.setattr(device, "gpu_count", lambda: 8)
    monkeypatch.setenv("AUTOGRADER_BACKEND", "gloo")
    assert device.chosen_backend("auto", 2) == "gloo" and device.chosen_backend("nccl", 2) == "nccl"


def test_more_ranks_than_gpus_run_on_gloo(monkeypatch):
    monkeypatch.delenv("AUTOGRADER_BACKEND")
    assert run_on_ranks(dist.get_rank, world_size=min(GPUS, 8) + 1).backend == "gloo"


def test_ranks_on_gloo_see_no_gpu():
    """So that code which takes a GPU where there is one does the same on every machine."""
    seen = run_on_ranks(lambda: (torch.cuda.device_count(), os.environ["CUDA_VISIBLE_DEVICES"]), world_size=1,
                        backend="gloo")
    assert list(seen) == [(0, "")]


# ---- placement


def test_placing_moves_tensors_and_modules_wherever_they_are_and_leaves_the_rest():
    value = {"a": [torch.ones(2), 3], "b": (torch.ones(1), "text", None), "c": torch.nn.Linear(1, 1)}
    assert wire.placed(value, "cpu") is value
    moved = wire.placed(value, "meta")
    assert moved["a"][0].device.type == moved["b"][0].device.type == moved["c"].weight.device.type == "meta"
    assert (moved["a"][1], moved["b"][1:]) == (3, ("text", None))


def test_what_is_made_without_a_device_lies_on_the_ranks():
    with device.OnDevice("meta"):
        made = [torch.tensor(3), torch.zeros(2), torch.rand(2, requires_grad=True), torch.nn.Linear(2, 2).weight,
                torch.randperm(4, generator=torch.Generator())]
        argument = call_freely(lambda x: x.device.type, (cloudpickle.dumps((torch.ones(2),)),), None)
        elsewhere = torch.zeros(2, device="cpu"), torch.rand(2, device="cpu")
    assert [one.device.type for one in made] == ["meta"] * 5 and argument == {"value": "meta"}
    assert made[2].is_leaf and made[2].requires_grad
    assert [one.device.type for one in elsewhere] == ["cpu"] * 2


def drawing():
    torch.manual_seed(3)
    made = [torch.nn.Linear(3, 2).weight, torch.nn.Embedding(4, 2).weight,
            torch.nn.init.xavier_normal_(torch.empty(2, 3)), torch.randn(2, dtype=torch.float64),
            torch.randint(5, (3,)), torch.empty(2).uniform_(), torch.randperm(4)]
    return [one.detach() for one in made]


def test_random_numbers_are_the_generators_of_the_cpu():
    """So a seed means the same model on every backend."""
    drawing()
    after = torch.get_rng_state()
    torch.manual_seed(7)
    with device.OnDevice("meta"):
        assert {one.device.type for one in drawing()} == {"meta"}
        own = torch.Generator()
        before = own.get_state()
        torch.randn(2, generator=own)
    assert torch.equal(torch.get_rng_state(), after) and not torch.equal(own.get_state(), before)


def test_calls_wait_on_the_cpu_where_nccl_only_queues_them():
    def waits():
        waited = []
        torch.cuda.current_stream = lambda: type("Stream", (), {"synchronize": lambda self: waited.append(1)})()
        plain, wait = dist.ProcessGroup.allreduce, dist.Work.wait
        dist.ProcessGroup.allreduce = functools.wraps(plain)(lambda *args: wait(plain(*args)) and None)  # as NCCL's
        device.wait_on_the_cpu()
        counts = []
        dist.all_reduce(torch.ones(1))
        counts.append(len(waited))
        work = dist.broadcast(torch.ones(1), 0, async_op=True)
        counts.append(len(waited))
        work.wait()
        counts.append(len(waited))
        torch.ones(1, requires_grad=True).sum().backward()
        return [*counts, len(waited)]

    assert list(run_on_ranks(waits, world_size=1)) == [[1, 1, 2, 3]]


def test_nothing_that_the_server_loads_asks_for_cuda():
    """What CUDA is asked before a fork cannot be used after it."""
    code = f"""
import importlib, torch
asked = []
def spied(name, known):
    return lambda *args: (asked.append(name), known(*args))[1]
for name in ("is_available", "device_count", "current_device", "_lazy_init", "is_initialized", "get_device_name"):
    setattr(torch.cuda, name, spied(name, getattr(torch.cuda, name)))
for name in {PRELOAD + ('autograder.grading', 'autograder.judge')!r}:
    importlib.import_module(name)
print(asked)
torch.cuda.is_available()
print(asked)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    untouched, spied = run.stdout.splitlines()
    assert untouched == "[]" and "is_available" in spied


@pytest.mark.skipif(torch.cuda.is_available(), reason="has a GPU")
def test_a_rank_that_cannot_have_its_gpu_says_so():
    task = Task("autograder.stages.call:call_freely", [b"", b""])
    with Launch(pickled_function(dist.get_rank), 2, backend="nccl") as launch:
        with pytest.raises(StartError, match="could not join its process group on NCCL(?s:.*)Use backend='gloo'"):
            launch.run(task)


# ---- the recorder of NCCL, from entries as it writes them


def entry(name, sequence, *, state="scheduled", retired=False, created=10, p2p=False, size=(3,), group="default_pg"):
    return {"profiling_name": name, "collective_seq_id": sequence, "pg_id": 0, "record_id": created, "is_p2p": p2p,
            "process_group": ["0", group], "input_sizes": [list(size)], "input_dtypes": ["Float"],
            "output_dtypes": ["Float"], "state": state, "retired": retired, "time_created_ns": created}


def read(*entries):
    return [(call.name, call.elements, call.group, call.done) for _, call in collectives(list(entries), [], True)]


def test_a_collective_on_nccl_has_ended_when_the_gpu_says_so():
    assert read(entry("nccl:all_reduce", 1, state="completed"), entry("nccl:all_reduce", 2, retired=True),
                entry("nccl:all_reduce", 3, state="started")) == [
        ("all_reduce", 3, "default", True), ("all_reduce", 3, "default", True), ("all_reduce", 3, "default", False)]


def test_calls_in_a_batch_have_ended_when_the_batch_has():
    parts = entry("nccl:all_reduce", 1), entry("nccl:all_reduce", 1, size=(2,))
    assert [done for *_, done in read(*parts, entry("nccl:coalesced", 1))] == [False, False]
    assert [done for *_, done in read(*parts, entry("nccl:coalesced", 1, state="completed"))] == [True, True]


def test_a_send_in_nccls_recorder_is_no_collective():
    assert read(entry("nccl:send 0->1", 1, p2p=True, state="completed"), entry("nccl:all_reduce", 1),
                entry("nccl:coalesced", 1, p2p=True, state="completed")) == [("all_reduce", 3, "default", False)]


def test_a_send_without_a_work_has_ended_when_the_recorder_says_so(monkeypatch):
    everybody = SimpleNamespace(size=lambda: 2)
    monkeypatch.setattr(dist.distributed_c10d._world, "default_pg", everybody)

    def done(*entries):
        seen = _Seen("send", (everybody, [torch.ones(3)], 1, 0), {})
        seen.began, seen.ended = 10, 11
        return seen.as_call(list(entries)).done

    def send(**more):
        return entry("nccl:send 0->1", 0, p2p=True, **more)

    assert done(send(state="completed")) and not done(send())
    assert done(send(), entry("nccl:coalesced", 0, p2p=True, state="completed", created=12))
    assert not done(send(), entry("nccl:coalesced", 0, p2p=True, created=12))
    assert not done(send(state="completed", created=9), send(created=12)), "an earlier one is another's"


def test_gloo_beside_nccl_counts_for_itself():
    assert read(entry("nccl:all_reduce", 1, state="completed"), entry("gloo:all_reduce", 1),
                entry("gloo:barrier", 1, group="between two calls")) == [
        ("all_reduce", 3, "default", True), ("all_reduce", 3, "default on gloo", False),
        ("barrier", 0, "between two calls 0 on gloo", False)]


def test_nccls_barrier_is_a_barrier():
    assert read(entry("nccl:all_reduce_barrier", 1, size=(1,))) == [("barrier", 0, "default", False)]


# ---- the same on both backends


@backends
def test_numbers_and_devices(backend):
    def several(x, part):
        count = torch.tensor(len(x), device="cpu")
        total, double, mean = x.clone(), x.double(), x.clone()
        dist.all_reduce(count)
        dist.all_reduce(total)
        dist.all_reduce(double, op=dist.ReduceOp.MAX)
        dist.all_reduce(mean, op=dist.ReduceOp.AVG)
        gathered = [None] * dist.get_world_size()
        dist.all_gather_object(gathered, {"rank": dist.get_rank()})
        dist.barrier()
        group = dist.new_group(list(range(dist.get_world_size())))
        dist.broadcast(x, 0, group=group)
        return str(x.device), int(count), total, double, mean, gathered, x, part["a"][0].device.type

    size = ranks_of(backend)
    arguments = [(torch.arange(3.0) + rank, {"a": [torch.ones(1)]}) for rank in range(size)]
    results = run_on_ranks(several, arguments, world_size=size, backend=backend, timeout=60)
    assert results.backend == backend
    summed = sum((x for x, _ in arguments), torch.zeros(3))
    for rank, (where, count, total, double, mean, gathered, first, placed) in enumerate(results):
        assert (where, placed) == ((f"cuda:{rank}", "cuda") if backend == "nccl" else ("cpu", "cpu"))
        assert count == 3 * size and gathered == [{"rank": r} for r in range(size)]
        assert torch.equal(total, summed) and torch.equal(mean, summed / size)
        assert torch.equal(double, arguments[-1][0].double()) and torch.equal(first, arguments[0][0])


@pytest.mark.gpu
def test_a_gpu_for_each_rank_is_taken(monkeypatch):
    monkeypatch.delenv("AUTOGRADER_BACKEND")
    assert run_on_ranks(dist.get_rank, world_size=1, timeout=60).backend == "nccl"


@backends
def test_a_seed_means_the_same_numbers(backend):
    (drawn,) = run_on_ranks(drawing, world_size=1, backend=backend, timeout=60)
    assert all(map(torch.equal, drawn, drawing()))


@backends
def test_the_ledger(backend):
    def several():
        x = torch.ones(3, dtype=torch.float64)
        dist.all_reduce(x)
        dist.broadcast(x, 0)
        dist.barrier()
        model = DistributedDataParallel(torch.nn.Linear(3, 2))
        model(torch.ones(1, 3)).sum().backward()

    ledger = run_on_ranks(several, world_size=ranks_of(backend), backend=backend, timeout=60).ledgers[0]
    own = [(call.name, call.elements, call.dtype, call.op) for call in ledger]
    assert own[:3] == [("all_reduce", 3, "float64", "sum"), ("broadcast", 3, "float64", None), ("barrier", 0, "", None)]
    assert own[-1] == ("all_reduce", 8, "float32", None) and all(call.done for call in ledger)


@backends
def test_a_batch_of_sends_in_the_ledger(backend):
    def ring():
        rank, size = dist.get_rank(), dist.get_world_size()
        arriving = torch.empty(4)
        for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, torch.full((4,), float(rank)), (rank + 1) % size),
                                            dist.P2POp(dist.irecv, arriving, (rank - 1) % size)]):
            work.wait()
        dist.send(arriving, (rank + 1) % size) if rank % 2 else dist.recv(arriving, (rank - 1) % size)
        return arriving

    results = run_on_ranks(ring, world_size=two_ranks_of(backend), backend=backend, timeout=60)
    assert [r.tolist() for r in results] == [[0.0] * 4, [0.0] * 4]
    assert [[(c.name, c.elements, c.peer, c.done) for c in calls] for calls in results.ledgers] == [
        [("send", 4, 1, True), ("recv", 4, 1, True), ("recv", 4, 1, True)],
        [("send", 4, 0, True), ("recv", 4, 0, True), ("send", 4, 0, True)]]


@backends
@pytest.mark.parametrize("start_method", ["fork", "spawn"])
def test_both_ways_to_start(backend, start_method):
    results = run_on_ranks(dist.get_rank, world_size=ranks_of(backend), backend=backend, start_method=start_method,
                           timeout=60)
    assert list(results) == list(range(ranks_of(backend)))


def failure(function, backend, timeout=60.0):
    with pytest.raises(RanksFailed) as caught:
        run_on_ranks(function, world_size=two_ranks_of(backend), backend=backend, timeout=timeout)
    return str(caught.value)


@backends
def test_a_rank_that_never_came_is_named_and_the_line_that_waits(backend):
    def leaves():
        if dist.get_rank() == 1:
            return None
        value = torch.ones(3)
        dist.all_reduce(value)
        return value.tolist()

    line = leaves.__code__.co_firstlineno + 4
    assert (f"Rank 0 is waiting in all_reduce(3 float32, sum), its 1st collective (line {line} of leaves); rank 1 "
            "returned and never came" in failure(leaves, backend))


@pytest.mark.gpu
def test_a_call_on_the_gpu_that_nobody_waits_for_is_waited_for():
    def asks():
        if dist.get_rank() == 0:
            dist.all_reduce(torch.ones(2), async_op=True)

    assert "Rank 0 is waiting in all_reduce(2 float32" in failure(asks, "nccl")


@backends
def test_the_pending_collective_of_ddp_is_named(backend):
    def half():
        model = DistributedDataParallel(torch.nn.Linear(3, 2))
        loss = model(torch.ones(1, 3)).sum()
        if dist.get_rank() == 0:
            loss.backward()

    assert "Rank 0 is waiting in all_reduce(8 float32)" in failure(half, backend)


@backends
def test_a_rank_that_dies_is_named(backend):
    def dies():
        if dist.get_rank() == 1:
            import os
            os._exit(7)
        dist.all_reduce(torch.ones(1))

    assert "Rank 1 ended with exit code 7" in failure(dies, backend)


@backends
def test_a_loop_is_ended_at_the_deadline(backend):
    def loops():
        while True:
            torch.ones(1).sum().item()

    with pytest.raises(RanksFailed, match="Not finished after 1 s"):
        run_on_ranks(loops, world_size=1, backend=backend, timeout=1.0)


# ---- checks on both backends: the trials that have at most two ranks, one GPU each


def verdict_on(backend, assignment, exercise, file):
    hearing = Hearing(exercise, "visible", 0)
    size = ranks_of(backend)
    hearing.trials = [trial for trial in hearing.trials if trial.world_size <= size]
    function = pickled_function(load(BANKS / assignment / exercise / f"{file}.py"))
    outcomes = run_trials(function, {**hearing.plan(), "timeout": 60.0}, size, backend)
    return hearing.rule([[outcome.to_dict() for outcome in ranks] for ranks in outcomes], backend, 0.0)


def first(assignment, exercise, kind):
    return min(file.stem for file in (BANKS / assignment / exercise).glob(f"{kind}_*.py"))


@backends
@pytest.mark.parametrize(("assignment", "exercise"), [
    ("item_mean", "synchronized_item_mean"), ("sum_or_mean", "reduce_gradients"), ("sum_or_mean", "ring_all_reduce"),
    ("uneven_ranks", "ddp_step"), ("uneven_ranks", "item_sum_hook"), ("accumulation", "ddp_accumulate")])
def test_right_answers_pass(backend, assignment, exercise):
    verdict = verdict_on(backend, assignment, exercise, first(assignment, exercise, "right"))
    assert verdict.passed and verdict.backend == backend, str(verdict)


@pytest.mark.gpu
@pytest.mark.parametrize(("assignment", "exercise"), [
    ("item_mean", "synchronized_item_mean"), ("uneven_ranks", "ddp_step"), ("accumulation", "ddp_accumulate")])
def test_wrong_answers_are_named_as_on_gloo(assignment, exercise):
    file = first(assignment, exercise, "wrong")
    on_gpus, on_cpu = (verdict_on(backend, assignment, exercise, file) for backend in ("nccl", "gloo"))
    if ranks_of("nccl") == 2:
        assert (on_gpus.diagnosis, on_gpus.message) == (on_cpu.diagnosis, on_cpu.message)
