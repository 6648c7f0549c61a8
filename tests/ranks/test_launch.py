"""Ranks run functions from anywhere, report what went wrong by name, and are gone afterwards."""

import functools
import os
import select
import signal
import subprocess
import sys
import textwrap
import threading
import time
from functools import partial
from pathlib import Path

import cloudpickle
import pytest
import torch
import torch.distributed as dist

from autograder.ranks import launch, report, wire
from autograder.ranks.launch import _WHERE, Launch, RanksFailed, Task, pickled_function, run_on_ranks
from autograder.ranks.ledger import Call
from autograder.ranks.processes import StartError, start_method
from autograder.ranks.report import RankOutcome

needs_proc = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="reads /proc")


def rank_and_size():
    return dist.get_rank(), dist.get_world_size()


def summed(tensor):
    total = tensor.clone()
    dist.all_reduce(total)
    return total


@pytest.mark.parametrize("asked", [0, 1, 2])
def test_a_late_answer_to_where_are_you_is_none_of_the_next_trial(asked):
    """A rank that ends just as it is asked answers when the next trial has begun: with a group to join, or without, or
    when the rank has no part in it."""
    def run(launch, size):
        outcomes = launch.run(Task("autograder.stages.call:call", [wire.encode(())] * size))
        assert [outcome.end for outcome in outcomes] == ["returned"] * size
        assert [wire.decode(outcome.result)["value"] for outcome in outcomes] == [(r, size) for r in range(size)]

    with Launch(pickled_function(rank_and_size), 3) as launch:
        run(launch, 3)
        for size in (2, 2):
            launch._send(asked, _WHERE)
            select.select([launch._family.channels[asked]], [], [])  # until the answer is there to be read
            run(launch, size)


# ---- functions and results


def test_every_rank_gets_its_own_arguments_and_all_meet_in_one_group():
    results = run_on_ranks(summed, [(torch.tensor([float(r)]),) for r in range(3)], world_size=3, backend="gloo")
    assert [r.item() for r in results] == [3.0, 3.0, 3.0] and results.backend == "gloo"


def test_results_are_numbers_text_tensors_and_collections_of_them():
    def collection():
        return {"a": [1, 2.5, None, True], "b": ("text", torch.eye(2))}

    (result,) = run_on_ranks(collection, world_size=1)
    assert result["a"] == [1, 2.5, None, True] and result["b"][0] == "text"
    assert torch.equal(result["b"][1], torch.eye(2))


def test_closures_partials_lambdas_and_callable_objects_travel():
    factor = 3

    class Times:
        def __init__(self, by):
            self.by = by

        def __call__(self, x):
            return x * self.by

    for function in (lambda x: x * factor, partial(lambda y, x: x * y, 3), Times(3)):
        assert list(run_on_ranks(function, [(1,), (2,)], world_size=2)) == [3, 6]


def test_a_function_that_names_an_operator_of_torch_travels():
    def add():
        return float(torch.ops.aten.add(torch.ones(()), 1))

    with pytest.raises(TypeError, match="cannot pickle"):
        cloudpickle.dumps(add)
    assert list(run_on_ranks(add, world_size=2)) == [2.0, 2.0]


def test_a_cached_function_travels_also_when_it_calls_itself():
    @functools.cache
    def steps(ranks):
        return 0 if ranks == 1 else 2 + steps(ranks - 1)

    assert list(run_on_ranks(lambda: steps(8), world_size=2)) == [14, 14]
    assert list(run_on_ranks(steps, [(4,)], world_size=1)) == [6]


def test_a_function_of_a_module_that_ranks_cannot_import_travels(tmp_path):
    source = tmp_path / "only_here.py"
    source.write_text("HELP = 5\ndef helper(x):\n    return x + HELP\ndef function(x):\n    return helper(x)\n")
    sys.path.insert(0, str(tmp_path))
    try:
        import only_here
    finally:
        sys.path.remove(str(tmp_path))
    assert list(run_on_ranks(only_here.function, [(1,)], world_size=1)) == [6]


