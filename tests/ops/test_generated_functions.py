"""Ops that programs reach by their generated functions only; values and sentences are TensorFlow 1.15's."""

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.graph.generated import op_function


@pytest.fixture(autouse=True)
def session():
    with tf.Graph().as_default(), tf.Session() as found:
        yield found


def test_a_stack_before_resources(session):
    handle = op_function("Stack")(elem_type=tf.float32, stack_name="foo")
    other = op_function("Stack")(elem_type=tf.float32, stack_name="foo")
    assert handle.dtype.name == "string_ref"
    with tf.control_dependencies([op_function("StackPush")(handle, [[4.0, 5.0]])]):
        popped = op_function("StackPop")(handle, tf.float32)
    assert session.run(popped).tolist() == [[4.0, 5.0]]
    names = session.run([handle, other])
    assert [name[0] for name in names] == [b"_tensor_stacks"] * 2
    assert names[0][1] != names[1][1]
    session.run(op_function("StackClose")(handle))
    with pytest.raises(tf.errors.InvalidArgumentError, match="is empty when calling Pop"):
        session.run(op_function("StackPop")(other, tf.float32))


def test_a_variable_of_one_run(session):
    variable = op_function("TemporaryVariable")([1, 2], tf.float32, name="t")
    changed = tf.assign_add(tf.assign(variable, [[4.0, 5.0]]), [[6.0, 7.0]])
    value = op_function("DestroyTemporaryVariable")(changed, var_name="t")
    assert value.shape.as_list() == [1, 2]
    for _ in range(2):
        assert session.run(value).tolist() == [[10.0, 12.0]]
    with pytest.raises(
        tf.errors.NotFoundError, match="/bad/N10tensorflow19TemporaryVariableOp6TmpVarE does not exist"
    ):
        session.run(op_function("DestroyTemporaryVariable")(changed, var_name="bad"))


@pytest.mark.parametrize(
    ("formats", "permuted", "mapped"),
    [
        (("NHWC", "NCHW"), [7, 3, 4, 9], [1, 0, 2, 1]),
        (("NCHW", "NHWC"), [7, 9, 3, 4], [2, 0, 3, 2]),
        (("HWNC", "NHWC"), [9, 7, 4, 3], [3, 1, 2, 3]),
        (("NHWC", "HWNC"), [4, 9, 7, 3], [3, 2, 0, 3]),
    ],
)
def test_from_one_data_format_to_another(session, formats, permuted, mapped):
    attrs = {"src_format": formats[0], "dst_format": formats[1]}
    permute, places = op_function("DataFormatVecPermute"), op_function("DataFormatDimMap")
    assert session.run(permute([7, 4, 9, 3], **attrs)).tolist() == permuted
    assert session.run(permute([[7, 1], [4, 1], [9, 1], [3, 1]], **attrs)).tolist() == [
        [n, 1] for n in permuted
    ]
    assert session.run(places([7, 4, 9, 3], **attrs)).tolist() == mapped
    assert (
        session.run(places([[-1, -4]], **attrs)).tolist() == session.run(places([[3, 0]], **attrs)).tolist()
    )


def test_data_formats_that_do_not_fit(session):
    for x, attrs, sentence in (
        ([1, 2], {}, "1D input must be of size 4, but got shape [2]"),
        ([[1, 2], [3, 4]], {}, "First dimension of 2D input must be of size 4, but got shape [2,2]"),
        (np.ones((4, 3), int), {}, "Second dimension of 2D input must be of size 2, but got shape [4,3]"),
        (
            [0],
            {"src_format": "NHWCX"},
            "Destination and source format must determine a permutation, got NHWCX and",
        ),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError) as error:
            session.run(op_function("DataFormatVecPermute")(x, **attrs))
        assert error.value.message.startswith(sentence)


@pytest.mark.parametrize(
    ("x", "axis", "values", "index", "counts"),
    [
        ([1, 1, 2, 4, 4], [0], [1, 2, 4], [0, 0, 1, 2, 2], [2, 1, 2]),
        ([1, 1, 2], [], [1, 2], [0, 0, 1], [2, 1]),
        ([[1, 0, 0], [1, 0, 0], [2, 0, 0]], [0], [[1, 0, 0], [2, 0, 0]], [0, 0, 1], [2, 1]),
        ([[1, 0, 0], [1, 0, 0], [2, 0, 0]], [1], [[1, 0], [1, 0], [2, 0]], [0, 1, 1], [1, 2]),
        ([[b"a", b"b", b"a"]], [-1], [[b"a", b"b"]], [0, 1, 0], [2, 1]),
    ],
)
def test_distinct_slices(session, x, axis, values, index, counts):
    along = np.array(axis, np.int64)
    found = session.run(op_function("UniqueWithCountsV2")(x, along))
    assert [part.tolist() for part in found] == [values, index, counts]
    found = session.run(op_function("UniqueV2")(x, along))
    assert [part.tolist() for part in found] == [values, index]


@pytest.mark.parametrize(
    ("axis", "sentence"),
    [
        ([], "unique expects a 1D vector."),
        ([2], r"axis has to be between \[0, 2\)"),
        ([0, 1], "larger than 1 elem"),
    ],
)
def test_an_axis_that_is_none(session, axis, sentence):
    with pytest.raises(tf.errors.InvalidArgumentError, match=sentence):
        session.run(op_function("UniqueV2")([[1, 0]], np.array(axis, np.int64)))


def test_a_maximum_whose_window_is_a_tensor(session):
    images = tf.constant(np.random.RandomState(0).rand(1, 4, 5, 2))
    sizes = tf.placeholder_with_default([1, 2, 2, 1], [4])
    for ksize in ([1, 2, 2, 1], sizes):
        pooled, plain = (
            op_function("MaxPoolV2")(images, ksize, sizes, padding="SAME"),
            tf.nn.max_pool(images, 2, 2, "SAME"),
        )
        slopes = [tf.gradients(one * one, images)[0] for one in (pooled, plain)]
        curves = [tf.gradients(slope * slope, images)[0] for slope in slopes]
        for ours, theirs in ((pooled, plain), slopes, curves):
            np.testing.assert_array_equal(*session.run([ours, theirs]))
    constant = op_function("MaxPoolV2")(images, [1, 2, 2, 1], [1, 2, 2, 1], padding="SAME")
    assert constant.shape.as_list() == [1, 2, 3, 2]
    with pytest.raises(tf.errors.InvalidArgumentError, match="must specify 4 dimensions"):
        session.run(
            op_function("MaxPoolV2")(images, tf.placeholder_with_default([2, 2], None), sizes, padding="SAME")
        )
