"""Feeds: keys, conversions and checks, in TensorFlow's words."""

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.runtime.session.feeds import Feed, feedable, flat_feeds, flat_pairs


@pytest.fixture
def graph():
    with tf.Graph().as_default() as graph:
        tf.placeholder(tf.float32, [None, 2], name="x")
        tf.placeholder(tf.int32, name="i")
        tf.placeholder(tf.string, name="s")
        yield graph


def convert(graph, name, value, release="1.15"):
    tensor = graph.get_tensor_by_name(name)
    return Feed(tensor, release).convert(value, tensor)


def test_an_array_of_the_right_type_is_taken_as_it_is(graph):
    value = np.ones([3, 2], np.float32)
    assert convert(graph, "x:0", value) is value


@pytest.mark.parametrize("value", [[[1, 2]], np.float64([[1, 2]]), ((1.0, 2.0),)])
def test_other_values_become_arrays_of_the_tensors_type(graph, value):
    found = convert(graph, "x:0", value)
    assert found.dtype == np.float32 and found.tolist() == [[1, 2]]


def test_numbers_are_cut_to_integers_as_numpy_does(graph):
    assert convert(graph, "i:0", 2.7) == 2
    assert convert(graph, "i:0", True) == 1


def test_strings_become_bytes(graph):
    assert convert(graph, "s:0", ["a", b"b"]).tolist() == [b"a", b"b"]
    assert convert(graph, "s:0", np.array(["é"])).tolist() == ["é".encode()]


@pytest.mark.parametrize(("name", "value"), [("i:0", 2**40), ("s:0", 1)])
def test_a_number_that_the_type_cannot_hold(graph, name, value):
    with pytest.raises(
        TypeError, match=f"Type of feed value {value} with type <class 'int'> is not compatible with Tensor"
    ):
        convert(graph, name, value)


def test_what_is_no_number(graph):
    with pytest.raises(ValueError, match="invalid literal for int"):
        convert(graph, "i:0", "a")


def test_a_shape_that_does_not_fit(graph):
    text = r"^Cannot feed value of shape \(1,\) for Tensor 'x:0', which has shape '\(\?, 2\)'$"
    with pytest.raises(ValueError, match=text):
        convert(graph, "x:0", [1])


def test_a_tensor_is_no_value(graph):
    tensor = graph.get_tensor_by_name("x:0")
    with pytest.raises(
        TypeError, match="The value of a feed cannot be a tf.Tensor object.*passed to the feed with key"
    ):
        convert(graph, "x:0", tensor)
    with pytest.raises(TypeError, match="which was passed to the argument `feed_dict` with key"):
        convert(graph, "x:0", tensor, "2.21")


@pytest.mark.parametrize(
    ("key", "text"),
    [
        (
            "x:9",
            "The name 'x:9' refers to a Tensor which does not exist. The operation, 'x', exists but"
            " only has 1 outputs.",
        ),
        ("x", "The name 'x' refers to an Operation, not a Tensor."),
        (None, "Can not convert a NoneType into a Tensor."),
    ],
)
def test_keys_that_are_no_tensor(graph, key, text):
    with pytest.raises(TypeError) as caught:
        feedable(graph, key)
    assert str(caught.value).startswith(f"Cannot interpret feed_dict key as Tensor: {text}")


def test_what_may_not_be_fed(graph):
    tensor = graph.get_tensor_by_name("x:0")
    graph.prevent_feeding(tensor)
    with pytest.raises(
        ValueError, match=r"^Tensor Tensor\(\"x:0\", shape=\(\?, 2\), dtype=float32\) may not be fed\.$"
    ):
        feedable(graph, "x:0")


def test_tuples_of_keys_take_tuples_of_values(graph):
    x, i = graph.get_tensor_by_name("x:0"), graph.get_tensor_by_name("i:0")
    value = np.ones([1, 2])
    assert flat_feeds(graph, {(x, ("i:0",)): (value, (3,))}, "1.15") == {x: (value, x), i: (3, "i:0")}


def test_objects_of_several_tensors(graph):
    x, i = graph.get_tensor_by_name("x:0"), graph.get_tensor_by_name("i:0")
    slices = tf.IndexedSlices(x, i)
    assert flat_feeds(graph, {slices: ("rows", "positions")}, "1.15") == {
        x: ("rows", slices),
        i: ("positions", slices),
    }


def test_tuples_of_other_lengths():
    text = "Could not flatten dictionary. Key had 2 elements, but value had 1 elements. Key: ['a', 'b'], value: [1]."
    with pytest.raises(ValueError) as caught:
        flat_pairs({("a", "b"): (1,)}, "1.15")
    assert str(caught.value) == text


def test_what_is_no_dict():
    with pytest.raises(TypeError, match="^input must be a dictionary$"):
        flat_pairs("a", "1.15")
    with pytest.raises(TypeError, match="^FlattenDictItems: 'dict' must be a dictionary.*instead of 'str'"):
        flat_pairs("a", "2.21")
