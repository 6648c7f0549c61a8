"""Rulings on ledgers cost what it takes to read them, however many calls wait."""

import pytest

from autograder.ranks import report
from autograder.ranks.ledger import Call
from autograder.ranks.report import RankOutcome


class Counted(list):
    """A ledger that counts how often it is read."""

    reads = 0

    def __iter__(self):
        type(self).reads += 1
        return super().__iter__()


def waits(rank: int) -> RankOutcome:
    return RankOutcome(rank, "waiting", calls=Counted(
        Call("all_reduce", 1, "float64", "pairs 1", number, done=False, ranks=(0, 1, 2)) for number in range(1, 301)))


@pytest.mark.parametrize(("question", "answer"), [
    (report.stuck, True), (report.mismatch, ("pairs 1", 1)), (report.differing_calls, None), (report.describe_waiting,
     "ranks 1 and 2 are waiting in all_reduce(1 float64), its 1st collective in a group of ranks 0, 1 and 2; "
     "rank 0 returned and never came.")], ids=lambda value: getattr(value, "__name__", ""))
def test_a_ledger_is_read_a_few_times_however_many_calls_wait(question, answer):
    outcomes = [RankOutcome(0, "returned"), waits(1), waits(2)]
    Counted.reads = 0
    assert question(outcomes) == answer
    assert Counted.reads < 20
