"""The parts of a model as pictures fold them: shelves, names, and what a first view opens."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpuplace as tf
from gpuplace.views.picture.drawing import AUTO_CAP, draw
from gpuplace.views.picture.outline import STRUCTURED_FROM, outline
from gpuplace.views.tables.placement_view import PlacementView, view_of
from gpuplace.views.tables.scopes import ROOT
from tests.placer.corpus_files import folder
from tests.views.tables.views import training


def corpus(name):
    return view_of(tf.place(folder("corpus", "1.15") / f"{name}.pb", "4x Tesla K20m", on_error="keep"))


def chain(names):
    edges = [(a, 0, b, 0) for a, b in zip(names, names[1:], strict=False)]
    return PlacementView.of_columns([(name, "Neg", "", "") for name in names], edges)


def test_a_small_graph_has_the_scopes_of_its_names():
    tree = outline(chain(["a", "t/x", "t/y", "t/u/z"]))
    assert tree.paths == tree.scope_names == ("", "t", "t/u") and tree.shelves == ()
    assert not tree.has_layers and not tree.is_training.any()


def test_a_graph_without_edges_has_the_scopes_of_its_names():
    rows = [(f"n{i}", "NoOp", "", "") for i in range(100)]
    assert len(outline(PlacementView.of_columns(rows))) == 1


def test_bookkeeping_lies_on_shelves_without_lines_to_the_rest():
    view = corpus("towers_4")
    tree = outline(view)
    assert [tree.paths[shelf] for shelf in tree.shelves] == [
        "(initializers)",
        "(saver)",
        "(global step)",
        "(optimizer)",
    ]
    node = view.index["net/hidden/weights/Assign"]
    assert tree.paths[tree.scope_of[node]] == "(initializers)/net/hidden/weights"
    assert tree.local_name(node) == "Assign"
    drawing = draw(view, [])
    shelves = {box.id for box in drawing.boxes if box.label.startswith("(")}
    assert shelves == drawing.shelved and len(shelves) == 4
    assert not shelves & {end for link in drawing.links for end in (link.src, link.dst)}


def test_scopes_are_found_by_their_names():
    view = corpus("towers_4")
    tree = outline(view)
    assert tree.paths[tree.position("net/hidden/weights/Initializer")].startswith("(initializers)/")
    assert tree.position("net_1/hidden") == tree.index["net_1/hidden"]
    assert tree.position("no/such/scope") is None


def test_a_scope_that_only_frames_the_model_is_shown_by_its_contents():
    names = [
        f"call/model/layer_{layer}/{op}"
        for layer in range(5)
        for op in ("a", "b", "c", "d", "e", "f", "g", "h", "i")
    ]
    rows = [(name, "MatMul", "", "") for name in names]
    reads = [(f"w_{layer}", "VariableV2", "", "") for layer in range(5)]
    edges = [(a, 0, b, 0) for a, b in zip(names, names[1:], strict=False)]
    edges += [(f"w_{layer}", 0, f"call/model/layer_{layer}/a", 1) for layer in range(5)]
    tree = outline(PlacementView.of_columns(rows + reads, edges))
    assert [tree.name(scope) for scope in tree.children[ROOT]] == [f"layer_{layer}" for layer in range(5)]
    assert tree.paths[1] == "call/model/layer_0" and tree.position("call/model") == ROOT


@pytest.mark.parametrize("name", ["resnet_true", "unet", "transformer_block", "word2vec"])
def test_first_views_are_no_wider_than_a_look_takes_in(name):
    view = corpus(name)
    tree = outline(view)
    opened = tree.first_view(AUTO_CAP)
    boxes = draw(view, [tree.paths[scope] for scope in opened - {ROOT}]).boxes
    assert len(boxes) <= AUTO_CAP
    if len(view) >= STRUCTURED_FROM:
        assert all(tree.is_layer[scope] for scope in opened - {ROOT})


def test_conditionals_are_one_box_each_in_a_first_view():
    with tf.Graph().as_default() as graph:
        choice, rows = tf.placeholder(tf.bool, [], "choice"), tf.placeholder(tf.float32, [4, 8], "rows")
        w = tf.get_variable("shared/w", [8, 8])
        for number in range(2):  # conditionals with the same weights are no towers
            with tf.variable_scope(f"layer_{number}"):
                rows = tf.nn.relu(tf.matmul(rows, tf.get_variable("w", [8, 8])))
            with tf.name_scope("choices/"):
                rows = tf.cond(choice, lambda x=rows: tf.tanh(tf.matmul(x, w)), lambda x=rows: x + 1.0)
        tf.reduce_sum(rows, name="total")
    tree = outline(view_of(tf.place(graph, "1x Tesla K20m")))
    assert tree.towers == ()
    conditionals = [scope for scope in range(len(tree)) if tree.name(scope).endswith("◇ conditional")]
    assert [tree.paths[scope] for scope in conditionals] == ["choices/cond", "choices/cond_1"]
    assert not tree.first_view(AUTO_CAP).intersection(conditionals)
    branches = {tree.name(child) for scope in conditionals for child in tree.children[scope]}
    assert branches == {"true branch", "false branch", "switches and merges"}


def test_first_views_open_towers_together():
    view = training(towers=2, layers=5, ops=3)
    tree = outline(view)
    assert [[tree.paths[scope] for scope in step] for step in tree.steps(40)][0] == ["tower_0", "tower_1"]


names = st.lists(
    st.lists(st.sampled_from("abc"), min_size=1, max_size=3).map("/".join),
    unique=True,
    min_size=1,
    max_size=39,
)


@given(names, st.data())
def test_every_node_lies_in_one_scope(found, data):
    count = data.draw(st.integers(1, 60))
    every = [*found, *(f"w/n{i}" for i in range(count))]
    pairs = data.draw(st.lists(st.tuples(st.sampled_from(every), st.sampled_from(every)), max_size=120))
    kinds = data.draw(
        st.lists(
            st.sampled_from(
                ["MatMul", "Const", "VariableV2", "Identity", "ReluGrad", "ApplyAdam", "NoOp", "Placeholder"]
            ),
            min_size=len(every),
            max_size=len(every),
        )
    )
    view = PlacementView.of_columns(
        [(name, kind, "", "") for name, kind in zip(every, kinds, strict=True)],
        [(a, 0, b, 0) for a, b in pairs],
    )
    tree = outline(view)
    assert sorted(node for nodes in tree.direct for node in nodes) == list(range(len(every)))
    assert tree.size(ROOT) == len(every) and len(set(tree.paths)) == len(tree)
    assert (tree.parent[1:] < np.arange(1, len(tree))).all()
