"""Sealed grading in parts, and a small class through a real `nbgrader autograde`. The bank is in test_hostile.py."""

import logging
import math
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import time
from copy import deepcopy
from html import unescape
from pathlib import Path

import nbformat
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from nbconvert import HTMLExporter
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from nbgrader.api import Gradebook
from nbgrader.utils import determine_grade
from traitlets.config import Config

sys.path.insert(0, str(Path(__file__).parent))
import sealed_course  # noqa: E402
from sealed_course import NAME, POINTS, RIGHT, autograded, nbgrader, nothing_left_behind, results, submit  # noqa: E402

from autograder.classroom import pages  # noqa: E402
from autograder.classroom.sealed import outcomes, sandbox, seccomp  # noqa: E402
from autograder.classroom.sealed.attempt import Attempt  # noqa: E402
from autograder.classroom.sealed.config import configure as seal  # noqa: E402
from autograder.classroom.sealed.grade_cells import Check, Choice, read_grade_cell  # noqa: E402
from autograder.classroom.sealed.outcomes import Mark, mark_choice  # noqa: E402
from autograder.classroom.sealed.session import Infrastructure, Session, checked_outcomes  # noqa: E402
from autograder.grading import run_trials  # noqa: E402
from autograder.judge import Hearing  # noqa: E402
from autograder.ranks import wire  # noqa: E402
from autograder.ranks.launch import pickled_function  # noqa: E402
from autograder.ranks.ledger import Call  # noqa: E402
from autograder.ranks.report import RankOutcome  # noqa: E402
from autograder.verdict import Verdict  # noqa: E402

try:
    sandbox.require()
    no_sandbox = ""
except sandbox.NoSandbox as error:
    no_sandbox = str(error)
SOURCE = Path(__file__).resolve().parents[2] / "source"
needs_sandbox = pytest.mark.skipif(bool(no_sandbox), reason=no_sandbox)


# ---- grade cells as data -----------------------------------------------------------------------------------

@pytest.mark.parametrize(("source", "task"), [
    ("check(f)", Check("f", "f", "visible")),
    ("check(f)\n### BEGIN HIDDEN TESTS\ncheck(f, trials=\"all\")\n### END HIDDEN TESTS", Check("f", "f", "all")),
    ("check(model, \"f\")\ncheck(model, exercise=\"f\", trials=\"all\")", Check("f", "model", "all")),
    ("check_choice('q', q)\ncheck_choice('q', q, key='B', reasons={'A': 'no', 'B': 'yes'})",
     Choice("q", "q", "B", {"A": "no", "B": "yes"})),
])
def test_grade_cell_is_read_without_running_it(source, task):
    assert read_grade_cell(source) == task


@pytest.mark.parametrize("source", [
    "", "1.0", "assert f(1) == 2", "check(f)\nimport os", "check(lambda: 1)", "check(f())", "check(f)\ncheck(g)",
    "check(f, trials='some')", "check_choice('q', q)", "check_choice('q', q, key=K)", "check(f) if x else 1", "check(",
    "check(f)\ncheck_choice('q', q, key='A')", "check(f, **{'trials': 'all'})", "x.check(f)", "check(*f)"])
def test_any_other_grade_cell_is_refused(source):
    with pytest.raises(ValueError):
        read_grade_cell(source)


# ---- marks -------------------------------------------------------------------------------------------------

def grade_cell(points, outputs):
    cell = new_code_cell("check(f)", metadata={"nbgrader": {"grade": True, "solution": False, "points": points,
                                                            "grade_id": "f", "locked": True, "schema_version": 3}})
    cell.outputs = outputs
    return cell


@settings(deadline=None)
@given(credit=st.floats(0, 1), points=st.floats(0, 1e6), outcome=st.sampled_from(["right", "wrong", "error", "limit"]))
def test_nbgrader_reads_exactly_credit_times_points(credit, points, outcome):
    mark = Mark(outcome, Verdict("f", credit == 1, credit, None, "said"))
    score, most = determine_grade(grade_cell(points, mark.outputs(points)))
    assert math.isfinite(score) and 0 <= score <= most and score == min(points * credit, points)


def test_what_is_ours_never_reads_as_full_marks():
    mark = outcomes.mark(outcomes.INFRASTRUCTURE, "f", None, "no")
    assert determine_grade(grade_cell(5, mark.outputs(5)))[0] == 0 and not mark.judged


@pytest.mark.parametrize(("letter", "kind", "outcome"), [
    ("B", "str", "right"), (" b ", "str", "right"), ("A", "str", "wrong"), ("", "str", "error"),
    (None, "NoneType", "error"), (None, "int", "error"), ("AB", "str", "error"), ("Z", "str", "error"),
    ("<b>", "str", "error")])
