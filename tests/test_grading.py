"""grade and check: right verdicts whatever a function does to its process, clear errors for callers, nothing left."""

import io
import json
import os
import subprocess
import sys
import textwrap
from contextlib import redirect_stdout

import pytest
import torch
import torch.distributed as dist

from autograder import WrongUpdate, check, check_choice, grade
from autograder.exercises import ASSIGNMENTS, UnknownExercise, exercises_of, find
from autograder.exercises.record import Raises, drawn_trials
from autograder.exercises.rules import identical
from autograder.grading import COURSE_SEED, course_seed


def synchronized_item_mean(local_gradients):
    total = local_gradients.sum(0)
    count = torch.tensor(float(len(local_gradients)), dtype=torch.float64)
    dist.all_reduce(total)
    dist.all_reduce(count)
    return total / count


def mean_of_rank_means(local_gradients):
    mean = local_gradients.mean(0) if len(local_gradients) else torch.zeros(local_gradients.shape[1])
    mean = mean.double()
    dist.all_reduce(mean)
    return mean / dist.get_world_size()


def squared_error_gradients(w, targets):
    return w - targets


def test_a_verdict_says_how_many_trials_ran_on_what():
    verdict = grade("synchronized_item_mean", synchronized_item_mean)
    assert verdict.passed and verdict.credit == 1.0 and verdict.diagnosis is None and verdict.backend == "gloo"
    assert verdict.trials == len(drawn_trials(find("synchronized_item_mean"), "visible", 0))
    assert grade("squared_error_gradients", squared_error_gradients).backend == "none", "no ranks met"


def test_all_has_more_trials_than_visible():
    visible, every = (grade("squared_error_gradients", squared_error_gradients, trials=t) for t in ("visible", "all"))
    assert every.passed and every.trials > visible.trials


def test_a_wrong_update_comes_with_the_weights_of_a_failing_trial():
    verdict = grade("synchronized_item_mean", mean_of_rank_means)
    assert (verdict.passed, verdict.credit, verdict.diagnosis) == (False, 0.0, "mean-of-rank-means")
    counts = verdict.trial["counts"]
    assert [item.count for item in verdict.items] == [count for count in counts if count]
    for item in verdict.items:
        assert item.weight == pytest.approx(1 / (len(counts) * counts[item.rank]))
        assert item.expected == pytest.approx(1 / sum(counts))
    assert "only then" in verdict.message, "equal counts are a trial, and the message says that it agrees there"


def test_the_same_seed_gives_the_same_trials_and_another_seed_others():
    for assignment in ASSIGNMENTS:
        for exercise in exercises_of(assignment).values():
            once, again, other = (drawn_trials(exercise, "all", seed) for seed in (1, 1, 2))
            assert all(identical(a.arguments, b.arguments) for a, b in zip(once, again, strict=True))
            if len(once) > len(drawn_trials(exercise, "visible", 0)):
                assert not all(identical(a.arguments, b.arguments) for a, b in zip(once, other, strict=False)), \
                    exercise.name


def test_the_hidden_seed_comes_from_the_course(monkeypatch):
    monkeypatch.delenv(COURSE_SEED, raising=False)
    plain = course_seed("sgd_step")
    monkeypatch.setenv(COURSE_SEED, "ab" * 32)
    assert course_seed("sgd_step") != plain and course_seed("sgd_step") != course_seed("ddp_step")
    assert course_seed("sgd_step", 7) == 7


@pytest.mark.parametrize("assignment", ASSIGNMENTS)
def test_every_trial_is_what_the_contract_promises(assignment):
    for exercise in exercises_of(assignment).values():
        trials = drawn_trials(exercise, "all", 3)
        assert len({trial.name for trial in trials}) == len(trials), f"{exercise.name}: two trials of one name"
        if exercise.ranks:
            due = {1, 2, 3, 4} if "train" in exercise.stage else {1, 2, 3, 4, 8}
            assert due <= {trial.world_size for trial in trials}, exercise.name
        else:
            assert {trial.world_size for trial in trials} == {1}
        for trial in trials:
            if isinstance(trial.expected, torch.Tensor) and trial.update is not None:
                assert float(trial.expected.abs().max()) > 0, f"{exercise.name}, {trial.name}: a zero reference"
            assert not isinstance(trial.expected, Raises) or trial.expected.why


