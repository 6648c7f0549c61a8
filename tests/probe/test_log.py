"""What capture sees: whatever the trainer does around it, the numbers are those that the optimizer used."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from autograder import probe
from autograder.probe import NotIdentifiable, ProbeData, ProbeModel
from autograder.ranks.launch import run_on_ranks
from autograder.window import UpdateWindow


@pytest.fixture
def data():
    return ProbeData(world_size=1, accumulation_steps=3)


@pytest.fixture
def model():
    torch.manual_seed(0)
    return ProbeModel().double()


def loss_of(model, batch):
    """The mean over the tokens of one microbatch."""
    return F.cross_entropy(model(batch["input_ids"])[:, :-1].transpose(1, 2), batch["labels"][:, 1:])


def accumulate(model, optimizer, window):
    optimizer.zero_grad()
    for batch in window:
        (loss_of(model, batch) / len(window)).backward()
    optimizer.step()


def expect_means_of_microbatches(log, step=0):
    window = log.window(step)
    expected = torch.tensor([1 / (3 * window.counts[0][k]) for k in window.item_microbatches.tolist()])
    assert torch.allclose(log.weights(step=step).weights, expected.double(), rtol=1e-8)
    assert log.explain(step=step)[0].key == "mean-of-microbatch-means"


@pytest.mark.parametrize("make", [
    lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.1),
    lambda p: torch.optim.AdamW(p, lr=0.1),
])
def test_the_gradient_is_read_whatever_the_optimizer_makes_of_it(model, data, make):
    optimizer = make(model.parameters())
    with probe.capture(model, data=data) as log:
        accumulate(model, optimizer, data.windows[0])
    expect_means_of_microbatches(log)


@pytest.mark.gpu
def test_a_model_on_a_gpu_is_measured_on_the_cpu(model, data):
    model.cuda()
    with probe.capture(model, data=data) as log:
        accumulate(model, torch.optim.SGD(model.parameters(), lr=0.1),
                   [{name: value.cuda() for name, value in batch.items()} for batch in data.windows[0]])
    expect_means_of_microbatches(log)


def test_every_step_counts_from_the_parameters_before_it(model, data):
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    with probe.capture(model, data=data) as log:
        for _ in range(2):
            accumulate(model, optimizer, data.windows[0])
    assert len(log.steps) == 2
    expect_means_of_microbatches(log, step=1)


def test_backward_may_run_inside_the_optimizer_step(model, data):
    """As in Lightning, which hands the optimizer a closure."""
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)

    def closure():
        optimizer.zero_grad()
        for batch in data.windows[0]:
            (loss_of(model, batch) / 3).backward()

    with probe.capture(model, data=data) as log:
        optimizer.step(closure)
    expect_means_of_microbatches(log)


def test_several_optimizers_make_one_update(model, data):
    names = dict(model.named_parameters())
    inner = [p for name, p in names.items() if name.startswith("inner")]
    rest = [p for name, p in names.items() if not name.startswith("inner")]
    optimizers = [torch.optim.SGD(inner, lr=1.0), torch.optim.AdamW(rest, lr=0.1)]
    with probe.capture(model, data=data) as log:
        for batch in data.windows[0]:
            (loss_of(model, batch) / 3).backward()
        for optimizer in optimizers:
            optimizer.step()
    assert len(log.steps) == 1
    expect_means_of_microbatches(log)


def test_clipping_shows_as_a_factor_on_right_weights(model, data):
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    batch = data.batches[0]
    with probe.capture(model, data=data) as log:
        loss_of(model, batch).backward()
        norm = float(nn.utils.clip_grad_norm_(model.parameters(), 0.1))
        optimizer.step()
    best = log.explain()[0]
    assert best.key == "pure-scale" and best.factor == pytest.approx(0.1 / norm, rel=1e-4)


def test_evaluation_and_recomputation_are_no_microbatches(model, data):
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    with probe.capture(model, data=data) as log:
        with torch.no_grad():
            model(data.batches[1]["input_ids"])
        for batch in data.windows[0]:
            logits = checkpoint(model, batch["input_ids"], use_reentrant=False)
            targets = batch["labels"][:, 1:]
            (F.cross_entropy(logits[:, :-1].transpose(1, 2), targets) / 3).backward()
        optimizer.step()
    assert log.window().counts == (tuple(int((b["labels"][:, 1:] != -100).sum()) for b in data.windows[0]),)
    expect_means_of_microbatches(log)


def test_nothing_is_recorded_after_the_block(model, data):
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    with probe.capture(model, data=data) as log:
        accumulate(model, optimizer, data.windows[0])
    accumulate(model, optimizer, data.windows[0])
    assert len(log.steps) == 1
    with pytest.raises(RuntimeError), probe.capture(model, data=data) as log:
        raise RuntimeError
    accumulate(model, optimizer, data.windows[0])
    assert log.steps == []


def test_the_model_is_left_as_it_would_be_without_the_probe(model, data):
    twin = ProbeModel().double()
    twin.load_state_dict(model.state_dict())
    accumulate(twin, torch.optim.SGD(twin.parameters(), lr=1.0), data.windows[0])
    with probe.capture(model, data=data) as log:
        accumulate(model, torch.optim.SGD(model.parameters(), lr=1.0), data.windows[0])
    log.explain()
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), twin.parameters(), strict=True))


class Hiding:
    """Steps like plain SGD, without a torch optimizer and with no gradient left to look at."""

    def __init__(self, model, lr):
        self.model, self.lr = model, lr

    def step(self):
        with torch.no_grad():
            for p in self.model.parameters():
                p -= self.lr * p.grad
                p.grad = None


def test_hidden_gradients_are_read_off_an_sgd_step(model, data):
    wrapper = Hiding(model, lr=0.5)
    with probe.capture(model, data=data, sgd_lr=0.5) as log:
        for batch in data.windows[0]:
            (loss_of(model, batch) / 3).backward()
        wrapper.step()
    expect_means_of_microbatches(log)


def test_hidden_gradients_are_said_to_be_hidden(model, data):
    with probe.capture(model, data=data) as log:
        loss_of(model, data.batches[0]).backward()
        Hiding(model, 0.5).step()
    with pytest.raises(IndexError, match="sgd_lr"):
        log.explain()
    with probe.capture(model, data=data) as log:
        model(data.batches[0]["input_ids"])
        torch.optim.SGD(model.parameters(), lr=1.0).step()
    with pytest.raises(NotIdentifiable, match="sgd_lr"):
        log.explain()


@pytest.mark.parametrize("dtype, digits", [(torch.float32, 1e-3), (torch.bfloat16, None)])
def test_the_tolerance_follows_the_precision(model, data, dtype, digits):
    model.to(dtype)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    with probe.capture(model, data=data) as log:
        accumulate(model, optimizer, data.windows[0])
    assert log.explain()[0].key == "mean-of-microbatch-means"
    if digits:
        best, weights = log.explain()[0].weights, log.weights().weights
        assert torch.allclose(weights, best, rtol=digits)


def test_items_of_other_kinds_need_their_losses_named():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3)).double()
    inputs, targets = torch.randn(9, 6).double(), torch.arange(9) % 3
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)

    def losses(module, x):
        rows = (x[:, None] == inputs[None]).all(-1).nonzero()[:, 1]
        return F.cross_entropy(module(x), targets[rows], reduction="none")

    with probe.capture(model, item_losses=losses) as log:
        for rows in (slice(0, 2), slice(2, 9)):
            (F.cross_entropy(model(inputs[rows]), targets[rows]) / 2).backward()
        optimizer.step()
    assert log.window().counts == ((2, 7),)
    assert torch.allclose(log.weights().weights, torch.tensor([1 / 4] * 2 + [1 / 14] * 7).double())


def test_parameters_alone_do_with_a_window_and_item_gradients():
    weight = nn.Parameter(torch.zeros(8))
    rows = torch.randn(3, 8)
    with probe.capture([weight]) as log:
        weight.grad = rows.mean(0)
        torch.optim.SGD([weight], lr=1.0).step()
    window = UpdateWindow.from_counts([[3]])
    assert log.explain(window, item_gradients=rows)[0].key is None
    assert torch.allclose(log.weights(window, item_gradients=rows).weights, torch.full((3,), 1 / 3).double())
    with pytest.raises(NotIdentifiable, match="parameters only"):
        log.explain()


def test_too_few_parameters_are_refused_item_by_item_and_answer_by_microbatch(model, data):
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name == "inner.bias")
    optimizer = torch.optim.SGD([model.inner.bias], lr=1.0)
    with probe.capture(model, data=data) as log:
        accumulate(model, optimizer, data.windows[0])
    (counts,) = log.window().counts
    assert sum(counts) > model.inner.bias.numel()
    with pytest.raises(NotIdentifiable, match='by="microbatch"'):
        log.weights()
    assert log.weights(by="microbatch").group_weights == pytest.approx({k: 1 / (3 * n) for k, n in enumerate(counts)})
    assert log.explain()[0].key == "mean-of-microbatch-means"


def test_item_gradients_that_fill_the_memory_are_refused_before_they_do(data):
    model = ProbeModel(hidden=200_000)
    with probe.capture(model, data=data) as log:
        loss_of(model, data.batches[0]).backward()
        torch.optim.SGD(model.parameters(), lr=1.0).step()
    with pytest.raises(ValueError, match="small copy of the model"):
        log.explain()


def test_a_forward_call_without_labels_is_refused(model, data):
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    with probe.capture(model) as log:
        accumulate(model, optimizer, data.windows[0])
    with pytest.raises(ValueError, match="no labels: hand them to it as labels="):
        log.explain()


def test_data_of_ones_own_is_refused_with_what_to_give_instead(model):
    with pytest.raises(TypeError, match="not a list: .* labels= .* item_losses="), probe.capture(model, data=[]):
        pass


def test_rows_that_are_not_the_probes_are_refused(model, data):
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    with probe.capture(model, data=data) as log:
        model(torch.full((1, 4), 60)).sum().backward()
        optimizer.step()
    with pytest.raises(ValueError, match="no sequence of the probe data"):
        log.explain()


def sharded(accumulation_steps):
    """On a rank: FSDP2 inside the block; the log is asked on every rank."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    torch.manual_seed(0)
    model, data = ProbeModel().double(), ProbeData(2, accumulation_steps)
    with probe.capture(model, data=data) as log:
        fully_shard(model, mesh=init_device_mesh("cpu", (2,)))
        optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
        accumulate(model, optimizer, data.windows[0])
    refused = ""
    try:
        with probe.capture(model, data=data):
            pass
    except ValueError as error:
        refused = str(error)
    return {"weights": log.weights().weights, "key": log.explain()[0].key, "refused": refused,
            "counts": [list(row) for row in log.window().counts]}


def test_sharded_parameters_are_put_together():
    results = run_on_ranks(sharded, [(1,), (1,)], world_size=2, backend="gloo", timeout=60)
    for result in results:
        (first,), (second,) = result["counts"]
        expected = torch.tensor([1 / (2 * first)] * first + [1 / (2 * second)] * second).double()
        assert torch.allclose(result["weights"], expected, rtol=1e-8)
        assert result["key"] == "mean-of-rank-means"
        assert "before fully_shard" in result["refused"]
