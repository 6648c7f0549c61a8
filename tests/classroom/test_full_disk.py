"""A disk that is really full: nothing is lost, no mark is a zero, and the same command finishes once there is room.

The course's state, or its graded notebooks, lie on a small file system of their own, which bubblewrap mounts for one
process: `inside` below, which fills it, grades, empties it, and tells what happened.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from nbformat.v4 import new_markdown_cell

sys.path.insert(0, str(Path(__file__).parent))
import sealed_course  # noqa: E402
from sealed_course import NAME, RIGHT, copied, make_class  # noqa: E402
from test_grade import WRONG, for_real, rows, with_marks  # noqa: E402

SIZE = 4_000_000
LONG = new_markdown_cell(40_000 * "x")  # three notebooks with it need more than the 64 KiB that are asked for first
ANSWERS = {"ada": RIGHT, "ben": {}, "cleo": {**RIGHT, "synchronized_item_mean": WRONG}}


def inside(root: Path, place: str, commands: list[list[str]], rooms: list[int]) -> None:
    """Run the first command on a disk with this much room, for each room, then all of them on one with enough."""
    disk = root / place
    if (root / f"{place}-kept").exists():
        shutil.copytree(root / f"{place}-kept", disk, dirs_exist_ok=True)
    told = []
    for room in [*rooms, None]:
        (disk / "filler").unlink(missing_ok=True)
        if room is not None:
            fill(disk, room)
        for command in commands if room is None else commands[:1]:
            run = subprocess.run([sys.executable, *command], cwd=root, capture_output=True, text=True)
            told.append({"status": run.returncode, "said": run.stdout + run.stderr, "rows": rows(root),
                         "left over": [str(path) for path in root.rglob(".unfinished-*")]})
    print(json.dumps(told))


def fill(disk: Path, room: int) -> None:
    with (disk / "filler").open("wb") as file:
        while (left := os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize - room) > 0:
            try:
                file.write(bytes(min(left, 1 << 20)))
                file.flush()
            except OSError:
                return


def on_a_small_disk(root: Path, place: str, commands: list[list[str]], rooms: list[int]) -> list[dict]:
    if (root / place).exists():
        shutil.move(root / place, root / f"{place}-kept")
    (root / place).mkdir()
    small = ["bwrap", "--dev-bind", "/", "/", "--size", str(SIZE), "--tmpfs", str(root / place), "--"]
    if shutil.which("bwrap") is None or subprocess.run([*small, "true"], capture_output=True).returncode:
        pytest.skip("bubblewrap can mount no small disk here")
    run = subprocess.run([*small, sys.executable, __file__, str(root), place, json.dumps(commands), json.dumps(rooms)],
                         stdout=subprocess.PIPE, text=True, check=True)
    return [{**told, "rows": [tuple(row) for row in told["rows"]]} for told in json.loads(run.stdout)]


@pytest.fixture(scope="module")
def template(tmp_path_factory) -> Path:
    return make_class(tmp_path_factory.mktemp("disk") / "course", ANSWERS,
                      edit=lambda notebook: notebook.cells.append(LONG))


@pytest.fixture
def root(template, tmp_path, monkeypatch) -> Path:
    root = copied(template, tmp_path / "course")
    monkeypatch.setenv("FAKE_TASKS", str(tmp_path / "tasks"))
    (tmp_path / "tasks").write_text("")
    return root


def marks(rows: list[tuple]) -> dict[tuple[str, str], float]:
    return {(student, cell): mark for student, cell, mark, *_ in rows if mark is not None}


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("place, rooms", [(".course", [0, 80_000]), ("autograded", [0, 70_000])])
def test_grade_says_that_the_disk_is_full_and_finishes_when_it_is_not(root, place, rooms):
    command = [str(Path(__file__).with_name("fake_workers.py")), "grade", NAME]
    *full, free, again = on_a_small_disk(root, place, [command, command], rooms)
    right = marks(free["rows"])
    assert free["status"] == 0 and len(right) == len(ANSWERS) * len(sealed_course.POINTS)
    assert sum(right[student, name] for student in ("ada", "cleo") for name in RIGHT) == 27.0 + 12.0
    assert again["status"] == 0 and "3 graded before" in again["said"] and again["rows"] == free["rows"]
    assert not again["left over"]
    for told in full:
        assert told["status"] == 1 and told["said"].count("The disk is full") == 1, told["said"]
        assert "Traceback" not in told["said"] and "Not graded:" not in told["said"]
        assert marks(told["rows"]).items() <= right.items(), "a mark that is none"


@with_marks(*for_real)
@pytest.mark.parametrize("place, rooms", [(".course", [0]), ("autograded", [0, 70_000])])
def test_nbgrader_autograde_gives_no_zero_for_a_full_disk(root, place, rooms):
    command = ["-m", "nbgrader", "autograde", NAME]
    *full, free = on_a_small_disk(root, place, [command], rooms)
    right = marks(free["rows"])
    assert free["status"] == 0 and right["ada", "synchronized_item_mean"] == 15.0
    for told in full:
        assert told["status"] == 1 and ("The disk is full" in told["said"] or "No space left" in told["said"]
                                        or "disk is full" in told["said"])
        assert marks(told["rows"]).items() <= right.items(), "a mark that is none"


if __name__ == "__main__":
    inside(Path(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3]), json.loads(sys.argv[4]))
