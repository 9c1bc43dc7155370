"""Every node of the corpus's graphs as TensorFlow's own placers of 1.15.5 and 2.21 place it, errors included.

The graphs are real ones that both releases of TensorFlow wrote (`tests/oracle/corpus`); 1.15's rules are compared on
1.15's graphs, 2.21's on those of both. Graphs with functions are compared as they are once their calls and functional
control flow have been written out, added nodes included.
"""

import zlib
from functools import cache

import pytest

from gpuplace.device.device_set import DeviceAttributes, DeviceSet
from gpuplace.errors import OpError
from gpuplace.graphdef.load import load_placement_graph
from gpuplace.kernels.registry import default_catalogue
from gpuplace.why.place import place_graph
from tests.placer.corpus_files import CASES, FUNCTION_CASES, RECORDED, folder, load
from tests.placer.test_recorded_placements import comparable

DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


@cache
def device_set(rules: str, machine: str) -> DeviceSet:
    names = [*RECORDED["before"][rules], *RECORDED["machines"][machine]]
    return DeviceSet([DeviceAttributes(device) for device in names])


def answer(graph, rules: str, machine: str, soft: bool):
    """Node -> full device name, or the error's class and first line."""
    devices = device_set(rules, machine)
    try:
        placement = place_graph(graph, devices, default_catalogue(rules), soft=soft, rules=rules)
    except OpError as error:
        return [type(error).__name__, error.message.split("\n")[0].split(" in binary running on")[0].strip()]
    return dict(placement)


def decoded(value, names, rules: str, machine: str):
    """The recorded answer in the same form."""
    if isinstance(value, list):
        return value
    devices = device_set(rules, machine).names
    return {name: devices[DIGITS.index(digit)] for name, digit in zip(names, value, strict=True)}


def check(graph, names, rules: str, answers) -> None:
    """Every answer to a graph, on all machines, is the recorded one."""
    for machine, pair in answers.items():
        for soft, value in zip((False, True), pair, strict=True):
            got = comparable(answer(graph, rules, machine, soft))
            recorded = comparable(decoded(value, names, rules, machine))
            if got != recorded and isinstance(got, dict) and isinstance(recorded, dict):
                got, recorded = (
                    {node: device for node, device in this.items() if other.get(node) != device}
                    for this, other in ((got, recorded), (recorded, got))
                )
            assert got == recorded, (machine, "soft" if soft else "hard")


@pytest.mark.parametrize("writer, rules, name", CASES)
def test_as_tensorflow_places_it(writer, rules, name):
    graph = load("corpus", writer, rules, name)
    check(graph, graph.names, rules, RECORDED["answers"][f"{writer} {rules}"][name])


@pytest.mark.parametrize("writer, rules, name", FUNCTION_CASES)
def test_as_tensorflow_inlines_functions_and_places_them(writer, rules, name):
    key = f"{writer} {rules}"
    graph = load("functions", writer, rules, name)
    names = sorted(graph.names)
    if name in RECORDED["names"][key]:
        assert zlib.crc32("\n".join(names).encode()) == RECORDED["names"][key][name], "other nodes were added"
    check(graph, names, rules, RECORDED["functions"][key][name])


@pytest.mark.parametrize(
    "name, signature", [(name, key) for name, found in RECORDED["signatures"].items() for key in found]
)
def test_a_signature_is_inlined_and_placed_as_tensorflow_does(name, signature):
    model = folder("functions", "2.21") / name
    graph = load_placement_graph(model, release="2.21", signature=signature)
    names = sorted(graph.names)
    number, answers = RECORDED["signatures"][name][signature]
    assert zlib.crc32("\n".join(names).encode()) == number
    check(graph, names, "2.21", answers)


def test_size_of_the_corpus():
    counts = {key: len(graphs) for key, graphs in RECORDED["answers"].items()}
    assert set(counts) == set(RECORDED["functions"]) == {"1.15 1.15", "1.15 2.21", "2.21 2.21"}
    assert min(counts.values()) >= 60
    assert min(len(graphs) for graphs in RECORDED["functions"].values()) >= 25
    assert all(
        {"0 GPU", "1 GPU", "2 GPU", "4 GPU", "8 GPU"} <= set(machines)
        for part in ("answers", "functions")
        for graphs in RECORDED[part].values()
        for machines in graphs.values()
    )
