"""The page for practitioners is true: every program on it runs as it stands there, and its test passes."""

import importlib.util
import os
import re
import subprocess
import sys

import pytest

FRAMEWORKS = {"test_accelerate_step.py": "accelerate", "test_trainer_step.py": "transformers",
              "test_lightning_step.py": "lightning"}


def programs(root):
    page = (root / "docs" / "practitioners.md").read_text(encoding="utf-8")
    return dict(re.findall(r"```python\n# (\w+\.py)\n(.*?)```", page, re.DOTALL))


def run(root, folder, *arguments):
    return subprocess.run([sys.executable, *arguments], cwd=folder, capture_output=True, text=True, timeout=200,
                          env={**os.environ, "PYTHONPATH": str(root), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"})


def test_the_page_has_a_program_for_each_trainer(root):
    assert set(programs(root)) == {"test_ddp_step.py", *FRAMEWORKS, "look.py"}


@pytest.mark.parametrize("name", [
    "test_ddp_step.py", *(pytest.param(name, marks=pytest.mark.slow) for name in FRAMEWORKS)])
@pytest.mark.timeout(240)
def test_the_test_on_the_page_passes(root, tmp_path, name):
    framework = FRAMEWORKS.get(name)
    if framework and importlib.util.find_spec(framework) is None:
        pytest.skip(f"{framework} is not installed: pip install -e .[frameworks]")
    (tmp_path / name).write_text(programs(root)[name], encoding="utf-8")
    done = run(root, tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider", name)
    assert done.returncode == 0 and "1 passed" in done.stdout, done.stdout + done.stderr


def test_what_the_page_says_of_a_failure_is_what_one_says(root, tmp_path):
    program = programs(root)["test_ddp_step.py"].replace("    dist.all_reduce(count)\n", "")
    program = program.replace("dist.get_world_size() / token_count", "1 / token_count")
    program = program.replace(", accumulation_steps=3", "")
    (tmp_path / "test_wrong.py").write_text(program.replace("train_step", "my_step"), encoding="utf-8")
    done = run(root, tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_wrong.py")
    shown = re.search(r"```\n(my_step \[.*?)```", (root / "docs" / "practitioners.md").read_text(), re.DOTALL)[1]
    assert " ".join(shown.split()) in " ".join(done.stdout.replace("\nE  ", "\n").split()), done.stdout


def test_the_program_that_looks_prints_weights_and_dials(root, tmp_path):
    (tmp_path / "look.py").write_text(programs(root)["look.py"], encoding="utf-8")
    done = run(root, tmp_path, "look.py")
    assert "microbatches were averaged (K = 2)" in done.stdout, done.stderr
