"""The body of a function where a node calls it: arguments pinned as TensorFlow pins them, the rest beside the call."""

import base64
import json
from pathlib import Path

import pytest

import gpuplace
from gpuplace.errors import NotFoundError
from gpuplace.runtime.session.function_placement import pins_of_call, place_function
from tests.graphdef.function_libraries import graph_def

RECORDED = json.loads((Path(__file__).parents[2] / "data" / "called.json").read_text())
GRAPH = base64.b64decode(RECORDED["graph"])
LOCAL = "/job:localhost/replica:0/task:0/device:"
TWO = "2x Tesla K40c"


def test_a_called_function_is_placed_as_tensorflow_places_it():
    outer = gpuplace.place(GRAPH, machine="4 CPU", release="2.21")
    (name,) = outer.graph.functions
    body = place_function(outer, name, "StatefulPartitionedCall")
    assert len(RECORDED["placed"]) == len(body) == 22
    assert dict(body) == RECORDED["placed"]
    alone = place_function(outer, name)
    assert dict(alone) != RECORDED["placed"] and alone["x"] == f"{LOCAL}CPU:0"


def on_the_second_gpu():
    message = graph_def()
    message.node[1].device = message.node[2].device = "/gpu:1"
    return message


def test_a_body_is_where_its_call_is():
    outer = gpuplace.place(on_the_second_gpu(), TWO)
    body = place_function(outer, "outer", "call")
    assert set(body.values()) == {f"{LOCAL}GPU:1"}
    assert set(place_function(outer, "outer").values()) == {f"{LOCAL}GPU:0"}
    assert pins_of_call(body.graph, outer, "call") == {
        "assigned": {"x": f"{LOCAL}GPU:1"},
        "default_local_device": f"{LOCAL}GPU:1",
    }


@pytest.mark.parametrize("release", ["1.15", "2.21"])
def test_branches_and_loops_run_where_their_node_is(release):
    """Whatever their nodes ask for, as TensorFlow's trace says; a GPU that is not there too."""
    record = json.loads((Path(__file__).parents[2] / "data" / "branches.json").read_text())[release]
    outer = gpuplace.place(base64.b64decode(record["graph"]), "3 CPU", release=release)
    for call, functions, traced in (
        ("choose", ("then_branch", "else_branch"), "then"),
        ("case", ("then_branch", "else_branch"), "else"),
        ("loop", ("loop_cond", "loop_body"), ""),
    ):
        for function in functions:
            body = place_function(outer, function, call)
            assert set(body.values()) == {outer[call]}, (call, function)
            assert not body.errors
            if function.partition("_")[0] == traced:
                ran = {name: at for name, at in record["ran"].items() if name.startswith(traced + "_")}
                assert len(ran) >= 3 and ran.items() <= body.items()
    alone = place_function(outer, "else_branch")
    assert set(alone.values()) == {f"{LOCAL}CPU:0"}


def test_other_nodes_pin_nothing():
    outer = gpuplace.place(on_the_second_gpu(), TWO)
    body = place_function(outer, "add", "saver")  # calls nothing
    assert set(body.values()) == {f"{LOCAL}GPU:0"}
    for call in ("nowhere", "saver"):
        assert pins_of_call(body.graph, outer, call) == {}
    partial = gpuplace.place(on_the_second_gpu(), "1x Tesla K40c", on_error="keep")
    for call in ("call", "choose"):
        assert not partial.get(call)
        assert pins_of_call(body.graph, partial, call) == {}


def test_the_explorer_shows_a_function_as_it_was_called():
    explorer = gpuplace.explore(on_the_second_gpu(), machine=TWO)
    explorer.open_call("call")
    assert set(explorer.placement.values()) == {f"{LOCAL}GPU:1"}
    assert explorer._views.status.blocks[0]["text"] == (
        "function outer of a GraphDef, as a separate graph, as call calls it"
    )
    made = {"graph": on_the_second_gpu()}
    exec(explorer.as_python(devices=False), made)
    assert dict(made["placement"]) == dict(explorer.placement)
    explorer.machine = "3x Tesla K40c"
    assert set(explorer.placement.values()) == {f"{LOCAL}GPU:1"}
    explorer.release = "2.21"
    assert set(explorer.placement.values()) == {f"{LOCAL}GPU:1"}
    explorer.function = ""
    explorer.function = "outer"  # chosen, not opened
    assert set(explorer.placement.values()) == {f"{LOCAL}GPU:0"}
    explorer.undo()
    explorer.undo()
    assert set(explorer.placement.values()) == {f"{LOCAL}GPU:1"}


def test_a_function_that_is_not_there():
    with pytest.raises(NotFoundError, match=r"Function ad is not defined\."):
        place_function(gpuplace.place(graph_def(), TWO), "ad", "call")
