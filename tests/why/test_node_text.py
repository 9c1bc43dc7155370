"""Nodes in one line: values, shapes and lists as the releases print them."""

import pytest

import gpuplace as tf
from gpuplace.graph.attr_value import FunctionRef
from gpuplace.why.node_text import (
    GUIDE,
    attr_text,
    device_text,
    node_text,
    short_device,
    specification_text,
    summary,
)

GPU_1 = "/job:localhost/replica:0/task:0/device:GPU:1"


def tensor_text(value, dtype, release):
    """The values of a constant, without its type and shape."""
    with tf.Graph().as_default():
        held = tf.constant(value, dtype).op.attrs["value"]
    text = attr_text(held, release)
    return text.partition(" values: ")[2].removesuffix(">")


@pytest.mark.parametrize(
    ("value", "dtype", "text"),
    [
        (1.0, tf.float32, "1"),
        (0.5, tf.float32, "0.5"),
        (1 / 3, tf.float32, "0.333333343"),
        (1e10, tf.float32, "1e+10"),
        (float("nan"), tf.float32, "nan"),
        (float("-inf"), tf.float32, "-inf"),
        (1 / 3, tf.float64, "0.33333333333333331"),
        (0.1, tf.float64, "0.1"),
        (-7, tf.int32, "-7"),
        (True, tf.bool, "1"),
        (False, tf.bool, "0"),
        (1 + 2j, tf.complex64, "?"),
        (b"a\n\"'\\\x01z", tf.string, r"a\n\"\'\\\001z"),
        ([], tf.float32, ""),
    ],
)
def test_values_have_the_digits_that_tell_them_apart(value, dtype, text):
    assert tensor_text(value, dtype, "1.15") == text


def test_single_precision_has_a_digit_less_in_1_0():
    assert tensor_text(1 / 3, tf.float32, "1.0") == "0.33333334"


@pytest.mark.parametrize(
    ("release", "short", "long"),
    [
        ("1.15", "[1 2 3]", "[1 2 3...]..."),
        ("1.0", "[1 2 3]", "[1 2 3]..."),
        (GUIDE, "1 2 3", "1 2 3..."),
    ],
)
def test_three_values_of_a_matrix_are_shown(release, short, long):
    assert tensor_text([[1, 2, 3]], tf.int32, release) == short
    assert tensor_text([[1, 2, 3, 4], [5, 6, 7, 8]], tf.int32, release) == long


def test_a_vector_has_no_brackets_and_rows_have_them_at_each_rank():
    assert tensor_text([1, 2, 3], tf.int32, "1.15") == "1 2 3"
    assert tensor_text([1, 2, 3, 4], tf.int32, "1.15") == "1 2 3..."
    assert tensor_text([[1], [2], [3], [4]], tf.int32, "1.15") == "[1][2][3]..."
    assert tensor_text([[[1, 2]], [[3, 4]]], tf.int32, "1.15") == "[[1 2]][[3...]]..."


def test_texts_of_a_matrix_are_in_one_row_until_1_4():
    texts = [[b"a", b"b"]]
    assert tensor_text(texts, tf.string, "1.4") == "a b"
    assert tensor_text(texts, tf.string, "1.15") == "[a b]"


def test_lists_above_ten_elements_show_five_at_each_end():
    assert attr_text(tuple(range(10)), "1.15") == "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]"
    assert attr_text(tuple(range(11)), "1.15") == "[0, 1, 2, 3, 4, ..., 6, 7, 8, 9, 10]"


def test_functions_show_their_attributes_in_order():
    function = FunctionRef("body", {"T": tf.float32, "N": 2})
    assert attr_text(function, "1.15") == "body[N=2, T=DT_FLOAT]"


def test_a_node_has_its_attributes_by_name_then_its_device():
    attrs = {"b": 1, "_device": "/cpu:0", "a": True}
    assert summary("n", "Op", attrs, "", (), "1.15") == "n = Op[a=true, b=1]()"
    assert (
        summary("n", "Op", attrs, "/gpu:1", ("x", "^y"), "1.15")
        == 'n = Op[a=true, b=1, _device="/gpu:1"](x, ^y)'
    )


def test_inputs_of_a_node_have_their_output_from_the_second_on():
    with tf.Graph().as_default() as graph:
        first, second = tf.split(tf.zeros([2], name="z"), 2, name="s")
        with tf.control_dependencies([tf.no_op(name="wait")]), tf.device("/gpu:1"):
            tf.add(first, second, name="sum")
    placed = tf.place(graph, "2x Tesla V100")
    node = placed.graph.names.index("sum")
    assert (
        node_text(placed.graph, node, "1.15")
        == 'sum = Add[T=DT_FLOAT, _device="/device:GPU:1"](s, s:1, ^wait)'
    )
    assert node_text(placed.graph, node, "1.15", device="").endswith("[T=DT_FLOAT](s, s:1, ^wait)")
    assert node_text(placed.graph, node, "1.15", {"x": 1}, device="").startswith("sum = Add[T=DT_FLOAT, x=1]")


def test_devices_as_releases_print_them():
    assert device_text(GPU_1, "1.0") == "/job:localhost/replica:0/task:0/gpu:1"
    assert device_text(GPU_1, "1.4") == device_text(GPU_1, "2.21") == GPU_1
    assert device_text("not a device", "1.0") == "not a device"
    assert specification_text("/job:ps/device:GPU:0", "1.0") == "/job:ps/GPU:0"
    assert specification_text("/job:ps/device:GPU:0", "1.4") == "/job:ps/device:GPU:0"
    assert (short_device(GPU_1), short_device(""), short_device("/job:ps/x")) == (
        "GPU:1",
        "no device",
        "/job:ps/x",
    )