def test_letter_is_judged_outside(letter, kind, outcome):
    mark = mark_choice(Choice("q", "q", "B", {"A": "no", "B": "yes", "C": "no"}), letter, kind)
    assert mark.outcome == outcome and mark.verdict.passed == (outcome == "right")
    assert "B is right" not in mark.verdict.message or outcome == "right"
    if letter or kind == "int":
        assert (outcome == "error") == ("give A, B or C, one letter in quotes" in mark.verdict.message)


# ---- what comes from inside --------------------------------------------------------------------------------

PLAN = Hearing("synchronized_item_mean", "visible", 1).plan()


def honest():
    """What ranks that return their first argument would send."""
    found = []
    for arguments in PLAN["trials"]:
        ranks = []
        for rank, encoded in enumerate(arguments):
            own = wire.decode(encoded)
            result = {"value": own[0], "arguments": own, "gradients": [None] * len(own),
                      "requires_grad": [False] * len(own)}
            ranks.append(RankOutcome(rank, "returned", wire.encode(result), calls=[Call("barrier", 0, "")]).to_dict())
        found.append(ranks)
    return found


def test_honest_outcomes_pass_the_check():
    assert [len(ranks) for ranks in checked_outcomes(honest(), PLAN)] == [len(trial) for trial in PLAN["trials"]]


plain = st.recursive(st.none() | st.booleans() | st.integers(-2**70, 2**70) | st.floats() | st.text(max_size=5)
                     | st.binary(max_size=20),
                     lambda inner: st.lists(inner, max_size=3)
                     | st.dictionaries(st.text(max_size=6), inner, max_size=3),
                     max_leaves=6)


@settings(deadline=None, max_examples=300)
@given(data=st.data())
def test_no_answer_from_inside_breaks_the_grader(data):
    """Any field replaced by anything: it is refused as such, or the judge rules on it; nothing else is raised."""
    answer = honest()
    ranks = answer[data.draw(st.integers(0, len(answer) - 1))]
    outcome = ranks[data.draw(st.integers(0, len(ranks) - 1))]
    outcome[data.draw(st.sampled_from([*outcome, "other"]))] = data.draw(plain)
    answer = wire.decode(wire.encode(answer))
    try:
        outcomes = checked_outcomes(answer, PLAN)
    except ValueError:
        return
    assert all(type(one.rank) is int and all(type(call) is Call for call in one.calls) for r in outcomes for one in r)
    hearing = Hearing("synchronized_item_mean", "visible", 1)
    assert not hearing.rule([[one.to_dict() for one in ranks] for ranks in outcomes], "gloo", 0.0).passed


RECORDS = {"synchronized_item_mean": RIGHT["synchronized_item_mean"],
           "ddp_step": "def ddp_step(model, inputs, targets, optimizer):\n    model(inputs).sum().backward()\n"
                       "    optimizer.step()",
           "reduce_gradients": "def reduce_gradients(parameters, word):\n    pass",
           "token_loss_sum": "def token_loss_sum(logits, *labels):\n    return logits.sum()"}


@pytest.mark.parametrize("exercise", RECORDS)
def test_a_forged_record_is_refused_or_ruled_on(exercise):
    """Each part of a real record replaced: never an error of the judge, which would have a person grade nonsense."""
    space = {"torch": torch, "dist": torch.distributed}
    exec(RECORDS[exercise], space)
    hearing = Hearing(exercise, "visible", 1)
    plan = hearing.plan()
    real = [[one.to_dict() for one in ranks] for ranks in run_trials(
        pickled_function(space[exercise]), plan, max(map(len, plan["trials"])), "gloo")]
    checked_outcomes(real, plan)
    refused = 0
    for odd in (None, -1, "x", [], {}, 1e300, torch.zeros(3, dtype=torch.complex128), torch.zeros(0), wire.Opaque("x")):
        for place in places_in(wire.decode(real[0][0]["result"])):
            forged = deepcopy(real)
            forged[0][0]["result"] = wire.encode(with_other(wire.decode(real[0][0]["result"]), place, odd))
            try:
                outcomes = checked_outcomes(forged, plan)
            except ValueError:
                refused += 1
                continue
            hearing.rule([[one.to_dict() for one in ranks] for ranks in outcomes], "gloo", 0.0)
    assert refused > 20


def places_in(tree: object) -> list[tuple]:
    inner = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, (list, tuple)) else ()
    return [(), *((key, *rest) for key, value in inner for rest in places_in(value))]


def with_other(tree: object, place: tuple, odd: object) -> object:
    if not place:
        return odd
    items = dict(tree) if isinstance(tree, dict) else list(tree)
    items[place[0]] = with_other(items[place[0]], place[1:], odd)
    return tuple(items) if isinstance(tree, tuple) else items