# ---- what a learner's function does to its process bends no ruling


def tampering(local_gradients):
    torch.allclose = torch.equal = lambda *_, **__: True
    torch.Tensor.__eq__ = lambda *_: True
    torch.testing.assert_close = lambda *_, **__: None
    sys.modules["autograder.exercises.rules"] = None
    return local_gradients.sum(0)


def test_a_patched_comparison_does_not_make_a_wrong_value_right():
    assert not grade("synchronized_item_mean", tampering).passed


def untidy(local_gradients):
    torch.set_default_dtype(torch.float16)
    torch.set_num_threads(2)
    torch.manual_seed(0)
    os.chdir("/")
    os.umask(0o777)
    sys.setrecursionlimit(200)
    print("noise")
    print("noise", file=sys.stderr)
    return synchronized_item_mean(local_gradients)


def test_global_state_and_noise_cost_nothing():
    verdict = grade("synchronized_item_mean", untidy, trials="all")
    assert verdict.passed, str(verdict)


def regrouping(local_gradients):
    result = synchronized_item_mean(local_gradients)
    dist.destroy_process_group()
    return result


def test_a_destroyed_process_group_holds_up_nobody():
    verdict = grade("synchronized_item_mean", regrouping)
    assert verdict.passed, str(verdict)


def test_the_default_dtype_of_the_caller_does_not_bend_a_ruling():
    torch.set_default_dtype(torch.float32)
    try:
        torch.set_default_dtype(torch.float64)
        assert grade("synchronized_item_mean", synchronized_item_mean).passed
        assert grade("synchronized_item_mean", mean_of_rank_means).diagnosis == "mean-of-rank-means"
    finally:
        torch.set_default_dtype(torch.float32)


class Everything:
    def __eq__(self, other):
        return True


@pytest.mark.parametrize(("value", "key"), [
    (None, "wrong-type"), ([1.0], "wrong-type"), (Everything(), "wrong-type"), (torch.zeros(0), "wrong-shape"),
    (torch.zeros(1).expand(2**40), "wrong-type"), (torch.zeros(2).to_sparse(), "wrong-type"),
    (torch.zeros(2, device="meta"), "wrong-type"), (torch.zeros(2, dtype=torch.int64), "wrong-type"),
    (torch.zeros(2, dtype=torch.complex64), "wrong-type")],
    ids=lambda v: type(v).__name__ if not isinstance(v, str) else v)
def test_values_that_are_no_answer_are_called_what_they_are(value, key):
    verdict = grade("squared_error_gradients", lambda w, targets: value)
    assert verdict.diagnosis == key, str(verdict)


def test_nan_is_no_answer_either():
    assert grade("squared_error_gradients", lambda w, targets: targets * float("nan")).diagnosis == "nan-or-inf"


# ---- callers


def test_an_unknown_exercise_names_those_that_are_near():
    with pytest.raises(UnknownExercise, match="Did you mean .*synchronized_item_mean"):
        grade("syncronised_item_mean", synchronized_item_mean)


def test_an_unknown_kind_of_trials_is_refused():
    with pytest.raises(ValueError, match="choose 'visible' or 'all'"):
        grade("sgd_step", print, trials="hidden")


def test_what_is_no_function_is_said():
    verdict = grade("sgd_step", 3)
    assert not verdict.passed and "needs your function, not a int" in verdict.message


def test_check_shows_the_verdict_and_raises_in_one_line():
    shown = io.StringIO()
    with redirect_stdout(shown), pytest.raises(WrongUpdate, match="mean-of-rank-means") as caught:
        check(mean_of_rank_means, "synchronized_item_mean")
    assert "✗ synchronized_item_mean" in shown.getvalue()
    assert len(caught.value._render_traceback_()) == 1


