"""`make lab` in a real browser: a lesson runs, a slider moves its figure, nbgrader knows the assignment."""

import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOKEN = "only-for-this-test"
PARTS = ("notebooks", "source", "release", "nbgrader_config.py")

pytestmark = [pytest.mark.browser, pytest.mark.timeout(500)]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """The address of a JupyterLab that `make lab` would start, in a fresh copy of the course."""
    clone = tmp_path_factory.mktemp("clone")
    for part in PARTS:
        copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
        copy(ROOT / part, clone / part)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "autograder.classroom.lab", "--no-browser", f"--port={port}"]
    private = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR")
    environment = os.environ | {name: str(clone / name) for name in private}
    with (clone / "log.txt").open("w") as log, subprocess.Popen(
        [*command, f"--IdentityProvider.token={TOKEN}"], cwd=clone, stdout=log, stderr=log, env=environment
    ) as lab:
        try:
            address = f"http://127.0.0.1:{port}"
            wait_until(lambda: answers(f"{address}/api?token={TOKEN}") or lab.poll() is not None, 180)
            assert lab.poll() is None, (clone / "log.txt").read_text()
            yield address
        finally:
            lab.terminate()


@pytest.fixture
def page(chromium):
    return chromium.new_page(viewport={"width": 1400, "height": 1000})


def answers(url: str) -> bool:
    try:
        return urllib.request.urlopen(url, timeout=5).status == 200
    except OSError:
        return False


def wait_until(true, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.2)  # between two looks; nothing is taken to have happened meanwhile


def test_lab_opens_the_first_lesson(server, page):
    page.goto(f"{server}/?token={TOKEN}")
    page.get_by_role("heading", name=re.compile("Start here")).wait_for(timeout=120_000)
    assert "/lab/tree/notebooks/0_start_here.ipynb" in page.url


def test_lesson_runs_and_a_slider_moves_its_figure(server, page):
    page.goto(f"{server}/lab/tree/notebooks/1_item_mean.ipynb?token={TOKEN}")
    page.get_by_text("Python 3 (ipykernel) | Idle").wait_for(timeout=120_000)
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()

    handle = page.locator(".widget-slider .noUi-handle").first
    handle.wait_for(timeout=240_000)
    view = page.locator(".widget-html-content:has(svg)").first
    view.wait_for(timeout=60_000)
    page.get_by_text("Python 3 (ipykernel) | Idle").wait_for(timeout=240_000)
    assert page.locator(".jp-RenderedText[data-mime-type='application/vnd.jupyter.stderr']").count() == 0

    before = view.inner_html()
    handle.focus()
    page.keyboard.press("ArrowRight")
    wait_until(lambda: view.inner_html() != before, 60)


def test_panels_of_nbgrader_know_the_assignment(server, page):
    page.goto(f"{server}/formgrader?token={TOKEN}")
    page.get_by_role("link", name="item_mean").first.wait_for(timeout=60_000)
    listed = page.request.get(f"{server}/assignments?course_id=global-gradient&token={TOKEN}").json()
    assert listed["success"], listed
    ours = [entry for entry in listed["value"] if entry["assignment_id"] == "item_mean"]
    assert [entry["status"] for entry in ours] == ["fetched"]
    assert ours[0]["path"] == "work/item_mean"
