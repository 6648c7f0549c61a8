"""The plugin in a project of its own, and what it imports: torch and pytest, nothing of Jupyter."""

import os
import subprocess
import sys
from importlib.metadata import entry_points

PROJECT = '''
import torch
import torch.distributed as dist
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel


def step(model, data, right):
    ddp, optimizer = DistributedDataParallel(model), torch.optim.SGD(model.parameters(), lr=0.1)
    for batch in data.batches:
        targets = batch["labels"][:, 1:]
        count = (targets != -100).sum()
        if right:
            dist.all_reduce(count)
            count = count / dist.get_world_size()
        (F.cross_entropy(ddp(batch["input_ids"])[:, :-1].transpose(1, 2), targets, reduction="sum") / count).backward()
        optimizer.step()


def right(model, data):
    step(model, data, True)


def wrong(model, data):
    step(model, data, False)


def test_right(assert_normalized):
    assert_normalized(right)


def test_wrong(assert_normalized):
    assert_normalized(wrong, objective="token", world_size=2)


def test_measured(measure_updates):
    from autograder.probe import ProbeData
    assert [one.best.key for one in measure_updates(wrong, data=ProbeData(2))] == ["mean-of-rank-means"]
'''

WITHOUT_JUPYTER = '''
import sys

FORBIDDEN = ("IPython", "ipykernel", "jupyter", "jupyter_core", "jupyter_client", "jupyterlab", "nbgrader", "nbformat",
             "nbconvert", "nbclient", "notebook", "ipywidgets", "matplotlib", "traitlets")


class Refuse:
    """Makes this a project without Jupyter, wherever the test runs."""

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in FORBIDDEN:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


sys.meta_path.insert(0, Refuse())
'''


def run(arguments, folder, **variables):
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([root, str(folder)]), **variables}
    return subprocess.run([sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True,
                          timeout=110)


def test_a_project_gets_the_fixtures_and_a_failure_that_names_the_dials(tmp_path):
    (tmp_path / "test_project.py").write_text(PROJECT)
    (tmp_path / "sitecustomize.py").write_text(WITHOUT_JUPYTER)
    done = run(["-m", "pytest", "-p", "autograder.probe.plugin", "-q", "-p", "no:cacheprovider"], tmp_path,
               PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
    assert "2 passed" in done.stdout and "1 failed" in done.stdout, done.stdout + done.stderr
    assert "wrong [mean-of-rank-means]: Each rank" in done.stdout
    assert "ranks were averaged (P = 2)" in done.stdout and "1/42" in done.stdout
    assert "what each item weighed" in done.stdout and "should weigh" in done.stdout


def test_the_probe_imports_nothing_of_jupyter(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(WITHOUT_JUPYTER)
    done = run(["-c", "import sys; from autograder import probe; "
                "[getattr(probe, name) for name in probe.__all__]; import autograder.probe.plugin; "
                "assert 'sitecustomize' in sys.modules and 'torch' in sys.modules; "
                "print(sorted(set(sys.modules) & set(sys.modules['sitecustomize'].FORBIDDEN)))"], tmp_path)
    assert done.stdout.strip() == "[]", done.stdout + done.stderr


def test_the_plugin_costs_other_test_runs_nothing(tmp_path):
    done = run(["-c", "import sys, autograder.probe.plugin; print('torch' in sys.modules)"], tmp_path)
    assert done.stdout.strip() == "False", done.stderr


def test_the_entry_point_names_the_plugin():
    (entry,) = [e for e in entry_points(group="pytest11") if e.value.startswith("autograder.")]
    assert entry.load().assert_normalized
