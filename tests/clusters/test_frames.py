"""Messages as bytes, and damaged ones."""

import asyncio
import json

import numpy as np
import pytest

from gpuplace.clusters import frames
from gpuplace.clusters.frames import HEAD, FrameError, checked_head, checked_sizes, decoded, encoded
from gpuplace.clusters.wire import packed, unpacked, unpacked_error
from tests.clusters.byte_pipes import Pipe, read_all


def test_messages_arrive_as_they_were_sent():
    message = {
        "op": "run",
        "numbers": [0, -1, 1 << 70, 1.5, True, None],
        "texts": {"é": "\ud800", "#": "x", "": []},
        "bytes": [b"", b"abc", {"a": b"\0" * 70_000}],
    }
    found = asyncio.run(read_all(b"".join(encoded(message)) * 2))
    assert found == [message, message]


@pytest.mark.parametrize("value", [{1, 2}, object(), np.float32(1), 1j, FrameError, np.zeros(2)])
def test_what_is_no_plain_value_is_not_sent(value):
    with pytest.raises(TypeError, match="cannot be sent to another task"):
        encoded({"value": value})


@pytest.mark.parametrize(
    "header",
    [b"", b"{", b"[1]", b"null", b"\xff", b"[" * 100_000, b'{"a":{"#":1}}', b'{"a":{"#":"x"}}', b"9" * 5000],
)
def test_headers_of_no_message(header):
    with pytest.raises(FrameError):
        decoded(header, [b"one buffer"])


def test_sizes_are_looked_at_before_memory_is_taken():
    with pytest.raises(FrameError, match="header of 4294967295 bytes"):
        checked_head(HEAD.pack(0xFFFFFFFF, 0))
    with pytest.raises(FrameError, match="4294967295 buffers"):
        checked_head(HEAD.pack(2, 0xFFFFFFFF))
    with pytest.raises(FrameError, match=f"a message of {1 << 63} bytes"):
        checked_sizes((1 << 63).to_bytes(8, "big"))
    assert frames.MOST_BYTES > 1 << 28


@pytest.mark.parametrize(
    "sent",
    [
        {"dtype": "float32", "shape": [3], "data": b"abcd"},
        {"dtype": "float32", "shape": [-1], "data": b"abcd"},
        {"dtype": "float32", "shape": [1.0], "data": b"abcd"},
        {"dtype": "float32", "shape": [1 << 62, 1 << 62], "data": b""},
        {"dtype": "float32", "shape": [1], "data": "abcd"},
        {"dtype": "string", "shape": [1], "data": b"\0" * 8},
        {"dtype": "variant", "shape": [1], "data": b"\0" * 8},
        {"dtype": "builtins.eval", "shape": [1], "data": b"\0" * 8},
        {"dtype": {"float32": 1}, "shape": [1], "data": b"\0" * 8},
        {"shape": [1]},
        {"strings": b"abc", "sizes": [1, 1], "texts": [], "shape": [2]},
        {"strings": b"abc", "sizes": [-1, 4], "texts": [], "shape": [2]},
        {"strings": b"abc", "sizes": [3], "texts": [5], "shape": [1]},
        {"strings": b"\xff", "sizes": [1], "texts": [0], "shape": [1]},
        {"strings": b"abc", "sizes": [3], "texts": [], "shape": [2]},
        {"lists": [{"type": "no type", "sizes": None, "most": -1, "elements": []}], "shape": []},
        {"lists": [{"type": "int32", "sizes": ["a"], "most": -1, "elements": []}], "shape": []},
        {"lists": [{"type": "int32", "sizes": None, "most": "many", "elements": []}], "shape": []},
        {"handle": ["device", "container", "name", 7]},
        {"handle": ["device"]},
        [],
        "text",
        7,
    ],
)
def test_tensors_of_undeclared_types_and_sizes(sent):
    with pytest.raises(FrameError, match="a tensor that cannot be read"):
        unpacked(sent)


@pytest.mark.parametrize(
    "sent", [{}, None, {"code": 99, "message": "m", "facts": {}, "hint": None}, {"code": 3}]
)
def test_errors_that_are_none(sent):
    with pytest.raises(FrameError, match="an error that cannot be read"):
        unpacked_error(sent)


def test_strings_keep_what_they_are():
    value = np.array([["a", b"a\0"], ["\ud800é", b"\xff"]], object)
    found = unpacked(json_and_back(packed(value)))
    assert found.dtype == object and found.tolist() == value.tolist()
    assert unpacked(json_and_back(packed(b"alone"))).tolist() == b"alone"


def json_and_back(value):
    head, *buffers = encoded({"value": value})
    return decoded(head[HEAD.size + 8 * len(buffers) :], list(map(bytes, buffers)))["value"]


def test_nobody_reads_ahead():
    """A task that is not asked to read takes no more than its buffer from the other end."""

    async def flood():
        pipe, taken = Pipe(b""), 0
        while not pipe.is_paused:
            room = len(pipe.stream.get_buffer(-1))
            pipe.stream.buffer_updated(room)
            taken += room
        return taken

    assert asyncio.run(flood()) <= 1 << 16


def test_json_is_all_there_is():
    """A header has no way to name a class, a function or a module."""
    hostile = {"__Pickled__": 1, "__Serialized__": 1, "__Enum__": True, "__class__": "os.system"}
    assert decoded(json.dumps(hostile).encode(), []) == hostile
