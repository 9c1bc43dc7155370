"""Placing the same graph again: what was kept from one machine must not show on the next."""

import random

import pytest

from gpuplace.device.device_set import DeviceAttributes, DeviceSet
from gpuplace.errors import OpError
from gpuplace.kernels.registry import default_catalogue
from gpuplace.placer.placer import Placer
from gpuplace.why.place import place_again, place_graph
from tests.support.corner_graphs import GRAPHS
from tests.support.node_specs import node, placement_graph
from tests.support.training_graph import local_devices, training_graph

MACHINES = [(gpus, soft) for gpus in (0, 1, 2, 4) for soft in (False, True)]


def device_set(gpus):
    return DeviceSet([DeviceAttributes(name) for name in local_devices(gpus)])


def outcome(placement):
    decisions = placement.decisions
    how = None if decisions is None else decisions.how.tolist()
    return dict(placement), how, [error.message for error in placement.errors]


@pytest.mark.parametrize("rules", ["1.15", "2.21"])
@pytest.mark.parametrize("name", sorted(GRAPHS))
def test_a_placer_that_has_seen_other_machines_answers_as_a_new_one(name, rules):
    catalogue = default_catalogue(rules)
    try:
        graph = placement_graph(GRAPHS[name], catalogue)
        placer = Placer(graph, catalogue, rules=rules)
    except OpError:
        return  # refused before there is a machine
    turns = MACHINES * 2
    random.Random(name).shuffle(turns)
    for gpus, soft in turns:
        devices = device_set(gpus)
        again = place_again(placer, devices, soft=soft, on_error="keep")
        fresh = place_graph(graph, devices, catalogue, soft=soft, rules=rules, on_error="keep")
        assert outcome(again) == outcome(fresh), (gpus, soft)


def test_a_large_graph_has_few_labels():
    catalogue = default_catalogue("2.21")
    placer = Placer(placement_graph(training_graph(20_000), catalogue), catalogue, rules="2.21")
    outline = place_again(placer, device_set(4)).decisions.outline
    assert len(placer.graph) >= 20_000
    assert outline.kinds + len(outline.followers) < 200


def test_soft_placement_and_hidden_devices_share_an_outline():
    catalogue = default_catalogue("2.21")
    placer = Placer(placement_graph(training_graph(2_000), catalogue), catalogue, rules="2.21")
    first = place_again(placer, device_set(4))
    for gpus in (0, 1, 4):
        assert place_again(placer, device_set(gpus), soft=True).decisions.outline is first.decisions.outline


def test_nodes_that_come_with_a_device_have_an_outline_of_their_own():
    catalogue = default_catalogue("2.21")
    graph = placement_graph(
        [
            node("x", "Placeholder", dtype="float32"),
            node("shape", "Shape", "x", T="float32"),
            node("c", "Const", "^shape", dtype="float32"),
        ],
        catalogue,
    )
    placer = Placer(graph, catalogue, rules="2.21")
    cpu, gpu = local_devices(1)
    free = place_again(placer, device_set(1))
    held = place_again(placer, device_set(1), assigned={"x": cpu})
    assert dict(held) == {"x": cpu, "shape": cpu, "c": gpu}
    assert dict(place_again(placer, device_set(1), assigned={"shape": cpu})) == {
        "x": cpu,
        "shape": cpu,
        "c": gpu,
    }
    assert dict(place_again(placer, device_set(1))) == dict(free) == dict.fromkeys(("x", "shape", "c"), gpu)