@pytest.mark.parametrize("answer", [None, 3, [], [[]], "x", {"rank": 0}, [[{}]], [honest()[0][:0]], honest() * 50])
def test_outcomes_of_another_shape_are_refused(answer):
    with pytest.raises(ValueError):
        checked_outcomes(answer, PLAN)


# ---- the list of denied calls ------------------------------------------------------------------------------

def verdict_on(program: bytes, number: int, arguments=(0, 0, 0), architecture=0xC000003E) -> int:
    """What a classic BPF program says about a system call: a tiny interpreter of the five instructions in use."""
    data = struct.pack("<iIQ6Q", number, architecture, 0, *arguments, *[0] * (6 - len(arguments)))
    lines = [struct.unpack_from("=HBBI", program, at) for at in range(0, len(program), 8)]
    at, value = 0, 0
    while True:
        code, yes, no, operand = lines[at]
        at += 1
        if code == 0x20:
            (value,) = struct.unpack_from("<I", data, operand)
        elif code == 0x06:
            return operand
        else:
            holds = {0x15: value == operand, 0x35: value >= operand, 0x45: bool(value & operand)}[code]
            at += yes if holds else no


ALLOW, EPERM, ENOSYS, NO_FAMILY = 0x7FFF0000, 0x00050001, 0x00050026, 0x00050061


def test_deny_list_denies_what_it_names_and_nothing_else():
    rules = seccomp.deny_list("x86_64")
    denied = set(seccomp._CALLS["x86_64"][2].values())
    for number in range(500):
        if number not in (16, 41, 56, 435):
            assert verdict_on(rules, number) == (EPERM if number in denied else ALLOW), number
    assert {101, 272, 278, 308, 310, 319, 321, 425} <= denied
    assert verdict_on(rules, 435) == ENOSYS and verdict_on(rules, 0x40000000 + 1) == ENOSYS
    assert verdict_on(rules, 0, architecture=0x40000003) == 0x80000000  # 32-bit calls: killed


@pytest.mark.parametrize(("call", "arguments", "answer"), [
    (56, (17,), ALLOW), (56, (0x3D0F00,), ALLOW), (56, (0x10000000 | 17,), EPERM), (56, (0x00020000,), EPERM),
    (16, (0, 0x5401), ALLOW), (16, (0, 0x5412), EPERM), (16, (0, 0x541C), EPERM),
    (41, (1, 1, 0), ALLOW), (41, (2, 1, 6), ALLOW), (41, (10, 1, 0), ALLOW), (41, (16, 3, 0), ALLOW),
    (41, (16, 3, 9), NO_FAMILY), (41, (17, 3, 0), NO_FAMILY), (41, (38, 5, 0), NO_FAMILY), (41, (40, 1, 0), NO_FAMILY)])
def test_deny_list_looks_at_arguments(call, arguments, answer):
    assert verdict_on(seccomp.deny_list("x86_64"), call, arguments) == answer


def test_other_machines_have_a_list_too():
    assert verdict_on(seccomp.deny_list("aarch64"), 117, architecture=0xC00000B7) == EPERM


# ---- pages -------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("exporter", [HTMLExporter, pages.FeedbackExporter])
def test_pages_keep_verdicts_and_no_markup_of_learners(exporter):
    mark = Mark("wrong", Verdict("f", False, 0.0, "raised", "<script>"))
    notebook = new_notebook(cells=[
        new_markdown_cell("# Title <script>alert(1)</script> [x](javascript:alert(1)) <img src=x onerror=alert(1)>\n\n"
                          "<b>bold</b> <details>more</details> <a href='java&#115;cript:alert(1)'>x</a>"),
        new_code_cell("1", outputs=[new_output("display_data", {"text/html": "<script>alert(2)</script>",
                                                                "text/plain": "fine"})]),
        grade_cell(3, mark.outputs(3))], metadata={"title": "<script>", "widgets": {"a": "</script>"}})
    config = Config()
    seal(config, secret_file="")
    page, _ = exporter(config=config).from_notebook_node(deepcopy(notebook))
    for markup in ("<script>alert", "onerror=alert(1)>\n", 'href="javascript', "<title><script", "widget-state"):
        assert markup not in page
    assert "<details>" in page and "<b>bold</b>" in page
    clean, _ = pages.SanitizeLearners().preprocess(notebook, {})
    assert "text/html" not in clean.cells[1].outputs[0].data and "text/html" in clean.cells[2].outputs[0].data
    assert set(clean.metadata) == {"kernelspec", "language_info"}


