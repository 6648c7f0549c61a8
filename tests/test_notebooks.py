"""Notebooks: lessons run from top to bottom and show their numbers, assignments are well formed, nothing leaks."""

import ast
import json
import re
from collections import Counter
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from autograder.classroom import verify

ROOT = Path(__file__).resolve().parents[1]
LESSONS = sorted(ROOT.glob("notebooks/*.ipynb"))
SOURCES = sorted(ROOT.glob("source/*/*.ipynb"))
RELEASES = sorted(ROOT.glob("release/*/*.ipynb"))
POINTS_OF_AN_ASSIGNMENT = 100

# What must stand in the output of a lesson's cell, word by word: cell id -> expressions.
SHOWN = {
    "0_start_here": {
        "l0-who-am-i": [r"'rank': 3, 'world_size': 4", r"backend gloo"],
        "l0-all-reduce": [r"rank 2: before 2\.0, after 6\.0"],
        "l0-rank-missing": [r"Ranks 1 and 2 .*all_reduce", r"rank 0 returned"],
        "l0-check-wrong-run": [r"diagnosis mean-of-rank-means", r"1/4", r"1/12", r"1/8"],
        "l0-weight-bars": [r"<svg", r"Two items of rank 0 count as much as six of rank 1"],
        "l0-check-stub-run": [r"diagnosis: not-implemented"],
        "l0-check-right-run": [r"passed=True"],
    },
    "1_item_mean": {
        "l1-reference": [r"reference update: 2\.5"],
        "l1-plain-mean": [r"local mean 1\.0, after the all-reduce 2\.0", r"local mean 3\.0, .* 2\.0"],
        "l1-scaled-mean": [
            r"factor 0\.5, scaled mean 0\.5, .* 2\.5",
            r"factor 1\.5, scaled mean 4\.5, .* 2\.5",
        ],
        "l1-steps": [r"item mean: +9\.75", r"mean of rank means: +9\.8\b"],
        "l1-train": [r"mean of rank means: ends at w = 8\.0000; replicas equal: True", r"w = 7\.5000"],
        "l1-effective-weights": [r"rank 0 \[0\.25, 0\.25\], rank 1 \[0\.0833", r"rank 0 \[0\.125, 0\.125\]"],
        "l1-weight-bars": [r"<svg", r"counts three times one of rank 1"],
        "l1-lab-widget": [r"ItemMeanLab"],
        "l1-batch-norm": [r"BatchNorm1d", r"LayerNorm"],
    },
    "2_sum_or_mean": {
        "l2-table": [r"0\.125", r"8\.0"],
        "l2-stepper-widget": [r"RingStepper"],
        "l2-cost-picture": [r"Measured points lie between .* times the ideal line"],
        "l2-lab-widget": [r"RingCostLab"],
        "l2-ddp-divisor": [r"divides the sum by 8"],
        "l2-everybody-sends": [r"waiting in send"],
    },
    "3_uneven_ranks": {
        "l3-factors": [r"0\.1667, 0\.0556, 0\.0833"],
        "l3-exhausted-run": [r"rank 0 returned and never came"],
        "l3-state-run": [r"gradients differ by 0,"],
        "l3-weight-bars": [r"<svg", r"= 0\.667/N"],
        "l3-lab-widget": [r"UnevenRanksLab"],
    },
    "4_token_counts": {  # the documents, and so the digits, are those of the running Python
        "l4-lengths": [r"<svg", r"docstrings have between \d and \d{3} targets"],
        "l4-count": [r"places (\d+), labels that are not ignored (?!\1\b)(\d+), targets (?!\2\b)\d+"],
        "l4-batch-picture": [r"<svg", r"brown: first label, never a target"],
        "l4-weights": [
            r"   token: weight · N = \[1\.0, 1\.0, 1\.0, 1\.0\] +(\d+) of \1 weights recovered",
            r"sequence: weight · N = \[0\.\d+, 0\.\d+, 1\.\d+, 3\.\d+\]",
            r"    rank: weight · N = \[(0\.\d+), \1, (2\.\d+), \2\]",
        ],
        "l4-weight-blocks": [r"<svg", r"sequence mean.*rank mean"],
        "l4-train-run": [rf"trained on the +{mean} mean: held-out token mean 2\.\d+, sequence mean 2\.\d+"
                         for mean in ("token", "sequence", "rank")],
        "l4-curves": [r"training on the token mean ends lowest in the token mean"],
        "l4-by-length": [r"Short documents are learnt best on the sequence mean, long ones on the token mean"],
        "l4-report-run": [
            r"by length: rank 0's mean .*, mean of rank means (.*), sum / count (\S*)\s+"
            r"the other way: rank 0's mean .*, mean of rank means (?!\1).*, sum / count \2\s",
        ],
        "l4-lab-widget": [r"TokenCountsLab"],
    },
    "5_accumulation": {
        "l5-window": [r"items n_rk: \(\(11, 30, 16\), \(13, 5\)\); .*P = 2, N = 75"],
        "l5-reference": [r"75 item gradients of 3535 entries"],
        "l5-six-ways": [
            r"1\. sum over the window / N +distance from the reference \d\.\de-1\d\s",
            r"2\. mean loss / K +distance from the reference 4\.\de-01",
            r"3\. mean loss, 1/K forgotten +distance from the reference 1\.\de\+00",
            r"5\. N, then averaged +distance from the reference 5\.0e-01",
        ],
        "l5-recover": [
            r"None: window, sum, sum\s+weight · N = \[1\.0, 1\.0, 1\.0, 1\.0, 1\.0\]",
            r"mean-of-microbatch-means: microbatch, mean, mean",
            r"sum-of-microbatch-means: microbatch, sum, mean",
            r"mean-of-rank-means: rank, sum, mean",
            r"global-divisor-then-mean: window, sum, mean",
            r"divided-twice: window, mean, sum\s+weight · N = \[0\.333, 0\.333, 0\.333, 0\.5, 0\.5\]",
        ],
        "l5-see-blocks": [r"<svg", r"3\.75</text>", r"one of them weighs anything from 0\.33 to 7\.5 shares"],
        "l5-no-sync-run": [r"every backward: 3 all_reduce", r"no_sync: 1 all_reduce, elements by rank \[3535, 3535\]"],
        "l5-uneven-run": [r"Rank 0 is waiting in all_reduce\(3535 float64\).*rank 1 returned and never came"],
        "l5-uneven-ledger": [r"<svg", r"3,535 waits", r"returned"],
        "l5-late-run": [r"count known after: distance from the reference \d\.\de-1\d"],
        "l5-memory-run": [r"backward in each of 8 microbatches: \d{3} KiB at most; one backward over all: \d{4} KiB"],
        "l5-partial": [r"configured K: \[1\.0, 1\.0, 0\.5, 1\.0, 1\.0, 0\.5\]", r"tail left in \.grad: .*1\.5"],
        "l5-clip-run": [
            r"sum, divide, clip: .*weight · N = \[0\.5, 0\.5, 0\.5, 0\.5, 0\.5\]",
            r"sum, clip, divide: .*weight · N = \[0\.007, 0\.007, 0\.007, 0\.007, 0\.007\]",
            r"clip on each rank: .*weight · N = \[(0\.\d+), \1, \1, (?!\1)(0\.\d+), \2\]",
        ],
        "l5-amp-run": [r"step was skipped on rank 0, rank 1: \[True, True\]", r"float16: 0\.0 for 1e-8, inf for"],
        "l5-2024-run": [r"transformers#34242 \(2024\) +rank, sum, mean .*applied +0\.667"],
        "l5-lab-dials-widget": [r"AccumulationLab"],
        "l5-lab-time-widget": [r"TimelineLab"],
    },
    "6_in_the_wild": {
        "l6-recover": [r"0\.25, 0\.25, 0\.083333"],
        "l6-residual": [r"not a weighted sum of this window's gradients"],
        "l6-step": [r"mean-of-microbatch-means", r"full-window-divisor-on-partial-window.*sum to 0\.6667"],
        "l6-picture": [r"<svg"],
        "l6-survey-run": [r"DDP, mean loss:\n    mean-of-rank-means", r"FSDP2.*mean loss:\n    mean-of-rank-means"],
        "l6-lab-widget": [r"WildLab"],
        "l6-test-fails": [r"averaging_step \[mean-of-microbatch-means\]"],
        "l6-test-passes": [r"2 updates, every token weighs 1/N"],
    },
}
# Asserted by the lesson itself, so that a reader sees that the number is computed.
ASSERTED = {"1_item_mean": ["2.5", "2.0", "9.75", "9.8", "0.5", "1.5", "4.5", "0.25"]}


