"""pyproject.toml, constraints.txt, environment.yml and the Makefile describe one environment."""

import os
import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
import yaml
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[1]
PYTHONS = ("3.10", "3.11", "3.12", "3.13")
PINNED_EXTRAS = ("course", "dev")
BUILD_OR_GPU = re.compile(r"^(pip|wheel|nvidia-.*|cuda-.*|triton)$")


def project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def pins(python: str) -> dict[str, str]:
    """Package name → version that constraints.txt pins for this Python."""
    found = {}
    for line in (ROOT / "constraints.txt").read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        pin = Requirement(line)
        (only,) = pin.specifier
        assert only.operator == "==" and "*" not in only.version, f"{line} is no exact pin"
        if pin.marker is None or pin.marker.evaluate(default_environment() | _python(python)):
            name = canonicalize_name(pin.name)
            assert name not in found, f"{name} is pinned twice for Python {python}"
            found[name] = only.version
    return found


def _python(version: str) -> dict[str, str]:
    return {"python_version": version, "python_full_version": f"{version}.0"}


def requirements() -> list[Requirement]:
    extras = project()["optional-dependencies"]
    listed = [*project()["dependencies"], *(line for extra in PINNED_EXTRAS for line in extras[extra])]
    return [Requirement(line) for line in listed]


@pytest.mark.parametrize("python", PYTHONS)
def test_every_requirement_is_pinned_within_its_range(python):
    pinned = pins(python)
    for requirement in requirements():
        name = canonicalize_name(requirement.name)
        assert name in pinned, f"{name} has no pin for Python {python}"
        assert requirement.specifier.contains(pinned[name]), f"{name}=={pinned[name]} not in {requirement}"


def test_ranges_have_both_ends():
    for requirement in requirements():
        operators = {specifier.operator for specifier in requirement.specifier}
        assert operators & {">=", "~="}, f"{requirement} has no lower bound"
        open_ended = requirement.name == "packaging"  # calendar versions: no bound would mean anything
        assert open_ended or operators & {"<", "~="}, f"{requirement} has no upper bound"


def test_base_package_needs_no_jupyter():
    names = {canonicalize_name(Requirement(line).name) for line in project()["dependencies"]}
    assert names == {"torch", "numpy", "cloudpickle"}


def test_what_the_course_brings_along_is_pinned_too():
    """Follows the installed packages from our requirements on: an unpinned one could differ tomorrow."""
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    pinned, todo, seen = pins(python), [r.name for r in requirements()], set()
    while todo:
        name = canonicalize_name(todo.pop())
        if name in seen or BUILD_OR_GPU.match(name):
            continue
        seen.add(name)
        assert name in pinned, f"{name} is installed by a requirement and has no pin"
        try:
            lines = distribution(name).requires or []
        except PackageNotFoundError:
            continue
        for requirement in map(Requirement, lines):
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                todo.append(requirement.name)


def test_conda_environment_installs_the_same_with_the_same_pins():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    plain = [line for line in environment["dependencies"] if isinstance(line, str)]
    (from_pip,) = [line["pip"] for line in environment["dependencies"] if isinstance(line, dict)]
    python = next(line.partition("=")[2] for line in plain if line.startswith("python="))
    assert {re.split("[=<>]", line)[0] for line in plain} == {"python", "pip"}, "a package outside the pins"
    assert "-c constraints.txt" in from_pip and "-e .[course]" in from_pip
    assert len([line for line in from_pip if not line.startswith("--extra-index-url")]) == 2
    assert python in PYTHONS and python in SpecifierSet(project()["requires-python"])


def test_minimum_python_is_the_same_everywhere():
    minimum = project()["requires-python"].removeprefix(">=")
    assert minimum == PYTHONS[0]
    ruff = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["ruff"]["target-version"]
    assert ruff == "py" + minimum.replace(".", "")
    assert f"sys.version_info < ({minimum.replace('.', ', ')})" in (ROOT / "Makefile").read_text()


def test_constraints_say_what_they_were_tested_with():
    head = (ROOT / "constraints.txt").read_text().splitlines()[0]
    assert "tested with" in head and "Python" in head


def make(tmp_path: Path, *arguments: str, path: str | None = None) -> subprocess.CompletedProcess:
    environment = os.environ | {"MAKEFLAGS": ""} | ({"PATH": path} if path else {})
    command = ["make", "-C", str(ROOT), f"VENV={tmp_path / 'venv'}", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, stdin=subprocess.DEVNULL)


def fake_python(tmp_path: Path, body: str) -> str:
    """An executable that stands in for an unsuitable Python."""
    file = tmp_path / "python-stand-in"
    file.write_text(f"#!/bin/sh\n{body}\n")
    file.chmod(0o755)
    return str(file)


def test_missing_python_is_one_clear_message(tmp_path):
    run = make(tmp_path, "env", "PYTHON=python-that-nobody-has")
    assert run.returncode != 0 and "There is no 'python-that-nobody-has' here" in run.stdout


def test_old_python_is_one_clear_message(tmp_path):
    old = fake_python(tmp_path, 'case "$1" in -V) echo "Python 3.8.10";; *) exit 1;; esac')
    run = make(tmp_path, "env", f"PYTHON={old}")
    assert run.returncode != 0 and "Python 3.8.10" in run.stdout and "3.10 or newer" in run.stdout


def test_python_without_venv_is_one_clear_message(tmp_path):
    bare = fake_python(tmp_path, 'case "$2" in *venv*) exit 1;; *) exit 0;; esac')
    run = make(tmp_path, "env", f"PYTHON={bare}")
    assert run.returncode != 0 and "apt-get install python3-venv" in run.stdout


def test_cpu_build_of_torch_is_offered_and_asked_for(tmp_path):
    index = "https://download.pytorch.org/whl/cpu"
    run = make(tmp_path, "-n", "env", f"TORCH_INDEX={index}")
    assert f"--extra-index-url {index} -c constraints.txt" in run.stdout
    assert index in (ROOT / "environment.yml").read_text() and index in (ROOT / "Makefile").read_text()


def test_help_names_every_target():
    text = (ROOT / "Makefile").read_text()
    targets = re.search(r"^\.PHONY: (.*)$", text, re.MULTILINE)[1].split()
    run = subprocess.run(["make", "-C", str(ROOT), "help"], capture_output=True, text=True)
    for target in set(targets) - {"help", "test-slow"}:
        assert f"make {target} " in run.stdout
