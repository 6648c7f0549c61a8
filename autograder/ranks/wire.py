"""Frames of numbers and text: all that crosses between the parent, the ranks and the judge.

A frame is a length and a body; a body is a tree of None, bool, int, float, str, bytes, list, tuple, dict and tensor,
written as a tag and its content. Nothing in a frame can name code, so reading one runs none: what strangers'
processes send is data. `portable` turns any value into such a tree, with an `Opaque` where something cannot cross.
"""
from __future__ import annotations

import socket
import struct
from dataclasses import dataclass

import torch

MAX_FRAME = 256 * 2**20
MAX_ELEMENTS = 2**24
MAX_BITS = 1023  # of an integer: the judge reckons with floats
_MAX_DEPTH = 32

_DTYPES = {str(dtype).removeprefix("torch."): dtype for dtype in (
    torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8,
    torch.uint8, torch.bool, torch.complex64, torch.complex128)}
_LENGTH = struct.Struct("<Q")
_DOUBLE = struct.Struct("<d")


class WireError(ValueError):
    """A frame that is too large, cut short, or not of this format."""


@dataclass(frozen=True)
class Opaque:
    """Stands for a value that cannot cross: the name of its type and what is the matter with it."""

    type_name: str
    reason: str = ""


def portable(value: object, depth: int = 0) -> object:
    """`value` as a tree that can be encoded: tensors detached, waited for and on the CPU, the rest as `Opaque`.

    Subclasses that PyTorch makes (Parameter, AsyncCollectiveTensor) become plain tensors; other tensor subclasses,
    sparse, meta and huge tensors become `Opaque`, and so do integers that no float can hold. A bool stays a bool;
    subclasses of int and float become plain.
    """
    if depth > _MAX_DEPTH:
        return Opaque(_type_name(value), "nested too deeply")
    if value is None or type(value) in (bool, float, str, bytes, Opaque):
        return value
    if isinstance(value, torch.Tensor):
        return _plain_tensor(value)
    if isinstance(value, float):
        return float.__float__(value)
    if isinstance(value, int):
        whole = int.__int__(value)
        return whole if whole.bit_length() <= MAX_BITS else Opaque("huge int", f"{whole.bit_length()} bits")
    if type(value) in (list, tuple):
        items = [portable(item, depth + 1) for item in value]
        return items if type(value) is list else tuple(items)
    if type(value) is dict and all(type(key) in (str, int) for key in value):
        return {str(key): portable(item, depth + 1) for key, item in value.items()}
    return Opaque(_type_name(value))


def _plain_tensor(value: torch.Tensor) -> torch.Tensor | Opaque:
    name = _type_name(value)
    if type(value) is not torch.Tensor:
        if not type(value).__module__.startswith("torch."):
            return Opaque(name, "a subclass of Tensor that PyTorch does not make")
        if hasattr(value, "wait"):
            value = value.wait()
    if value.layout is not torch.strided:
        return Opaque(name, f"its layout is {value.layout}")
    if value.device.type == "meta":
        return Opaque(name, "it is on the meta device and has no values")
    if value.numel() > MAX_ELEMENTS:
        return Opaque(name, f"it has {value.numel()} elements")
    if str(value.dtype).removeprefix("torch.") not in _DTYPES:
        return Opaque(name, f"its dtype is {value.dtype}")
    try:
        return value.detach().as_subclass(torch.Tensor).to("cpu").resolve_conj().resolve_neg().contiguous()
    except (RuntimeError, NotImplementedError) as error:
        return Opaque(name, str(error).splitlines()[0])


def _type_name(value: object) -> str:
    kind = type(value)
    return kind.__name__ if kind.__module__ in ("builtins", "__main__") else f"{kind.__module__}.{kind.__name__}"


def placed(value: object, device: str | torch.device) -> object:
    """`value` with the tensors and modules in it on `device`: placement is the engine's, not the learner's."""
    if str(device) == "cpu":
        return value
    if isinstance(value, (torch.Tensor, torch.nn.Module)):
        return value.to(device)
    if type(value) in (list, tuple):
        return type(value)(placed(item, device) for item in value)
    if type(value) is dict:
        return {key: placed(item, device) for key, item in value.items()}
    return value


def encode(value: object) -> bytes:
    """The body of a frame for a tree of plain values; TypeError for anything else (see `portable`)."""
    parts: list[bytes] = []
    _write(value, parts)
    return b"".join(parts)


def _write(value: object, parts: list[bytes]) -> None:
    kind = type(value)
    if value is None:
        parts.append(b"N")
    elif kind is bool:
        parts.append(b"T" if value else b"F")
    elif kind is int:
        if value.bit_length() > MAX_BITS:
            raise TypeError(f"an int of {value.bit_length()} bits cannot be sent; {MAX_BITS} are the most")
        _blob(b"i", str(value).encode(), parts)
    elif kind is float:
        parts.append(b"d" + _DOUBLE.pack(value))
    elif kind is str:
        _blob(b"s", value.encode("utf-8", "surrogatepass"), parts)
    elif kind is bytes:
        _blob(b"b", value, parts)
    elif kind in (list, tuple):
        parts.append((b"l" if kind is list else b"t") + _LENGTH.pack(len(value)))
        for item in value:
            _write(item, parts)
    elif kind is dict:
        parts.append(b"m" + _LENGTH.pack(len(value)))
        for key, item in value.items():
            if type(key) is not str:
                raise TypeError(f"a key must be text, not {key!r}")
            _blob(b"s", key.encode("utf-8", "surrogatepass"), parts)
            _write(item, parts)
    elif kind is torch.Tensor:
        name = str(value.dtype).removeprefix("torch.")
        if name not in _DTYPES:
            raise TypeError(f"a tensor of dtype {value.dtype} cannot be sent")
        flat = value.detach().to("cpu").clone(memory_format=torch.contiguous_format).reshape(-1)
        parts.append(b"x")
        _write(name, parts)
        _write(list(value.shape), parts)
        _blob(b"b", flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b"", parts)
    elif kind is Opaque:
        parts.append(b"o")
        _write(value.type_name, parts)
        _write(value.reason, parts)
    else:
        raise TypeError(f"a {_type_name(value)} cannot be sent; only numbers, text, tensors and lists of these can")


