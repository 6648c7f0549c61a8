"""Processes that grade submissions, on this machine or on many: dask.distributed, with one submission at a time each.

`Workers()` starts as many as there are cores. Each keeps to one core, with all that it starts: ranks of one submission
take no time from another's, and N workers leave the other cores to whoever else is there.
`Workers(scheduler="tcp://…")` uses a cluster that runs already, however it was started (dask-jobqueue, Kubernetes,
`dask worker` by hand). A submission whose worker dies goes to another one.
"""
from __future__ import annotations

import logging
import os
import signal
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing import resource_tracker
from queue import Empty, SimpleQueue

import dask
from distributed import CancelledError, Client, KilledWorker, LocalCluster, WorkerPlugin
from distributed.comm import get_address_host_port

from autograder.classroom.course import Refused
from autograder.classroom.grade.submission import OtherEngine, Task, engine_version, grade_task
from autograder.classroom.sealed.sandbox import NoSandbox
from autograder.ranks.scratch import Scratch

CONNECT_SECONDS = 20.0
WAIT_SECONDS = 120.0
LOOK_SECONDS = 5.0
SCRATCH = "graders-"
AHEAD = 2  # tasks per worker that are under way, so that none waits for the grader


class Lost(Refused):
    """The workers are gone: the connection broke, or the scheduler ended."""


