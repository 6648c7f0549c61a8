"""`grade --scheduler`: what can be wrong with a real dask cluster is one message, and nothing graded is lost."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from sealed_course import NAME, copied, nothing_left_behind  # noqa: E402
from test_grade import ANSWERS, POINTS, for_real, points, template, until, with_marks  # noqa: E402, F401

from autograder.__main__ import main  # noqa: E402
from autograder.classroom.grade import workers  # noqa: E402

pytestmark = pytest.mark.timeout(600)
PACKAGE = Path(workers.__file__).parents[2]


class Cluster:
    """A dask scheduler and workers, each a process of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.file = folder, folder / "scheduler.json"
        self.processes: list[subprocess.Popen] = []
        self.scheduler = self._start("scheduler", "--port", "0", "--host", "127.0.0.1", "--no-dashboard")
        until(lambda: self.file.exists() and self.file.read_text().strip().endswith("}"))
        self.address = json.loads(self.file.read_text())["address"]

    def worker(self, name: str, **environment: str) -> subprocess.Popen:
        return self._start("worker", "--nthreads", "1", "--no-nanny", "--no-dashboard", "--name", name,
                           "--local-directory", str(self.folder / name), **environment)

    def _start(self, kind: str, *arguments: str, **environment: str) -> subprocess.Popen:
        self.processes.append(subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.dask_{kind}", *arguments, "--scheduler-file", str(self.file)],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self.folder, env={**os.environ, **environment}))
        return self.processes[-1]

    def end(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()


@contextmanager
def cluster(folder: Path) -> Iterator[Cluster]:
    folder.mkdir()
    found = Cluster(folder)
    try:
        yield found
    finally:
        found.end()


@pytest.fixture
def root(template, tmp_path, monkeypatch) -> Path:  # noqa: F811
    root = copied(template, tmp_path / "course")
    monkeypatch.chdir(root)
    monkeypatch.setattr(workers, "CONNECT_SECONDS", 2.0)
    return root


def refused(capsys, address: str) -> str:
    """What grading with this scheduler says on stderr: one line."""
    assert main(["grade", NAME, "--scheduler", address]) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1, said
    return said


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "tcp://no-such-host.invalid:8786", "pigeon://post"])
def test_an_address_where_nothing_listens(root, capsys, address):
    assert refused(capsys, address).startswith(f"There is no scheduler at {address} (")
    assert points(root) == {}


@pytest.mark.parametrize("address", ["here", "tcp://host", "pigeon://post:1"])
def test_what_is_no_address_makes_no_client(root, capsys, monkeypatch, address):
    """One that could not connect complains for 40 seconds when it goes."""
    monkeypatch.setattr(workers, "Client", None)
    assert refused(capsys, address).startswith(f"There is no scheduler at {address} (")


def test_a_scheduler_without_workers(root, capsys, monkeypatch):
    monkeypatch.setattr(workers, "WAIT_SECONDS", 1.0)
    with cluster(root.parent / "dask") as dask:
        assert f"{dask.address} has no workers" in refused(capsys, dask.address)
    assert points(root) == {}


@pytest.mark.parametrize("other, words", [("# another version", "has version"),
                                          ("raise ImportError('an old one')", "has version none")])
def test_a_worker_with_another_version(root, capsys, other, words):
    elsewhere = root.parent / "elsewhere"
    shutil.copytree(PACKAGE, elsewhere / "autograder", ignore=shutil.ignore_patterns("__pycache__"))
    with (elsewhere / "autograder" / "classroom" / "grade" / "submission.py").open("a") as file:
        file.write(other + "\n")
    with cluster(root.parent / "dask") as dask:
        dask.worker("other", PYTHONPATH=str(elsewhere))
        said = refused(capsys, dask.address)
    assert words in said and "Install the same package" in said
    assert points(root) == {}


def results(root: Path) -> list[Path]:
    return list(root.glob(f".course/graded/{NAME}/*/{NAME}-*.json"))


@with_marks(*for_real)
def test_a_scheduler_that_is_killed_loses_nothing_and_grading_here_goes_on(root):
    with cluster(root.parent / "dask") as dask, nothing_left_behind():
        dask.worker("one")
        grader = subprocess.Popen([sys.executable, "-m", "autograder", "grade", NAME, "--scheduler", dask.address],
                                  cwd=root, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        until(lambda: results(root) or grader.poll() is not None)
        dask.scheduler.kill()
        said, complained = grader.communicate(timeout=120)
    assert grader.returncode == 1 and "Traceback" not in complained
    assert complained.count("The workers are gone") == 1
    there = results(root)
    assert there and not said.startswith("0 graded")
    run = subprocess.run([sys.executable, "-m", "autograder", "grade", NAME], cwd=root, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert points(root) == {**POINTS, "dora": 15.0}  # her process is gone before the question is reached
    assert set(there) < set(results(root)) and len(results(root)) == len(ANSWERS)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="processes can be kept to a core on Linux only")
def test_each_worker_of_this_machine_keeps_to_a_core_with_what_it_starts():
    cores = sorted(os.sched_getaffinity(0))[:2]
    with workers.Workers(len(cores)) as started:
        client = started._client
        seen = [client.submit(cores_of_a_child, workers=[address], pure=False).result()
                for address in client.scheduler_info(n_workers=-1)["workers"]]
    assert sorted(seen) == [f"{{{core}}}" for core in cores]


@pytest.mark.slow
def test_a_worker_of_this_machine_ignores_interrupts_and_what_it_starts_may_have_them():
    with workers.Workers(1) as started:
        client = started._client
        assert started._cluster.scheduler.http_server.address == "127.0.0.1"
        for again in (False, True):
            if again:
                client.restart()
            assert client.submit(interrupts, pure=False).result() == (signal.SIG_IGN, "set()")


def interrupts() -> tuple[object, str]:
    """What this process does when it is interrupted, and which signals a process that it starts holds back."""
    show = "import signal; print(signal.pthread_sigmask(signal.SIG_BLOCK, []))"
    child = subprocess.run([sys.executable, "-c", show], capture_output=True, text=True)
    return signal.getsignal(signal.SIGINT), child.stdout.strip()


def cores_of_a_child() -> str:
    show = "import os; print(os.sched_getaffinity(0))"
    return subprocess.run([sys.executable, "-c", show], capture_output=True, text=True).stdout.strip()
