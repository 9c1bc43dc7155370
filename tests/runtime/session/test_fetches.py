"""Structures of fetches: what may be asked for and the form of the answer."""

import collections
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpuplace as tf
from gpuplace.ops.gradients.indexed_slices import IndexedSlicesValue
from gpuplace.runtime.session.fetches import (
    FetchStructure,
    register_composite_fetch,
    register_session_run_conversion_functions,
)


class Pair(NamedTuple):
    first: object
    second: object


class AttrsLike:
    """A class as `attrs` makes them."""

    def __init__(self, left, right):
        self.left, self._right = left, right


AttrsLike.__attrs_attrs__ = (
    collections.namedtuple("Attribute", "name alias")("left", "left"),
    collections.namedtuple("Attribute", "name alias")("_right", "right"),
)


@pytest.fixture
def graph():
    tf.set_release("1.15")
    with tf.Graph().as_default() as graph:
        tf.constant(1.0, name="a")
        tf.constant(2.0, name="b")
        yield graph


def answer(graph, fetches):
    """The built structure where every tensor's value is its name."""
    structure = FetchStructure(graph, fetches)
    return structure.build([tensor.name for tensor in structure.tensors])


@pytest.mark.parametrize(
    ("fetches", "expected"),
    [
        ("a:0", "a:0"),
        ("a", None),
        (["a:0", "b:0", "a:0"], ["a:0", "b:0", "a:0"]),
        (("a:0", ["b:0", ()]), ("a:0", ["b:0", ()])),
        ({"x": "a:0", "y": {"z": ("b",)}}, {"x": "a:0", "y": {"z": (None,)}}),
        (collections.OrderedDict(x="b:0"), collections.OrderedDict(x="b:0")),
        (Pair("a:0", "b:0"), Pair("a:0", "b:0")),
        ([], []),
        ([["a:0"], ["b:0"]], [["a:0"], ["b:0"]]),
        ([["a:0", "b"], "b:0"], [["a:0", None], "b:0"]),
        (b"a:0", "a:0"),
    ],
)
def test_the_answer_has_the_form_of_the_question(graph, fetches, expected):
    found = answer(graph, fetches)
    assert found == expected
    assert type(found) is type(expected)


def test_a_default_dict_keeps_its_factory(graph):
    found = answer(graph, collections.defaultdict(list, x="a:0"))
    assert found["x"] == "a:0" and found["missing"] == []


def test_attrs_classes_are_made_anew(graph):
    found = answer(graph, AttrsLike("a:0", ["b:0"]))
    assert (found.left, found._right) == ("a:0", ["b:0"])


def test_everything_is_run_once(graph):
    structure = FetchStructure(graph, ["a:0", "a", "a:0", graph.get_operation_by_name("a")])
    assert [tensor.name for tensor in structure.tensors] == ["a:0"]
    assert [op.name for op in structure.operations] == ["a"]


def test_indexed_slices(graph):
    a, b = graph.get_tensor_by_name("a:0"), graph.get_tensor_by_name("b:0")
    assert answer(graph, tf.IndexedSlices(a, b)) == IndexedSlicesValue("a:0", "b:0", None)
    assert answer(graph, tf.IndexedSlices(a, b, a)) == IndexedSlicesValue("a:0", "b:0", "a:0")


def test_other_composites_can_be_registered(graph):
    class Both:
        pass

    register_composite_fetch(Both, lambda both: [graph.get_tensor_by_name("a:0")] * 2, tuple)
    assert answer(graph, [Both()]) == [("a:0", "a:0")]


WRONG = [
    (None, TypeError, "Fetch argument None has invalid type <class 'NoneType'>"),
    (["a", None], TypeError, "Fetch argument None has invalid type <class 'NoneType'>"),
    (
        3,
        TypeError,
        "Fetch argument 3 has invalid type <class 'int'>, must be a string or Tensor."
        " (Can not convert a int into a Tensor or Operation.)",
    ),
    (
        "c:0",
        ValueError,
        "Fetch argument 'c:0' cannot be interpreted as a Tensor. (\"The name 'c:0' refers to a Tensor which does not"
        " exist. The operation, 'c', does not exist in the graph.\")",
    ),
    (
        "c",
        ValueError,
        "Fetch argument 'c' cannot be interpreted as a Tensor. (\"The name 'c' refers to an Operation not in the"
        ' graph.")',
    ),
]