def test_what_cannot_leave_a_rank_is_said():
    with pytest.raises(RanksFailed, match="returned a set, which cannot leave its rank"):
        run_on_ranks(lambda: {1}, world_size=1)


def test_a_function_that_cannot_travel_is_said():
    lock = threading.Lock()
    with pytest.raises(TypeError, match="cannot be sent to other processes"):
        run_on_ranks(lambda: lock, world_size=1)


@pytest.mark.parametrize(("arguments", "message"), [
    (dict(world_size=0), "world_size must be"), (dict(world_size=2, per_rank_args=[()]), "1 entries for 2 ranks"),
    (dict(world_size=1, per_rank_args=[torch.ones(2)]), "give a tuple"), (dict(world_size=1, backend="mpi"), "choose"),
    (dict(world_size=1, start_method="thread"), "choose 'fork' or 'spawn'")])
def test_wrong_arguments_are_one_clear_error(arguments, message):
    with pytest.raises(ValueError, match=message):
        run_on_ranks(rank_and_size, **arguments)


def test_spawned_ranks_do_the_same_as_forked_ones(capfd):
    results = run_on_ranks(summed, [(torch.ones(2),), (torch.ones(2),)], world_size=2, backend="gloo",
                           start_method="spawn", timeout=60)
    assert torch.equal(results[1], torch.full((2,), 2.0)) and results.ledgers[0][0].name == "all_reduce"
    assert capfd.readouterr() == ("", "")


def test_spawned_ranks_report_who_waits():
    with pytest.raises(RanksFailed, match="Rank 0 is waiting in all_reduce.*rank 1 returned and never came"):
        run_on_ranks(lambda: summed(torch.ones(2)) if dist.get_rank() == 0 else None, world_size=2,
                     start_method="spawn", timeout=60)


