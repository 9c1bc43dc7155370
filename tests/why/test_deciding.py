"""The rule that settled each node, worked out for all nodes at once."""

import pytest

from gpuplace.device.machine import Machine
from gpuplace.errors import OpError
from gpuplace.kernels.registry import default_catalogue
from gpuplace.placer.placer import Placer
from gpuplace.why.deciding import RULES, deciding_rule, deciding_rules
from gpuplace.why.rules import Rule
from tests.support.corner_graphs import GRAPHS
from tests.support.node_specs import node, placement_graph
from tests.support.training_graph import training_graph


def placed(specs, machine, rules="1.15", soft=False):
    catalogue = default_catalogue(rules)
    placer = Placer(placement_graph(specs, catalogue), catalogue, rules=rules)
    return placer.place(Machine.parse(machine).device_set(environ={}), soft=soft, on_error="keep")


@pytest.mark.parametrize("rules", ["1.15", "2.21"])
@pytest.mark.parametrize("soft", [False, True])
def test_arrays_agree_with_one_node_at_a_time(rules, soft):
    seen = set()
    for name, specs in GRAPHS.items():
        try:
            placement = placed(specs, "2x Tesla K40c", rules, soft)
        except OpError:  # refused before placing
            continue
        found = [RULES[number] for number in deciding_rules(placement)]
        assert found == [deciding_rule(placement, position) for position in range(len(placement.graph))], name
        seen.update(found)
    assert len(seen) > 5


def test_who_follows_because_nothing_else_is_left_does_as_asked():
    specs = [
        node("a", "Const", dtype="float32", device="/gpu:1"),
        node("b", "Neg", "a", T="float32", device="/gpu:1"),
    ]
    placement = placed(specs, "2x Tesla K40c")
    assert [RULES[number] for number in deciding_rules(placement)] == [Rule.REQUEST, Rule.REQUEST]


def test_a_training_graph():
    placement = placed(training_graph(200), "4x Tesla K40c")
    found = dict(
        zip(placement.graph.names, (RULES[number] for number in deciding_rules(placement)), strict=True)
    )
    layer = "tower_1/layer_1"
    assert found["x"] is Rule.TYPE_PRIORITY
    assert found[f"{layer}/w"] is Rule.REQUEST
    assert found[f"{layer}/shape"] is Rule.GROUP
    assert found[f"{layer}/Shape"] is Rule.REQUEST
    assert found[f"{layer}/MatMul"] is Rule.REQUEST
    assert found[f"{layer}/scale"] is Rule.GENERATOR


def test_nodes_without_a_device_failed():
    placement = placed([node("a", "NoOp", device="/gpu:7"), node("b", "NoOp")], "1x Tesla K40c")
    assert RULES[deciding_rules(placement)[0]] is Rule.FAILED


def test_an_empty_graph():
    assert len(deciding_rules(placed([], "cpu"))) == 0