@pytest.mark.parametrize("file", sorted(SOURCE.glob("*/*.ipynb")), ids=lambda file: file.stem)
def test_every_formula_of_an_assignment_is_drawn_without_a_network(file):
    cells = [cell for cell in nbformat.read(file, as_version=4).cells if cell.cell_type == "markdown"]
    page = "".join(pages.clean_markdown(cell.source) for cell in cells)
    left = re.findall(r"\$[^$]*\$", re.sub("<(code|pre).*?</(code|pre)>", "", page, flags=re.DOTALL))
    assert "<math" in page and not left


@pytest.mark.parametrize(("tex", "drawn"), [
    (r"\tfrac12 x_i^2", ("<mfrac><mn>1</mn><mn>2</mn></mfrac>", "<msubsup><mi>x</mi><mi>i</mi><mn>2</mn></msubsup>")),
    (r"\sum_i \bar g_i < 10^{-6}", ("<mo>∑</mo>", "<mo>&lt;</mo>", "<mo>−</mo><mn>6</mn>")),
    (r"\texttt{max\_norm}", (">max_norm</mtext>",)),
])
def test_formulas_are_drawn(tex, drawn):
    page = pages.clean_markdown(f"${tex}$")
    assert page.startswith("<p><math ") and all(part in page for part in drawn), page


@pytest.mark.parametrize("source", [r"$\begin{x}y$", "$x^$", "$x_1_2$", r"$\unknown{x}$", "a $ sign", "`$x$`"])
def test_what_is_no_formula_that_is_known_stays(source):
    page = pages.clean_markdown(source)
    assert "<math" not in page and source.strip("`") in unescape(page)


@pytest.mark.parametrize("tex", [
    r"\text{<script>alert(1)</script>}", r"\href{javascript:alert(1)}{x}", r"\style{color:red}{x}",
    r"\class{prompt}{x}", r"\text{&lt;script&gt;alert(1)&lt;/script&gt;}", r"\color{red\" onclick=\"alert(1)}{x}"])
def test_a_formula_is_no_way_into_the_page(tex):
    page = pages.clean_markdown(f"${tex}$")
    assert not re.search(r"<script|<[^>]*(href|style|class|onclick)\s*=", page), page


# ---- the sandbox -------------------------------------------------------------------------------------------

def test_settings_cost_no_imports():
    code = ("import sys; from autograder.classroom.sealed.config import configure\n"
            "from traitlets.config import Config\n"
            "configure(Config(), secret_file='x'); print([n for n in ('torch', 'nbgrader') if n in sys.modules])")
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