def test_several_at_once_in_threads_do_not_meet():
    found = {}

    def one(number):
        results = run_on_ranks(summed, [(torch.tensor([float(number)]),)] * 2, world_size=2, timeout=60)
        found[number] = results[0].item()

    threads = [threading.Thread(target=one, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {n: 2.0 * n for n in range(6)}


def test_output_is_kept_per_rank_and_reaches_nobody_else(capfd):
    def talk():
        print("hello from", dist.get_rank(), flush=True)
        os.write(2, b"and from the C side\n")
        subprocess.run(["echo", "and from a child"], check=True)

    results = run_on_ranks(talk, world_size=2)
    assert "hello from 1" in results.output[1] and "hello from 0" not in results.output[1]
    assert "and from the C side" in results.output[0] and "and from a child" in results.output[0]
    assert capfd.readouterr() == ("", "")


def test_endless_output_is_kept_at_both_ends_only():
    def talk():
        print("first line")
        for _ in range(3000):
            print("x" * 1000)
        print("last line")

    output = run_on_ranks(talk, world_size=1).output[0]
    assert len(output) < 20_000 and "first line" in output and "last line" in output and "bytes left out" in output


# ---- what goes wrong, by name


def failure(function, world_size=2, arguments=None, timeout=30.0) -> str:
    with pytest.raises(RanksFailed) as caught:
        run_on_ranks(function, arguments, world_size=world_size, timeout=timeout, backend="gloo")
    return str(caught.value)


def test_a_rank_that_never_came_is_named_at_once():
    def leaves():
        if dist.get_rank() == 1:
            return
        dist.all_reduce(torch.ones(3))

    assert ("Ranks 0 and 2 are waiting in all_reduce(3 float32, sum), its 1st collective (line" in
            (message := failure(leaves, 3))) and "rank 1 returned and never came" in message


def test_the_pending_collective_of_ddp_is_seen_inside_its_backward():
    def half():
        model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(3, 2))
        loss = model(torch.ones(1, 3)).sum()
        if dist.get_rank() == 0:
            loss.backward()

    assert "Rank 0 is waiting in all_reduce(8 float32)" in failure(half)


def test_two_receives_without_a_send_are_a_deadlock_between_them():
    message = failure(lambda: dist.recv(torch.ones(2), 1 - dist.get_rank()))
    assert "recv from rank 1 (2 float32)" in message and "recv from rank 0 (2 float32)" in message


def test_a_send_that_nobody_receives_is_named():
    message = failure(lambda: dist.send(torch.ones(2), 1) if dist.get_rank() == 0 else None)
    assert "Rank 0 is waiting in send to rank 1" in message and "rank 1 returned" in message


def test_different_collectives_are_named_per_rank():
    def mixed():
        dist.barrier() if dist.get_rank() else dist.all_reduce(torch.ones(5))

    assert ("In the 1st collective rank 0 called all_reduce(5 float32, sum), rank 1 called barrier()" in failure(mixed))


def test_a_collective_of_a_subgroup_names_the_rank_that_left():
    def sub():
        group = dist.new_group([0, 1])
        if dist.get_rank() == 0:
            dist.all_reduce(torch.ones(2), group=group)

    assert ("Rank 0 is waiting in all_reduce(2 float32, sum), its 1st collective in a group of ranks 0 and 1 (line"
            in failure(sub, 3))


def test_ranks_that_wait_for_a_member_that_never_used_the_group_are_stuck():
    grouped = Call("all_reduce", 2, "float32", group="1", sequence=1, done=False, ranks=(0, 1, 2))
    outcomes = [RankOutcome(0, calls=[grouped]), RankOutcome(1, calls=[grouped]),
                RankOutcome(2, calls=[Call("barrier", 0, "", sequence=1, done=False)])]
    assert report.stuck(outcomes) and not report.stuck(outcomes[:2] + [RankOutcome(2)])


def test_an_exception_is_told_with_the_learners_line_and_before_those_who_wait():
    def fails():
        if dist.get_rank() == 1:
            raise KeyError("no such thing")
        dist.all_reduce(torch.ones(1))

    message = failure(fails)
    assert message.startswith("Rank 1 raised KeyError at line") and "of fails: 'no such thing'" in message
    assert "site-packages" not in message and "autograder" not in message


@pytest.mark.parametrize(("end", "said"), [
    ("os._exit(0)", "ended with exit code 0 and without a result"), ("os._exit(7)", "ended with exit code 7"),
    ("os.kill(os.getpid(), 9)", "was killed by signal 9 (SIGKILL)"), ("sys.exit(0)", "Rank 1 raised SystemExit"),
    ("__import__('ctypes').string_at(0)", "was killed by signal 11 (SIGSEGV)")])
def test_a_rank_that_ends_without_a_result_is_a_failure_whatever_its_exit_status(end, said):
    def ends():
        if dist.get_rank() == 1:
            exec(end, {"os": os, "sys": sys})
        dist.all_reduce(torch.ones(1))

    assert said in failure(ends)


class SleepsWhereItIsLoaded:
    def __reduce__(self):
        return time.sleep, (3600,)


def test_a_function_that_holds_up_its_loading_or_the_next_group_is_late_and_no_fault_of_ours(monkeypatch):
    monkeypatch.setattr(launch, "JOIN_SECONDS", 4.0)
    slow = SleepsWhereItIsLoaded()

    def never_loaded():
        return slow

    def stays():
        result = wire.encode({"value": 1})
        body = wire.encode({"did": "returned", "result": result, "calls": [], "own_group": True})
        os.write(3, len(body).to_bytes(8, "little") + body)
        time.sleep(3600)

    task = partial(Task, "autograder.stages.call:call_freely")
    arguments = wire.encode((cloudpickle.dumps(()),))
    with Launch(pickled_function(never_loaded), 2) as ranks:
        assert [outcome.end for outcome in ranks.run(task([arguments] * 2))] == ["silent"] * 2
    with Launch(pickled_function(stays), 3) as ranks:
        assert [outcome.end for outcome in ranks.run(task([arguments] * 2))] == ["returned"] * 2
        assert [outcome.end for outcome in ranks.run(task([arguments] * 3))] == ["silent"] * 3



def test_a_loop_is_ended_at_the_deadline_and_named():
    def loops():
        while dist.get_rank() == 1:
            pass
        dist.all_reduce(torch.ones(1))

    message = failure(loops, timeout=1.0)
    assert "Not finished after 1 s" in message and "rank 1 is still running (line" in message


def test_a_long_computation_before_a_collective_is_no_deadlock():
    def slow(r):
        until = time.monotonic() + (1.0 if r else 0.0)
        while time.monotonic() < until:
            pass
        return summed(torch.ones(1)).item()

    assert list(run_on_ranks(slow, [(0,), (1,)], world_size=2)) == [2.0, 2.0]


def test_a_sleep_before_a_collective_is_no_deadlock():
    def sleepy(r):
        time.sleep(1.0 * r)
        return summed(torch.ones(1)).item()

    assert list(run_on_ranks(sleepy, [(0,), (1,)], world_size=2)) == [2.0, 2.0]


def sleep():
    time.sleep(1.5)


def compute():
    until = time.monotonic() + 1.5
    while time.monotonic() < until:
        torch.ones(100).sum()


def in_a_thread():
    thread = threading.Thread(target=sleep)
    thread.start()
    thread.join()


@pytest.mark.parametrize("work", [sleep, compute, in_a_thread])
def test_work_beside_a_receive_that_is_under_way_is_no_deadlock(work):
    """Both ranks have asked for what the other has not sent, but one of them is not waiting for it yet."""
    def overlaps(rank):
        arriving = torch.empty(1)
        receive = dist.irecv(arriving, 1 - rank)
        if rank == 0:
            work()
            dist.send(torch.ones(1), 1)
        receive.wait()
        if rank == 1:
            dist.send(torch.ones(1), 0)
        return arriving.item()

    assert list(run_on_ranks(overlaps, [(0,), (1,)], world_size=2)) == [1.0, 1.0]


@pytest.mark.parametrize("wait", [lambda work: work.wait(), lambda work: work.get_future().wait()],
                         ids=["work", "future"])
def test_a_wait_in_the_functions_own_line_is_found_at_once(wait):
    def waits():
        if dist.get_rank() == 0:
            wait(dist.all_reduce(torch.ones(2), async_op=True))

    assert "rank 1 returned and never came" in (message := failure(waits, timeout=60.0)) and "in vain" in message


def test_a_death_by_signal_that_nothing_explains_is_tried_once_more(tmp_path):
    def unlucky(marker):
        if not os.path.exists(marker):
            open(marker, "w").close()
            os.kill(os.getpid(), signal.SIGSEGV)
        return "fine"

    assert list(run_on_ranks(unlucky, [(str(tmp_path / "once"),)], world_size=1)) == ["fine"]


# ---- nothing is left behind


def descendants(pid: int) -> set[int]:
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[1]) == pid:
                found |= {int(entry.name)} | descendants(int(entry.name))
    return found


