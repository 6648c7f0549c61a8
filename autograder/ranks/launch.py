"""Launch: a set of ranks that runs one function on several trials, and `run_on_ranks` for everybody.

The parent steers over pipes, never over the process group: a group that a learner's function left in disorder can
hold up nobody. Each trial ends when every rank has returned, raised or died, when the ranks that still run wait in
vain (`report.stuck`), or at the deadline; in the last two cases the launch is of no further use and is killed.
"""
from __future__ import annotations

import functools
import importlib
import io
import os
import selectors
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import ModuleType

from autograder.ranks import report, wire
from autograder.ranks.device import chosen_backend
from autograder.ranks.ledger import Call
from autograder.ranks.processes import Family, StartError, wait_for_exit_status
from autograder.ranks.report import RankOutcome
from autograder.ranks.scratch import Scratch

TIMEOUT = 10.0
JOIN_SECONDS = 60.0
_ANSWER_SECONDS = 0.5
_QUICK_LOOK, _SLOW_LOOK = 0.04, 0.4
_LOOKS_TO_RULE = 3
_OUTPUT_HEAD = _OUTPUT_TAIL = 8192
_FUNCTION_BYTES = 64 * 2**20  # each rank gets them


@dataclass(frozen=True)
class Task:
    """One trial for the ranks: which stage, the encoded arguments of each rank, the seed."""

    stage: str
    arguments: Sequence[bytes]
    seed: int = 0
    timeout: float = TIMEOUT
    group: bool = True

    @property
    def world_size(self) -> int:
        return len(self.arguments)


@dataclass(frozen=True)
class Place:
    """Where a function comes from: what it may import from, and the folder it knows."""

    path: Sequence[str]
    directory: str

    @classmethod
    def here(cls) -> Place:
        """Of a function of this process."""
        try:
            directory = os.getcwd()
        except OSError:
            directory = os.sep
        return cls([os.path.abspath(entry) if entry else directory for entry in sys.path], directory)


