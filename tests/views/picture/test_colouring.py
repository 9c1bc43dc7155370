"""Colourings: categories, counts, looks that stay, numbers in steps, and what is too many."""

from types import SimpleNamespace

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.views.picture.colouring import COLOURINGS, cause_look, colouring, moved_colouring
from gpuplace.views.picture.drawing import draw
from gpuplace.views.picture.marks import compare
from gpuplace.views.tables.palette import MOST_CATEGORIES, device_look
from gpuplace.views.tables.placement_view import PlacementView, view_of
from gpuplace.why.rules import Rule
from tests.jupyter.programs import towers as guide
from tests.views.tables.views import LOCAL, MACHINE, towers, training


def stats(**micros):
    """Step stats of one device."""
    nodes = [
        SimpleNamespace(
            node_name=name,
            all_end_rel_nanos=int(time * 1000),
            all_end_rel_micros=int(time),
            output=[
                SimpleNamespace(
                    tensor_description=SimpleNamespace(
                        allocation_description=SimpleNamespace(requested_bytes=int(time) * 4)
                    )
                )
            ],
        )
        for name, time in micros.items()
    ]
    return SimpleNamespace(
        step_stats=SimpleNamespace(dev_stats=[SimpleNamespace(device="d", node_stats=nodes)])
    )


def legend(found):
    return [(category.label, category.count) for category in found.categories]


@pytest.mark.parametrize("name", COLOURINGS)
def test_every_node_is_in_one_category_and_counts_are_right(name):
    for view in (towers(), training(towers=2, layers=3), PlacementView.of_columns([])):
        metadata = stats(**dict.fromkeys(view.names, 3.0)) if name == "time" else None
        found = colouring(view, name, run_metadata=metadata)
        assert len(found.category) == len(view)
        counts = np.bincount(found.category, minlength=len(found.categories)).tolist()
        assert [category.count for category in found.categories] == counts
        assert sum(counts) == len(view)
        drawing = draw(view)
        shares = found.shares(drawing.box_of, len(drawing.boxes))
        assert shares.sum() == len(view)
        assert shares.sum(axis=1).tolist() == [box.nodes for box in drawing.boxes]


def test_assigned_lists_all_devices_of_the_machine_in_order():
    assert legend(colouring(towers())) == [
        ("CPU:0", 1),
        ("GPU:0", 0),
        ("GPU:1", 0),
        ("GPU:2", 3),
        ("GPU:3", 3),
    ]
    assert legend(colouring(towers(second="")))[-1] == ("no device", 3)
    assert colouring(towers()).categories[3].look == device_look("/gpu:2")


def test_requested_has_the_look_of_the_device_asked_for():
    found = colouring(towers(second="GPU:0"), "requested")
    assert legend(found) == [("CPU:0", 1), ("GPU:2", 3), ("GPU:3", 3)]
    assert found.categories[2].look == device_look("/gpu:3")
    view = PlacementView.of_columns(
        [
            ("a", "NoOp", "/gpu:1", MACHINE[2]),
            ("b", "NoOp", "/device:GPU:1", MACHINE[2]),
            ("c", "NoOp", "", MACHINE[0]),
        ]
    )
    assert legend(colouring(view, "requested")) == [("GPU:1", 2), ("no request", 1)]


def test_types_beyond_the_palette_are_one_category():
    rows = [(f"n{i}_{k}", f"Type{i:02}", "", MACHINE[0]) for i in range(30) for k in range(40 - i)]
    found = colouring(PlacementView.of_columns(rows), "type")
    assert len(found.categories) == MOST_CATEGORIES + 1
    assert legend(found)[0] == ("Type00", 40)
    assert legend(found)[-1] == ("other (14 types)", sum(40 - i for i in range(16, 30)))
    assert "Type16" in found.categories[-1].note
    looks = [category.look for category in found.categories]
    assert len(set(looks)) == len(looks)


def test_requests_beyond_the_palette_are_one_category():
    rows = [(f"n{i}", "NoOp", f"/job:worker/task:{i}/cpu:0", MACHINE[0]) for i in range(40)]
    found = colouring(PlacementView.of_columns(rows), "requested")
    assert legend(found)[-1] == ("other (24)", 24)


def test_what_a_log_does_not_tell_is_unknown():
    log = tf.parse_log("b: (Const): /job:localhost/replica:0/task:0/device:CPU:0")
    for name, label in (
        ("requested", "request unknown"),
        ("memory", "size unknown"),
        ("group", "groups unknown"),
        ("cause", "cause unknown"),
    ):
        assert legend(colouring(log, name)) == [(label, 1)]


def test_groups_are_those_of_two_nodes_and_more():
    with tf.Graph().as_default() as graph:
        v = tf.Variable([1.0, 2.0], name="v")
        tf.add(v, 1.0, name="alone")
        tf.assign_add(v, [1.0, 1.0], name="more")
    placement = tf.place(graph, machine="1x Tesla K40c")
    found = colouring(placement, "group")
    members = next(len(group.nodes) for group in placement.groups())
    labels = [found.categories[number].label for number in found.category.tolist()]
    by_name = dict(zip(view_of(placement).names, labels, strict=True))
    assert by_name["v"] == by_name["v/read"] == by_name["more"] != "alone"
    assert by_name["alone"] == "alone"
    assert found.categories[0].count == members
    assert found.texts(placement.graph.index["v"]) == f"group of {members}"
    assert legend(colouring(towers(), "group")) == [("groups unknown", 7)]


