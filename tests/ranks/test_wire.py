"""Frames carry numbers, text and tensors unchanged, and nothing else; garbage is an error, never code."""

import math
import pickle

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from autograder.exercises.rules import identical
from autograder.ranks import wire

SCALARS = (st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.binary(max_size=20))
TREES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=4) | st.lists(inner, max_size=4).map(tuple)
                     | st.dictionaries(st.text(max_size=5), inner, max_size=4), max_leaves=20)
DTYPES = [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.uint8, torch.bool]


@given(TREES)
def test_plain_values_come_back_as_they_were(tree):
    assert identical(wire.decode(wire.encode(tree)), tree)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 4), (2, 3)], ids=str)
def test_tensors_come_back_as_they_were(dtype, shape):
    tensor = (torch.randn(shape) * 3).to(dtype)
    assert identical(wire.decode(wire.encode(tensor)), tensor)


@given(st.binary(max_size=200))
def test_garbage_is_a_wire_error(garbage):
    try:
        wire.decode(garbage)
    except wire.WireError:
        pass


def test_a_pickle_is_not_read():
    with pytest.raises(wire.WireError):
        wire.decode(pickle.dumps({"a": 1}))


def test_a_tensor_without_its_data_allocates_nothing():
    forged = wire.encode(torch.zeros(1, dtype=torch.float64))
    forged = forged.replace(wire.encode([1]), wire.encode([2**50])).replace(b"\0" * 8, b"")
    with pytest.raises(wire.WireError):
        wire.decode(forged)


def test_an_integer_that_is_no_float_is_a_wire_error():
    assert wire.decode(wire.encode(-2**1023 + 1)) == -2**1023 + 1
    with pytest.raises(TypeError):
        wire.encode(2**1023)
    for digits in (b"9" * 400, b"9" * 5000):
        with pytest.raises(wire.WireError):
            wire.decode(b"i" + len(digits).to_bytes(8, "little") + digits)


class Sneaky(torch.Tensor):
    pass


@pytest.mark.parametrize("value", [
    object(), {1, 2}, torch.zeros(2, device="meta"), torch.zeros(3).to_sparse(), torch.zeros(1).expand(2**40),
    torch.zeros(2).as_subclass(Sneaky), torch.zeros(2).numpy(), 10**400], ids=lambda v: type(v).__name__)
def test_what_cannot_cross_becomes_opaque(value):
    crossed = wire.decode(wire.encode(wire.portable(value)))
    assert isinstance(crossed, wire.Opaque) and crossed.type_name


def test_parameters_views_and_graphs_cross_as_plain_tensors():
    parameter = torch.nn.Parameter(torch.arange(6.0).reshape(2, 3))
    for value in (parameter, parameter[:, 1], parameter.t(), parameter * 2):
        crossed = wire.decode(wire.encode(wire.portable(value)))
        assert type(crossed) is torch.Tensor and not crossed.requires_grad and torch.equal(crossed, value.detach())


def test_a_float_subclass_is_its_number():
    import numpy

    assert wire.portable(numpy.float64(0.5)) == 0.5 and type(wire.portable(numpy.float64(0.5))) is float
    assert math.isnan(wire.decode(wire.encode(float("nan"))))