def test_missing_bubblewrap_says_what_to_install(monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(sandbox.NoSandbox, match="apt-get install bubblewrap"):
        sandbox.require()


def test_nothing_of_the_course_is_visible(root):
    shown = sandbox.visible()
    assert str(root) not in shown and str(root / "source") not in shown and "/" not in shown
    assert not any(str(Path.home()) == path for path in shown)


@pytest.fixture
def own_templates(monkeypatch):
    """Sandboxes of this test come from templates of its own."""
    made = {}
    monkeypatch.setattr(sandbox, "_templates", made)
    yield made
    for template in made.values():
        template.close()


def outputs_of(session: Session, source: str) -> list[dict]:
    answer = session.ask({"do": "cell", "source": source, "number": 1, "seconds": 30.0}, 60.0)
    assert answer["did"] == "cell" and answer["ended"] is None, answer
    return answer["outputs"]


def run_cell(session: Session, source: str) -> str:
    """What a learner's cell prints, or its error."""
    return "".join(output.get("text") or f"{output['name']}: {output['message']}"
                   for output in outputs_of(session, source) if output["kind"] in ("stream", "error"))


@needs_sandbox
def test_a_sandbox_that_dies_at_once_is_no_fault_of_the_submission(monkeypatch, own_templates):
    monkeypatch.setattr(sandbox, "_python", lambda channel, uid, sealed: ["/bin/false"])
    with nothing_left_behind(), pytest.raises(Infrastructure):
        Session(sandbox.Limits())


LEAVES = """
import ctypes, os, socket, subprocess, sys
for folder in ("/tmp", "/dev/shm"):
    open(f"{folder}/mine", "w").write("a trace")
subprocess.Popen(["/usr/bin/env", "sleep", "600"], start_new_session=True)
os.environ["TRACE"] = "a trace"
sys.modules["torch"].left_behind = "a trace"
queue = ctypes.CDLL(None).mq_open(b"/mine", os.O_CREAT | os.O_RDWR, 0o600, None)
listens = socket.socket(socket.AF_UNIX)
listens.bind("\\0mine")
listens.listen()
print("mine" in os.listdir("/tmp"), "mine" in os.listdir("/dev/shm"), queue >= 0)
"""
LOOKS = """
import ctypes, os, socket, torch
numbers = [int(name) for name in os.listdir("/proc") if name.isdigit()]
names = [open(f"/proc/{number}/comm").read().strip() for number in numbers]
print("sleep" in names, "mine" in os.listdir("/tmp"), "mine" in os.listdir("/dev/shm"))
print("TRACE" in os.environ, hasattr(torch, "left_behind"))
print(ctypes.CDLL(None).mq_open(b"/mine", os.O_RDWR), socket.socket(socket.AF_UNIX).connect_ex("\\0mine") != 0)
"""
RIGHTS = """
import ctypes, os, pwd
status = dict(line.split(":", 1) for line in open("/proc/self/status").read().splitlines())
print(*(int(status[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")),
      int(status["NoNewPrivs"]), int(status["Seccomp"]), os.getuid() != 0, pwd.getpwuid(os.getuid()).pw_name)
libc = ctypes.CDLL(None, use_errno=True)
print(libc.unshare(0x10000000), libc.umount2(b"/tmp", 2), libc.mount(b"none", b"/tmp", b"tmpfs", 0, None))
for place in ("/", "/usr", "/proc/sys/kernel/hostname", os.path.dirname(os.__file__)):
    try:
        open(place + "/x" if os.path.isdir(place) else place, "w")
        print("could write", place)
    except OSError:
        pass
try:
    os.kill(1, 9)
except PermissionError:
    pass
"""


@needs_sandbox
@pytest.mark.parametrize("many", [True, False])
def test_each_submission_has_a_sandbox_without_rights_or_traces_of_another(many, monkeypatch, own_templates):
    """Forked from one template, or where a sandbox may make no namespaces, each with a template of its own."""
    if not many:
        monkeypatch.setattr(sandbox, "_RIGHTS", ("SETPCAP", *[right for right in sandbox._RIGHTS if "SETU" in right
                                                               or "SETG" in right]))
    with nothing_left_behind():
        with Session(sandbox.Limits()) as first:
            assert run_cell(first, LEAVES) == "True True True\n"
            with Session(sandbox.Limits()) as second:
                assert run_cell(second, LOOKS) == "False False False\nFalse False\n-1 True\n"
                assert run_cell(second, RIGHTS) == "0 0 0 0 0 1 2 True learner\n-1 -1 -1\n"
        (template,) = own_templates.values()
        assert template.many == many
        template.close()
        own_templates.clear()


@needs_sandbox
def test_a_template_that_died_is_made_anew(own_templates):
    with Session(sandbox.Limits()):
        pass
    (template,) = own_templates.values()
    signal.pidfd_send_signal(template._init, signal.SIGKILL)
    with Session(sandbox.Limits()) as session:
        assert run_cell(session, "print(6 * 7)") == "42\n"
    assert own_templates[True] is not template


@needs_sandbox
def test_a_package_that_lies_in_a_writable_folder_is_visible(tmp_path):
    """/tmp of a sandbox is its own; an environment that lies in the machine's /tmp must be there all the same."""
    shutil.copytree(Path(sandbox.__file__).parents[2], tmp_path / "autograder", ignore=shutil.ignore_patterns("__py*"))
    code = ("from autograder.classroom.sealed import sandbox\n"
            "from autograder.classroom.sealed.session import Session\n"
            "with Session(sandbox.Limits()) as session:\n"
            "    answer = session.ask({'do': 'cell', 'number': 1, 'seconds': 30.0,\n"
            "                          'source': 'import autograder.survey.table as t; print(t.__file__)'}, 60.0)\n"
            "    print(answer['outputs'][0]['text'])")
    run = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True,
                         env={**os.environ, "PYTHONPATH": str(tmp_path)})
    assert run.stdout.strip() == str(tmp_path / "autograder" / "survey" / "table.py"), run.stderr


HIDDEN_FROM_THE_COUNT = {
    "shared memory that only sleepers map": """
import mmap, os, time
for _ in range(4):
    held = mmap.mmap(MAPPED, 2**28)
    for at in range(0, len(held), 4096):
        held[at] = 1
    if os.fork() == 0:
        time.sleep(60)
        os._exit(0)
    held.close()
time.sleep(20)
""",
    "data on its way between sockets": """
import os, socket, time
for _ in range(5):
    if os.fork() == 0:
        pairs = []
        try:
            while True:
                pairs.append(socket.socketpair())
        except OSError:
            time.sleep(60)
        os._exit(0)
time.sleep(20)
"""}