def test_more_groups_than_looks():
    with tf.Graph().as_default() as graph:
        for i in range(20):
            tf.Variable(1.0, name=f"v{i}")
    found = colouring(tf.place(graph, machine="cpu"), "group")
    assert found.categories[MOST_CATEGORIES].label == "4 smaller groups"


def test_memory_in_steps_with_zero_and_unknown():
    with tf.Graph().as_default() as graph:
        tf.zeros([1024, 1024], name="big")
        tf.constant(1.0, name="small")
        tf.no_op(name="nothing")
        tf.placeholder(tf.float32, [None, 3], name="who_knows")
    placement = tf.place(graph, machine="cpu")
    found = colouring(placement, "memory")
    of = dict(zip(placement.graph.names, found.category.tolist(), strict=True))
    assert found.values[placement.graph.index["big"]] == 4 * 1024 * 1024
    assert found.categories[of["nothing"]].label == "0 B"
    assert found.categories[of["who_knows"]].label == "size unknown"
    assert of["big"] > of["small"]
    assert found.texts(placement.graph.index["big"]) == "4 MiB"
    assert found.totals(np.zeros(len(found.category), dtype=int), 1) == [np.nansum(found.values)]


def test_darker_is_more():
    view = PlacementView.of_columns([(f"n{i}", "NoOp", "", MACHINE[0]) for i in range(8)])
    found = colouring(view, "time", run_metadata=stats(**{f"n{i}": 10.0**i for i in range(7)}))
    fills = [category.look.fill for category in found.categories[:-1]]
    lightness = [sum(int(fill[i : i + 2], 16) for i in (1, 3, 5)) for fill in fills]
    assert lightness[0] == max(lightness) and lightness[-1] == min(lightness)
    assert legend(found)[-1] == ("did not run", 1)
    assert found.title == "time in the measured step"


def test_the_legend_says_whether_a_step_is_predicted():
    with tf.Graph().as_default() as graph:
        tf.matmul(tf.random_uniform([64, 64]), tf.random_uniform([64, 64]), name="product")
        tf.zeros([4], name="aside")
    step = tf.estimate(graph, "product", machine="1x V100")
    found = colouring(step.placement, "time", run_metadata=step.run_metadata())
    assert found.title == "time in the predicted step"
    assert legend(found)[-1][0] == "does not run"
    assert found.texts(step.placement.graph.index["aside"]) == "does not run"
    assert "predicted" in colouring(step.placement, "memory", run_metadata=step.run_metadata()).title


def test_measured_memory():
    found = colouring(towers(), "memory", run_metadata=stats(Const=4.0, MatMul=100.0))
    assert np.nansum(found.values) == 416
    assert "measured" in found.title


def test_time_needs_a_step_of_this_graph():
    with pytest.raises(ValueError, match="pass run_metadata=metadata"):
        colouring(towers(), "time")
    with pytest.raises(ValueError, match="none of this graph's nodes"):
        colouring(towers(), "time", run_metadata=stats(other=1.0))
    with pytest.raises(TypeError, match="not str"):
        colouring(towers(), "time", run_metadata="trace")


def test_causes_are_the_rules():
    placement = tf.place(guide(), machine="4x Tesla K20m")
    assert legend(colouring(placement, "cause")) == [("request", 7)]
    assert colouring(placement, "cause").categories[0].look == cause_look(Rule.REQUEST)
    assert legend(colouring(towers(), "cause")) == [("cause unknown", 7)]


def test_every_rule_has_a_look_and_frequent_ones_their_own():
    looks = {rule: cause_look(rule) for rule in Rule}
    own = [
        looks[rule]
        for rule in (Rule.REQUEST, Rule.KERNEL, Rule.TYPE_PRIORITY, Rule.ONLY_DEVICE, Rule.GENERATOR)
    ]
    assert len({look.fill for look in own}) == 5


def test_moves_by_cause():
    soft = tf.ConfigProto(allow_soft_placement=True)
    before = tf.place(guide(), machine="4x Tesla K20m")
    after = tf.place(guide(), machine="3x Tesla K20m", config=soft)
    found = moved_colouring(after, compare(after, before))
    assert legend(found) == [("generator", 2), ("soft placement", 1), ("did not move", 4)]
    found = moved_colouring(towers(second="GPU:0"), compare(towers(second="GPU:0"), towers()))
    assert legend(found) == [("moved", 3), ("did not move", 4)]
    assert legend(moved_colouring(after, compare(after, after))) == [("did not move", 7)]


def test_colourings_are_kept_for_a_view():
    view = towers()
    assert colouring(view, "type") is colouring(view, "type")


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(
        ValueError, match="choose one of assigned, requested, type, group, memory, time, cause"
    ):
        colouring(towers(), "colour")
    assert LOCAL in MACHINE[0]
