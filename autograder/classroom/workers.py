"""Processes that grade submissions, on this machine or on many: dask.distributed, with one submission at a time each.

`Workers()` starts as many as there are cores; `Workers(scheduler="tcp://…")` uses a cluster that runs already, however
it was started (dask-jobqueue, Kubernetes, `dask worker` by hand). A submission whose worker dies goes to another one.
"""
from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator

from distributed import CancelledError, Client, KilledWorker, LocalCluster, as_completed

from autograder.classroom.course import Refused
from autograder.classroom.sandbox import NoSandbox
from autograder.classroom.submission import OtherEngine, Task, grade_task
from autograder.ranks.scratch import Scratch

WAIT_SECONDS = 120.0
AHEAD = 2  # tasks per worker that are under way, so that none waits for the grader


class Lost(Refused):
    """The workers are gone: the connection broke, or the scheduler ended."""


class Workers:
    """A context in which `map` grades. Raises Refused when there are no workers to be had."""

    def __init__(self, jobs: int | None = None, scheduler: str | None = None) -> None:
        self._jobs = jobs or os.cpu_count() or 1
        self._scheduler = scheduler

    def __enter__(self) -> Workers:
        for name in ("distributed", "tornado", "asyncio"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        self._cluster = self._scratch = None
        try:
            if self._scheduler:
                self._client = Client(self._scheduler, timeout="20s", set_as_default=False)
            else:
                self._scratch = Scratch("graders-")
                # The sandbox limits memory; dask's own limit would stop workers for what they do not hold.
                self._cluster = LocalCluster(
                    n_workers=self._jobs, threads_per_worker=1, processes=True, memory_limit=0, dashboard_address=None,
                    host="127.0.0.1", silence_logs=logging.CRITICAL, local_directory=self._scratch.name)
                self._client = Client(self._cluster, set_as_default=False)
            self._client.wait_for_workers(1, timeout=WAIT_SECONDS)
        except (OSError, TimeoutError) as error:
            self.__exit__()
            where = self._scheduler or "this machine"
            raise Refused(f"There are no workers on {where} ({error}). Is the scheduler's address right, and are "
                          f"workers started (dask worker {self._scheduler or 'ADDRESS'} --nthreads 1)?") from None
        return self

    def __exit__(self, *_: object) -> None:
        client = getattr(self, "_client", None)
        for each in (client, self._cluster):
            if each is not None:
                each.close()
        if self._scratch is not None:
            self._scratch.cleanup()

    @property
    def count(self) -> int:
        return len(self._client.scheduler_info(n_workers=-1)["workers"])

    def map(self, tasks: Iterable[tuple[object, Task, str | None]]) -> Iterator[tuple[object, Task, dict | str]]:
        """For each (name, task, only): name, task, and the result as plain data, or in words why there is none.

        Takes tasks as workers become free, so that a class of any size needs the same memory. Refused when no worker
        can grade (no sandbox, another version), Lost when the workers are gone.
        """
        waiting = iter(tasks)
        running: dict[object, tuple[object, Task]] = {}
        done = as_completed(with_results=False, loop=self._client.loop)
        more = self._feed(waiting, running, done)
        while more or running:
            future = next(done)
            name, task = running.pop(future)
            yield name, task, self._outcome(future)
            if more:
                more = self._feed(waiting, running, done)

    def _feed(self, waiting: Iterator, running: dict, done: as_completed) -> bool:
        """Keep every worker busy; whether there may be more tasks."""
        while len(running) < AHEAD * max(self.count, 1):
            try:
                name, task, only = next(waiting)
            except StopIteration:
                return False
            future = self._client.submit(grade_task, task, only, pure=False)
            running[future] = (name, task)
            done.add(future)
        return True

    def _outcome(self, future) -> dict | str:
        if self._client.status != "running":
            raise Lost(_LOST)
        try:
            return future.result()
        except (NoSandbox, OtherEngine) as error:
            raise Refused(str(error)) from None
        except (CancelledError, OSError, TimeoutError) as error:
            if isinstance(error, CancelledError) or self._client.status != "running":
                raise Lost(_LOST) from None
            return f"{type(error).__name__}: {error}"
        except KilledWorker:
            return "every worker that graded it died"
        except Exception as error:
            return f"{type(error).__name__}: {error}"


_LOST = "The workers are gone: the scheduler ended, or the connection to it broke."

