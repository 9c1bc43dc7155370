"""Search, critical path and comparison, as arrays."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpuplace as tf
from gpuplace.views.picture.marks import compare, critical_path, find
from gpuplace.views.tables.placement_view import PlacementView, TensorFact
from tests.jupyter.programs import towers as guide
from tests.views.tables.views import MACHINE, towers, training


def names_on(path, view):
    return [view.names[node] for node in path.nodes]


def timed(**micros):
    nodes = [
        SimpleNamespace(node_name=name, all_end_rel_micros=time, all_end_rel_nanos=0, output=[])
        for name, time in micros.items()
    ]
    return SimpleNamespace(dev_stats=[SimpleNamespace(device="d", node_stats=nodes)])


def test_find():
    view = towers()
    assert find(view, "^MatMul").sum() == 2
    assert find(view, "a[").sum() == 0
    assert find(PlacementView.of_columns([("a[0]", "NoOp", "", "")]), "a[").tolist() == [True]


def test_the_longest_chain_by_ops():
    view = training(towers=2, layers=2, ops=2)
    path = critical_path(view)
    assert path.weight == "ops" and path.text == "10 ops, the longest chain"
    assert names_on(path, view)[0].endswith("/layer_0/op_0")
    assert names_on(path, view)[-1] == "train/done"
    assert path.is_on.sum() == 10


def test_by_time_where_a_step_was_measured():
    view = towers()
    step = timed(Const=5, Const_1=900, MatMul=10, Const_2=5, Const_3=6, MatMul_1=20, AddN=1)
    path = critical_path(view, run_metadata=step)
    assert names_on(path, view) == ["Const_1", "MatMul", "AddN"]
    assert path.text == "3 ops, 911 µs, the longest chain by measured time"


def test_by_bytes_copied():
    rows = [
        (name, "Neg", "", MACHINE[device]) for name, device in zip("abcdef", (0, 1, 1, 0, 0, 0), strict=True)
    ]
    edges = [("a", 0, "b", 0), ("b", 0, "c", 0), ("d", 0, "c", 0), ("d", 0, "e", 0), ("e", 0, "f", 0)]
    facts = {("a", 0): TensorFact("float32", (2,), 8), ("d", 0): TensorFact("float32", (100,), 400)}
    view = PlacementView.of_columns(rows, edges, facts)
    path = critical_path(view, "bytes")
    assert names_on(path, view) == ["d", "c"]
    assert path.text == "2 ops, the chain with the most bytes copied between devices, 400 B"


def test_a_loop_is_gone_round_once():
    rows = [
        (name, kind, "", MACHINE[0])
        for name, kind in zip(
            ("start", "enter", "merge", "switch", "body", "next", "exit"),
            ("Const", "Enter", "Merge", "Switch", "Add", "NextIteration", "Exit"),
            strict=True,
        )
    ]
    chain = ["start", "enter", "merge", "switch", "body", "next"]
    edges = [(a, 0, b, 0) for a, b in zip(chain, chain[1:], strict=False)]
    view = PlacementView.of_columns(rows, [*edges, ("next", 0, "merge", 1), ("switch", 1, "exit", 0)])
    assert names_on(critical_path(view), view) == chain


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=30))
def test_every_chain_is_one_of_the_graph_and_none_is_longer(pairs):
    edges = sorted({(a, b) for a, b in pairs if a < b})
    rows = [(f"n{i}", "Neg", "", MACHINE[0]) for i in range(10)]
    view = PlacementView.of_columns(rows, [(f"n{a}", 0, f"n{b}", 0) for a, b in edges])
    path = critical_path(view).nodes
    assert all(step in edges for step in zip(path, path[1:], strict=False))
    longest = [1] * 10
    for a, b in edges:
        longest[b] = max(longest[b], longest[a] + 1)
    for b in range(10):
        longest[b] = max([1, *(longest[a] + 1 for a, other in edges if other == b)])
    assert len(path) == max(longest)


def test_an_empty_graph_has_an_empty_path():
    assert critical_path(PlacementView.of_columns([])).nodes == ()


def test_unknown_weights():
    with pytest.raises(ValueError, match="choose one of time, bytes, ops"):
        critical_path(towers(), "cost")
    with pytest.raises(ValueError, match="needs run_metadata"):
        critical_path(towers(), "time")


def test_compare_by_name():
    later = PlacementView.of_columns(
        [("b", "NoOp", "", MACHINE[1]), ("a", "NoOp", "", MACHINE[0]), ("new", "NoOp", "", MACHINE[0])]
    )
    earlier = PlacementView.of_columns(
        [("a", "NoOp", "", MACHINE[0]), ("b", "NoOp", "", MACHINE[0]), ("gone", "NoOp", "", "")]
    )
    moves = compare(later, earlier)
    assert moves.is_moved.tolist() == [True, False, False]
    assert moves.was(0) == "CPU:0"
    assert moves.text == "1 node moved; 1 new; 1 gone"
    assert (moves.rules == -1).all()


def test_compare_tells_the_rules_of_placements():
    soft = tf.ConfigProto(allow_soft_placement=True)
    before = tf.place(guide(), machine="4x Tesla K20m")
    after = tf.place(guide(), machine="3x Tesla K20m", config=soft)
    moves = compare(after, before)
    assert int((moves.rules >= 0).sum()) == int(moves.is_moved.sum()) == 3
    assert any("GPU:3" in note for note in moves.notes.values())
    assert not compare(after, after).is_moved.any()
    assert np.array_equal(compare(before, after).is_moved, moves.is_moved)