@needs_sandbox
@pytest.mark.parametrize("where", ["-1", "os.open('/dev/zero', os.O_RDWR)", "sockets"])
def test_memory_that_no_process_shows_is_counted(where, own_templates):
    way = HIDDEN_FROM_THE_COUNT["data on its way between sockets" if where == "sockets" else
                                "shared memory that only sleepers map"]
    with Session(sandbox.Limits(total_memory=3 * 2**28)) as session:
        answer = session.ask({"do": "cell", "source": way.replace("MAPPED", where), "number": 1, "seconds": 60.0}, 90.0)
        assert answer["over"] and session.exceeded == "memory", answer


@needs_sandbox
def test_empty_files_take_memory_and_have_a_limit(own_templates):
    with Session(sandbox.Limits()) as session:
        said = run_cell(session, "for number in range(60_000): open(f'/tmp/{number}', 'w').close()")
        assert "No space left on device" in said


@needs_sandbox
def test_the_kernel_ends_a_submission_before_the_grader(own_templates):
    with Session(sandbox.Limits()) as session:
        assert Path(f"/proc/{session.sandbox.init}/oom_score_adj").read_text() == "1000\n"
        assert run_cell(session, "open('/proc/1/oom_score_adj', 'w')").startswith("PermissionError")


# ---- what works in Jupyter works sealed --------------------------------------------------------------------

ABOVE_A_DEFINITION = (
    "%matplotlib inline", "%matplotlib widget", "%matplotlib notebook", "%matplotlib qt", "%matplotlib",
    "%matplotlib agg", "get_ipython().run_line_magic('matplotlib', 'inline')", "%pylab inline", "%gui tk",
    "%config InlineBackend.figure_format = 'retina'", "%config InlineBackend.rc = {}", "%load_ext autoreload",
    "%autoreload 2", "%env WORLD=2", "%autosave 60", "%clear", "%who", "%timeit -n1 -r1 1 + 1", "%time one = 1", "!cat",
    "!echo said", "names = !ls /usr", "%cd /tmp", "%pip --version", "%pip install --quiet no-package-of-this-name",
    "!pip install no-package-of-this-name", "print?", "%debug", "%reset", "breakpoint()", "exit()", "quit", "help(len)",
    "import asyncio\nawait asyncio.sleep(0)", "async def one():\n    return 1\nassert await one() == 1",
    "import warnings\nwarnings.warn('careful')", "import logging\nlogging.warning('careful')",
    "import sys\nprint('careful', file=sys.stderr)\nsys.stdout.flush()", "%xmode Minimal", "%precision 3",
    "from tqdm import tqdm\nfor _ in tqdm(range(3)): pass", "from tqdm.auto import trange\nfor _ in trange(3): pass",
    "from IPython.display import HTML, clear_output, display\ndisplay(HTML('<b>'), display_id='a')\nclear_output()",
    "from IPython.display import update_display\nupdate_display('b', display_id='a')",
    "import ipywidgets\nipywidgets.interact(lambda x: x, x=(0, 3))", "from ipywidgets import IntSlider\nIntSlider()",
    "%%time", "%%capture", "%%capture said\nprint(1)\nprint(2)")
CELLS_OF_THEIR_OWN = (
    ("%%bash\necho from bash", "from bash\n"), ("%%sh\necho from sh", "from sh\n"), ("%%python\nprint(3)", "3\n"),
    ("%%writefile note.txt\n1", "Writing note.txt\n"), ("%%timeit -n1 -r1\n1", ""), ("%%html\n<b>x</b>", ""),
    ("%%latex\n$x$", ""), ("%%javascript\n1", ""))


@needs_sandbox
@pytest.mark.timeout(400)
def test_habits_of_notebooks_keep_a_definition():
    lost = {}
    with Session(sandbox.Limits()) as session:
        for number, above in enumerate(ABOVE_A_DEFINITION):
            said = run_cell(session, f"{above}\ndef answer():\n    return {number}")
            if run_cell(session, "print(answer())") != f"{number}\n":
                lost[above] = said
        for source, printed in CELLS_OF_THEIR_OWN:
            said = run_cell(session, source)
            if "Error" in said or printed not in said:
                lost[source] = said
    assert not lost


@needs_sandbox
@pytest.mark.parametrize("way", ["", "%matplotlib inline\n", "%matplotlib widget\n"])
def test_a_figure_arrives_as_a_picture(way):
    draw = way + "import matplotlib.pyplot as plt\nfigure, axes = plt.subplots()\naxes.plot([1, 2])\n"
    with Session(sandbox.Limits()) as session:
        for last, kinds in (("plt.show()", ["display"]), ("print()", ["display"]), ("figure", ["result", "display"])):
            outputs = outputs_of(session, draw + last)  # a figure that is a value, too, comes twice, as in Jupyter
            assert [output["kind"] for output in outputs if "image/png" in output.get("data", {})] == kinds, outputs


