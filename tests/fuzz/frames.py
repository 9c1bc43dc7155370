"""Hostile messages of clusters: messages, or an error that ends the connection, soon.

    python -m tests.fuzz.frames --executions 200000 [--processes 2] [--seed 0]
    python -m tests.fuzz.frames --seed 0 --case 4711      # one case again, with its traceback

Messages as tasks send them, damaged by bytes, in their sizes, in the text of their headers, and in what they say of
tensors, come in pieces of random sizes. How a campaign runs is said in `graph_defs`.
"""

from __future__ import annotations

import asyncio
import copy
import functools
import json
import sys
from collections.abc import Iterator
from random import Random
from typing import Any

import numpy as np

from gpuplace.clusters.frames import HEAD, FrameError, encoded
from gpuplace.clusters.wire import packed, packed_error, unpacked, unpacked_error
from gpuplace.dtypes import as_dtype
from gpuplace.errors import InvalidArgumentError
from gpuplace.kernels.resources import ResourceHandle
from gpuplace.kernels.tensor_lists import TensorList
from gpuplace.shapes import TensorShape
from tests.clusters.byte_pipes import read_all
from tests.fuzz.graph_defs import ANSWER, Inputs, command_line, run

_NUMBERS = (-1, 0, 1, 1 << 31, 1 << 63, 1 << 70, 1.5)
_VALUES = (None, True, *_NUMBERS, "", "float32", "string", "9" * 5000, [], [-1], {}, {"#": 0})
_TEXTS = tuple(b"{ } [ ] : , NaN 1e999".split()) + (
    b"[" * 3000,
    b"9" * 5000,
    b'"',
    b"\\u0000",
    b'{"#":',
    b"\xff",
)


@functools.cache
def messages() -> tuple[dict[str, Any], ...]:
    """What tasks and sessions send."""
    floats = np.arange(6, dtype=np.float32).reshape(2, 3)
    values = [
        None,
        floats,
        np.zeros([0, 3], np.int64),
        np.zeros(20_000, np.float64),
        np.array([[b"a", "text"], [b"", b"\xff" * 300]], object),
        ResourceHandle("/job:ps/replica:0/task:0/device:CPU:0", "localhost", "v", "VarHandleOp", None),
        TensorList([floats, None], as_dtype("float32"), TensorShape([None, 3]), -1),
    ]
    sent = [packed(value) for value in values]
    error = packed_error(InvalidArgumentError.of("sentence", facts={"a": "b"}, hint="try"))
    return (
        {"op": "run", "session": "f00", "number": 1, "step": 2, "feeds": sent, "reply": True},
        {
            "op": "tensors",
            "tensors": [["f00", 2, f"edge_{n}", one] for n, one in enumerate(sent)],
            "reply": False,
        },
        {"op": "abort", "session": "f00", "step": 2, "error": error, "reply": False},
        {"error": None, "result": sent},
        {"error": error},
    )


def case(seed: int, number: int) -> tuple[Any, Random]:
    """The bytes of one case, and what its further choices come from."""
    random = Random(f"frames:{seed}:{number}")
    if random.random() < 0.1:
        return random.randbytes(random.choice((0, 1, 7, 8, 9, 100, 5000))), random
    data = b"".join(_damaged(random) for _ in range(random.choice((1, 1, 2))))
    for _ in range(random.choice((0, 0, 1, 2, 5))):
        at = random.randrange(len(data) + 1)
        data = random.choice((data[:at], data[:at] + random.randbytes(1) + data[at + 1 :], data[at:]))
    return data, random


def _damaged(random: Random) -> bytes:
    """A message with something else in it, in its header, or in its sizes."""
    head, *buffers = encoded(random.choice(messages()))
    text = bytes(head[HEAD.size + 8 * len(buffers) :])
    if random.random() < 0.6:
        message = json.loads(text)
        for _ in range(random.choice((1, 1, 2, 5))):
            _change(message, random)
        text = json.dumps(message).encode()
    elif random.random() < 0.5:
        at = random.randrange(len(text))
        text = text[:at] + random.choice(_TEXTS) + text[at + random.choice((0, 1, 5)) :]
    kept = [bytes(one)[: random.choice((None, None, None, 0, 3))] for one in buffers]
    sizes = [len(one) for one in kept]
    if sizes and random.random() < 0.1:
        sizes[random.randrange(len(sizes))] = random.choice((0, 1 << 31, 1 << 63))
    head = HEAD.pack(len(text), len(sizes)) + b"".join(size.to_bytes(8, "big") for size in sizes)
    return b"".join([head, text, *kept])


def _change(message: Any, random: Random) -> None:
    """Puts another value somewhere into a message, or takes one away."""
    places = list(_places(message))
    if not places:
        return
    holder, key = random.choice(places)
    if random.random() < 0.2 and isinstance(holder, dict):
        del holder[key]
    else:
        holder[key] = copy.deepcopy(random.choice(_VALUES))


def _places(holder: Any) -> Iterator[tuple[Any, Any]]:
    for key in holder if isinstance(holder, dict) else range(len(holder)):
        yield holder, key
        if isinstance(holder[key], dict | list):
            yield from _places(holder[key])


@functools.cache
def _loop() -> asyncio.AbstractEventLoop:
    return asyncio.new_event_loop()  # one a process: making it takes longer than a case


def attempt(source: Any, random: Random) -> tuple[str, ...]:
    """Reads messages and what is in them; says how that ended."""
    pieces = [random.choice((1, 3, 100, 1 << 16, 1 << 30)) for _ in range(20)]
    ends = []
    try:
        for message in _loop().run_until_complete(read_all(source, pieces)):
            ends.append(_understand(message))
    except FrameError:
        ends.append("message: FrameError")
    return tuple(ends) or ("no message",)


def _understand(message: dict[str, Any]) -> str:
    tensors = message.get("tensors", message.get("feeds", message.get("result", ())))
    try:
        if message.get("error") is not None:
            unpacked_error(message["error"])
        for one in tensors if isinstance(tensors, list) else ():
            unpacked(one[-1] if isinstance(one, list) and one else one)
    except FrameError:
        return "tensor or error: FrameError"
    return f"message: {ANSWER}"


INPUTS = Inputs(case, attempt)


def main(argv: list[str] | None = None) -> int:
    """The command line; returns the number of findings."""
    return run(command_line("tests.fuzz.frames", str(__doc__)).parse_args(argv), INPUTS)


if __name__ == "__main__":
    sys.exit(main())
