"""A temporary folder that its owner's death does not leave behind for ever: the next one to make such a folder clears.

The owner holds a lock on a file in it, of which the system lets go however the owner ends.
"""
from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from functools import cache
from pathlib import Path

_LOCK = ".owner"


class Scratch:
    """A folder `PREFIX…` in the system's temporary folder, `name`, until `cleanup` or the end of this process."""

    def __init__(self, prefix: str) -> None:
        clear(prefix, tempfile.gettempdir())
        while True:
            self._folder = tempfile.TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True)
            self.name = self._folder.name
            self._owned = open(os.path.join(self.name, _LOCK), "w")
            fcntl.flock(self._owned, fcntl.LOCK_EX)
            if os.path.exists(self._owned.name):  # else it was cleared in the moment before it was held
                return
            self.cleanup()

    def cleanup(self) -> None:
        self._folder.cleanup()
        self._owned.close()


@cache
def clear(prefix: str, place: str) -> None:
    """Remove the folders of owners that are gone: once a process, and only what Scratch made for this user."""
    for lock in Path(place).glob(f"{prefix}*/{_LOCK}"):
        try:
            if lock.is_symlink() or lock.parent.is_symlink() or lock.stat().st_uid != os.geteuid():
                continue
            with lock.open("r+") as owned:
                fcntl.flock(owned, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(lock.parent, ignore_errors=True)
        except OSError:
            continue  # it has an owner, or went this moment