class Launch:
    """`size` rank processes with a function loaded. Use as a context manager; `run` tasks while `usable`."""

    def __init__(self, function: bytes, size: int, *, backend: str = "gloo", method: str = "auto",
                 place: Place | None = None) -> None:
        self.size = size
        self.backend = backend
        self.usable = True
        self._folder = Scratch("autograder-")
        self._joined = 0
        self._stores = 0
        self._has_run = False
        try:
            self._family = Family("autograder.ranks.rank:main", size, method)
        except BaseException:
            self._folder.cleanup()
            raise
        self._readers = [wire.FrameReader(channel) for channel in self._family.channels]
        self._outputs = [_Output() for _ in range(size)]
        self._selector = selectors.DefaultSelector()
        for rank in range(size):
            self._selector.register(self._family.channels[rank], selectors.EVENT_READ, ("channel", rank))
            self._selector.register(self._family.outputs[rank], selectors.EVENT_READ, ("output", rank))
        place = place or Place.here()
        load = wire.encode({"do": "load", "function": function, "path": place.path, "directory": place.directory,
                            "gpus": os.environ.get("CUDA_VISIBLE_DEVICES") if backend == "nccl" else ""})
        self._load_errors: dict[int, RankOutcome] = {}
        self._loading = set(range(size))
        self._here: set[int] = set()  # ranks that have begun to load the function
        for rank in range(size):
            self._send(rank, load)

    def __enter__(self) -> Launch:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self, wait: bool = True) -> None:
        """End every process of this launch and remove its files. With `wait`, return when they are gone."""
        self.usable = False
        if self._selector.get_map() is not None:
            self._selector.close()
        self._family.end(wait)
        if wait:
            self._folder.cleanup()

    def run(self, task: Task) -> list[RankOutcome]:
        """Run one task on the first P ranks; one outcome per rank, in order."""
        outcomes = [RankOutcome(rank) for rank in range(task.world_size)]
        for output in self._outputs:
            output.clear()
        if self._prepare(task, outcomes):
            for rank, arguments in enumerate(task.arguments):
                self._send(rank, wire.encode({"do": "run", "stage": task.stage, "arguments": arguments,
                                              "seed": task.seed}))
            self._has_run = True
            self._watch(outcomes, task.timeout)
        for outcome in outcomes:
            if outcome.end == "died":
                outcome.exit = wait_for_exit_status(self._family, outcome.rank, 1.0)
            outcome.output = self._outputs[outcome.rank].text()
        if task.group and not report.clean(outcomes):
            self.usable = False
        elif any(outcome.end not in ("returned", "raised") for outcome in outcomes):
            self.usable = False
        if any("CUDA error" in str((outcome.error or {}).get("message")) for outcome in outcomes):
            self.usable = False  # after one a process cannot use its GPU any more
        return outcomes

    def _prepare(self, task: Task, outcomes: list[RankOutcome]) -> bool:
        """Have the function loaded and the group of this size joined; False when that failed (outcomes say why)."""
        world_size = task.world_size if task.group else 0
        joining = set()
        if world_size != self._joined:
            self._stores += 1
            order = wire.encode({"do": "join", "world_size": world_size, "backend": self.backend,
                                 "store": os.path.join(self._folder.name, f"store-{self._stores}")})
            joining = set(range(task.world_size))
            for rank in joining:
                self._send(rank, order)
            self._joined = world_size
        deadline = time.monotonic() + JOIN_SECONDS
        while (joining or self._loading & set(range(task.world_size))) and time.monotonic() < deadline:
            for rank, answer in self._answers(deadline - time.monotonic()):
                if answer is None or answer["did"] == "raised":
                    self._load_errors[rank] = _outcome_of(rank, answer)
                    if answer is not None and rank in joining and self.backend == "nccl":
                        self.usable = False
                        raise StartError(f"Rank {rank} could not join its process group on NCCL: "
                                         f"{answer['error']['message'][:500]}\nUse backend='gloo' meanwhile.")
                if answer is None or answer["did"] != "where":  # a late answer to a question of the trial before
                    joining.discard(rank)
            joining -= self._load_errors.keys()
        if late := joining | self._loading & set(range(task.world_size)):
            self.usable = False
            # A rank that is still loading the function, or has run it before, is held up by it, not by us.
            held_up = late if self._has_run else late & self._loading & self._here
            if not held_up:
                raise StartError(f"The ranks did not form a process group within {JOIN_SECONDS:.0f} s. " + (
                    "The machine may be overloaded: try again." if self.backend == "gloo" else
                    "The GPUs may be busy, or unable to reach each other: try again, or use backend='gloo'."))
            for rank in held_up:
                outcomes[rank].end = "silent"
        for rank, failed in self._load_errors.items():
            if rank < task.world_size:
                outcomes[rank] = failed
                self.usable = False
        for outcome in outcomes:
            if not self.usable and outcome.end == "running":
                outcome.end = "waiting"
        return self.usable

    def _watch(self, outcomes: list[RankOutcome], timeout: float) -> None:
        """Collect answers until all ranks have finished, none can go on, or the deadline has passed."""
        deadline = time.monotonic() + timeout
        look_at = time.monotonic() + _SLOW_LOOK
        asked: set[int] = set()
        signature, same = None, 0
        while any(not outcome.finished for outcome in outcomes):
            now = time.monotonic()
            if now >= deadline:
                self._last_look(outcomes)
                return
            if not asked and now >= look_at:
                asked = {outcome.rank for outcome in outcomes if not outcome.finished}
                for rank in asked:
                    self._send(rank, _WHERE)
            finished_before = sum(outcome.finished for outcome in outcomes)
            for rank, answer in self._answers(min(deadline, look_at if not asked else deadline) - now):
                if answer is not None and answer["did"] == "where":
                    if rank not in asked:  # it has ended meanwhile, or answers a question of the trial before
                        continue
                    self._note_where(outcomes[rank], answer)
                    asked.discard(rank)
                    if not asked:
                        seen = _signature(outcomes)
                        same = same + 1 if seen == signature and report.stuck(outcomes) else 0
                        signature = seen
                        if same >= _LOOKS_TO_RULE:
                            for outcome in outcomes:
                                outcome.end = outcome.end if outcome.finished else "waiting"
                            return
                        quick = same or any(outcome.finished for outcome in outcomes) or report.stuck(outcomes)
                        look_at = time.monotonic() + (_QUICK_LOOK if quick else _SLOW_LOOK)
                elif rank < len(outcomes) and not outcomes[rank].finished:
                    outcomes[rank] = _outcome_of(rank, answer)
                    asked.discard(rank)
            if sum(outcome.finished for outcome in outcomes) > finished_before and not asked:
                look_at = min(look_at, time.monotonic() + _QUICK_LOOK)

    def _last_look(self, outcomes: list[RankOutcome]) -> None:
        """At the deadline: ask the ranks that still run where they are, for a moment."""
        asked = {outcome.rank for outcome in outcomes if not outcome.finished}
        for rank in asked:
            outcomes[rank].end = "silent"
            self._send(rank, _WHERE)
        until = time.monotonic() + _ANSWER_SECONDS
        while asked and time.monotonic() < until:
            for rank, answer in self._answers(until - time.monotonic()):
                if rank in asked and answer is not None and answer["did"] == "where":
                    self._note_where(outcomes[rank], answer)
                    outcomes[rank].end = "running"
                    asked.discard(rank)
                elif rank in asked:
                    outcomes[rank] = _outcome_of(rank, answer)
                    asked.discard(rank)
        for outcome in outcomes:
            if outcome.end == "running" and outcome.communicating and (outcome.pending or not outcome.frames):
                outcome.end = "waiting"

    def _note_where(self, outcome: RankOutcome, answer: dict) -> None:
        outcome.calls = answer["calls"]
        outcome.frames = answer["frames"]
        outcome.communicating = answer["communicating"]
        outcome.activity = answer["activity"]

    def _answers(self, seconds: float) -> list[tuple[int, dict | None]]:
        """(rank, answer) of the frames that arrive within `seconds`; None as answer when a rank's channel closed."""
        answers: list[tuple[int, dict | None]] = []
        for key, _ in self._selector.select(max(seconds, 0.0)):
            what, rank = key.data
            if what == "output":
                if not self._outputs[rank].read(key.fd):
                    self._selector.unregister(key.fileobj)
                continue
            arrived = [_decoded(body) for body in self._readers[rank].read()]
            if self._readers[rank].closed:
                self._selector.unregister(key.fileobj)
                arrived.append(None)
            if rank in self._loading and arrived and arrived[0] is not None and arrived[0]["did"] == "here":
                self._here.add(rank)
                arrived.pop(0)
            if arrived and rank in self._loading:
                self._note_loaded(rank, arrived.pop(0))
            answers += [(rank, answer) for answer in arrived]
        return answers

    def _note_loaded(self, rank: int, answer: dict | None) -> None:
        self._loading.discard(rank)
        if answer is None or answer["did"] != "load":
            self._load_errors[rank] = _outcome_of(rank, answer)

    def _send(self, rank: int, body: bytes) -> None:
        try:
            wire.send(self._family.channels[rank], body)
        except OSError:
            pass