@pytest.mark.parametrize(("fetches", "kind", "text"), WRONG)
def test_what_cannot_be_fetched(graph, fetches, kind, text):
    with pytest.raises(kind) as caught:
        FetchStructure(graph, fetches)
    assert str(caught.value) == text


def test_the_words_of_2_21(graph):
    with pytest.raises(TypeError) as caught:
        FetchStructure(graph, 3, "2.21")
    assert str(caught.value) == (
        'Argument `fetch` = 3 has invalid type "int" must be a string or Tensor. (Can not convert a int into a Tensor'
        " or Operation.)"
    )


def test_another_graphs_tensor(graph):
    with tf.Graph().as_default():
        other = tf.constant(1.0)
    with pytest.raises(
        ValueError, match=r"cannot be interpreted as a Tensor. \(Tensor Tensor\(.*\) is not an element of"
    ):
        FetchStructure(graph, other)


def test_what_is_marked_as_not_fetchable(graph):
    graph.prevent_fetching(graph.get_operation_by_name("a"))
    for name in ("a", "a:0"):
        with pytest.raises(ValueError, match="Operation 'a' has been marked as not fetchable"):
            FetchStructure(graph, name)


STRUCTURES = st.recursive(
    st.sampled_from(["a:0", "b:0", "a", "b"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.sampled_from("xyz"), inner, max_size=3)
        | st.tuples(inner, inner).map(lambda pair: Pair(*pair))
    ),
    max_leaves=8,
)


def values_of(fetches):
    """The expected answer, told without flattening."""
    if isinstance(fetches, str):
        return fetches if ":" in fetches else None
    if isinstance(fetches, dict):
        return {key: values_of(fetch) for key, fetch in fetches.items()}
    values = [values_of(fetch) for fetch in fetches]
    return Pair(*values) if isinstance(fetches, Pair) else type(fetches)(values)


@given(STRUCTURES)
def test_any_structure(fetches):
    with tf.Graph().as_default() as graph:
        tf.constant(1.0, name="a")
        tf.constant(2.0, name="b")
        found = answer(graph, fetches)
    assert found == values_of(fetches)
    assert type(found) is type(values_of(fetches))


class Squared:
    def __init__(self, values):
        self.square = tf.square(values)


def test_classes_of_the_programs_own_are_fetched_and_fed():
    functions = (
        lambda squared: ([squared.square], lambda values: values[0].tolist()),
        lambda squared, value: [(squared.square, value)],
        lambda squared: [squared.square],
    )
    register_session_run_conversion_functions(Squared, *functions)
    with pytest.raises(ValueError, match="has already been registered so ignore it"):
        register_session_run_conversion_functions(Squared, *functions)
    squared = Squared([1.0, 3.0])
    more = squared.square + 1
    with tf.Session() as session:
        assert session.run(squared) == [1, 9]
        assert session.run([squared, more], {squared: [4.0, 5.0]})[1].tolist() == [5, 6]
        handle = session.partial_run_setup([more], [squared])
        assert session.partial_run(handle, more, {squared: [0.0, 1.0]}).tolist() == [1, 2]


def test_classes_without_a_function_to_feed_them():
    class Other:
        pass

    register_session_run_conversion_functions(Other, lambda other: ([], list))
    with tf.Session() as session, pytest.raises(TypeError, match="no feed function is registered"):
        session.run(tf.constant(1), {Other(): 3})


def test_a_sparse_placeholder_of_known_shape_is_fed_without_it():
    sparse = tf.sparse_placeholder(tf.float32, shape=[7, 9])
    parts = [tf.identity(part) for part in (sparse.indices, sparse.values, sparse.dense_shape)]
    open_shape = tf.sparse_placeholder(tf.float32)
    with tf.Session() as session:
        found = session.run(parts, {sparse: ([[3, 2], [4, 5]], [1.0, 2.0])})
        assert [one.tolist() for one in found] == [[[3, 2], [4, 5]], [1, 2], [7, 9]]
        for key, value in ((open_shape, ([[1, 2]], [1.0])), (sparse, ([[1, 2]], [1.0], [7, 9], 1))):
            with pytest.raises(ValueError, match="needs 3 values"):
                session.run(parts, {key: value})
