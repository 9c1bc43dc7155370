"""Copies of a layer that differ: on another device, with a node less, and what towers have elsewhere."""

import pytest

import gpuplace as tf
from gpuplace.views.picture.differences import differences
from gpuplace.views.picture.drawing import draw
from gpuplace.views.picture.outline import outline
from gpuplace.views.picture.sheet import legend_text, sheet_of
from gpuplace.views.tables.placement_view import view_of


def blocks(changed=None, change=None, number=20):
    """A chain of equal blocks, of which one may be changed: by a device, or by one op more."""
    with tf.Graph().as_default() as graph, tf.device("/gpu:0"):
        x = tf.placeholder(tf.float32, [8, 16], name="x")
        for block in range(number):
            with tf.variable_scope(f"block_{block}"):
                device = change if block == changed and change != "op" else None
                with tf.device(device):
                    hidden = tf.layers.dense(x, 32, tf.nn.relu, name="inner")
                if block == changed and change == "op":
                    hidden = tf.sigmoid(hidden)
                x = x + tf.layers.dense(hidden, 16, name="outer")
    return view_of(tf.place(graph, "4x Tesla K20m"))


def told(view):
    tree = outline(view)
    return {tree.labels[scope]: text for scope, text in differences(view).items()}


def test_equal_copies_are_not_marked():
    assert told(blocks()) == {}


def test_a_copy_on_another_device_is_marked_and_so_is_its_series():
    view = blocks(3, "/gpu:2", number=30)
    found = told(view)
    assert found.pop("block_3") == "on GPU:0, GPU:2, others on GPU:0"
    assert found.pop("inner") == "on GPU:2, others on GPU:0"
    ((series, inside),) = found.items()
    assert "block_3" in series and inside.startswith("1 of ")
    texts = {line.text for face in sheet_of(draw(view, [])).faces for line in face.lines}
    assert any(text.startswith("△ ") for text in texts)


def test_layers_divided_among_devices_do_not_differ():
    """In the order of the flow each device has its layers in a row; only a device that comes back is a difference."""

    def layers(*gpus):
        with tf.Graph().as_default() as graph:
            x = tf.placeholder(tf.float32, [8, 16], name="x")
            for layer, gpu in enumerate(gpus):
                with tf.device(f"/gpu:{gpu}"), tf.variable_scope(f"layer_{layer}"):
                    x = tf.layers.dense(x, 16, tf.nn.relu)
        return view_of(tf.place(graph, "4x Tesla K20m"))

    divided, mistaken = layers(0, 0, 0, 0, 1), layers(0, 0, 1, 0, 0)
    assert told(divided) == {}
    assert told(mistaken)["layer_2"] == "on GPU:1, others on GPU:0"
    legends = [legend_text(sheet_of(draw(view, []))) for view in (divided, mistaken)]
    assert ["△ differs from equal layers or towers" in legend for legend in legends] == [False, True]


def test_a_tower_that_has_something_elsewhere_is_marked():
    def towers(elsewhere):
        with tf.Graph().as_default() as graph:
            with tf.device("/gpu:0"), tf.variable_scope("model"):
                weights = tf.get_variable("w", [16, 16])
            for tower in range(4):
                with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                    x = tf.placeholder(tf.float32, [8, 16], name="x")
                    for layer in range(8):
                        with tf.name_scope(f"layer_{layer}"):
                            is_elsewhere = (tower, layer) == (elsewhere, 1)
                            with tf.device("/cpu:0" if is_elsewhere else f"/gpu:{tower}"):
                                x = tf.nn.relu(tf.matmul(x, weights))
                    tf.reduce_sum(x)
        return view_of(tf.place(graph, "4x Tesla K20m"))

    assert told(towers(None)) == {}
    found = told(towers(2))
    assert found["tower_2"] == "also on CPU:0" and found["layer_1"] == "on CPU:0, others on GPU:2"
    assert len(found) == 2


def test_equal_layers_that_are_no_series_are_compared_too():
    assert told(blocks(3, "/gpu:2", 6))["block_3"] == "on GPU:0, GPU:2, others on GPU:0"
    assert told(blocks(1, "/gpu:2", 2)) == {}  # which of two differs?


@pytest.mark.parametrize("number", [6, 20])
def test_a_copy_with_another_op_is_no_member_of_a_series_or_marked(number):
    found = told(blocks(1, "op", number))
    assert all("nodes, others" in text or "differ" in text for text in found.values())