_WHERE = wire.encode({"do": "where"})


_CONTENT = {"here": {}, "load": {}, "join": {},
            "where": {"calls": list, "frames": list, "communicating": bool, "activity": float},
            "returned": {"calls": list, "result": bytes, "own_group": bool},
            "raised": {"calls": list, "result": bytes, "own_group": bool, "error": dict}}


def _decoded(body: bytes) -> dict | None:
    """An answer of a rank, its calls read; None for what no rank sends (a function may write where it should not)."""
    try:
        answer = wire.decode(body)
        if any(type(answer[name]) is not kind for name, kind in _CONTENT[answer["did"]].items()):
            return None
        if "calls" in answer:
            answer["calls"] = [Call.from_dict(call) for call in answer["calls"]]
    except (wire.WireError, KeyError, TypeError):
        return None
    return answer


def _outcome_of(rank: int, answer: dict | None) -> RankOutcome:
    if answer is None:
        return RankOutcome(rank, "died")
    if answer["did"] == "returned":
        return RankOutcome(rank, "returned", result=answer["result"], calls=answer["calls"],
                           own_group=answer["own_group"])
    if answer["did"] == "raised":
        return RankOutcome(rank, "raised", result=answer["result"], error=answer["error"], calls=answer["calls"],
                           own_group=answer["own_group"])
    return RankOutcome(rank, "died")


def _signature(outcomes: list[RankOutcome]) -> list[tuple]:
    """What must not change while ranks wait. Activity tells a wait from work beside a call that is under way."""
    return [(outcome.end, len(outcome.calls), len(outcome.pending), outcome.communicating, outcome.activity)
            for outcome in outcomes]