def alive(marker: str) -> list[int]:
    """Processes with this text in their environment."""
    pids = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and marker.encode() in (entry / "environ").read_bytes():
                pids.append(int(entry.name))
        except OSError:
            pass
    return [pid for pid in pids if pid != os.getpid()]


def eventually(condition, seconds=20.0) -> bool:
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True


@needs_proc
@pytest.mark.skipif(sys.platform != "linux", reason="the fork server needs Linux")
def test_daemons_that_a_rank_started_end_with_the_launch(tmp_path):
    def daemon(marker):
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                os.environ.clear()
                os.execvpe("sleep", ["sleep", "1000"], {"MARK": marker})
            os._exit(0)
        return "right"

    marker = f"daemon-of-{tmp_path.name}-{os.getpid()}"
    assert list(run_on_ranks(daemon, [(marker,)] * 2, world_size=2)) == ["right", "right"]
    assert alive(marker) == []


@needs_proc
def test_ranks_and_folders_are_gone_when_the_call_returns(tmp_path, monkeypatch):
    import tempfile

    run_on_ranks(rank_and_size, world_size=1)
    before = descendants(os.getpid())
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    descriptors = len(os.listdir("/proc/self/fd"))
    for function in (rank_and_size, lambda: dist.recv(torch.ones(1), 1 - dist.get_rank()), lambda: os._exit(3)):
        try:
            run_on_ranks(function, world_size=2)
        except RanksFailed:
            pass
        assert descendants(os.getpid()) == before and list(tmp_path.iterdir()) == []
    assert len(os.listdir("/proc/self/fd")) == descriptors


