"""Calls that take and give back resources: every node, added ones included, as TensorFlow places it, errors too."""

import gzip
import json
from pathlib import Path
from types import SimpleNamespace

import pytest

import gpuplace
from gpuplace.device.device_set import DeviceAttributes, DeviceSet
from gpuplace.errors import InvalidArgumentError, OpError, ResourceExhaustedError
from gpuplace.runtime.session.place import place
from gpuplace.why.rules import Rule
from tests.oracle.call_graphs import GPU, GRAPHS, PASS, body, call, graph_def, graph_def_of, handle, same
from tests.oracle.record_calls import told
from tests.placer.recorded_answers import comparable
from tests.support.node_specs import node

RECORDED = json.loads(gzip.decompress((Path(__file__).parents[2] / "data" / "calls.json.gz").read_bytes()))
LOCAL = "/job:localhost/replica:0/task:0/device:"
BEFORE = {"1.15": ["/job:master/replica:0/task:0/device:CPU:0"], "2.21": []}
TWO = "2x Tesla K40c"


def answer(name, rules, gpus, soft):
    """Node -> position of its device, or the error's class and message."""
    names = [*BEFORE[rules], f"{LOCAL}CPU:0", *(f"{LOCAL}GPU:{i}" for i in range(gpus))]
    machine = DeviceSet([DeviceAttributes(device) for device in names])
    try:
        placement = place(graph_def(name), machine, SimpleNamespace(allow_soft_placement=soft), release=rules)
    except OpError as error:
        return [type(error).__name__, told(error.message)]
    return {node: names.index(device) for node, device in placement.items()}


@pytest.mark.parametrize("rules", ["1.15", "2.21"])
@pytest.mark.parametrize("name", GRAPHS)
def test_as_tensorflow_places_it(name, rules):
    for gpus, recorded in RECORDED[name][rules].items():
        for soft, expected in zip((False, True), recorded, strict=True):
            got = answer(name, rules, int(gpus), soft)
            assert comparable(got) == comparable(expected), (gpus, soft)


def test_every_graph_has_recorded_answers():
    assert set(RECORDED) == set(GRAPHS)


def placed(name, **options):
    return gpuplace.place(graph_def(name), TWO, release="2.21", **options)


def test_a_reader_yields_to_the_handle_that_the_call_passes_on():
    placement = placed("handle_through_identity")
    assert set(placement.values()) == {f"{LOCAL}CPU:0", f"{LOCAL}GPU:0"}
    assert placement["r1"] == f"{LOCAL}CPU:0"
    explanation = placement.explain("r1")
    step = next(step for step in explanation.steps if step.rule is Rule.YIELDS_TO_SOURCE)
    assert "resource edge bi_y -> y_r1: the request of r1 yields to '/device:CPU:0'" in step.note


def test_what_the_function_asks_for_inside_limits_the_nodes_around_its_call():
    graph = graph_def("made_inside")
    next(node for node in graph.node if node.name == "id").device = ""
    placement = gpuplace.place(graph, TWO, release="2.21")
    assert placement["id"] == f"{LOCAL}CPU:0"
    explanation = placement.explain("id")
    assert explanation.group == ("id", "y_id")
    step = next(step for step in explanation.steps if step.cause == "y")
    assert step.after == ("CPU:0",)
    assert step.note == "the function that y calls is limited to '/device:CPU:0' inside"
    with pytest.raises(InvalidArgumentError, match="Cannot merge devices with incompatible types") as caught:
        placed("made_inside")
    assert caught.value.hint == "request the device that is requested inside the called function, or none"


def test_a_conflict_across_a_call_names_both_sides():
    with pytest.raises(InvalidArgumentError) as caught:
        placed("conflict_with_a_call")
    assert "incompatible resource devices" in caught.value.message
    assert {"a", "b"} <= {
        part.split(" ")[0]
        for part in caught.value.facts["colocation group"].split(", ")
        if "VarHandleOp" in part
    }


