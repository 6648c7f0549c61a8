"""Scratch: nothing stays behind beyond the next run, and nobody's folder is taken away."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from autograder.ranks import scratch
from autograder.ranks.scratch import Scratch

OWNER = """import time
from autograder.ranks.scratch import Scratch
held = Scratch("dead-")
print(held.name, flush=True)
time.sleep(600)"""


@pytest.fixture
def place(tmp_path, monkeypatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    scratch.clear.cache_clear()
    return tmp_path


def test_a_killed_owner_s_folder_is_cleared_by_the_next_and_a_living_one_s_is_not(place):
    owners = [subprocess.Popen([sys.executable, "-c", OWNER], stdout=subprocess.PIPE, text=True,
                               env={**os.environ, "TMPDIR": str(place)}) for _ in range(2)]
    try:
        dead, living = (Path(owner.stdout.readline().strip()) for owner in owners)
        (place / "dead-by-somebody-else").mkdir()
        (place / "dead-link").symlink_to(place / "dead-by-somebody-else")
        owners[0].send_signal(signal.SIGKILL)
        owners[0].wait()
        mine = Scratch("dead-")
        assert not dead.exists() and living.is_dir() and Path(mine.name).is_dir()
        assert (place / "dead-by-somebody-else").is_dir() and (place / "dead-link").is_symlink()
        mine.cleanup()
        assert not Path(mine.name).exists()
    finally:
        for owner in owners:
            owner.kill()
            owner.wait()
            owner.stdout.close()
