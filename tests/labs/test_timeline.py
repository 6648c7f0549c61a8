"""A ledger as a picture: what belongs together stands in one column, in an order that every rank agrees with."""

import pytest
import torch
import torch.distributed as dist
from labs.drawn import marks, texts

from autograder.labs.timeline import MAX_COLUMNS, columns, timeline
from autograder.ranks.launch import RanksFailed, run_on_ranks
from autograder.ranks.ledger import Call


def collective(name="all_reduce", sequence=1, elements=8, **facts) -> Call:
    return Call(name, elements, "float64", sequence=sequence, **facts)


def message(name: str, peer: int, **facts) -> Call:
    return Call(name, 4, "float32", peer=peer, **facts)


def placed(ledgers) -> list[list[tuple[int, int]]]:
    return [list(step.places) for step in columns(ledgers)]


def test_a_collective_stands_in_one_column_whatever_came_before_it_on_a_rank():
    ledgers = [[message("send", 1), collective()], [message("recv", 0), collective()], [collective()]]
    assert placed(ledgers) == [[(0, 0), (1, 0)], [(0, 1), (1, 1), (2, 0)]]


def test_each_round_of_a_ring_is_one_column():
    ledgers = [[message(name, peer) for _ in range(2) for name, peer in (("send", (r + 1) % 3), ("recv", (r - 1) % 3))]
               for r in range(3)]
    assert [len(step) for step in placed(ledgers)] == [6, 6]


def test_a_message_that_is_passed_on_moves_to_the_right():
    ledgers = [[message("send", 1)], [message("recv", 0), message("send", 2)], [message("recv", 1)]]
    assert placed(ledgers) == [[(0, 0), (1, 0)], [(1, 1), (2, 0)]]


def test_receive_first_on_every_second_rank_keeps_each_ranks_order():
    ledgers = [[message("send", 1), message("recv", 1)], [message("recv", 0), message("send", 0)]]
    assert placed(ledgers) == [[(0, 0), (1, 0)], [(0, 1), (1, 1)]]


def test_messages_that_cross_are_drawn_in_each_ranks_own_order():
    ledgers = [[message("recv", 1), message("send", 1)], [message("recv", 0), message("send", 0)]]
    assert placed(ledgers) == [[(0, 0), (1, 0)], [(0, 1), (1, 1)]]


def test_ledgers_that_no_run_can_have_are_refused():
    one, two = collective(sequence=1), collective("broadcast", sequence=1, group="other")
    with pytest.raises(ValueError, match="order"):
        columns([[one, two], [two, one]])


def test_no_call_is_lost_and_each_rank_reads_from_left_to_right():
    def work():
        rank, world_size = dist.get_rank(), dist.get_world_size()
        dist.all_reduce(torch.ones(3))
        for _ in range(2):
            sending = dist.isend(torch.ones(2), (rank + 1) % world_size)
            dist.recv(torch.empty(2), (rank - 1) % world_size)
            sending.wait()
        dist.broadcast(torch.ones(1), src=1)

    ledgers = run_on_ranks(work, None, world_size=3, backend="gloo").ledgers
    places = placed(ledgers)
    for rank, calls in enumerate(ledgers):
        assert [i for step in places for r, i in step if r == rank] == list(range(len(calls)))
    assert [len(step) for step in places] == [3, 6, 6, 3]


def test_boxes_say_what_each_rank_hands_in_and_columns_are_named():
    ledgers = [[collective(elements=1, sequence=1), collective(elements=8385, sequence=2)]] * 2
    picture = timeline(ledgers, "a title", "words", label=lambda call: "count" if call.elements == 1 else "gradients")
    assert [text for text in texts(picture) if text != "a title" and not text.startswith("rank")] == [
        "count", "1", "1", "gradients", "8,385", "8,385"]
    assert repr(picture) == "words"


def test_a_call_that_never_ended_is_an_open_box_that_waits_and_the_rank_that_left_is_named():
    def rank_2_leaves():
        if dist.get_rank() < 2:
            dist.all_reduce(torch.ones(8))

    with pytest.raises(RanksFailed) as failure:
        run_on_ranks(rank_2_leaves, None, world_size=3, backend="gloo")
    ledgers = [outcome.calls for outcome in failure.value.outcomes]
    shown = timeline(ledgers, "a title", "words", left=[2])
    assert texts(shown).count("8 waits") == len(marks(shown, "waiting call")) == 2
    assert texts(shown).count("returned") == 1 and not marks(shown, "call")


def test_long_ledgers_are_cut_and_say_by_how_much():
    ledgers = [[collective(sequence=s) for s in range(1, MAX_COLUMNS + 6)]]
    assert "5 more" in texts(timeline(ledgers, "a title", "words"))
