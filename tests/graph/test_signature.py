"""Signatures taken apart, and the short ways that building a graph takes with them."""

import inspect

import pytest

import gpuplace as tf
from gpuplace.graph.op_def import make_op_def, op_registry
from gpuplace.graph.signature import signature_of


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as made:
        yield made


def test_a_signature_is_taken_apart_once():
    op_def = op_registry("1.15").lookup("MatMul")
    assert signature_of(op_def) is signature_of(op_def)
    assert signature_of(op_def).op_def is op_def


@pytest.mark.parametrize(
    "op_type, attrs",
    [
        ("MatMul", {"T": tf.float32}),
        ("VariableV2", {"dtype": tf.int32}),
        ("Unpack", {"T": tf.float32, "num": 3}),
        ("IdentityN", {"T": (tf.int32, tf.string)}),
        ("TopKV2", {"T": tf.float64}),
        ("NoOp", {}),
    ],
)
def test_output_types_are_those_of_the_op_def(op_type, attrs):
    op_def = op_registry("1.15").lookup(op_type)
    assert tuple(signature_of(op_def).output_types(attrs)) == tuple(op_def.output_types(attrs))


def test_plain_values_of_attributes():
    attributes = signature_of(
        make_op_def(
            "Example",
            [],
            [],
            ["flag: bool", "count: int >= 2", "word: {'a', 'b'}", "sizes: list(int) >= 2", "kind: type"],
        )
    ).attributes
    assert attributes["flag"].plain_value(False) is False
    assert attributes["flag"].plain_value(0) is None
    assert attributes["count"].plain_value(2) == 2
    assert attributes["count"].plain_value(1) is None
    assert attributes["count"].plain_value(True) is None
    assert attributes["word"].plain_value("b") == b"b"
    assert attributes["word"].plain_value(b"c") is None
    assert attributes["sizes"].plain_value([1, 2]) == (1, 2)
    assert attributes["sizes"].plain_value([1, True]) is None
    assert attributes["sizes"].plain_value([1]) is None
    assert attributes["kind"].plain_value(tf.float32) is None


def test_operations_of_one_signature_have_attributes_of_their_own():
    first, second = tf.matmul([[1.0]], [[2.0]]).op, tf.matmul([[1.0]], [[2.0]]).op
    first._set_attr("transpose_a", True)
    assert second.get_attr("transpose_a") is False


def test_a_scope_that_begins_with_an_underscore_makes_no_valid_name(graph):
    x = tf.placeholder(tf.float32)
    with graph.name_scope("outer"), graph.name_scope("_inner/"):
        with pytest.raises(ValueError, match="'_inner/Neg' is not a valid node name"):
            tf.negative(x)


def test_lines_of_an_operation_are_looked_up_when_asked_for():
    def make():
        return tf.constant(
            1.0,
        ).op

    first = inspect.currentframe().f_lineno + 1
    made = [make(), make()]
    assert [op.traceback[-2].lineno for op in made] == [first, first]
    assert {op.traceback[-1].lineno for op in made} == {make.__code__.co_firstlineno + 1}
    assert made[0].source == f"{__file__}:{make.__code__.co_firstlineno + 1}"


def test_consumers_are_known_at_any_time(graph):
    x = tf.placeholder(tf.float32, [2])
    assert x.consumers() == []
    first = tf.negative(x).op
    assert x.consumers() == [first]
    second = tf.add(x, x).op
    assert x.consumers() == [first, second, second]
    other = tf.placeholder(tf.float32, [2])
    second._update_input(0, other)
    assert x.consumers() == [first, second]
    second._update_input(1, other)
    assert (x.consumers(), other.consumers()) == ([first], [second, second])
    with graph.control_dependencies([first]):
        third = tf.no_op()
    assert first.control_outputs == [third]
    third._add_control_inputs([second])
    assert (third.control_inputs, second.control_outputs) == ([first, second], [third])


def test_an_input_is_redirected_to_a_tensor_of_the_graph_only():
    op = tf.negative(tf.constant(1.0)).op
    with tf.Graph().as_default():
        other = tf.constant(2.0)
    with pytest.raises(ValueError, match="must be from the same graph"):
        op._update_input(0, other)
    with pytest.raises(tf.errors.OutOfRangeError, match=r"Input index \[1\] is greater than .* inputs \[1\]"):
        op._update_input(1, tf.constant(2.0))


def test_references_are_equal_where_they_stand_for_the_same_thing():
    one, other, variable = tf.constant(1), tf.constant(1), tf.Variable(1)
    assert {one.experimental_ref(), one.experimental_ref(), variable.experimental_ref()} == {
        variable.experimental_ref(), one.experimental_ref()
    }  # fmt: skip
    assert one.experimental_ref() != other.experimental_ref() and one.experimental_ref() != one
    assert one.experimental_ref().deref() is one and "wrapping" in repr(variable.experimental_ref())


def test_an_operation_and_the_length_of_a_tensor_are_no_values():
    with pytest.raises(TypeError, match="Can't convert Operation 'stop' to Tensor"):
        tf.convert_to_tensor(tf.no_op(name="stop"))
    with pytest.raises(TypeError, match=r"not well defined for symbolic Tensors. \(vector:0\)"):
        len(tf.constant([1, 2], name="vector"))


def test_the_outermost_scope_has_its_slash_where_it_is_named_so():
    with tf.name_scope("foo"):
        with tf.name_scope("/") as slash, tf.name_scope("a") as inner:
            assert (slash, inner) == ("/", "a/")
        with tf.get_default_graph().name_scope("//") as two, tf.name_scope(None) as nothing:
            assert (nothing, two) == ("", "//")


def test_a_default_name_that_is_no_text_is_refused():
    with (
        pytest.raises(TypeError, match="pass this into the `values` kwarg"),
        tf.name_scope("a", [tf.constant(1)]),
    ):
        pass