class Workers:
    """A context in which `map` grades. Raises Refused when there are no workers to be had."""

    def __init__(self, jobs: int | None = None, scheduler: str | None = None) -> None:
        self._jobs = jobs or len(_cores()) or os.cpu_count() or 1
        self._scheduler = scheduler

    def __enter__(self) -> Workers:
        for name in ("distributed", "tornado", "asyncio"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        self._client = self._cluster = self._scratch = None
        try:
            if self._scheduler:
                get_address_host_port(self._scheduler)  # a Client of what is no address hangs in its end
                self._client = Client(self._scheduler, timeout=CONNECT_SECONDS, set_as_default=False)
            else:
                self._scratch = Scratch(SCRATCH)
                # The sandbox limits memory; dask's own limit would stop workers for what they do not hold. The pages of
                # its scheduler would be open to the network, on a port that a second grader finds taken.
                with dask.config.set({"temporary-directory": self._scratch.name}), _interrupts_held_back():
                    self._cluster = LocalCluster(
                        n_workers=self._jobs, threads_per_worker=1, processes=True, memory_limit=0,
                        dashboard_address=None, scheduler_kwargs={"dashboard_address": "127.0.0.1:0"}, host="127.0.0.1",
                        silence_logs=logging.CRITICAL, local_directory=self._scratch.name)
                self._client = Client(self._cluster, set_as_default=False)
                cores = _cores()
                self._client.register_plugin(_OfThisMachine(cores if self._jobs <= len(cores) else []))
            self._client.wait_for_workers(1, timeout=WAIT_SECONDS)
            if self._scheduler:
                self._check_versions()
        except (OSError, TimeoutError, ValueError, ImportError) as error:
            self.__exit__()
            raise Refused(self._no_workers(error)) from None
        except BaseException:
            self.__exit__()
            raise
        return self

    def _no_workers(self, error: Exception) -> str:
        if not self._scheduler:
            return f"No process that grades could be started on this machine: {error}"
        if self._client is None:
            return (f"There is no scheduler at {self._scheduler} ({error}). Start one (dask scheduler says its "
                    "address), or leave --scheduler out to grade on this machine.")
        return (f"The scheduler {self._scheduler} has no workers, for {WAIT_SECONDS:.0f} seconds now. Start some "
                f"(dask worker {self._scheduler} --nthreads 1) and run this again.")

    def _check_versions(self) -> None:
        """Refused when a worker would compute other marks than this process, or could compute none."""
        for worker, version in self._client.run(engine_version, on_error="return").items():
            if isinstance(version, OSError):
                continue  # it ended this moment
            if version != engine_version():
                raise Refused(_OTHER.format(worker, version if isinstance(version, str) else f"none ({version})",
                                            engine_version()))

    def __exit__(self, *_: object) -> None:
        for each in (self._client, self._cluster):
            if each is not None:
                with suppress(OSError, TimeoutError):
                    each.close()
        if self._scratch is not None:
            self._scratch.cleanup()

    @property
    def count(self) -> int:
        return len(self._client.scheduler_info(n_workers=-1).get("workers", ()))

    def map(self, tasks: Iterable[tuple[object, Task, str | None]]) -> Iterator[tuple[object, Task, dict | str]]:
        """For each (name, task, only): name, task, and the result as plain data, or in words why there is none.

        Takes tasks as workers become free, so that a class of any size needs the same memory. Refused when no worker
        can grade (no sandbox, another version), Lost when the workers are gone.
        """
        waiting = iter(tasks)
        running: dict[object, tuple[object, Task]] = {}
        done: SimpleQueue = SimpleQueue()
        more = self._feed(waiting, running, done)
        while more or running:
            future = self._next(done)
            name, task = running.pop(future)
            yield name, task, self._outcome(future)
            future.release()
            if more:
                more = self._feed(waiting, running, done)

    def _feed(self, waiting: Iterator, running: dict, done: SimpleQueue) -> bool:
        """Keep every worker busy; whether there may be more tasks."""
        while len(running) < AHEAD * max(self.count, 1):
            try:
                name, task, only = next(waiting)
            except StopIteration:
                return False
            try:
                future = self._client.submit(grade_task, task, only, pure=False)
            except Exception as error:
                if self._client.status != "running":
                    raise Lost(_LOST) from None
                raise error
            running[future] = (name, task)
            future.add_done_callback(done.put)
        return True

    def _next(self, done: SimpleQueue):
        """The next future that has ended. Lost when the scheduler is; says so, once, when no worker is left."""
        told = False
        while True:
            try:
                return done.get(timeout=LOOK_SECONDS)
            except Empty:
                if self._client.status != "running":
                    raise Lost(_LOST) from None
                if not told and self._scheduler and self.count == 0:
                    told = True
                    print(f"No worker is left at {self._scheduler}: start some, and it goes on.", file=sys.stderr,
                          flush=True)

    def _outcome(self, future) -> dict | str:
        if self._client.status != "running":
            raise Lost(_LOST)
        try:
            return future.result()
        except (NoSandbox, OtherEngine) as error:
            raise Refused(str(error)) from None
        except ImportError as error:
            raise Refused(_OTHER.format("A worker", f"none ({error})", engine_version())) from None
        except (CancelledError, OSError, TimeoutError) as error:
            if isinstance(error, CancelledError) or self._client.status != "running":
                raise Lost(_LOST) from None
            return f"{type(error).__name__}: {error}"
        except KilledWorker:
            return "every worker that graded it died"
        except Exception as error:
            return f"{type(error).__name__}: {error}"


class _OfThisMachine(WorkerPlugin):
    """A worker of this machine leaves Ctrl-C to the grader and keeps to one core, also after it was started again."""

    name = "of-this-machine"

    def __init__(self, cores: list[int]) -> None:
        self._cores = cores

    def setup(self, worker) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        # Until here interrupts were held back: what a submission starts needs them, to end a cell that takes too long.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        if self._cores:
            for thread in os.listdir("/proc/self/task"):
                os.sched_setaffinity(int(thread), {self._cores[worker.name]})


@contextmanager
def _interrupts_held_back() -> Iterator[None]:
    """Ctrl-C waits while this context lasts, and for as long as they live in the threads and processes started within.

    A terminal interrupts the whole process group: a worker would end in a traceback, even while it starts.
    """
    resource_tracker.ensure_running()  # to start it lets interrupts through again, in whatever thread does it
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _cores() -> list[int]:
    """The cores that this process may use; none where a process cannot be kept to one."""
    return sorted(os.sched_getaffinity(0)) if sys.platform == "linux" else []


_LOST = ("The workers are gone: the scheduler ended, or the connection to it broke. What is graded is kept: the same "
         "command, with or without --scheduler, goes on from there.")
_OTHER = ("The worker {} has version {} of this package, the grader {}. Install the same package, Python and torch on "
          "both.")

