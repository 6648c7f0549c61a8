"""One test of a training step: right steps pass, every usual mistake fails with the dials named."""

import pytest
import torch
import torch.distributed as dist
from probe import ddp_script
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel

from autograder.probe import NotIdentifiable, ProbeData, assert_normalized
from autograder.ranks.launch import RanksFailed
from autograder.verdict import WrongUpdate

MISTAKES = {
    "mean_of_rank_means": "mean-of-rank-means",
    "one_world_size_too_small": "global-divisor-then-mean",
    "accumulation_steps_forgotten": "sum-of-microbatch-means",
    "mean_of_microbatch_means": "mean-of-microbatch-means",
    "partial_window_divided_by_k": "full-window-divisor-on-partial-window",
    "padding_counted": "padding-counted",
}


@pytest.mark.parametrize("world_size, accumulation_steps", [(2, 3), (3, 1)])
def test_the_right_script_passes(world_size, accumulation_steps):
    measured = assert_normalized(ddp_script.right, world_size=world_size, accumulation_steps=accumulation_steps)
    assert len(measured) == (2 if accumulation_steps > 1 else 1)
    for one in measured:
        assert torch.allclose(one.weights, one.window.expected_weights, rtol=1e-9)


@pytest.mark.parametrize("mistake, key", MISTAKES.items())
def test_each_mistake_is_caught_and_named(mistake, key):
    with pytest.raises(WrongUpdate, match=rf"(?s)\[{key}\]") as caught:
        assert_normalized(getattr(ddp_script, mistake), world_size=2, accumulation_steps=3)
    assert isinstance(caught.value, AssertionError)
    assert caught.value.verdict.items


def test_an_update_of_a_partial_window_that_is_too_small_is_caught():
    with pytest.raises(WrongUpdate, match="(?s)Update 2 of 2: Every item weighed 1/57 where 1/38 is right"):
        assert_normalized(ddp_script.partial_window_divided_by_k_and_nothing_else, accumulation_steps=3)


def test_the_message_says_what_a_token_weighed_and_what_is_right():
    with pytest.raises(WrongUpdate, match=r"1/42 and .* 1/6; each should weigh 1/24"):
        assert_normalized(ddp_script.mean_of_rank_means)


def sequence_mean(model, data):
    ddp = DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for batch in data.batches:
        targets = batch["labels"][:, 1:]
        losses = F.cross_entropy(ddp(batch["input_ids"])[:, :-1].transpose(1, 2), targets, reduction="none")
        sequences = torch.tensor(float(len(targets)))
        dist.all_reduce(sequences)
        own = (losses.sum(1) / (targets != -100).sum(1)).sum()
        (own * dist.get_world_size() / sequences).backward()
        optimizer.step()


def test_the_objective_is_a_choice():
    assert_normalized(sequence_mean, objective="sequence")
    with pytest.raises(WrongUpdate, match="sequence-mean"):
        assert_normalized(sequence_mean, objective="token")
    with pytest.raises(WrongUpdate):
        assert_normalized(ddp_script.right, objective="sequence")
    with pytest.raises(ValueError, match="'token', 'sequence'"):
        assert_normalized(ddp_script.right, objective="example")


def inputs_without_their_last_token(model, data):
    """Another habit: the shift is made before the model, which never sees the last token."""
    ddp = DistributedDataParallel(model)
    optimizer = torch.optim.AdamW(model.parameters())
    for batch in data.batches:
        targets = batch["labels"][:, 1:]
        count = (targets != -100).sum()
        dist.all_reduce(count)
        loss = F.cross_entropy(ddp(batch["input_ids"][:, :-1]).transpose(1, 2), targets, reduction="sum")
        (loss * dist.get_world_size() / count).backward()
        optimizer.step()


def test_the_shift_may_be_made_before_the_model_and_the_optimizer_may_be_any():
    assert_normalized(inputs_without_their_last_token)


def test_own_models_are_measured():
    """A model of one's own that returns a dict, in float32."""
    assert_normalized(own_model_step, model=OwnModel)


class OwnModel(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.place = torch.nn.Embedding(64, 16), torch.nn.Embedding(16, 16)
        self.head = torch.nn.Linear(16, 64)

    def forward(self, input_ids):
        state = self.embedding(input_ids) + self.place.weight[: input_ids.shape[1]]
        return {"logits": self.head(torch.tanh(state.cumsum(1)))}


def own_model_step(model, data):
    ddp = DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    (batch,) = data.batches
    targets = batch["labels"][:, 1:]
    count = (targets != -100).sum()
    dist.all_reduce(count)
    logits = ddp(batch["input_ids"])["logits"][:, :-1]
    (F.cross_entropy(logits.transpose(1, 2), targets, reduction="sum") * dist.get_world_size() / count).backward()
    optimizer.step()


def alone(model, data):
    """Forgets DistributedDataParallel."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for batch in data.batches:
        F.cross_entropy(model(batch["input_ids"])[:, :-1].transpose(1, 2), batch["labels"][:, 1:]).backward()
        optimizer.step()


def test_ranks_that_step_alone_are_told():
    with pytest.raises(WrongUpdate, match=r"(?s)\[not-synchronized\].*nothing was exchanged"):
        assert_normalized(alone)


def keeps_old_gradients(model, data):
    zero_grad, torch.optim.SGD.zero_grad = torch.optim.SGD.zero_grad, lambda self: None
    try:
        ddp_script.right(model, data)
    finally:
        torch.optim.SGD.zero_grad = zero_grad


def test_gradients_of_the_window_before_are_told():
    with pytest.raises(WrongUpdate, match=r"\[window-boundaries\]"):
        assert_normalized(keeps_old_gradients, accumulation_steps=3)


def poisoned(model, data):
    ddp = DistributedDataParallel(model)
    (ddp(data.batches[0]["input_ids"]).sum() * torch.tensor(float("nan"))).backward()
    torch.optim.SGD(model.parameters(), lr=0.1).step()


def test_nan_is_told():
    with pytest.raises(WrongUpdate, match=r"\[nan-or-inf\]"):
        assert_normalized(poisoned)


def no_step(model, data):
    model(data.batches[0]["input_ids"])


def one_rank_steps(model, data):
    if dist.get_rank() == 0:
        alone(model, data)


def test_a_step_that_is_missing_is_told():
    with pytest.raises(WrongUpdate, match=r"\[no-update\]"):
        assert_normalized(no_step)
    with pytest.raises(WrongUpdate, match=r"\[wrong-number-of-steps\].*1 on rank 0, 0 on rank 1"):
        assert_normalized(one_rank_steps)


def raises(model, data):
    raise ValueError("the script's own fault")


def test_what_the_script_raises_comes_through():
    with pytest.raises(RanksFailed, match="the script's own fault"):
        assert_normalized(raises)


def test_a_window_that_cannot_tell_right_from_wrong_is_refused():
    data = ProbeData(2)
    data.input_ids[:, 5:], data.labels[:, :] = 0, -100
    data.input_ids[:, 1:5] = torch.arange(1, 5)
    data.labels[:, :5] = data.input_ids[:, :5]
    with pytest.raises(NotIdentifiable, match="means of ranks"):
        assert_normalized(ddp_script.right, data=data)
