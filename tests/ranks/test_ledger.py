"""The ledger has each rank's calls in order: collectives of every kind, DDP's and hooks' too, and point-to-point."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from autograder.ranks.launch import run_on_ranks
from autograder.ranks.ledger import Call


def ledger_of(function, world_size=2) -> list[Call]:
    return run_on_ranks(function, world_size=world_size, backend="gloo").ledgers[0]


def summary(calls):
    return [(call.name, call.elements, call.dtype, call.op) for call in calls]


def test_collectives_stand_in_order_with_size_dtype_and_operation():
    def several():
        x = torch.ones(3, dtype=torch.float64)
        dist.all_reduce(x)
        dist.all_reduce(x, op=dist.ReduceOp.MAX)
        dist.broadcast(x, 0)
        dist.reduce(x.float(), 0)
        dist.all_gather([torch.empty(3, dtype=torch.float64) for _ in range(2)], x)
        dist.barrier()

    assert summary(ledger_of(several)) == [
        ("all_reduce", 3, "float64", "sum"), ("all_reduce", 3, "float64", "max"), ("broadcast", 3, "float64", None),
        ("reduce", 3, "float32", "sum"), ("all_gather", 3, "float64", None), ("barrier", 0, "", None)]


def test_functional_collectives_show_their_operation():
    def functional():
        import torch  # cloudpickle would follow the global one to torch.ops, which does not travel
        import torch.distributed._functional_collectives as functional
        x, group = torch.ones(4, dtype=torch.float64), dist.group.WORLD
        functional.all_reduce(x, "avg", group).wait()
        functional.all_reduce(x, "SUM", group).wait()
        functional.all_reduce_coalesced([x, x], "max", group)[0].wait()
        functional.reduce_scatter_tensor(x, "sum", 0, group).wait()
        functional.all_gather_tensor(x, 0, group).wait()
        torch.ops._c10d_functional.all_reduce_.default(x, "min", group.group_name)
        functional.all_reduce_inplace(x, "sum", group)

    calls = ledger_of(functional)
    assert [call.op for call in calls] == ["avg", "sum", "max", "sum", None, "min", "sum"], calls
    assert [call.elements for call in calls] == [4, 4, 8, 4, 4, 4, 4]


def test_a_scattered_sum_is_called_so_where_gloo_makes_it_of_sums():
    def scattered():
        import torch.distributed._functional_collectives as functional
        x, part = torch.ones(4), torch.ones(2)
        dist.reduce_scatter_tensor(part, x)
        dist.reduce_scatter(part, [x[:2], x[2:]])
        functional.reduce_scatter_tensor(x, "sum", 0, dist.group.WORLD).wait()
        dist.all_reduce(x)

    calls = ledger_of(scattered)
    assert [call.name for call in calls] == ["reduce_scatter"] * (len(calls) - 1) + ["all_reduce"]
    assert sum(call.elements for call in calls) == 16


def test_point_to_point_calls_stand_between_collectives_with_their_peer():
    def ring():
        x, y, rank = torch.ones(4), torch.ones(4), dist.get_rank()
        dist.all_reduce(x)
        work = dist.batch_isend_irecv([dist.P2POp(dist.isend, x, 1 - rank), dist.P2POp(dist.irecv, y, 1 - rank)])
        for each in work:
            each.wait()
        dist.all_reduce(x)

    calls = ledger_of(ring)
    assert [call.name for call in calls] == ["all_reduce", "send", "recv", "all_reduce"]
    assert [call.peer for call in calls[1:3]] == [1, 1] and calls[1].elements == 4
    assert all(call.done for call in calls)


def test_ddp_and_its_hooks_are_seen():
    def train(hook):
        model = DistributedDataParallel(torch.nn.Linear(3, 2, dtype=torch.float64))
        if hook:
            def averaging(state, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
                work = dist.all_reduce(bucket.buffer(), async_op=True)
                return work.get_future().then(lambda f: f.value()[0])
            model.register_comm_hook(None, averaging)
        with model.no_sync():
            model(torch.ones(1, 3, dtype=torch.float64)).sum().backward()
        model(torch.ones(1, 3, dtype=torch.float64)).sum().backward()

    for hook, operation in ((False, None), (True, "sum")):
        calls = [c for c in ledger_of(lambda hook=hook: train(hook)) if c.name == "all_reduce"]
        assert summary(calls) == [("all_reduce", 8, "float64", operation)], "one for two backwards: no_sync saved one"


def test_functional_and_object_collectives_are_seen():
    def several():
        from torch.distributed import _functional_collectives as functional

        functional.all_reduce(torch.ones(5), "sum", dist.group.WORLD).wait()
        dist.all_gather_object([None, None], {"a": 1})

    assert [call.name for call in ledger_of(several)] == ["all_reduce", "all_gather", "all_gather"]


def test_calls_of_another_group_carry_its_name():
    def grouped():
        group = dist.new_group([0, 1])
        dist.all_reduce(torch.ones(2))
        dist.all_reduce(torch.ones(2), group=group)

    first, second = ledger_of(grouped)
    assert first.group == "default" and second.group != "default" and (first.sequence, second.sequence) == (1, 1)
    assert (first.ranks, second.ranks) == ((), (0, 1))


def test_groups_of_a_device_mesh_differ_although_they_share_a_description():
    def meshed():
        from torch.distributed.device_mesh import init_device_mesh
        mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicate", "shard"))
        dist.all_reduce(torch.ones(2), group=mesh.get_group("shard"))

    calls = [ledger[0] for ledger in run_on_ranks(meshed, world_size=4, backend="gloo").ledgers]
    assert [call.ranks for call in calls] == [(0, 1), (0, 1), (2, 3), (2, 3)]
    assert calls[0].group == calls[1].group != calls[2].group == calls[3].group


def test_a_receive_from_any_rank_is_called_so():
    def receives():
        dist.send(torch.ones(1), 0) if dist.get_rank() else dist.recv(torch.ones(1))

    assert [str(call) for call in ledger_of(receives)] == ["recv from any rank (1 float32)"]


def test_each_rank_has_its_own_ledger():
    results = run_on_ranks(lambda: dist.send(torch.ones(1), 1) if dist.get_rank() == 0 else
                           dist.recv(torch.ones(1), 0) and None, world_size=2)
    assert [[call.name for call in calls] for calls in results.ledgers] == [["send"], ["recv"]]
