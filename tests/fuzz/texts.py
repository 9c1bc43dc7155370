"""Hostile logs, measured steps and Chrome traces: an error of TensorFlow's classes, or an answer, soon.

    python -m tests.fuzz.texts logs --executions 1000000 [--processes 2] [--seed 0] [--save FOLDER]
    python -m tests.fuzz.texts steps --seed 0 --case 4711      # one case again, with its traceback

`logs` are lines of recorded logs and of the samples of the log tests, `steps` recorded ``RunMetadata`` as they are
serialised, `traces` Chrome traces of these. They are damaged by bytes, lines and tokens, repeated up to hundreds of
thousands of times, and written in other encodings. What comes of them is asked for all its texts and pages. The time
that a case may take is in proportion to its size; how a campaign runs is said in `graph_defs`.
"""

from __future__ import annotations

import base64
import functools
import gzip
import json
import lzma
import sys
import zlib
from collections.abc import Sequence
from random import Random
from typing import Any

import gpuplace as tf
from gpuplace.errors import OpError
from gpuplace.graphdef.measured.run_metadata import load_run_metadata
from gpuplace.graphdef.messages import RunMetadata
from gpuplace.runtime.tracing.chrome_timeline import Timeline
from gpuplace.views.page.page import page_html, timeline_page_html
from gpuplace.views.timelines.reader import step_timeline
from gpuplace.views.timelines.svg import timeline_svg
from tests.fuzz.graph_defs import ANSWER, DATA, Inputs, _folder, command_line, run
from tests.views.logs import log_samples

_LEAST_S = 5.0
_PER_BYTE_S = 50e-6
"""Seconds of processor time: the least that a case may take, and more for each byte."""

_TOKENS = (
    *(
        "/job:",
        "/device:GPU:",
        "/replica:0",
        ": (",
        "): ",
        "->",
        "|",
        ">:",
        "x",
        ":",
        "(",
        "[",
        "]",
        "{",
        '"',
        "'",
    ),
    *(
        "9" * 30,
        "9" * 5000,
        "-1",
        "1e999",
        "NaN",
        "null",
        "\\u0000",
        "\\ud800",
        "\x1b[31m",
        "\x00",
        "\ud800",
        "\ufeff",
    ),
    *(
        "\n",
        "\r",
        "\r\n",
        "\u2028",
        "\t",
        " " * 50,
        "a" * 3000,
        "a/" * 3000,
        "é",
        "Device mapping:\n",
        "I tensorflow/",
    ),
)


@functools.cache
def logs() -> tuple[bytes, ...]:
    """Recorded logs, and those of the samples."""
    recorded = json.loads(lzma.open(DATA.parent / "logs.json.xz").read())
    texts = [text for value in recorded.values() for text in _texts(value)]
    samples = [text for value in vars(log_samples).values() for text in _texts(value)]
    return tuple(text.encode() for text in texts + samples if 20 < len(text) < 20_000)


def _texts(value: Any) -> list[str]:
    """The texts of more than a line in a record."""
    if isinstance(value, str):
        return [value] if "\n" in value else []
    if isinstance(value, log_samples.Sample):
        return [value.text]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return [text for part in parts for text in _texts(part)]


@functools.cache
def steps() -> tuple[bytes, ...]:
    """Recorded steps, serialised."""
    found = []
    for release in ("1_15", "2_21"):
        recorded = json.loads((DATA.parent / f"run_metadata_{release}.json").read_text())
        found += [zlib.decompress(base64.b64decode(packed)) for packed in recorded["runs"].values()]
    return tuple(data for data in found if len(data) < 200_000)


@functools.cache
def traces() -> tuple[bytes, ...]:
    """Chrome traces of the recorded steps."""
    made = [Timeline(RunMetadata.FromString(data).step_stats) for data in steps() if len(data) < 20_000]
    return tuple(
        timeline.generate_chrome_trace_format(show_memory=more).encode()
        for timeline in made
        for more in (True, False)
    )


def damaged(data: bytes, seeds: Sequence[bytes], random: Random) -> bytes:
    """A text, changed in one to five places."""
    text = data
    for _ in range(random.choice((1, 1, 2, 3, 5))):
        at, end = sorted(random.choices(range(len(text) + 1), k=2))
        end = min(end, at + random.choice((1, 10, 200)))
        token = random.choice(_TOKENS).encode("utf-8", "surrogatepass")
        match random.randrange(8):
            case 0:
                text = text[:at] + token + text[at:]
            case 1:
                text = text[:at] + token + text[end:]
            case 2:
                text = text[:at] + text[end:]
            case 3:
                text = text[:at] + text[at:end] * random.choice((2, 5, 100)) + text[end:]
            case 4:
                text = text[:at] + token * random.choice((2, 50, 500)) + text[at:]
            case 5:
                text = text[:at] + bytes([random.randrange(256)]) + text[at + 1 :]
            case 6:
                lines = text.splitlines(keepends=True)
                random.shuffle(lines)
                text = b"".join(lines)
            case 7:
                other = random.choice(seeds)
                text = text[:at] + other[random.randrange(len(other) + 1) :]
        text = text[:300_000]
    if random.random() < 0.01:
        text = text[: random.randrange(1, 60)] * random.choice((100, 5000))
    return text


def _log_case(seed: int, number: int) -> tuple[Any, Random]:
    random = Random(f"logs:{seed}:{number}")
    data = damaged(random.choice(logs()), logs(), random)
    form = random.randrange(20)
    if form == 0:
        return gzip.compress(data), random
    if form == 1:
        return data.decode(errors="replace").encode(
            random.choice(("utf-16", "utf-16-le", "utf-8-sig"))
        ), random
    return (data if form < 8 else data.decode("utf-8", "surrogateescape")), random