def _blob(tag: bytes, content: bytes, parts: list[bytes]) -> None:
    parts.append(tag + _LENGTH.pack(len(content)))
    parts.append(content)


def decode(body: bytes) -> object:
    """The tree in the body of a frame; WireError if it is not one."""
    try:
        value, end = _read(memoryview(body), 0, 0)
    except WireError:
        raise
    except (struct.error, ValueError, KeyError, IndexError, TypeError, RuntimeError, OverflowError) as error:
        raise WireError(f"not a frame: {error}") from None
    if end != len(body):
        raise WireError(f"{len(body) - end} bytes too many")
    return value


def _read(body: memoryview, at: int, depth: int) -> tuple[object, int]:
    if depth > 2 * _MAX_DEPTH:
        raise WireError("nested too deeply")
    tag = bytes(body[at:at + 1])
    at += 1
    if tag == b"N":
        return None, at
    if tag in (b"T", b"F"):
        return tag == b"T", at
    if tag == b"d":
        return _DOUBLE.unpack_from(body, at)[0], at + 8
    if tag == b"x":
        name, at = _read(body, at, depth + 1)
        shape, at = _read(body, at, depth + 1)
        data, at = _read(body, at, depth + 1)
        return _tensor(_DTYPES[name], shape, data), at
    if tag == b"o":
        name, at = _read(body, at, depth + 1)
        reason, at = _read(body, at, depth + 1)
        return Opaque(str(name), str(reason)), at
    (length,) = _LENGTH.unpack_from(body, at)
    at += 8
    if length > len(body) - at:
        raise WireError("cut short")
    if tag in (b"l", b"t"):
        items = []
        for _ in range(length):
            item, at = _read(body, at, depth + 1)
            items.append(item)
        return (items if tag == b"l" else tuple(items)), at
    if tag == b"m":
        table = {}
        for _ in range(length):
            key, at = _read(body, at, depth + 1)
            if type(key) is not str:
                raise WireError("a key that is not text")
            table[key], at = _read(body, at, depth + 1)
        return table, at
    content = bytes(body[at:at + length])
    at += length
    if tag == b"i":
        if length > MAX_BITS or (number := int(content)).bit_length() > MAX_BITS:
            raise WireError("an int too large")
        return number, at
    if tag == b"s":
        return content.decode("utf-8", "surrogatepass"), at
    if tag == b"b":
        return content, at
    raise WireError(f"unknown tag {tag!r}")


def _tensor(dtype: torch.dtype, shape: list[int], data: bytes) -> torch.Tensor:
    if not data:
        if 0 not in shape:
            raise WireError("a tensor without its data")
        return torch.empty(shape, dtype=dtype)
    return torch.frombuffer(bytearray(data), dtype=dtype).reshape(shape)


def send(channel: socket.socket, body: bytes) -> None:
    """Write one frame; blocks until it is written."""
    channel.sendall(_LENGTH.pack(len(body)) + body)


def receive(channel: socket.socket) -> bytes | None:
    """Read one frame; blocks; None when the other end has closed."""
    header = _exactly(channel, _LENGTH.size)
    if header is None:
        return None
    (length,) = _LENGTH.unpack(header)
    if length > MAX_FRAME:
        raise WireError(f"a frame of {length} bytes")
    return _exactly(channel, length)


def _exactly(channel: socket.socket, length: int) -> bytes | None:
    data = bytearray()
    while len(data) < length:
        try:
            piece = channel.recv(min(length - len(data), 1 << 20))
        except ConnectionError:
            return None
        if not piece:
            return None
        data += piece
    return bytes(data)


class FrameReader:
    """Frames from a channel that must never block its reader: call `read` when the channel is readable."""

    def __init__(self, channel: socket.socket) -> None:
        self.channel = channel
        self.closed = False
        self._buffer = bytearray()

    def read(self) -> list[bytes]:
        """The frames that are complete by now. Sets `closed` at the end of the stream or on a frame too large."""
        try:
            piece = self.channel.recv(1 << 20, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return []
        except OSError:
            piece = b""
        if not piece:
            self.closed = True
        self._buffer += piece
        frames = []
        while len(self._buffer) >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._buffer)
            if length > MAX_FRAME:
                self.closed = True
                break
            end = _LENGTH.size + length
            if len(self._buffer) < end:
                break
            frames.append(bytes(self._buffer[_LENGTH.size:end]))
            del self._buffer[:end]
        return frames
