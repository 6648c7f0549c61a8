"""The pytest plugin: the fixture `assert_normalized`. Costs nothing until a test asks for it.

    def test_my_step_is_a_token_mean(assert_normalized):
        assert_normalized(train_step, objective="token", world_size=2, accumulation_steps=3)
"""
from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def assert_normalized():
    """`autograder.probe.assert_normalized`: fails with the named dials unless every item weighs what it should."""
    from autograder.probe.asserts import assert_normalized

    return assert_normalized


@pytest.fixture(scope="session")
def measure_updates():
    """`autograder.probe.measure`: what every update of a training step says, for assertions of one's own."""
    from autograder.probe.asserts import measure

    return measure


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo):
    """Under a failure, the table of what the items of each rank weighed and should weigh."""
    report = yield
    verdict = getattr(call.excinfo.value, "verdict", None) if call.excinfo is not None else None
    if verdict is not None and getattr(verdict, "items", ()):
        report.sections.append(("what each item weighed", str(verdict).partition("\n\n")[2]))
    return report