def _attempt_log(source: Any, random: Random) -> tuple[str, ...]:
    try:
        log = tf.parse_log(source)
    except OpError as error:
        assert str(error)
        return (f"log: {type(error).__name__}",)
    str(log), repr(log)
    for session in log.sessions[:3]:
        session.counts()
    if random.random() < 0.02:
        log.frame()
        page_html(log)
        try:
            str(log.compare(tf.GraphDef()))
        except (OpError, ValueError) as error:
            return (f"log: {ANSWER}, compare: {type(error).__name__}",)
    return (f"log: {ANSWER}",)


def _step_case(seed: int, number: int) -> tuple[Any, Random]:
    random = Random(f"steps:{seed}:{number}")
    if random.random() < 0.2:
        data = damaged(random.choice(steps()), steps(), random)
    else:
        step = RunMetadata.FromString(random.choice(steps()))
        for _ in range(random.choice((1, 2, 5, 20))):
            _edit_step(step, random)
        data = step.SerializeToString()
    return (gzip.compress(data) if random.random() < 0.05 else data), random


_TIMES = (0, 1, -1, 10**6, 2**31, 2**53, 2**62, 2**63 - 1, -(2**63))


def _edit_step(step: Any, random: Random) -> None:
    """Changes something in a step: a time, a name, a device, a copy, how often it is there."""
    stats = step.step_stats
    if not stats.dev_stats:
        return
    device = random.choice(stats.dev_stats)
    text = random.choice(
        ("", "a", "a:b", "/", "^x", "x/" * 500, "\x1b[2J", "edge_1_a = _Recv(x @cpu", "= ", "é" * 9)
    )
    if random.random() < 0.2 or not device.node_stats:
        match random.randrange(5):
            case 0:
                device.device = random.choice(
                    (text, "/gpu:0", "/job:x/device:GPU:99999999999", f"{device.device}/stream:all")
                )
            case 1:
                stats.dev_stats.add().CopyFrom(device)
            case 2:
                device.ClearField("node_stats")
            case 3:
                device.thread_names[random.choice(_TIMES) % 2**32] = text
            case 4:
                for number in range(random.choice((2, 200))):
                    stats.dev_stats.add(device=f"/device:GPU:{number}").node_stats.add(node_name="x")
        return
    node = random.choice(device.node_stats)
    field = random.choice([one for one in node.DESCRIPTOR.fields if one.name not in ("referenced_tensor",)])
    if field.type == field.TYPE_STRING:
        setattr(node, field.name, text)
    elif field.cpp_type in (field.CPPTYPE_INT64, field.CPPTYPE_UINT32):
        value = random.choice(_TIMES)
        setattr(node, field.name, value % 2**32 if field.cpp_type == field.CPPTYPE_UINT32 else value)
    elif field.name == "output":
        described = node.output.add(slot=random.choice((0, -1, 2**31 - 1))).tensor_description
        described.dtype = random.choice((0, 1, 100, 999))
        described.shape.dim.add(size=random.choice(_TIMES))
        described.allocation_description.requested_bytes = random.choice(_TIMES)
    elif field.name == "memory":
        node.memory.add(
            allocator_name=text, total_bytes=random.choice(_TIMES), peak_bytes=random.choice(_TIMES)
        )
    elif field.name == "memory_stats":
        node.memory_stats.temp_memory_size = random.choice(_TIMES)
    else:
        device.node_stats.add().CopyFrom(node)


def _trace_case(seed: int, number: int) -> tuple[Any, Random]:
    return _bytes_case(f"traces:{seed}:{number}", traces())


def _bytes_case(name: str, seeds: Sequence[bytes]) -> tuple[Any, Random]:
    random = Random(name)
    data = damaged(random.choice(seeds), seeds, random)
    return (gzip.compress(data) if random.random() < 0.05 else data), random


def _attempt_step(source: Any, random: Random, ending: str = ".pb") -> tuple[str, ...]:
    path = _folder() / f"step{ending}"
    path.write_bytes(source)
    try:
        step = load_run_metadata(path)
        timeline = step_timeline(step)
    except (OpError, ValueError) as error:
        assert str(error)
        if type(error) is not ValueError and not isinstance(error, OpError):
            raise
        return (f"step: {type(error).__name__}",)
    str(timeline)
    if random.random() < 0.05:
        timeline_svg(timeline)
        timeline_page_html(timeline)
        Timeline(step.step_stats).generate_chrome_trace_format(show_memory=True)
        for table in ("events", "copies", "devices", "gaps", "path", "hints"):
            timeline.frame(table)
    return (f"step: {ANSWER}",)


def _attempt_trace(source: Any, random: Random) -> tuple[str, ...]:
    return _attempt_step(source, random, ".json")


def _limit(source: Any) -> float:
    return _LEAST_S + _PER_BYTE_S * len(source)


INPUTS = {
    "logs": Inputs(_log_case, _attempt_log, _limit),
    "steps": Inputs(_step_case, _attempt_step, _limit),
    "traces": Inputs(_trace_case, _attempt_trace, _limit),
}


def main(argv: list[str] | None = None) -> int:
    """The command line; returns the number of findings."""
    parser = command_line("tests.fuzz.texts", str(__doc__))
    parser.add_argument("inputs", choices=sorted(INPUTS))
    arguments = parser.parse_args(argv)
    return run(arguments, INPUTS[arguments.inputs])


if __name__ == "__main__":
    sys.exit(main())
