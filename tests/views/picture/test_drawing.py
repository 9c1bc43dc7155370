"""What a picture shows: boxes, bundles, links, and never too much."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpuplace as tf
from gpuplace.views.picture.drawing import AUTO_CAP, HARD_CAP, draw
from gpuplace.views.picture.outline import outline
from gpuplace.views.tables.placement_view import PlacementView, view_of
from tests.placer.corpus_files import folder
from tests.views.tables.views import LOCAL, MACHINE, towers, training


def box_named(drawing, label):
    (box,) = [box for box in drawing.boxes if box.label == label]
    return box


def test_towers_as_boxes_and_copies():
    drawing = draw(towers())
    assert [box.label for box in drawing.boxes] == [
        "Const", "Const_1", "MatMul", "Const_2", "Const_3", "MatMul_1", "AddN",
    ]  # fmt: skip
    assert box_named(drawing, "MatMul_1").device == f"{LOCAL}GPU:3"
    copies = [link for link in drawing.links if link.copies]
    assert [(link.src, link.dst, link.size, str(link.tensor)) for link in copies] == [
        ("n2", "n6", "16 B", "2×2 float32"),
        ("n5", "n6", "16 B", "2×2 float32"),
    ]
    assert (drawing.copies, drawing.size, drawing.unmet, drawing.guilty) == (2, "32 B", 0, 0)
    assert drawing.legend == (
        (MACHINE[0], 1), (MACHINE[1], 0), (MACHINE[2], 0), (MACHINE[3], 3), (MACHINE[4], 3),
    )  # fmt: skip


def test_requests_that_were_not_met_are_counted():
    drawing = draw(towers(second="GPU:0"))
    assert drawing.unmet == 3
    assert [box.label for box in drawing.boxes if box.unmet] == ["Const_2", "Const_3", "MatMul_1"]


def test_nodes_without_a_device_have_a_legend_entry_and_no_copies():
    drawing = draw(towers(second=""))
    assert drawing.legend[-1] == ("", 3)
    assert drawing.copies == 1
    assert drawing.unmet == 0


def test_a_tensor_is_copied_once_for_all_its_consumers_on_a_device():
    nodes = [("a", "Const", "", f"{LOCAL}CPU:0")] + [
        (f"c{i}", "Neg", "", f"{LOCAL}GPU:{i // 3}") for i in range(6)
    ]
    view = PlacementView.of_columns(nodes, [("a", 0, f"c{i}", 0) for i in range(6)], devices=MACHINE)
    assert draw(view).copies == 2


def test_a_large_graph_is_folded_and_opens_step_by_step():
    view = training(towers=4, layers=50)
    drawing = draw(view)
    assert len(view) == 4005
    assert len(drawing.boxes) <= AUTO_CAP
    closed = draw(view, [])
    assert [box.label for box in closed.boxes] == ["tower_0", "tower_1", "tower_2", "tower_3", "(optimizer)"]
    assert [dict(box.shares) for box in closed.boxes[:4]] == [{f"{LOCAL}GPU:{i}": 1000} for i in range(4)]
    opened = draw(view, ["tower_0/layer_3"])
    around = ["tower_0", "tower_0/(layer_0 … layer_3)", "tower_0/layer_3"]
    assert [cluster.path for cluster in opened.clusters] == around
    assert opened.clusters[1].label == "layer_0 … layer_3, 4 times"
    assert sum(box.kind == "op" for box in opened.boxes) == 10
    inside = {box.label for box in opened.boxes if box.cluster == opened.clusters[2].scope}
    assert inside == {"backward", *(f"op_{i}" for i in range(10))}
    assert opened.opened == tuple(sorted(around))


def test_gradients_are_lines_within_a_layer_and_on_request():
    view = training(towers=2, layers=5, ops=4)
    opened = ["tower_0", "tower_0/layer_1"]
    drawing = draw(view, opened)
    boxes = {box.id: box for box in drawing.boxes}
    ends = [(boxes[link.src], boxes[link.dst]) for link in drawing.links]
    between = {(src.name, dst.name) for src, dst in ends}
    assert ("tower_0/layer_2", "tower_0/layer_3") in between
    assert ("tower_0/layer_3", "tower_0/layer_2") not in between
    assert ("tower_0/layer_1/op_0", "tower_0/layer_1/(backward)") in between
    every = draw(view, opened, backward=True)
    assert every.boxes == drawing.boxes and len(every.links) > len(drawing.links)
    names = {(boxes[link.src].name, boxes[link.dst].name) for link in every.links}
    assert ("tower_0/layer_3", "tower_0/layer_2") in names


def test_repeated_scopes_become_one_bundle_where_there_are_too_many():
    graph = training(towers=3, layers=400, ops=2)
    rows = zip(graph.names, map(graph.op_type_of, range(len(graph))), strict=True)
    view = PlacementView.of_columns([(name, kind, "", MACHINE[0]) for name, kind in rows])  # as in a log
    drawing = draw(view, ["tower_1"])
    (bundle,) = [box for box in drawing.boxes if box.kind == "bundle"]
    assert (bundle.label, bundle.copies, bundle.nodes) == ("layer_0 … layer_399", 400, 800)
    assert len(drawing.boxes) < 10
    (rest,) = [box for box in draw(view, ["tower_1/layer_0"]).boxes if box.kind == "bundle"]
    assert (rest.label, rest.copies, rest.nodes) == ("layer_1 … layer_399", 399, 798)
    assert len(draw(view, ["tower_1", bundle.name]).boxes) <= HARD_CAP


def test_a_flat_graph_is_bundled_by_type_and_device():
    nodes = [(f"n{i}", ("Add", "Mul")[i % 2], "", f"{LOCAL}GPU:{i % 4 // 2}") for i in range(5000)]
    drawing = draw(PlacementView.of_columns(nodes, devices=MACHINE))
    assert sorted((box.label, box.nodes) for box in drawing.boxes) == [
        ("Add", 1250),
        ("Add", 1250),
        ("Mul", 1250),
        ("Mul", 1250),
    ]
    assert (
        len(draw(PlacementView.of_columns([(f"n{i}", f"T{i}", "", "") for i in range(5000)])).boxes)
        <= HARD_CAP
    )


names = st.lists(
    st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=4).map("/".join),
    unique=True,
    min_size=1,
    max_size=80,
)


@given(names, st.data())
def test_every_node_is_in_one_box_and_nothing_exceeds_the_cap(found, data):
    devices = [data.draw(st.sampled_from([*MACHINE, ""])) for _ in found]
    view = PlacementView.of_columns(
        [(name, "Op", "", device) for name, device in zip(found, devices, strict=True)],
        [(found[i], 0, found[i + 1], 0) for i in range(len(found) - 1)],
        devices=MACHINE,
    )
    opened = data.draw(st.none() | st.lists(st.sampled_from(outline(view).paths)))
    cap = data.draw(st.sampled_from([4, 20, 300]))
    drawing = draw(view, opened, hard_cap=cap)
    assert len(drawing.boxes) <= cap
    assert sum(box.nodes for box in drawing.boxes) == len(found)
    counts = np.bincount(drawing.box_of, minlength=len(drawing.boxes))
    assert counts.tolist() == [box.nodes for box in drawing.boxes]
    ids = {box.id for box in drawing.boxes}
    assert len(ids) == len(drawing.boxes)
    assert {end for link in drawing.links for end in (link.src, link.dst)} <= ids


@pytest.mark.parametrize("layers", [125, 1250])
def test_large_graphs_open_folded(layers):
    """10,000 and 100,000 nodes; how long it takes is measured by tests/benchmarks/bench_drawing.py."""
    view = training(towers=4, layers=layers)
    drawing = draw(view)
    assert len(drawing.boxes) <= 60
    assert len(draw(view, drawing.opened).boxes) == len(drawing.boxes)


def test_lines_of_gradients_are_drawn_on_request_and_lead_downwards_to_what_averages_them():
    path = folder("corpus", "1.15") / "towers_4.pb"
    view = view_of(tf.place(path, "4x Tesla K20m"))
    shown, more = draw(view, []), draw(view, [], backward=True)
    assert shown.boxes == more.boxes and not shown.backward and more.backward
    ends = [{(link.src, link.dst): link.rank for link in drawing.links} for drawing in (shown, more)]
    assert ends[0] == ends[1]  # all of these lines are copies
    named = {box.label: box.id for box in shown.boxes}
    tower, shared, averaging = (named[name] for name in ("net_1", "shared variables", "gradient averaging"))
    assert ends[0][shared, tower] == ends[0][tower, averaging] == 1
    assert ends[0][averaging, shared] == -1
    assert next(link for link in shown.links if link.rank < 0).below == ((shared, averaging),)
    view = view_of(tf.place(folder("corpus", "1.15") / "trained_ref_adam.pb", "4x Tesla K20m"))
    flow, all_lines = (
        {(link.src, link.dst) for link in draw(view, [], backward=backward).links}
        for backward in (False, True)
    )
    assert flow < all_lines


def test_a_result_of_gradients_alone_is_below_what_it_comes_from():
    gradients = []
    with tf.Graph().as_default() as graph:
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                hidden = tf.placeholder(tf.float32, [4, 8])
                for layer in range(4):
                    with tf.variable_scope(f"layer_{layer}", reuse=tower > 0):
                        hidden = tf.matmul(hidden, tf.get_variable("w", (8, 8), tf.float32))
                loss = tf.reduce_mean(hidden)
                gradients += tf.gradients(loss, tf.trainable_variables()[:1])
        with tf.device("/cpu:0"):
            tf.add_n(gradients, name="mean")
    drawing = draw(view_of(tf.place(graph, "2x Tesla K20m")), [])
    mean = next(box.id for box in drawing.boxes if box.label == "mean")
    ranks = {link.rank for link in drawing.links if link.dst == mean}
    assert ranks == {1}, "below the towers"