@needs_sandbox
def test_a_question_to_nobody_is_one_clear_error():
    with Session(sandbox.Limits()) as session:
        for asks in ("input('How many ranks? ')", "import getpass\ngetpass.getpass()"):
            assert run_cell(session, asks).endswith(
                "EOFError: Nobody is there to answer input() when a notebook is graded: write the value into the cell.")


class OneAttempt:
    limits, unsealed, log = sandbox.Limits(), False, logging.getLogger("test")
    cell_timeout, check_timeout, submission_timeout = 8.0, 60.0, 120.0

    def hidden_seed(self, exercise: str) -> int:
        return 1


@needs_sandbox
@pytest.mark.parametrize(("answer", "diagnosis", "says"), [
    ("x = 1\ndef is_equivalent(a: Tensor, b):\n    return True", "raised",
     "The cell that should define is_equivalent stopped in line 2: NameError: name 'Tensor' is not defined."),
    ("import flash_attn\nfrom flash_attn import is_equivalent", "raised",
     "The cell that should define is_equivalent stopped in line 1: ModuleNotFoundError: No module named 'flash_attn'."),
    ("def is_equivalent(a, b):\n    return a ==", "raised",
     "The cell that should define is_equivalent stopped in line 2: SyntaxError: invalid syntax."),
    ("is_equal = 1", "not-implemented", "There is no is_equivalent in the notebook when its check comes. Define it"),
    ("is_equivalent = 1\n1 / 0", "raised", "stopped in line 2: ZeroDivisionError: division by zero.\n"
                                           "is_equivalent is a int, not a function."),
])
def test_a_function_that_is_missing_because_its_cell_stopped_says_so(answer, diagnosis, says):
    cells = [new_code_cell("1 / 0"), *sealed_course.exercise("is_equivalent", 1.0, "", "check(is_equivalent)", "")]
    cells[1].source = answer
    attempt = Attempt(OneAttempt(), cells, {"is_equivalent": "check(is_equivalent)"})
    attempt.go(last=True)
    mark = attempt.marks["is_equivalent"]
    assert (mark.outcome, mark.verdict.diagnosis) == ("error", diagnosis)
    assert says in mark.verdict.message


# ---- a class -----------------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A course whose assignment also has a check that cannot be judged, and one that is no call of check."""
    root = tmp_path_factory.mktemp("sealed")
    released = sealed_course.make(root)
    cells = [new_code_cell(sealed_course.SETUP),
             *sealed_course.exercise("unknown", 3.0, "def unknown(x): return x", "check(unknown)", "check(unknown)"),
             *sealed_course.exercise("asserts", 3.0, "x = 1", "assert x == 1", "assert x"),
             *sealed_course.exercise("synchronized_item_mean", 4.0, RIGHT["synchronized_item_mean"],
                                     "check(synchronized_item_mean)", "check(synchronized_item_mean, trials='all')")]
    return root, released, sealed_course.release(root, "broken", cells)


@needs_sandbox
@pytest.mark.timeout(400)
def test_what_ran_before_a_crash_counts_and_the_next_submission_is_graded(course):
    root, released, _ = course
    submit(root, released, "a_crash", RIGHT | {"is_equivalent": "import os; os._exit(0)"})
    submit(root, released, "b_right", RIGHT)
    with nothing_left_behind():
        status, said = nbgrader(root, "autograde", NAME)
    assert status == 0, said
    assert [results(root, "a_crash")[name].points for name in RIGHT] == [POINTS["synchronized_item_mean"], 0.0, 0.0]
    assert [results(root, "b_right")[name].outcome for name in RIGHT] == ["right"] * 3
    assert [results(root, "b_right")[name].points for name in RIGHT] == [POINTS[name] for name in RIGHT]
    verdict = next(output for cell in autograded(root, "b_right").cells for output in cell.get("outputs", ())
                   if outcomes.MIME in output.get("data", {}))
    assert verdict.data[outcomes.MIME]["outcome"] == "right" and "<script" not in verdict.data["text/html"]


