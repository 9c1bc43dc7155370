"""What moves between two placements, and by which rule."""

from gpuplace.device.machine import Machine
from gpuplace.kernels.registry import default_catalogue
from gpuplace.placer.placer import Placer
from gpuplace.placer.rules import Rule
from tests.oracle.corner_graphs import GRAPHS
from tests.oracle.node_specs import node, placement_graph


def placed(specs, machine, rules="1.15", soft=False):
    catalogue = default_catalogue(rules)
    placer = Placer(placement_graph(specs, catalogue), catalogue, rules=rules)
    return placer.place(Machine.parse(machine).device_set(environ={}), soft=soft)


def test_without_the_gpu():
    graph = GRAPHS["guide: product"]
    change = placed(graph, "1x Tesla K40c").diff(placed(graph, "cpu"))
    assert {move.node for move in change} == {"a", "b", "m"}
    assert change.by_cause()[Rule.MISSING_DEVICE][0].node == "m"
    assert "generator (2)" in str(change)
    assert "a: /job:localhost/replica:0/task:0/device:GPU:0 -> /job:localhost" in str(change)


def test_between_releases_the_identity_rule():
    graph = GRAPHS["identity follows"]
    change = placed(graph, "1x Tesla K40c").diff(placed(graph, "1x Tesla K40c", "2.21"))
    assert {move.node: move.cause for move in change}["i"] is Rule.IDENTITY


def test_soft_placement():
    graph = GRAPHS["guide: third GPU"]
    change = placed(graph, "4x Tesla K40c").diff(placed(graph, "1x Tesla K40c", soft=True))
    assert set(change.by_cause()) == {Rule.SOFT_PLACEMENT, Rule.GENERATOR} or len(change) == 3
    assert len(change) == 3


def test_nothing_moves():
    placement = placed(GRAPHS["guide: product"], "cpu")
    assert str(placement.diff(placement)) == "no node moves"
    assert not list(placement.diff(placement))


def test_graphs_with_other_nodes():
    before = placed([node("a", "NoOp"), node("b", "NoOp")], "cpu")
    after = placed([node("b", "NoOp"), node("c", "NoOp")], "cpu")
    change = before.diff(after)
    assert (change.only_before, change.only_after, len(change)) == (("a",), ("c",), 0)
