"""Graphs with functional control flow: every node, added ones included, as TensorFlow places it."""

import base64
import gzip
import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from gpuplace.device.device_set import DeviceAttributes, DeviceSet
from gpuplace.errors import InvalidArgumentError, OpError, ResourceExhaustedError
from gpuplace.graph.graph import Graph
from gpuplace.graphdef.importer import import_graph_def
from gpuplace.graphdef.messages import GraphDef
from gpuplace.runtime.session.place import place
from tests.placer.recorded_answers import comparable

RECORDED = json.loads(gzip.decompress((Path(__file__).parents[2] / "data" / "lowering.json.gz").read_bytes()))
LOCAL = "/job:localhost/replica:0/task:0/device:"
BEFORE = {"1.15": ["/job:master/replica:0/task:0/device:CPU:0"], "2.21": []}


def graph_bytes(name):
    return base64.b64decode(RECORDED[name]["graph"])


def answer(data, rules, gpus, soft):
    names = [*BEFORE[rules], f"{LOCAL}CPU:0", *(f"{LOCAL}GPU:{i}" for i in range(gpus))]
    machine = DeviceSet([DeviceAttributes(name) for name in names])
    config = SimpleNamespace(allow_soft_placement=soft)
    try:
        placement = place(data, machine, config, release=rules)
    except OpError as error:
        return [type(error).__name__, error.message.split("\n")[0].split(" in binary running on")[0].strip()]
    return {node: names.index(device) for node, device in placement.items()}


@pytest.mark.parametrize("rules", ["1.15", "2.21"])
@pytest.mark.parametrize("name", RECORDED)
def test_as_tensorflow_places_it(name, rules):
    for gpus, recorded in RECORDED[name]["answers"][rules].items():
        for soft, expected in zip((False, True), recorded, strict=True):
            got = answer(graph_bytes(name), rules, int(gpus), soft)
            assert comparable(got) == comparable(expected), (gpus, soft)


def placed_in_branch(**options):
    return place(graph_bytes("if_devices"), "2x Tesla K40c", release="2.21", **options)


def test_an_added_node_tells_which_function_and_node_it_comes_from():
    placement = placed_in_branch()
    copied = next(name for name in placement if name.startswith("cond/then/_0/"))
    explanation = placement.explain(copied)
    assert explanation.made_from.startswith("StatelessIf 'cond', function cond_true_")
    assert "derived from" in str(explanation)
    assert placement.explain("x").made_from is None
    assert placement.explain("cond").made_from == "StatelessIf 'cond'"


def test_a_node_of_a_nested_branch_names_all_functions_on_the_way():
    placement = place(graph_bytes("if_in_while"), "2x Tesla K40c", release="2.21")
    copied = next(name for name in placement if "/then/" in name and name.endswith("/mul/y"))
    text = placement.explain(copied).made_from
    assert text.startswith("StatelessWhile 'while', function while_body_") and " > cond_true_" in text


def test_functions_that_multiply_come_to_an_end(monkeypatch):
    monkeypatch.setattr("gpuplace.placer.lowering.flow_graph.MAX_ADDED", 20)
    monkeypatch.setattr("gpuplace.placer.lowering.flow_graph.ADDED_PER_NODE", 0)
    with pytest.raises(ResourceExhaustedError, match="too many nodes"):
        place(graph_bytes("while_in_while"), "1x Tesla K40c", release="2.21")


def test_an_imported_graph_is_written_out_too():
    data = graph_bytes("if_devices")
    with Graph().as_default() as graph:
        import_graph_def(GraphDef.FromString(data), name="")
    placement = place(graph, "2x Tesla K40c", release="2.21")
    assert dict(placement) == dict(placed_in_branch())
    assert len(graph.get_operations()) < len(placement)


def changed(name, change):
    message = GraphDef.FromString(graph_bytes(name))
    change(message)
    return message


def test_a_missing_function_is_named():
    message = changed("if_simple", lambda m: m.library.ClearField("function"))
    with pytest.raises(InvalidArgumentError, match="Op type not registered 'cond_true_") as caught:
        place(message, "1x Tesla K40c", release="2.21")
    assert caught.value.facts["node"] == "cond"


def test_a_function_that_calls_itself_is_an_error():
    def change(message):
        branch = next(node for node in message.node if node.op == "StatelessIf")
        function = next(
            f for f in message.library.function if f.signature.name == branch.attr["then_branch"].func.name
        )
        node = function.node_def.add(name="again", op="StatelessIf", input=["flag:output:0"])
        for key in ("then_branch", "else_branch", "Tcond", "Tout", "_lower_using_switch_merge"):
            node.attr[key].CopyFrom(branch.attr[key])
        node.attr["Tin"].list.SetInParent()
        flag = function.node_def.add(name="flag", op="Const")
        flag.attr["dtype"].type = 10
        for caller in (branch, node):
            caller.attr["else_branch"].func.name = branch.attr["then_branch"].func.name
        # The branch takes what it is given; it is the call that has to end.
        function.signature.ClearField("input_arg")
        for other in function.node_def:
            if other.name not in ("again", "flag"):
                del other.input[:]
        branch.ClearField("input")
        branch.input.append("p")
        branch.attr["Tin"].Clear()
        branch.attr["Tin"].list.SetInParent()

    with pytest.raises(InvalidArgumentError, match="calls itself"):
        place(changed("if_simple", change), "1x Tesla K40c", release="2.21")


@pytest.mark.parametrize("attr", ["then_branch", "else_branch", "Tcond", "Tin", "Tout"])
def test_a_branch_without_an_attribute_is_an_error_or_left_to_the_placer(attr):
    def change(message):
        del next(node for node in message.node if node.op == "StatelessIf").attr[attr]

    with pytest.raises(OpError):
        place(changed("if_simple", change), "1x Tesla K40c", release="2.21")


def test_a_graph_without_such_nodes_is_left_alone():
    message = GraphDef()
    message.node.add(name="go", op="NoOp")
    assert list(place(message, "cpu", release="2.21")) == ["go"]
