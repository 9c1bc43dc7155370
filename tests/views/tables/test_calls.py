"""Nodes that call functions, by attributes and by op type."""

import gpuplace
from gpuplace.views.tables.calls import all_calls, calls_of, functions_of
from gpuplace.views.tables.placement_view import PlacementView
from tests.graphdef.function_libraries import graph_def

TWO = "2x Tesla K40c"


def calls(message):
    placement = gpuplace.place(message, TWO, release="2.21")
    return {
        placement.graph.names[node]: [tuple(call) for call in found]
        for node, found in all_calls(placement).items()
    }


def test_calls_conditionals_and_legacy_calls():
    message = graph_def()
    node = message.node.add(name="legacy", op="add", input=["x"])
    branches = message.node.add(name="case", op="StatelessCase", input=["which", "x"])
    message.node.add(name="which", op="Placeholder").attr["dtype"].type = 3
    for name in ("Tin", "Tout"):
        branches.attr[name].list.type.append(1)
    for name in ("outer", "add"):
        branches.attr["branches"].list.func.add(name=name)
    assert calls(message) == {
        "call": [("f", "outer")],
        "choose": [("then_branch", "add"), ("else_branch", "add_on_gpu_1")],
        "legacy": [("", "add")],
        "case": [("branches 0", "outer"), ("branches 1", "add")],
    }
    assert node.op == "add"


def test_a_loops_body_comes_before_its_condition_and_unknown_functions_do_not_count():
    message = graph_def()
    loop = message.node.add(name="loop", op="StatelessWhile", input=["x"])
    loop.attr["T"].list.type.append(1)
    loop.attr["cond"].func.name, loop.attr["body"].func.name = "outer", "add"
    mapped = message.node.add(name="mapped", op="PartitionedCall", input=["x"])
    mapped.attr["f"].func.name = "nowhere"
    for name in ("Tin", "Tout"):
        mapped.attr[name].list.type.append(1)
    found = calls(message)
    assert found["loop"] == [("body", "add"), ("cond", "outer")]
    assert "mapped" not in found


def test_what_is_inlined_calls_nothing():
    placement = gpuplace.place(graph_def(), TWO, function="outer")
    assert all_calls(placement) == {}
    assert functions_of(placement) == {"add", "add_on_gpu_1", "outer", "template"}


def test_a_log_has_no_functions():
    view = PlacementView.of_columns([("a", "Const", "", "/device:CPU:0")])
    assert all_calls(view) == {} and calls_of(view, 0) == [] and functions_of(view) == frozenset()