def name_of(path: Path) -> str:
    return path.stem


def metadata(cell) -> dict:
    return cell.metadata.get("nbgrader", {})


def code(notebook) -> list:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def text_of(output) -> str:
    """All text of an output: what was printed, a traceback's last line, every text form of a result."""
    if output.output_type == "stream":
        return output.text
    if output.output_type == "error":
        return f"{output.ename}: {output.evalue}"
    return "\n".join(value for kind, value in output.data.items() if kind.startswith("text/"))


# ---- all notebooks


@pytest.mark.parametrize("path", LESSONS + SOURCES + RELEASES, ids=lambda p: str(p.relative_to(ROOT)))
class TestEveryNotebook:
    def test_is_valid_and_has_ids_that_do_not_change(self, path):
        raw = json.loads(path.read_text(encoding="utf8"))
        assert (raw["nbformat"], raw["nbformat_minor"]) == (4, 5)
        nbformat.validate(raw)
        ids = [cell["id"] for cell in raw["cells"]]
        assert len(set(ids)) == len(ids)
        assert all(re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)+", id) for id in ids), (
            "an id says what its cell is"
        )
        assert raw["metadata"]["kernelspec"]["name"] == "python3"

    def test_is_committed_without_outputs(self, path):
        for cell in code(nbformat.read(path, 4)):
            assert cell.outputs == [] and cell.execution_count is None, cell.id

    def test_first_code_cell_warms_up_and_explains_a_missing_package(self, path, tmp_path):
        first = code(nbformat.read(path, 4))[0].source
        assert first.rstrip().endswith("warm_up()") or "\nwarm_up()\n" in first
        without_package = (
            "import sys\nsys.modules['autograder'] = None\n"  # what Python does when there is none
        )
        with pytest.raises(ImportError, match=r"^This kernel lacks .*`make lab`\.$"):
            try:
                exec(compile(without_package + first, str(path), "exec"), {})
            finally:
                import sys

                sys.modules.pop("autograder", None)

    def test_folded_text_is_closed(self, path):
        for cell in nbformat.read(path, 4).cells:
            assert cell.source.count("<details>") == cell.source.count("</details>"), cell.id