@needs_sandbox
@pytest.mark.timeout(400)
def test_a_check_that_cannot_be_judged_waits_for_a_person(course):
    """Graded as formgrader's button does it: through NbGraderAPI."""
    root, _, broken = course
    submit(root, broken, "c_waits", {"unknown": "def unknown(x): return x", "asserts": "x = 1",
                                     "synchronized_item_mean": RIGHT["synchronized_item_mean"]}, name="broken")
    button = ("import os, sys; from nbgrader.apps import NbGraderAPI, NbGrader; app = NbGrader(); app.initialize([]); "
              "api = NbGraderAPI(app.coursedir, config=app.config); said = api.autograde('broken', 'c_waits'); "
              "print(said); sys.exit(not said['success'])")
    run = subprocess.run([sys.executable, "-c", button], cwd=root, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    found = results(root, "c_waits", "broken")
    for name in ("unknown", "asserts"):
        assert found[name].outcome == "infrastructure" and found[name].points is None and found[name].manual
    assert found["synchronized_item_mean"].points == 4.0 and not found["synchronized_item_mean"].manual


@pytest.mark.timeout(400)
def test_without_a_sandbox_grading_stops_and_nothing_is_lost(course, tmp_path):
    root, released, _ = course
    submit(root, released, "d_later", RIGHT)
    programs = tmp_path / "programs"
    programs.mkdir()
    status, said = nbgrader(root, "autograde", NAME, "--student=d_later", PATH=str(programs))
    assert status != 0 and "apt-get install bubblewrap" in said
    assert not (root / "autograded" / "d_later" / NAME / f"{NAME}.ipynb").exists()
    status, said = nbgrader(root, "autograde", NAME, "--student=d_later", "--SealedExecute.unsealed=True",
                            PATH=str(programs))
    assert status == 0 and "WITHOUT a sandbox" in said, said
    assert results(root, "d_later")["synchronized_item_mean"].points == POINTS["synchronized_item_mean"]


def test_feedback_does_not_wait_for_a_network_that_does_not_answer():
    config = Config()
    seal(config, secret_file="")
    page, _ = pages.FeedbackExporter(config=config).from_notebook_node(new_notebook(cells=[new_markdown_cell("$x$")]))
    scripts = re.findall(r"<script[^>]*\bsrc=[^>]*>", page)
    assert scripts and all(" defer " in script for script in scripts), scripts


@needs_sandbox
@pytest.mark.timeout(400)
def test_feedback_is_written_for_its_reader(course):
    root, released, broken = course
    submit(root, released, "e_reads", RIGHT | {"is_equivalent": None})
    submit(root, broken, "e_reads", {"asserts": "x = 1"}, name="broken")
    pages = {}
    for name in (NAME, "broken"):
        for command in ("autograde", "generate_feedback"):
            status, said = nbgrader(root, command, name, "--student=e_reads")
            assert status == 0, said
            if (name, command) == (NAME, "autograde"):
                with Gradebook(f"sqlite:///{root / '.course' / 'gradebook.db'}") as book:
                    book.find_comment("synchronized_item_mean_answer", NAME, NAME, "e_reads").manual_comment = "Brief."
                    book.db.commit()
        pages[name] = (root / "feedback" / "e_reads" / name / f"{name}.html").read_text()
    page = pages[NAME]
    for name in RIGHT:
        assert f'<li><a href="#{name}"><code>{name}</code></a> (Score:' in page
    assert "Test cell" not in page and "Your answer" in page
    assert re.findall("<b>Comments:</b> <p>(.*)</p>", page) == ["Brief.", "No response."]  # the second on the essay
    assert ('<a href="#comment-synchronized_item_mean_answer">a comment on <code>synchronized_item_mean</code></a>'
            in page)
    assert "✓ right" in page and "✗ not right</span>" in page and "not right yet" not in page
    assert "<pre>15.0</pre>" not in page.replace("\n", "")
    assert any(output.output_type == "execute_result" and output.data["text/plain"] == "15.0"
               for output in sealed_course.cell(autograded(root, "e_reads"), "synchronized_item_mean").outputs)
    assert "not graded yet</span>" in pages["broken"] and pages["broken"].count("It needs a mark by hand") == 2
    for rule in ("summary { display: list-item", ".rendered_html td { padding", ".prompt { display: none"):
        assert rule in page.split("<body>")[0]


@needs_sandbox
@pytest.mark.timeout(400)
def test_a_killed_grader_leaves_nothing_behind(course):
    root, released, _ = course
    submit(root, released, "f_killed", RIGHT | {"is_equivalent": "import time\ntime.sleep(600)"})
    with nothing_left_behind():
        grader = subprocess.Popen([sys.executable, "-m", "nbgrader", "autograde", NAME, "--student=f_killed"], cwd=root,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        for line in grader.stderr:
            if "Autograding" in line:
                break
        deadline = time.monotonic() + 60
        while not _sandboxes_below(grader.pid) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert _sandboxes_below(grader.pid)
        os.kill(grader.pid, signal.SIGKILL)
        grader.wait()
        grader.stderr.close()


def _sandboxes_below(pid: int) -> bool:
    """Whether a process below `pid` runs bubblewrap's first process."""
    return any("classroom.sealed.inside" in Path(f"/proc/{one}/cmdline").read_text("utf-8", "replace")
               for one, _ in sandbox._family(pid) if Path(f"/proc/{one}/cmdline").exists())