def test_check_finds_the_exercise_by_the_functions_name():
    with redirect_stdout(io.StringIO()) as shown:
        check(squared_error_gradients)
    assert "✓ squared_error_gradients" in shown.getvalue()


def unable(w, targets):
    return torch.nn.Module()(targets)


def unwritten(w, targets):
    raise NotImplementedError()


def test_only_a_stub_is_told_that_it_is_not_written():
    assert grade("squared_error_gradients", unwritten).diagnosis == "not-implemented"
    verdict = grade("squared_error_gradients", unable)
    assert verdict.diagnosis == "raised" and 'missing the required "forward" function' in verdict.message, str(verdict)


def test_a_quiz_without_its_key_notes_the_letter_and_with_it_gives_the_reason():
    reasons = {"A": "It is too small.", "B": "Each item weighs the same."}
    with redirect_stdout(io.StringIO()) as shown:
        check_choice("item_mean_q1", "b")
        check_choice("item_mean_q1", " B ", key="B", reasons=reasons)
    assert "B is noted" in shown.getvalue() and "Each item weighs the same." in shown.getvalue()
    with redirect_stdout(io.StringIO()), pytest.raises(WrongUpdate, match="too small"):
        check_choice("item_mean_q1", "A", key="B", reasons=reasons)


@pytest.mark.parametrize("letter", [None, "", ..., "AB", "Z9", 3])
def test_what_is_no_letter_is_refused(letter):
    with redirect_stdout(io.StringIO()), pytest.raises(WrongUpdate):
        check_choice("item_mean_q1", letter)


def test_a_letter_that_is_no_option_is_refused_at_once_and_told_the_options():
    for letter in ("E", "e ", "B.", "B)", ["B"]):
        with redirect_stdout(io.StringIO()), pytest.raises(WrongUpdate, match="give A, B, C or D, one letter in"):
            check_choice("item_mean_q1", letter)
    with redirect_stdout(io.StringIO()), pytest.raises(WrongUpdate, match="give A, B, C, D or E"):
        check_choice("item_mean_q1", "F", options="ABCDE")
    with redirect_stdout(io.StringIO()), pytest.raises(WrongUpdate, match="give A or B"):
        check_choice("item_mean_q1", "C", key="B", reasons={"A": "", "B": ""})
    with redirect_stdout(io.StringIO()) as shown:
        check_choice("item_mean_q1", "e", options="ABCDE")
    assert "E is noted" in shown.getvalue()


def test_interrupting_a_check_ends_its_ranks(tmp_path, root):
    """As the Stop button does: SIGINT to the process that checks."""
    script = tmp_path / "stop.py"
    script.write_text(textwrap.dedent("""
        import os, signal, sys, threading, time
        from pathlib import Path
        from autograder import grade
        from autograder.ranks import processes

        def synchronized_item_mean(local_gradients, started=f"{sys.argv[1]}/started"):
            open(started, "w").close()
            while True:
                time.sleep(0.01)

        def stop_when_started():
            while not os.path.exists(f"{sys.argv[1]}/started"):
                time.sleep(0.01)
            os.kill(os.getpid(), signal.SIGINT)

        threading.Thread(target=stop_when_started).start()
        try:
            grade("synchronized_item_mean", synchronized_item_mean)
        except KeyboardInterrupt:
            server = processes._servers[-1].process.pid
            print("stopped", Path(f"/proc/{server}/task/{server}/children").read_text().split())
    """))
    run = subprocess.run([sys.executable, str(script), str(tmp_path)], capture_output=True, text=True, timeout=100,
                         env={**os.environ, "PYTHONPATH": str(root)})
    assert run.stdout == "stopped []\n", run.stderr


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_two_hundred_checks_in_a_row_give_no_wrong_verdict_and_leave_nothing():
    def open_things():
        return len(os.listdir("/proc/self/fd"))

    grade("synchronized_item_mean", synchronized_item_mean)
    before = open_things()
    for _ in range(100):
        assert grade("synchronized_item_mean", synchronized_item_mean).passed
        assert grade("synchronized_item_mean", mean_of_rank_means).diagnosis == "mean-of-rank-means"
    assert open_things() == before


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_twenty_checks_at_once_in_processes_of_their_own_give_no_wrong_verdict(tmp_path, root):
    script = tmp_path / "one.py"
    script.write_text(textwrap.dedent("""
        import sys
        sys.path.insert(0, sys.argv[1])
        import test_grading as bank
        from autograder import grade
        print(grade("synchronized_item_mean", bank.synchronized_item_mean).passed,
              grade("synchronized_item_mean", bank.mean_of_rank_means).diagnosis)
    """))
    environment = {**os.environ, "PYTHONPATH": str(root), "TMPDIR": str(tmp_path / "tmp")}
    (tmp_path / "tmp").mkdir()
    runs = [subprocess.Popen([sys.executable, str(script), os.path.dirname(__file__)], env=environment,
                             stdout=subprocess.PIPE, text=True) for _ in range(20)]
    assert [run.communicate(timeout=580)[0] for run in runs] == ["True mean-of-rank-means\n"] * 20
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.parametrize(("function", "said"), [
    ("squared_error_gradients", "pass its name without quotes"),
    (squared_error_gradients(1.0, torch.ones(1)), "^check .*not a Tensor.*give that name to nothing else")])