SCRIPT = """
    import sys, time
    import torch.distributed as dist
    from autograder import run_on_ranks

    def hang(path):
        open(f"{path}/{dist.get_rank()}", "w").close()
        while True:
            time.sleep(0.01)

    run_on_ranks(hang, [(sys.argv[1],)] * 2, world_size=2, timeout=300)
"""


@needs_proc
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda s: s.name)
def test_a_stopped_or_killed_program_leaves_no_process(tmp_path, root, how):
    marker = f"MARK=stopped-{how.name}-{os.getpid()}"
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(SCRIPT))
    ready = tmp_path / "ready"
    ready.mkdir()
    environment = {**os.environ, "PYTHONPATH": str(root), "MARK": marker.partition("=")[2]}
    program = subprocess.Popen([sys.executable, str(script), str(ready)], env=environment, stderr=subprocess.PIPE)
    try:
        assert eventually(lambda: len(list(ready.iterdir())) == 2, 60)
        program.send_signal(how)
        error = program.communicate(timeout=30)[1].decode()
    finally:
        program.kill()
    assert ("KeyboardInterrupt" in error) == (how is signal.SIGINT)
    assert eventually(lambda: alive(marker) == [])


def test_a_script_without_a_main_guard_may_launch(tmp_path, root):
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent("""
        from autograder import run_on_ranks
        print("once")
        def f(x):
            return x + 1
        print(list(run_on_ranks(f, [(1,), (2,)], world_size=2, start_method=METHOD, timeout=60)))
    """))
    for method in ("fork", "spawn") if start_method() == "fork" else ("spawn",):
        text = script.read_text().replace("METHOD", repr(method))
        (tmp_path / f"{method}.py").write_text(text)
        run = subprocess.run([sys.executable, str(tmp_path / f"{method}.py")], capture_output=True, text=True,
                             env={**os.environ, "PYTHONPATH": str(root)}, timeout=100)
        assert (run.stdout, run.stderr) == ("once\n[2, 3]\n", "")


def test_importing_the_package_loads_no_torch_and_starts_nothing(root):
    code = "import sys, autograder; print('torch' in sys.modules, autograder.__all__[0])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root)
    assert run.stdout == "False check\n"


def test_a_server_that_cannot_load_torch_is_one_clear_message(tmp_path, root):
    (tmp_path / "torch.py").write_text("raise ImportError('no torch on this machine')")
    code = ("from autograder.ranks import processes\n"
            "try:\n    processes.Family('x:y', 1)\nexcept processes.StartError as error:\n    print(error)")
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60,
                         env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{root}"})
    assert "no torch on this machine" in run.stdout and "make env" in run.stdout
    assert issubclass(StartError, RuntimeError)


def test_a_rank_that_writes_nonsense_to_its_channel_counts_as_died():
    def forges():
        import gc
        import socket

        nonsense = wire.encode({"did": "returned", "calls": [{"name": 3}], "result": b"", "own_group": True})
        for thing in gc.get_objects():
            if isinstance(thing, socket.socket) and thing.fileno() >= 0:
                wire.send(thing, nonsense)
        return 1

    with pytest.raises(RanksFailed, match="Rank 0"):
        run_on_ranks(forges, world_size=1)
