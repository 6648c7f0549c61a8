"""What a run of `grade` shows while it lasts: a bar or lines, and nbgrader's log in a file."""
from __future__ import annotations

import logging
import sys
import time
import warnings
from contextlib import suppress
from pathlib import Path

from sqlalchemy.exc import SAWarning
from tqdm import tqdm

from autograder.classroom.course import Refused, disk_trouble

LOG_SECONDS = 30.0


def progress(total: int, assignment: str) -> tqdm | Lines:
    """A bar on a terminal, lines in a log."""
    if sys.stderr.isatty():
        return tqdm(total=total, unit="submission", desc=assignment, dynamic_ncols=True)
    return Lines(total)


class Lines:
    """How far it is, in a line now and then."""

    def __init__(self, total: int) -> None:
        self._total, self._done = total, 0

    def __enter__(self) -> Lines:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def update(self) -> None:
        self._done += 1
        now = time.monotonic()
        if self._done == 1:
            self._first = self._said = now  # what was before it is starting, and says nothing about the others
        elif now - self._said >= LOG_SECONDS and self._done < self._total:
            self._said = now
            seconds = (now - self._first) * self._done / (self._done - 1)
            print(pace(self._done, self._total, seconds), file=sys.stderr, flush=True)


def pace(done: int, total: int, seconds: float) -> str:
    """How far, how fast and how long still, for people."""
    rate = done / seconds
    left = (total - done) / rate
    size, unit = (3600, "hours") if left > 5400 else (60, "minutes") if left > 90 else (1, "seconds")
    pace = (f"{rate:.1f} a second" if rate >= 1 else f"{60 * rate:.1f} a minute" if rate >= 1 / 60
            else f"{3600 * rate:.1f} an hour")
    return f"{done} of {total}, {pace}, {left / size:.0f} {unit} left"


class Logged:
    """nbgrader's log in a file instead of on the terminal."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def __enter__(self) -> None:
        warnings.filterwarnings("ignore", category=SAWarning)  # nbgrader's own, once for each kind of query
        try:
            self._handler = _FileHandler(self._file, mode="w")
        except OSError as error:
            raise Refused(disk_trouble(error, self._file.parent)) from None
        self._handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
        self._before = []
        logging.captureWarnings(True)  # nbformat's, hundreds of lines for one odd notebook
        for logger in map(logging.getLogger, ("traitlets", "tornado.application", "py.warnings")):  # nbgrader has two
            self._before.append((logger, logger.handlers, logger.level, logger.propagate))
            logger.handlers, logger.propagate = [self._handler], False
            logger.setLevel(logging.INFO)

    def __exit__(self, *_: object) -> None:
        logging.captureWarnings(False)
        for logger, handlers, level, propagates in self._before:
            logger.handlers, logger.propagate = handlers, propagates
            logger.setLevel(level)
        with suppress(OSError):
            self._handler.close()


class _FileHandler(logging.FileHandler):
    """A log that a full disk cuts short."""

    def handleError(self, record: logging.LogRecord) -> None:
        pass