def test_check_of_what_is_no_function_is_one_clear_message(function, said):
    with redirect_stdout(io.StringIO()), pytest.raises(WrongUpdate, match=said):
        check(function)


def test_a_missing_return_is_called_that():
    assert "missing return" in grade("squared_error_gradients", lambda w, targets: None).message
    assert "missing return" not in grade("squared_error_gradients", lambda w, targets: 0).message


def test_the_losses_in_place_of_their_gradients_are_called_that():
    verdict = grade("squared_error_gradients", lambda w, targets: 0.5 * (w - targets) ** 2)
    assert verdict.diagnosis == "wrong-answer" and "These are the losses" in verdict.message


def test_a_gradient_in_place_of_the_step_is_called_that():
    def gradient(w, local_targets, lr):
        numbers = torch.stack([(w - local_targets).sum(), torch.tensor(float(len(local_targets)), dtype=w.dtype)])
        dist.all_reduce(numbers)
        return numbers[0] / numbers[1]

    verdict = grade("sgd_step", gradient)
    assert verdict.diagnosis == "wrong-answer" and "This is the gradient" in verdict.message


def test_a_rank_that_asks_for_input_is_told_that_it_has_no_keyboard():
    assert "no keyboard" in grade("squared_error_gradients", lambda w, targets: input()).message


def test_what_a_function_says_becomes_text_that_files_and_terminals_take():
    def loud(w, targets):
        print("printed \x1b[2Jhere", flush=True)
        raise RuntimeError("half \ud800of\x1b]0;title\x07 it")

    verdict = grade("squared_error_gradients", loud)
    assert "half of it" in verdict.message and verdict.output == ((0, "printed here\n"),)


def test_a_verdict_is_json_also_where_an_update_is_huge():
    def huge(model, inputs, targets, optimizer):
        for parameter in model.parameters():
            parameter.grad = torch.zeros_like(parameter)
        next(model.parameters()).grad.view(-1)[0] = 1e38
        optimizer.step()

    verdict = grade("ddp_step", huge)
    assert not verdict.passed and json.dumps(verdict.to_dict(), allow_nan=False)


def test_equal_counts_are_not_praised_when_a_single_rank_fails_too():
    verdict = grade("synchronized_item_mean", lambda g: 2 * synchronized_item_mean(g))
    assert "only then" not in verdict.message


@pytest.mark.skipif(torch.cuda.device_count() >= 8, reason="has the GPUs")
def test_a_check_on_gpus_that_are_not_there_says_so():
    with pytest.raises(ValueError, match="one GPU per rank"):
        check(synchronized_item_mean, backend="nccl")
