"""Scopes as pictures fold them: shelves, stretches, and what a first view opens."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import gpuplace as tf
from gpuplace.picture.drawing import draw
from gpuplace.picture.outline import WIDEST, outline
from gpuplace.tables.placement_view import PlacementView, view_of
from gpuplace.tables.scopes import ROOT
from tests.placer.corpus_files import folder
from tests.tables.views import training


def corpus(name):
    return view_of(tf.place(folder("corpus", "1.15") / f"{name}.pb", "4x Tesla K20m", on_error="keep"))


def chain(names):
    edges = [(a, 0, b, 0) for a, b in zip(names, names[1:], strict=False)]
    return PlacementView.of_columns([(name, "Neg", "", "") for name in names], edges)


def test_a_small_graph_has_the_scopes_of_its_names():
    tree = outline(chain(["a", "t/x", "t/y", "t/u/z"]))
    assert tree.paths == ("", "t", "t/u") and not tree.is_added.any() and tree.shelves == ()


def test_bookkeeping_lies_on_shelves_without_lines_to_the_rest():
    view = corpus("towers_4")
    tree = outline(view)
    assert [tree.paths[shelf] for shelf in tree.shelves] == ["(initialisers)", "(saver)", "(global step)"]
    node = view.index["net/hidden/weights/Assign"]
    assert tree.paths[tree.scope_of[node]] == "(initialisers)/net/hidden/weights"
    assert tree.local_name(node) == "Assign"
    drawing = draw(view, [])
    shelves = {box.id for box in drawing.boxes if box.label.startswith("(")}
    assert shelves == drawing.shelved and len(shelves) == 3
    assert not shelves & {end for link in drawing.links for end in (link.src, link.dst)}


def test_a_scope_of_bookkeeping_alone_is_found_by_its_name():
    tree = outline(corpus("towers_4"))
    assert tree.paths[tree.position("net/hidden/weights/Initializer")].startswith("(initialisers)/")
    assert tree.position("net/hidden") == tree.index["net/hidden"]
    assert tree.position("no/such/scope") is None


def test_a_wide_scope_is_cut_where_the_fewest_lines_cross():
    blocks, edges = [], []
    for block in range(10):
        names = [f"block{block}_{part}" for part in ("in", "a", "b", "c", "out")]
        blocks += names
        edges += [(names[0], 0, name, 0) for name in names[1:4]] + [
            (name, 0, names[4], 0) for name in names[1:4]
        ]
        if block:
            edges.append((f"block{block - 1}_out", 0, names[0], 0))
    tree = outline(PlacementView.of_columns([(name, "Op", "", "") for name in blocks], edges))
    stretches = [tuple(tree.names[node] for node in tree.direct[child]) for child in tree.children[ROOT]]
    assert len(stretches) <= 12
    for stretch in stretches:
        assert {name.split("_")[0] for name in stretch if name.endswith("_in")} <= {
            stretch[0].split("_")[0],
            *(name.split("_")[0] for name in stretch if name.endswith("_out")),
        }, "blocks are not cut in their middle"


def test_stretches_keep_the_order_in_which_things_run():
    names = [f"op_{i}" for i in range(200)]
    view = chain(names)
    tree = outline(view)
    order = [node for child in tree.children[ROOT] for node in _nodes(tree, child)]
    assert order == list(range(200))
    assert all(tree.width(scope) <= WIDEST for scope in range(len(tree)))


def _nodes(tree, scope):
    return [*tree.direct[scope], *(node for child in tree.children[scope] for node in _nodes(tree, child))]


def test_what_nothing_ties_is_not_cut():
    rows = [(f"n{i}", "NoOp", "", "") for i in range(100)]
    assert len(outline(PlacementView.of_columns(rows))) == 1


def test_a_node_with_the_name_of_a_wide_scope_keeps_its_short_name():
    names = ["w", *(f"w/op_{i}" for i in range(60))]
    tree = outline(chain(names))
    assert tree.local_name(0) == "(w)" and tree.is_added[tree.scope_of[0]]


def test_first_views_open_the_network_and_not_what_trains_it():
    view = training(towers=4, layers=3, ops=3)
    tree = outline(view)
    steps = [[tree.paths[scope] for scope in step] for step in tree.steps(60)]
    assert steps[0] == ["tower_0", "tower_1", "tower_2", "tower_3"]
    opened = tree.first_view(60)
    assert len(draw(view, [tree.paths[scope] for scope in opened - {ROOT}]).boxes) <= 60


names = st.lists(
    st.lists(st.sampled_from("abc"), min_size=1, max_size=3).map("/".join),
    unique=True,
    min_size=1,
    max_size=39,
)


@given(names, st.data())
def test_every_node_lies_in_one_scope_and_none_is_wide(found, data):
    count = data.draw(st.integers(1, 60))
    every = [*found, *(f"w/n{i}" for i in range(count))]
    pairs = data.draw(st.lists(st.tuples(st.sampled_from(every), st.sampled_from(every)), max_size=120))
    view = PlacementView.of_columns(
        [(name, "Op", "", "") for name in every], [(a, 0, b, 0) for a, b in pairs]
    )
    tree = outline(view)
    assert sorted(node for nodes in tree.direct for node in nodes) == list(range(len(every)))
    assert tree.size(ROOT) == len(every) and len(set(tree.paths)) == len(tree)
    assert (tree.parent[1:] < np.arange(1, len(tree))).all()