def test_an_error_inside_of_a_function_says_how_it_came_there():
    with pytest.raises(OpError) as caught:
        placed("back_to_back_inside")
    assert caught.value.facts["inside"] == "y calls back_to_back"
    with pytest.raises(OpError) as caught:
        placed("recursion_below")
    assert caught.value.facts["functions"] == "start > first > second > first"
    assert caught.value.facts["inside"] == "y calls start, where in calls first, where out calls second"


def test_errors_inside_of_functions_are_kept_where_all_errors_are():
    placement = placed("fault_inside_the_second_call", on_error="keep")
    assert [type(error).__name__ for error in placement.errors[:3]] == [
        "InvalidArgumentError",
        "InvalidArgumentError",
        "UnimplementedError",
    ]
    assert placement["a"] == f"{LOCAL}GPU:0"


@pytest.mark.parametrize(("depth", "fits"), [(100, True), (101, False)])
def test_functions_that_call_each_other_very_deep(depth, fits):
    bodies = [body(f"f{i}", "r", ["x:output:0"], call("x", f"f{i + 1}", "a0")) for i in range(depth - 1)]
    bodies.append(body(f"f{depth - 1}", "r", ["there:output:0"], same("there", "a0", GPU)))
    graph = graph_def_of([handle("a"), call("y", "f0", "a"), same("r1", "y")], bodies)
    if fits:
        assert gpuplace.place(graph, TWO, release="2.21")["a"] == f"{LOCAL}GPU:0"
    else:
        with pytest.raises(ResourceExhaustedError, match="More than 100 nested function calls"):
            gpuplace.place(graph, TWO, release="2.21")


def test_the_order_in_which_calls_are_looked_into_is_that_of_a_hash_set():
    """Of two functions that cannot be placed, the one that TensorFlow meets first is told."""

    def first(count, faulty, release):
        bad = {i: body(f"bad{i}", "r", ["x:output:0"], same("x", "a0", f"/gpu:{i}x")) for i in faulty}
        calls = [call(f"y{i}", bad.get(i, PASS), "a") for i in range(count)]
        graph = graph_def_of([handle("a"), *calls], [PASS, *bad.values()])
        with pytest.raises(OpError) as caught:
            gpuplace.place(graph, TWO, release=release)
        return int(caught.value.message.split("/gpu:")[1].split("x'")[0])

    # Seen in TensorFlow: of 8 calls, 7 6 1 0 2 3 4 5 in 1.15.5 and 7 6 5 4 3 2 1 0 in 2.21.
    assert [first(8, pair, "1.15") for pair in ((6, 7), (0, 1), (1, 2), (4, 5))] == [7, 1, 1, 4]
    assert [first(8, pair, "2.21") for pair in ((6, 7), (0, 1), (1, 2), (4, 5))] == [7, 1, 2, 5]
    assert [first(16, pair, "2.21") for pair in ((14, 15), (0, 13), (0, 12))] == [15, 13, 0]


def test_a_node_whose_inputs_are_all_arguments_keeps_its_first_input_as_its_first_edge():
    """Edges from arguments are connected after all others, in the order of the inputs."""
    sums = node("sum", "AddV2", "a0", "a1", T="float32")
    later = node("later", "AddV2", "a0", "other:y:0", T="float32")
    other = node("other", "Neg", "a0", T="float32")
    bodies = [body("sums", "ff", ["sum:z:0", "later:z:0"], sums, other, later, types="ff")]
    number = node("number", "Placeholder", dtype="float32")
    graph = graph_def_of(
        [number, call("y", bodies[0], "number", "number", _lower_as_multi_device_function=True)], bodies
    )
    placed_graph = gpuplace.place(graph, TWO, release="2.21").graph
    names = [str(placed_graph.names[at]) for at in placed_graph.first_edge]
    assert [name for name in names if "sum" in name] == []
    (at,) = (at for at in placed_graph.first_edge if str(placed_graph.names[at]).endswith("later"))
    assert placed_graph.dst_input[placed_graph.first_edge[at]] == 1
