"""`make demo` is a test of the whole loop: every submission gets what it deserves, with its reason."""

from pathlib import Path

import pytest

from autograder.classroom import demo

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_whole_life_of_an_assignment(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    status = demo.main(["--keep", str(tmp_path / "demo")])
    printed = capsys.readouterr().out
    assert status == 0, printed
    assert "python -m autograder grade item_mean" in printed
    for student, *_ in demo.STORIES:
        assert f"\n{student} " in printed


def test_demo_outside_a_clone_is_one_clear_message(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match="run it in a clone"):
        demo.main([])
