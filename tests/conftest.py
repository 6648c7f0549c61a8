"""Shared by all tests: where a browser or a GPU is missing, the tests marked so skip with a reason."""

import os
import shutil
import signal
from pathlib import Path

import pytest
from hypothesis import settings

# tests do the same on every machine; those marked `gpu` ask for NCCL, and AUTOGRADER_BACKEND=auto lets all have it
os.environ.setdefault("AUTOGRADER_BACKEND", "gloo")
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in the background; programs would inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)
settings.register_profile("project", deadline=None)  # machines are busy at times: no test asserts a duration
settings.load_profile("project")


def browser_reason() -> str | None:
    """Why no browser test can run here, or None."""
    try:
        import playwright  # noqa: F401
    except ImportError:
        return "playwright is not installed: pip install -e .[dev]"
    if chromium_path() is None:
        return "no Chromium here: apt-get install chromium"
    return None


def chromium_path() -> str | None:
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def gpu_reason() -> str | None:
    """Why no GPU test can run here, or None."""
    import torch

    if not torch.distributed.is_nccl_available():
        return "this build of torch has no NCCL"
    return None if torch.cuda.is_available() else "no CUDA device here"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    for item in items:
        # what shares an expensive fixture (a graded class, an executed lesson) runs in one process
        if item.path.parent.name == "classroom":
            item.add_marker(pytest.mark.xdist_group(item.path.stem))
        elif item.path.stem == "test_notebooks" and hasattr(item, "callspec"):
            item.add_marker(pytest.mark.xdist_group(f"notebook {item.callspec.id}"))
    for mark, reason_for in (("browser", browser_reason), ("gpu", gpu_reason)):
        marked = [item for item in items if item.get_closest_marker(mark)]
        reason = reason_for() if marked else None
        if reason:
            for item in marked:
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def root() -> Path:
    """The top folder of the repository."""
    return Path(__file__).resolve().parents[1]


@pytest.fixture
def chromium():
    """A Chromium browser driven by playwright; ask for it in tests marked `browser`."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=["--no-sandbox"])
        yield browser
        browser.close()
