"""`make lab`: a folder to work in that is never overwritten, and one clear message for what can go wrong."""

import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from autograder.classroom import lab

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def clone(tmp_path):
    """What `make lab` needs of a clone: a first lesson, a source, a release."""
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "notebooks" / "0_start_here.ipynb").write_text("{}")
    for folder in ("source", "release"):
        (tmp_path / folder / "a1" / "data").mkdir(parents=True)
        shutil.copy(ROOT / "notebooks" / "0_start_here.ipynb", tmp_path / folder / "a1" / "a1.ipynb")
    (tmp_path / "release" / "a1" / "data" / "numbers.txt").write_text("1 2 3")
    (tmp_path / "release" / "a1" / ".hidden").write_text("")
    (tmp_path / "nbgrader_config.py").write_text((ROOT / "nbgrader_config.py").read_text())
    return tmp_path


def run_lab(clone: Path, *arguments: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "autograder.classroom.lab", *arguments]
    return subprocess.run(command, cwd=clone, capture_output=True, text=True, stdin=subprocess.DEVNULL)


def test_work_is_a_copy_of_the_release_and_is_never_overwritten(clone):
    said = lab.prepare(clone)
    notebook = clone / "work" / "a1" / "a1.ipynb"
    assert notebook.read_bytes() == (clone / "release" / "a1" / "a1.ipynb").read_bytes()
    assert (clone / "work" / "a1" / "data" / "numbers.txt").read_text() == "1 2 3"
    assert not (clone / "work" / "a1" / ".hidden").exists()
    assert any("work/a1/a1.ipynb" in line for line in said)

    notebook.write_text("my answer")
    (clone / "work" / "a1" / "data" / "numbers.txt").unlink()
    said = lab.prepare(clone)
    assert notebook.read_text() == "my answer"
    assert said == ["work/a1/data/numbers.txt is your copy to work in."]
    assert lab.prepare(clone) == ["work/ has every assignment already: nothing is copied."]


def test_exchange_and_gradebook_are_ready(clone):
    lab.prepare(clone)
    assert (clone / ".course" / "gradebook.db").exists()
    listed = nbgrader(clone, "list")
    assert "global-gradient a1" in listed

    shutil.rmtree(clone / "work" / "a1")  # the panel in JupyterLab would now offer to fetch it
    nbgrader(clone, "fetch_assignment", "a1")
    assert (clone / "work" / "a1" / "a1.ipynb").exists()
    nbgrader(clone, "submit", "a1")
    assert "a1" in nbgrader(clone, "list", "--inbound")


@pytest.mark.parametrize("who", ["learner", "instructor"])
def test_opening_jupyterlab_releases_nothing_into_the_exchange_of_a_class(clone, tmp_path_factory, who):
    exchange = tmp_path_factory.mktemp("exchange")
    if who == "learner":
        shutil.rmtree(clone / "source")
    with (clone / "nbgrader_config.py").open("a") as config:
        config.write(f"c.Exchange.root = {str(exchange)!r}\n")
    lab.prepare(clone)
    assert (clone / "work" / "a1" / "a1.ipynb").exists() and not list(exchange.rglob("*"))


def test_new_version_of_a_release_reaches_the_exchange(clone):
    lab.prepare(clone)
    (clone / "release" / "a1" / "a1.ipynb").write_text("{}")
    assert "now offers a1" in " ".join(lab.prepare(clone))
    assert (clone / ".course/exchange/global-gradient/outbound/a1/a1.ipynb").read_text() == "{}"


def test_taken_port_is_one_clear_message(clone):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        run = run_lab(clone, "--no-browser", "--port", str(port))
    assert run.returncode != 0
    assert run.stderr == f"Port {port} is taken. Choose another one: make lab LAB_ARGS='--port {port + 1}'\n"


def test_wrong_folder_is_one_clear_message(tmp_path):
    run = run_lab(tmp_path)
    assert run.returncode != 0 and run.stderr.startswith("There is no notebooks/0_start_here.ipynb in")


@pytest.mark.parametrize(
    ("arguments", "port"),
    [
        (["--port", "8899"], 8899),
        (["--no-browser", "--port=8899"], 8899),
        (["--ServerApp.port=8899"], 8899),
        (["--no-browser", "--ip", "0.0.0.0"], None),
        (["--port"], None),
        ([], None),
    ],
)
def test_port_is_read_from_the_arguments(arguments, port):
    assert lab.chosen_port(arguments) == port


def nbgrader(clone: Path, *command: str) -> str:
    whole = [sys.executable, "-m", "nbgrader", *command]
    run = subprocess.run(whole, cwd=clone, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout + run.stderr
