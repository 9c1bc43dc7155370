"""What an op depends on and what depends on it: the nodes, the edges, the copies on the way, and how quickly."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpuplace as tf
from gpuplace.views.tables.dependency_trace import TRACES, trace_from, trace_of
from gpuplace.views.tables.placement_view import PlacementView, TensorFact
from tests.jupyter.programs import towers as guide
from tests.views.tables.views import MACHINE, towers, training


def names(view, mask):
    return {view.names[node] for node in np.flatnonzero(mask).tolist()}


def test_the_guides_tower():
    view = towers()
    found = trace_of(view, "MatMul_1")
    assert set(found.names) == {"Const_2", "Const_3", "MatMul_1"}
    assert found.text == "what MatMul_1 depends on: 2 nodes on GPU:3; no copy between devices"
    assert "Const_2" in found and "Const" not in found and 3 not in found
    after = trace_of(view, "MatMul_1", "consumers")
    assert after.names == ("MatMul_1", "AddN") and after.nbytes == 16
    assert after.text == "what depends on MatMul_1: 1 node on CPU:0; 1 copy between devices, 16 B"
    both = trace_of(view, "MatMul_1", "both")
    assert len(both) == 4 and both.counts == {"CPU:0": 1, "GPU:3": 2}
    assert int(both.edges.sum()) == 3
    assert trace_of(view, "AddN", "consumers").text == "what depends on AddN: nothing"


def test_copies_are_counted_once_a_device_and_unknown_sizes_are_said():
    rows = [(name, "Neg", "", MACHINE[device]) for name, device in zip("abcde", (0, 1, 1, 2, 1), strict=True)]
    edges = [
        ("a", 0, "b", 0),
        ("a", 0, "c", 0),
        ("a", 1, "d", 0),
        ("b", 0, "e", 0),
        ("c", 0, "e", 1),
        ("d", 0, "e", 2),
    ]
    view = PlacementView.of_columns(rows, edges, {("a", 0): TensorFact("float32", (2,), 8)})
    found = trace_of(view, "e")
    assert len(found.copies) == 3 and found.nbytes == 8
    assert found.text.endswith(
        "4 nodes (CPU:0 1, GPU:0 2, GPU:1 1); 3 copies between devices, 8 B and 2 of unknown size"
    )


def test_control_edges_and_loops():
    rows = [(name, "NoOp", "", MACHINE[0]) for name in ("start", "merge", "body", "next", "exit", "aside")]
    edges = [
        ("start", -1, "merge", -1),
        ("merge", 0, "body", 0),
        ("body", 0, "next", 0),
        ("next", 0, "merge", 1),
        ("body", 0, "exit", 0),
        ("aside", 0, "exit", 1),
    ]
    view = PlacementView.of_columns(rows, edges)
    assert set(trace_of(view, "body").names) == {"start", "merge", "body", "next"}
    assert set(trace_of(view, "merge", "consumers").names) == {"merge", "body", "next", "exit"}
    assert len(trace_of(view, "exit")) == 6


def test_an_edge_past_the_op_is_not_on_the_way():
    rows = [(name, "Neg", "", MACHINE[0]) for name in "abc"]
    view = PlacementView.of_columns(rows, [("a", 0, "b", 0), ("b", 0, "c", 0), ("a", 0, "c", 1)])
    assert trace_of(view, "b", "both").edges.tolist() == [True, True, False]


def test_of_a_scope():
    view = training(towers=2, layers=2, ops=2)
    found = trace_of(view, "tower_0/layer_1")
    assert len(found.starts) == 2
    assert set(found.names) == {f"tower_0/layer_{layer}/op_{op}" for layer in (0, 1) for op in (0, 1)}
    assert found.text.startswith("what tower_0/layer_1 depends on: 2 nodes on GPU:0")


@pytest.mark.parametrize(
    ("of", "direction", "error"), [("MatMu", "inputs", KeyError), ("AddN", "up", ValueError)]
)
def test_what_does_not_exist(of, direction, error):
    with pytest.raises(error, match="MatMul|'consumers'|consumers"):
        trace_of(towers(), of, direction)


def test_a_log_names_no_edges():
    log = tf.parse_log("MatMul: (MatMul): /job:localhost/replica:0/task:0/device:GPU:0\n")
    with pytest.raises(ValueError, match="contains no edges"):
        trace_of(log, "MatMul")


@given(
    st.lists(st.tuples(st.integers(0, 19), st.integers(0, 19)), max_size=60),
    st.integers(0, 19),
    st.booleans(),
)
def test_as_a_search_by_sets(edges, start, wide):
    """Also where a step from many nodes is taken by arrays."""
    copies = 100 if wide else 1
    rows = [(f"n{i}_{k}", "Neg", "", MACHINE[0]) for i in range(20) for k in range(copies)]
    links = [(f"n{a}_{k}", 0, f"n{b}_{(7 * k) % copies}", 0) for a, b in edges for k in range(copies)]
    view = PlacementView.of_columns(rows, links)
    starts = np.array([view.index[f"n{start}_{k}"] for k in range(copies)])
    before: dict[str, set[str]] = {}
    for src, _, dst, _ in links:
        before.setdefault(dst, set()).add(src)
    wanted, waiting = set(), [view.names[node] for node in starts.tolist()]
    while waiting:
        name = waiting.pop()
        if name not in wanted:
            wanted.add(name)
            waiting += before.get(name, ())
    found = trace_from(view, starts, "inputs", "some")
    assert names(view, found.nodes) == wanted
    assert found.edges.tolist() == [dst in wanted for _, _, dst, _ in links]


def test_a_hundred_thousand_nodes_in_an_instant():
    view = training(towers=4, layers=1250, ops=10)
    assert len(view) > 100_000
    for direction in TRACES:
        trace_of(view, "train/done", direction)
    times = []
    for _ in range(3):
        start = time.perf_counter()
        found = trace_of(view, "train/done")
        assert found.text
        times.append(time.perf_counter() - start)
    print(f"100,005 nodes: {len(found):,} reached in {1e3 * min(times):.0f} ms")
    assert len(found) == len(view) and min(times) < 0.5  # some 25 ms on a quiet machine


def test_from_a_placement():
    graph = guide()
    placement = tf.place(graph, "4x Tesla K20m")
    op = graph.get_operation_by_name("MatMul_1")
    for of in ("MatMul_1", "MatMul_1:0", op, op.outputs[0]):
        assert placement.trace(of).names == ("Const_2", "Const_3", "MatMul_1")
    assert "what MatMul_1 depends on" in repr(placement.trace(op))
    found = placement.trace("AddN")
    assert found.frame().index.tolist() == list(placement)
    assert len(found.frame("edges")) == 6 and found.frame("copies")["dst"].tolist() == ["AddN", "AddN"]
    with pytest.raises(ValueError, match="choose one of nodes, edges, copies"):
        found.frame("errors")
