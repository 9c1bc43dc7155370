"""Every node of the corner graphs as TensorFlow's own placers of 1.15.5 and 2.21 place it, errors included."""

import gzip
import json
from pathlib import Path

import pytest

from gpuplace.device.device_set import DeviceAttributes, DeviceSet
from gpuplace.errors import OpError
from gpuplace.kernels.registry import default_catalogue
from gpuplace.why.place import place_graph
from tests.placer.recorded_answers import comparable
from tests.support.corner_graphs import GRAPHS
from tests.support.node_specs import placement_graph

TESTS = Path(__file__).parent.parent

RECORDED = json.loads(gzip.decompress((TESTS / "data" / "placements.json.gz").read_bytes()))
PREFIX = "/job:localhost/replica:0/task:0/device:"


def device_names(rules: str, machine: str) -> list[str]:
    cpus, gpus = RECORDED["machines"][machine]
    local = [f"{PREFIX}{kind}:{i}" for kind, count in (("CPU", cpus), ("GPU", gpus)) for i in range(count)]
    return [*RECORDED["rules"][rules]["before"], *local]


def answer(name: str, rules: str, machine: str, soft: bool):
    """Node -> position of its device, or the error's class and first line."""
    names = device_names(rules, machine)
    catalogue = default_catalogue(rules)
    try:
        graph = placement_graph(GRAPHS[name], catalogue)
        devices = DeviceSet([DeviceAttributes(device) for device in names])
        placement = place_graph(graph, devices, catalogue, soft=soft, rules=rules)
    except OpError as error:
        return [type(error).__name__, error.message.split("\n")[0].split(" in binary running on")[0].strip()]
    return {node: names.index(device) for node, device in placement.items()}


@pytest.mark.parametrize("rules", ["1.15", "2.21"])
@pytest.mark.parametrize("name", GRAPHS)
def test_as_tensorflow_places_it(name, rules):
    for machine, answers in RECORDED["rules"][rules]["answers"][name].items():
        for soft, recorded in zip((False, True), answers, strict=True):
            got = comparable(answer(name, rules, machine, soft))
            assert got == comparable(recorded), (machine, "soft" if soft else "hard")


def test_every_graph_has_recorded_answers():
    for rules in ("1.15", "2.21"):
        assert set(RECORDED["rules"][rules]["answers"]) == set(GRAPHS)
