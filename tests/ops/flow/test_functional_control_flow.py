"""What conditionals and loops of functions refuse, optionals, and control flow within functions."""

import pytest

import gpuplace as tf
from gpuplace.ops.support import new, new_list
from gpuplace.tf1.stand_in import functional_ops
from gpuplace.tf1.stand_in.framework.function import Defun


def run(fetches):
    with tf.Session() as session:
        return session.run(fetches)


def test_a_body_of_another_length():
    @Defun(tf.float32)
    def goes_on(x):
        return x > 0.0

    @Defun(tf.float32)
    def two(x):
        return x - 1.0, x

    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"While loop body returned 2 arguments. Expected: 1"
    ):
        run(functional_ops.While([3.0], goes_on, two))
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"single scalar return value, got 2 tensors"):
        run(functional_ops.While([3.0], two, two))


def test_a_range_that_has_no_end():
    @Defun(tf.int32, tf.float32)
    def same(i, x):
        return x

    with pytest.raises(tf.errors.InvalidArgumentError, match="Invalid start/limit/delta: 0 10 -1"):
        run(functional_ops.For(0, 10, -1, [1.0], same))
    assert run(functional_ops.For(3, 3, 0, [1.0], same)) == [1.0]


def test_signatures_have_to_match():
    @Defun(tf.float32)
    def one(x):
        return x

    @Defun(tf.int32)
    def other(x):
        return x

    with pytest.raises(ValueError, match="While op 'cond' and 'body' signatures do not match"):
        functional_ops.While([1.0], one, other)


def test_ops_without_a_function_of_their_own():
    """What later releases, and control flow of functions, write into graphs."""

    @Defun(tf.float32)
    def double(x):
        return x * 2.0

    @Defun(tf.float32)
    def minus(x):
        return -x

    @Defun(tf.float32)
    def is_small(x):
        return x < 100.0

    x = tf.constant(3.0)
    either = [
        new_list(
            "StatelessIf",
            cond=tf.constant(one),
            input=[x],
            Tout=["float32"],
            then_branch=double,
            else_branch=minus,
        )
        for one in (True, False)
    ]
    chosen = [
        new_list("Case", branch_index=one, input=[x], Tout=["float32"], branches=[double, minus])
        for one in (0, 1, 7)
    ]
    looped = new_list("StatelessWhile", input=[x], cond=is_small, body=double)
    assert run([either, chosen, looped]) == [[[6.0], [-3.0]], [[6.0], [-3.0], [-3.0]], [192.0]]
    nothing = new("FakeParam", dtype=tf.float32, shape=[2])
    handle = new(
        "TensorListScatter",
        tensor=[[1.0], [2.0]],
        indices=[1, 0],
        element_shape=[1],
        element_dtype=tf.float32,
    )
    whole, lengths = new_list(
        "TensorListConcat", input_handle=handle, element_dtype=tf.float32, element_shape=tf.TensorShape(None)
    )
    values = run([nothing, whole, lengths])
    assert values[0].shape == (2,) and [one.tolist() for one in values[1:]] == [[2.0, 1.0], [1, 1]]


def test_optionals():
    full = new("OptionalFromValue", components=[tf.constant(2.0), tf.constant([1, 2])])
    empty = new("OptionalNone")
    get = {"output_types": [tf.float32, tf.int32], "output_shapes": [[], [None]]}
    has = [new("OptionalHasValue", optional=one) for one in (full, empty)]
    both = new_list("OptionalGetValue", optional=new("AddN", inputs=[full, full]), **get)
    zeros = new_list("OptionalGetValue", optional=new("ZerosLike", x=full), **get)
    assert run(has) == [True, False]
    assert [value.tolist() for value in run([*both, *zeros])] == [4.0, [2, 4], 0.0, [0, 0]]
    assert [tensor.shape.as_list() for tensor in both] == [[], [None]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="The given optional does not have a value"):
        run(new_list("OptionalGetValue", optional=empty, **get))


def test_loops_and_conditions_in_the_function_of_a_dataset():
    def steps(limit):
        return tf.while_loop(
            lambda i: i < limit,
            lambda i: tf.cond(i > 3, lambda: i + 2, lambda: i + 1),
            [tf.constant(0, tf.int64)],
        )

    def checked(number):
        with tf.control_dependencies([tf.Assert(number < 8, [number])]):
            return tf.identity(number)

    following = tf.data.Dataset.range(10).map(steps).map(checked).make_one_shot_iterator().get_next()
    with tf.Session() as session:
        assert [int(session.run(following)) for _ in range(7)] == [0, 1, 2, 3, 4, 6, 6]
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"\[8\]"):
            for _ in range(3):
                session.run(following)