class _Output:
    """What a rank printed: the beginning and the end of it, however much there was."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self._head, self._tail, self._left_out = b"", b"", 0

    def read(self, descriptor: int) -> bool:
        """Take what can be read now; False at the end of the pipe."""
        try:
            piece = os.read(descriptor, 1 << 16)
        except BlockingIOError:
            return True
        room = _OUTPUT_HEAD - len(self._head)
        self._head += piece[:room]
        self._tail += piece[room:] if room < len(piece) else b""
        self._left_out += max(len(self._tail) - _OUTPUT_TAIL, 0)
        self._tail = self._tail[-_OUTPUT_TAIL:]
        return bool(piece)

    def text(self) -> str:
        middle = f"\n… {self._left_out} bytes left out …\n".encode() if self._left_out else b""
        return (self._head + middle + self._tail).decode("utf-8", "replace")


def pickled_function(function: Callable) -> bytes:
    """A function as bytes that a rank can load, wherever it lives: a notebook, a script, a test module, a closure.

    Functions of modules outside the interpreter's own folders travel by value, so that a rank need not be able to
    import them and sees them as they are now. TypeError when the function refers to something that cannot travel.
    """
    import cloudpickle

    module = sys.modules.get(getattr(function, "__module__", None) or "")
    with _pickling:
        by_value = (isinstance(module, ModuleType) and module.__name__ != "__main__" and _is_users(module)
                    and module.__name__ not in cloudpickle.list_registry_pickle_by_value())
        try:
            if by_value:
                cloudpickle.register_pickle_by_value(module)
            dumped = _dumped(function)
            if len(dumped) > _FUNCTION_BYTES:
                raise ValueError(f"it refers to {len(dumped) / 1e6:.0f} MB of data")
            return dumped
        except Exception as error:
            raise TypeError(f"{getattr(function, '__name__', function)!r} cannot be sent to other processes: {error}. "
                            "Let it use only what it gets as arguments, imports, and plain values.") from error
        finally:
            if by_value:
                cloudpickle.unregister_pickle_by_value(module)


def _dumped(function: Callable) -> bytes:
    """cloudpickle's, which knows plain modules only (`torch.ops` is of a kind of its own), and leaves cached functions
    to be imported on the other side, wherever they are from."""
    import cloudpickle

    class Pickler(cloudpickle.Pickler):
        def reducer_override(self, value: object) -> object:
            if isinstance(value, ModuleType) and type(value) is not ModuleType:
                return importlib.import_module, (value.__name__,)
            if isinstance(value, functools._lru_cache_wrapper) and (
                    value.__module__ in {"__main__", *cloudpickle.list_registry_pickle_by_value()}
                    or value.__module__ not in sys.modules):
                return _cached, (value.cache_parameters(),), value.__wrapped__, None, None, _set_cached
            return super().reducer_override(value)

    with io.BytesIO() as file:
        Pickler(file).dump(function)
        return file.getvalue()


def _cached(parameters: dict) -> Callable:
    """An lru_cache around a function that comes later, as it may refer to its own cache."""
    @functools.lru_cache(**parameters)
    def call(*arguments: object, **named: object) -> object:
        return call.__wrapped__(*arguments, **named)

    return call


def _set_cached(cached: Callable, function: Callable) -> None:
    functools.update_wrapper(cached, function)


_pickling = threading.Lock()  # which modules travel by value is one setting for the whole process


def _is_users(module: ModuleType) -> bool:
    import sysconfig

    file = os.path.realpath(getattr(module, "__file__", None) or "")
    paths = sysconfig.get_paths()
    foreign = [paths["stdlib"], paths["purelib"], paths["platlib"], os.path.dirname(os.path.dirname(__file__))]
    return bool(getattr(module, "__file__", None)) and not file.startswith(
        tuple(os.path.realpath(path) + os.sep for path in foreign))


@dataclass(frozen=True)
class RankResults(Sequence):
    """What the ranks returned: `results[r]` for rank r, `ledgers[r]` its calls, `output[r]` what it printed."""

    values: list
    ledgers: list[list[Call]]
    output: list[str]
    backend: str
    seconds: float = field(compare=False)

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, rank):
        return self.values[rank]


class RanksFailed(RuntimeError):
    """Some rank did not return. The message says who raised, crashed or waits where; `outcomes` has all of it."""

    def __init__(self, message: str, outcomes: list[RankOutcome]) -> None:
        super().__init__(message)
        self.outcomes = outcomes


def run_on_ranks(fn: Callable, per_rank_args: Sequence[Sequence] | None = None, *, world_size: int,
                 backend: str = "auto", timeout: float = TIMEOUT, start_method: str = "auto") -> RankResults:
    """Call `fn(*per_rank_args[r])` on every rank r of a fresh process group of `world_size` processes.

    Inside `fn` the default process group is initialised. backend: "gloo" (CPU), "nccl" (one GPU per rank) or "auto"
    (NCCL where there are enough GPUs, else gloo; `results.backend` says which it was).
    timeout: seconds after which everything is ended. Results are numbers, text, tensors, and lists, tuples and dicts
    of these. Raises RanksFailed when a rank raises, crashes or waits in vain; ValueError for arguments that do not
    fit; TypeError for a function that cannot travel.
    """
    import cloudpickle

    if not isinstance(world_size, int) or isinstance(world_size, bool) or world_size < 1:
        raise ValueError(f"world_size must be an integer of at least 1, not {world_size!r}")
    if per_rank_args is None:
        per_rank_args = [()] * world_size
    if len(per_rank_args) != world_size:
        raise ValueError(f"per_rank_args has {len(per_rank_args)} entries for {world_size} ranks: "
                         "give one tuple of arguments per rank")
    backend = chosen_backend(backend, world_size)
    began = time.monotonic()
    task = Task("autograder.stages.call:call_freely", timeout=timeout, arguments=[
        wire.encode((cloudpickle.dumps(_as_tuple(args, rank)),)) for rank, args in enumerate(per_rank_args)])
    outcomes = run_with_retry(pickled_function(fn), task, backend=backend, method=start_method)
    if any(outcome.end != "returned" for outcome in outcomes):
        raise RanksFailed(failure_message(outcomes, timeout), outcomes)
    return RankResults([wire.decode(outcome.result)["value"] for outcome in outcomes],
                       [outcome.calls for outcome in outcomes], [outcome.output for outcome in outcomes],
                       backend, time.monotonic() - began)


def _as_tuple(arguments: Sequence, rank: int) -> tuple:
    if not isinstance(arguments, (tuple, list)):
        raise ValueError(f"per_rank_args[{rank}] is a {type(arguments).__name__}: give a tuple of arguments, "
                         "(x,) for a single one")
    return tuple(arguments)


def run_with_retry(function: bytes, task: Task, *, backend: str, method: str = "auto") -> list[RankOutcome]:
    """One task in a launch of its own; once more if a rank was killed by a signal that nothing explains."""
    for attempt in (1, 2):
        with Launch(function, task.world_size, backend=backend, method=method) as launch:
            outcomes = launch.run(task)
        if attempt == 2 or not unexplained_death(outcomes):
            break
    return outcomes


def unexplained_death(outcomes: list[RankOutcome]) -> bool:
    """Whether a rank was killed by a signal and nothing that it wrote says why (gloo's size check does)."""
    return any(outcome.end == "died" and (outcome.exit or 0) < 0 and "preamble" not in outcome.output
               for outcome in outcomes)


def failure_message(outcomes: list[RankOutcome], timeout: float) -> str:
    """What went wrong on the ranks, in a few lines: crashes first, then exceptions, then who waits."""
    lines = [report.sentence(report.describe_death(outcome)) + "." for outcome in outcomes if outcome.end == "died"]
    raised: dict[str, list[int]] = {}
    for outcome in outcomes:
        if outcome.end == "raised" and not (lines and (outcome.error or {}).get("in_torch")):
            raised.setdefault(report.describe_error(outcome), []).append(outcome.rank)
    lines += [f"{report.sentence(report.ranks_words(ranks))} raised {error}" for error, ranks in raised.items()]
    if any(not outcome.finished for outcome in outcomes):
        late = any(outcome.end in ("running", "silent") for outcome in outcomes)
        lines += [f"Not finished after {timeout:g} s." if late else "The ranks wait for each other in vain.",
                  report.sentence(report.describe_waiting(outcomes))]
        if (differing := report.differing_calls(outcomes)) is not None:
            lines.append(differing)
    printed = next((outcome for outcome in outcomes if outcome.end == "died" and outcome.output.strip()), None)
    if printed is not None:
        lines.append(f"It wrote: {' '.join(printed.output.split())[-300:]}")
    return "\n".join(lines)
