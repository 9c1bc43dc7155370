"""The log parser on written and recorded logs: what it finds, and that nothing is lost."""

import json
import lzma
import re
from pathlib import Path

import pytest

from gpuplace.views.logs.parser import parse_log
from gpuplace.views.logs.reader import read_log
from tests.views.logs.log_samples import SAMPLES

RECORDED = json.loads(lzma.decompress((Path(__file__).parents[2] / "data" / "logs.json.xz").read_bytes()))
STREAMS = [(name, stream) for name, streams in RECORDED.items() for stream in streams]


def rebuilt(text: str) -> str:
    """The text put together of its pieces."""
    lines: dict[int, str] = {}
    for piece in sorted(read_log(text), key=lambda piece: (piece.line, piece.column, len(piece.text))):
        assert piece.column == len(lines.get(piece.line, "")), piece
        lines[piece.line] = lines.get(piece.line, "") + piece.text
    return "\n".join(lines.get(number + 1, "") for number in range(text.count("\n") + 1))


@pytest.mark.parametrize("name", SAMPLES)
def test_written(name):
    sample = SAMPLES[name]
    log = parse_log(sample.text)
    assert dict(log) == sample.nodes
    if sample.types is not None:
        assert log.types == sample.types
    if sample.sessions is not None:
        assert [len(part) for part in log.sessions] == (sample.sessions or [0])
    assert [left.text for left in log.unparsed] == sample.left
    if sample.devices is not None:
        assert [row.device for row in log.devices] == sample.devices
    assert [(event.op, event.device) for event in log.events] == sample.events
    assert [
        (
            gpu.told,
            gpu.device,
            gpu.physical_id,
            gpu.name,
            gpu.pci_bus_id,
            gpu.compute_capability,
            gpu.memory_mb,
        )
        for gpu in log.gpus
    ] == sample.gpus
    assert log.repeated == sample.repeated


@pytest.mark.parametrize("name", SAMPLES)
def test_no_character_of_a_written_log_is_lost(name):
    assert rebuilt(SAMPLES[name].text) == SAMPLES[name].text


def recorded_nodes(name: str) -> list[tuple[str, str, str]]:
    """The lines about nodes on stderr, which has one a line, read without the parser."""
    return re.findall(
        r"^.*placer\.cc:\d+\] (\S+): \((\w+)\): (/job:\S+:\d+)$", RECORDED[name]["stderr"], re.MULTILINE
    )


@pytest.mark.parametrize(("name", "stream"), STREAMS)
def test_recorded(name, stream):
    """stdout, stderr and both mixed tell the same, whichever is read."""
    lines = recorded_nodes(name)
    text = RECORDED[name][stream]
    log = parse_log(text)
    assert dict(log) == {node: device for node, _, device in lines}
    assert log.types == {node: op_type for node, op_type, _ in lines}
    assert {(row.name, row.type, row.device) for row in log.rows} == set(lines)
    mappings = RECORDED[name]["stderr"].count("Device mapping:")
    if stream != "stdout" or name.startswith("1."):
        assert len(log.sessions) == max(1, mappings)
    if stream != "stdout":
        assert len(log.events) == RECORDED[name]["stderr"].count("Executing op ")
    assert rebuilt(text) == text
    for left in log.unparsed:
        assert "/job:" not in left.text or "available devices are" in left.text or "print" in name, left


def test_there_are_enough_samples():
    assert len(SAMPLES) >= 45
    assert len(STREAMS) >= 60
    assert sum(len(recorded_nodes(name)) for name in RECORDED) > 700