# ---- lessons


@pytest.fixture(scope="module", params=LESSONS, ids=name_of)
def executed(request, tmp_path_factory):
    """A lesson after a run from top to bottom in a kernel of its own, in an empty folder."""
    notebook = nbformat.read(request.param, 4)
    folder = tmp_path_factory.mktemp("lesson")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT))
        client = NotebookClient(
            notebook, timeout=100, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
        )
        client.execute()
    return request.param.stem, notebook, folder


def test_lesson_runs_without_a_word_on_stderr_and_leaves_no_file(executed):
    _, notebook, folder = executed
    noise = [
        (cell.id, output.text)
        for cell in code(notebook)
        for output in cell.outputs
        if output.get("name") == "stderr"
    ]
    assert not noise
    assert not list(folder.iterdir())


def test_lesson_shows_its_numbers(executed):
    lesson, notebook, _ = executed
    shown = {cell.id: "\n".join(text_of(output) for output in cell.outputs) for cell in code(notebook)}
    for cell, expressions in SHOWN.get(lesson, {}).items():
        for expression in expressions:
            assert re.search(expression, shown[cell]), f"{cell} does not show {expression!r}:\n{shown[cell]}"


@pytest.mark.parametrize("lesson", ASSERTED)
def test_lesson_asserts_its_numbers(lesson):
    cells = code(nbformat.read(ROOT / "notebooks" / f"{lesson}.ipynb", 4))
    asserted = {
        repr(node.value)
        for cell in cells
        for statement in ast.walk(ast.parse(cell.source))
        if isinstance(statement, ast.Assert)
        for node in ast.walk(statement)
        if isinstance(node, ast.Constant)
    }
    assert not set(ASSERTED[lesson]) - asserted


@pytest.mark.parametrize("path", LESSONS, ids=name_of)
def test_every_practice_question_has_one_right_answer_and_a_reason_for_each(path):
    questions = [cell for cell in nbformat.read(path, 4).cells if re.search(r"-check-\d+$", cell.id)]
    assert len(questions) >= 3
    for question in questions:
        answers = re.findall(r"</summary>\s*([✓✗]) (.+?)\s*</details>", question.source, flags=re.S)
        assert len(answers) == question.source.count("<details>") >= 3, question.id
        assert Counter(mark for mark, _ in answers)["✓"] == 1, question.id
        assert all(len(reason.split()) >= 8 for _, reason in answers), question.id


# ---- assignments


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
class TestEveryAssignment:
    @pytest.mark.parametrize("rule", verify.RULES, ids=lambda rule: rule.__name__)
    def test_obeys_the_rules_that_verify_asks(self, path, rule):
        assert list(rule(nbformat.read(path, 4))) == []

    def test_points_sum_to_a_round_number(self, path):
        graded = [cell for cell in nbformat.read(path, 4).cells if metadata(cell).get("grade")]
        assert sum(metadata(cell)["points"] for cell in graded) == POINTS_OF_AN_ASSIGNMENT

    def test_has_some_questions_whose_keys_are_not_all_the_same_letter(self, path):
        keys = re.findall(
            r'^    key="([A-Z])"', "\n".join(c.source for c in code(nbformat.read(path, 4))), flags=re.M
        )
        assert 3 <= len(keys) <= 5
        assert len(set(keys)) > 1

    def test_has_a_written_answer(self, path):
        cells = nbformat.read(path, 4).cells
        assert [c for c in cells if c.cell_type == "markdown" and metadata(c).get("grade")]


@pytest.mark.parametrize("path", RELEASES, ids=name_of)
class TestEveryRelease:
    def test_no_solution_no_key_no_model_answer(self, path):
        source = nbformat.read(ROOT / "source" / path.parent.name / path.name, 4)
        assert list(verify.leaks(nbformat.read(path, 4), source)) == []

    def test_an_unsolved_notebook_is_all_stubs(self, path):
        assert list(verify.unsolved(nbformat.read(path, 4))) == []
