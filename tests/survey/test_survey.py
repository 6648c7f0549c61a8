"""The survey: rows for everything, also for what fails, and numbers that are measured, not told."""

import importlib.util
import json
from pathlib import Path

import pytest

from autograder import __main__ as cli
from autograder.probe import ProbeData
from autograder.survey.run import measured, survey
from autograder.survey.table import to_markdown, to_text
from autograder.survey.trainers import TRAINERS, Trainer

FRAMEWORKS = ("transformers", "accelerate", "lightning")
MISSING = [name for name in FRAMEWORKS if importlib.util.find_spec(name) is None]


def trainer(setting, name=""):
    (found,) = [t for t in TRAINERS if setting in t.setting and t.name.startswith(name)]
    return found


def test_a_trainer_is_named_by_what_it_did():
    finding = measured(trainer("no_sync, mean loss / K"))
    assert [update.key for update in finding.updates] == [
        "mean-of-microbatch-means", "full-window-divisor-on-partial-window"]
    for update, k in zip(finding.updates, (3, 3), strict=True):
        for counts, weights in zip(update.counts, update.weights, strict=True):
            assert weights == pytest.approx([1 / (2 * k * n) for n in counts])
        assert not update.equal and update.residual < 1e-9
    assert not finding.equal and finding.version.startswith("torch 2.")


def test_a_right_trainer_is_equal_to_the_token_mean():
    finding = measured(trainer("P / N of the window", "DDP"))
    assert finding.equal and [update.key for update in finding.updates] == [None, None]


def test_ranks_may_leave_early():
    halved, whole = measured(trainer("initial P")), measured(trainer("ranks that are left"))
    (n, m) = (halved.updates[1].counts[0][0], whole.updates[1].counts[0][0])
    assert halved.updates[1].counts[1] == whole.updates[1].counts[1] == ()
    assert halved.updates[1].weights[0] == pytest.approx((1 / (2 * n),))
    assert whole.updates[1].weights[0] == pytest.approx((1 / m,)) and whole.updates[1].equal


def test_repeated_and_dropped_sequences_are_told():
    padded, dropped = measured(trainer("7 sequences on 2")), measured(trainer("drop_last"))
    assert padded.repeated == (0,) and padded.missed == () and padded.updates[0].key == "duplicated-items"
    assert dropped.missed == (6,) and dropped.updates[0].equal and not dropped.equal


def test_sharded_parameters_are_measured():
    finding = measured(trainer("loss sum / N", "FSDP2"))
    assert finding.equal, finding


def breaks(model, data):
    raise RuntimeError("this trainer | does not start")


def hangs(model, data):
    while True:
        pass


@pytest.fixture
def broken(monkeypatch):
    """Trainers that fail in their own ways, between two that do not."""
    from autograder.survey import run

    found = run._found
    here = {"breaks": breaks, "hangs": hangs}
    monkeypatch.setattr(run, "_found", lambda place: here.get(place) or found(place))
    return [Trainer("good", "one", "ddp:token_mean"), Trainer("bad", "raises", "breaks"),
            Trainer("bad", "never ends", "hangs"),
            Trainer("absent", "not installed", "ddp:mean_loss", ("no-such-package",)),
            Trainer("good", "another", "ddp:mean_loss")]


def test_what_fails_is_a_row_with_the_reason_and_not_the_end(broken):
    good, raising, endless, absent, another = survey(broken, deadline=5.0)
    assert good.equal and another.updates
    assert "this trainer | does not start" in raising.reason and not raising.updates and not raising.skipped
    assert "Not finished after 5 s" in endless.reason
    assert absent.skipped and "frameworks" in absent.reason
    text, page = to_text([good, raising, endless, absent]), to_markdown([good, raising, absent], 1.0, "here")
    assert text.count("failed") == 2 and text.count("skipped") == 1
    assert "this trainer \\| does not start" in page
    assert all(line.count(" | ") >= 7 for line in page.splitlines() if line.startswith("| "))


def test_the_command_prints_writes_and_says_what_it_does_not_know(tmp_path, capsys):
    page, numbers = tmp_path / "survey.md", tmp_path / "survey.json"
    status = cli.main(["survey", "--only", "fsdp2 (fully_shard) mean loss, set", "--output", str(page),
                       "--json", str(numbers)])
    out = capsys.readouterr().out
    assert status == 0 and "sum-of-rank-means" in out and "sum-of-rank-means" in page.read_text()
    (finding,) = json.loads(numbers.read_text())
    assert finding["updates"][0]["dials"] == "rank, sum, sum"
    assert cli.main(["survey", "--only", "nothing like it", "--output", str(page)]) == 2
    with pytest.raises(SystemExit):
        cli.main(["no-such-command"])


def test_every_trainer_of_the_list_has_its_function():
    for one in TRAINERS:
        ProbeData(**one.data)
        module, _, name = one.train.partition(":")
        source = Path(importlib.util.find_spec(f"autograder.survey.trainers.{module}").origin).read_text("utf-8")
        assert f"def {name}(model" in source


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.skipif(bool(MISSING), reason=f"{', '.join(MISSING)} not installed: pip install -e .[frameworks]")
def test_frameworks_are_what_the_course_says_of_them():
    """What lesson 6 and docs/practitioners.md state about each framework, measured."""
    chosen = [t for t in TRAINERS if t.packages]
    found = {(f.trainer, f.setting): f for f in survey(chosen, deadline=120.0)}
    assert not [f.reason for f in found.values() if f.reason]
    keys = {place: [update.key for update in f.updates] for place, f in found.items()}
    huggingface, lightning = "Transformers Trainer", "Lightning"
    assert keys[huggingface, "average_tokens_across_devices=True (default)"] == [None, None]
    assert keys[huggingface, "average_tokens_across_devices=False"] == ["mean-of-rank-means"] * 2
    assert keys[huggingface, "max_grad_norm=1.0 (default)"] == ["pure-scale"] * 2
    assert keys[huggingface, "a model whose forward takes no **kwargs"] == ["mean-of-microbatch-means"] * 2
    assert keys[huggingface, "a subclass whose compute_loss takes the mean"] == ["sum-of-microbatch-means"] * 2
    assert keys[huggingface, "a custom model whose loss divides by num_items_in_batch"] == ["unshifted-count"] * 2
    means = ["mean-of-microbatch-means", "full-window-divisor-on-partial-window"]
    assert keys["Accelerate", "accumulate(), mean loss"] == means
    assert keys["Accelerate", "token recipe: loss sum · P · K / N"] == [None, None]
    assert keys[lightning, "ddp, accumulate_grad_batches=3, mean loss"] == means
    assert keys[lightning, "ddp, manual optimization, loss sum · P / N"] == [None, None]
    assert all(update.residual < 1e-5 for f in found.values() for update in f.updates)
