"""Name scopes: where nodes lie, what opens within a cap, and what is repeated."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gpuplace.views.tables.scopes import ROOT, ScopeTree
from tests.views.tables.views import training

NAMES = ["a", "conv/weights", "conv/weights/read", "conv/weights/Assign", "conv/Conv2D", "loss/Mean"]


def test_a_node_named_as_a_scope_lies_inside_it():
    tree = ScopeTree(NAMES)
    assert tree.paths[tree.scope_of[1]] == "conv/weights"
    assert tree.local_name(1) == "(weights)"
    assert [tree.local_name(node) for node in (0, 2, 4)] == ["a", "read", "Conv2D"]
    assert tree.size(tree.index["conv"]) == 4
    assert tree.children[ROOT] == (tree.index["conv"], tree.index["loss"])


def test_shares_count_devices_and_nodes_without_one():
    tree = ScopeTree(NAMES)
    shares = tree.shares(np.array([0, 1, 1, -1, 0, 0]), 2)
    assert shares[tree.index["conv"]].tolist() == [1, 2, 1]
    assert shares[ROOT].tolist() == [3, 2, 1]


def test_representative_is_the_outermost_closed_scope():
    tree = ScopeTree(NAMES)
    shown, closed = tree.representative(frozenset({ROOT}))
    assert [tree.paths[scope] for scope in shown] == ["", "conv", "conv", "conv", "conv", "loss"]
    assert closed.tolist() == [False, True, True, True, True, True]
    shown, closed = tree.representative(tree.with_parents([tree.index["conv"]]))
    assert [tree.paths[scope] for scope in shown[1:5]] == ["conv/weights"] * 3 + ["conv"]
    assert closed.tolist() == [False, True, True, True, False, True]


def test_equal_towers_are_found():
    view = training(towers=4, layers=3)
    tree = ScopeTree(view.names)
    (run,) = tree.repeats(ROOT, view.op_type)
    assert [tree.name(scope) for scope in run] == ["tower_0", "tower_1", "tower_2", "tower_3"]
    other = [*view.names, "tower_4/layer_0/op_0"]
    tree = ScopeTree(other)
    (run,) = tree.repeats(ROOT, np.append(view.op_type, 0))
    assert len(run) == 4


parts = st.sampled_from(["a", "b", "c", "d_1", "d_2", "ünï", ' "q'])
names_strategy = st.lists(st.lists(parts, min_size=1, max_size=4).map("/".join), unique=True, max_size=40)


@given(names_strategy)
def test_every_node_is_somewhere_and_sizes_add_up(names):
    tree = ScopeTree(names)
    assert tree.size(ROOT) == len(names)
    assert sorted(node for nodes in tree.direct for node in nodes) == list(range(len(names)))
    for scope in range(1, len(tree)):
        inside = sum(tree.size(child) for child in tree.children[scope]) + len(tree.direct[scope])
        assert tree.size(scope) == inside


def test_scopes_are_opened_around_what_is_wanted():
    names = [f"a/x{i}" for i in range(5)] + ["a/b/y", "c/d/z", "c/d/e/w"]
    tree = ScopeTree(names)
    wanted = np.array([name == "a/b/y" for name in names])
    opened = {tree.paths[scope] for scope in tree.open_around(wanted, 20)}
    assert opened == {"", "a", "a/b"}
    assert {tree.paths[scope] for scope in tree.open_around(wanted, 2)} == {""}
    many = ScopeTree([f"t/layer_{i}/op" for i in range(500)])
    one = np.arange(500) == 17
    assert {many.paths[scope] for scope in many.open_around(one, 10)} == {"", "t", "t/layer_17"}


def test_structures_follow_the_op_types():
    tree = ScopeTree(["a/x", "b/x", "c/x"])
    assert tree.structure(1, np.array([0, 0, 1])) == tree.structure(2, np.array([0, 0, 1]))
    assert tree.structure(1, np.array([0, 1, 1])) != tree.structure(2, np.array([0, 1, 1]))
