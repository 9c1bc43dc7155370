"""tf.while_loop: what it refuses, the context that users see, and programs against plain Python."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpuplace as tf


@pytest.fixture
def x():
    return tf.placeholder(tf.float32, [], name="x")


def test_a_loop_is_a_context_and_takes_values_in_by_enter(x):
    graph, seen = tf.get_default_graph(), []

    def body(v):
        seen.append(graph._get_control_flow_context())
        return v * x

    result = tf.while_loop(lambda v: v < 10.0, body, [2.0], parallel_iterations=4, swap_memory=True)
    (context,) = seen
    assert context.IsWhileContext() and context.GetWhileContext() is context and context.outer_context is None
    assert context.name == "while/while_context" and context.back_prop and context.swap_memory
    assert [one.name for one in context.loop_enters] == ["while/Enter:0"]
    assert [one.name for one in context.loop_exits] == ["while/Exit:0"]
    mul = graph.get_operation_by_name("while/mul")
    assert mul.inputs[1].op.type == "Enter" and mul.inputs[1].op.get_attr("is_constant")
    assert mul.inputs[1].op.get_attr("parallel_iterations") == 4
    assert tf.get_collection(tf.GraphKeys.WHILE_CONTEXT) == [context]
    with tf.Session() as session:
        assert session.run(result, {x: 3.0}) == 18.0
        with pytest.raises(ValueError, match="Operation 'while/mul' has been marked as not fetchable"):
            session.run(mul, {x: 3.0})
        with pytest.raises(ValueError, match="may not be fed"):
            session.run(result, {x: 3.0, mul.outputs[0]: 1.0})


def test_a_value_of_a_loop_cannot_be_used_outside(x):
    inside = []

    def body(v):
        inside.append(v * 2.0)
        return inside[0]

    tf.while_loop(lambda v: v < 10.0, body, [x])
    with pytest.raises(ValueError) as caught:
        tf.add(inside[0], 1.0, name="sum")
    assert str(caught.value).startswith(
        "Cannot use 'while/mul' as input to 'sum' because 'while/mul' is in a while loop."
    )
    with pytest.raises(ValueError, match="because they are in different while loops"):
        tf.while_loop(lambda v: v < 10.0, lambda v: v + inside[0], [x])


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x: tf.while_loop(1, lambda v: v, [x]), TypeError, "cond must be callable."),
        (lambda x: tf.while_loop(lambda v: v, 1, [x]), TypeError, "body must be callable."),
        (
            lambda x: tf.while_loop(lambda v: v > 0, lambda v: v, [x], parallel_iterations=0),
            TypeError,
            "parallel_iterations must be a positive integer.",
        ),
        (lambda x: tf.while_loop(lambda: True, lambda: [], []), ValueError, "No loop variables provided"),
        (
            lambda x: tf.while_loop(lambda v: v > 0, lambda v: v, [x], maximum_iterations=[1, 2]),
            ValueError,
            "maximum_iterations must be a scalar, saw shape: (2,)",
        ),
        (
            lambda x: tf.while_loop(lambda v: v > 0, lambda v: (v, v), [x]),
            ValueError,
            "The two structures don't have the same nested structure.",
        ),
        (
            lambda x: tf.while_loop(
                lambda i, v: i < 3, lambda i, v: (i + 1, tf.concat([v, v], 0)), [0, tf.zeros([1])]
            ),
            ValueError,
            "Input tensor 'zeros:0' enters the loop with shape (1,), but has shape (2,) after one iteration. To allow"
            " the shape to vary across iterations, use the `shape_invariants` argument of tf.while_loop to specify a"
            " less-specific shape.",
        ),
        (
            lambda x: tf.while_loop(
                lambda v: True, lambda v: v, [tf.zeros([1])], shape_invariants=[tf.TensorShape([2])]
            ),
            ValueError,
            "The shape invariant specified for zeros:0 is not compatible with the initial shape of the loop variable."
            " It enters the loop with shape (1,), but the specified shape invariant is (2,).",
        ),
        (
            lambda x: tf.while_loop(lambda v: True, lambda v: v, [x], shape_invariants=[[2]]),
            ValueError,
            "The two structures don't have the same nested structure.",
        ),
    ],
)
def test_what_is_refused(x, call, error, text):
    with pytest.raises(error) as caught:
        call(x)
    assert str(caught.value).startswith(text)
    assert tf.get_default_graph()._get_control_flow_context() is None


def test_operations_of_a_loop_that_wait_for_others_outside(x):
    v = tf.Variable(0.0, use_resource=False)
    with tf.control_dependencies([tf.assign_add(v, 1.0)]):
        result = tf.while_loop(lambda t: t < 10.0, lambda t: t + 3.0, [x])
    with tf.control_dependencies([result]):
        last = tf.identity(v.read_value())
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run([result, last], {x: 1.0}) == [10.0, 1.0]


def test_random_numbers_and_placement_stay_as_they_are():
    tf.use_machine("2x Tesla K40c")
    with tf.device("/gpu:1"):
        total = tf.while_loop(lambda i, t: i < 3, lambda i, t: (i + 1, t + tf.random_uniform([])), [0, 0.0])[
            1
        ]
    with tf.Session() as session:
        first, second = session.run(total), session.run(total)
        assert 0.0 < first < 3.0 and first != second
        assert session.placement[total.op.name].endswith("GPU:1")


_VARIABLE = st.integers(0, 2)
_STATEMENTS = st.deferred(
    lambda: st.lists(
        st.one_of(
            st.tuples(st.just("add"), _VARIABLE, _VARIABLE),
            st.tuples(st.just("constant"), _VARIABLE, st.integers(-5, 5)),
            st.tuples(st.just("if"), _VARIABLE, _STATEMENTS, _STATEMENTS),
            st.tuples(st.just("while"), _VARIABLE, _STATEMENTS),
            st.tuples(st.just("outer"), _VARIABLE),
        ),
        max_size=3,
    )
)


def in_python(statements, values, outside):
    values = list(values)
    for kind, *rest in statements:
        at = rest[0]
        if kind == "add":
            values[at] = (values[at] + values[rest[1]] * 3 - 1) % 101
        elif kind == "constant":
            values[at] = rest[1]
        elif kind == "outer":
            values[at] = values[at] - outside
        elif kind == "if":
            values = in_python(rest[1] if values[at] > 1 else rest[2], values, outside)
        else:
            for _ in range(abs(values[at]) % 4):
                values = in_python(rest[1], values, outside)
    return values


def as_graph(statements, values, outside):
    values = list(values)
    for kind, *rest in statements:
        at = rest[0]
        if kind == "add":
            values[at] = tf.floormod(values[at] + values[rest[1]] * 3 - 1, 101)
        elif kind == "constant":
            values[at] = tf.constant(rest[1])
        elif kind == "outer":
            values[at] = values[at] - outside
        elif kind == "if":
            one, other = (
                lambda part=part, now=tuple(values): as_graph(part, now, outside) for part in rest[1:]
            )
            values = tf.cond(values[at] > 1, one, other)
        else:
            times = tf.floormod(tf.abs(values[at]), 4)
            _, *values = tf.while_loop(
                lambda i, *_, times=times: i < times,
                lambda i, *now, part=rest[1]: [i + 1, *as_graph(part, now, outside)],
                [0, *values],
            )
    return values


@settings(max_examples=30, deadline=None)
@given(
    _STATEMENTS,
    st.lists(st.integers(-3, 3), min_size=4, max_size=4),
    st.sampled_from(["cpu", "1x Tesla K40c"]),
)
def test_programs_do_what_python_does(statements, first, machine):
    tf.reset_runtime()
    tf.use_machine(machine)
    expected = in_python(statements, first[:3], first[3])
    with tf.Graph().as_default():
        inputs = [tf.placeholder(tf.int32, []) for _ in first]
        results = [tf.identity(one) for one in as_graph(statements, inputs[:3], inputs[3])]
        feed = dict(zip(inputs, first, strict=True))
        with tf.Session() as session:
            assert session.run(results, feed) == expected
            metadata = tf.RunMetadata()
            traced = session.run(results, feed, options=tf.RunOptions(trace_level=3), run_metadata=metadata)
            assert traced == expected
    assert np.all([node.node_name for device in metadata.step_stats.dev_stats for node in device.node_stats])


def test_a_variable_that_is_trained_in_the_same_step_is_a_loop_variable():
    v = tf.Variable([1.0, 2.0])
    _, out = tf.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, a * 3.0), [0, v])
    train = tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(out))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        np.testing.assert_allclose(session.run([train, out])[1], [9, 18])
        np.testing.assert_allclose(session.run(v), [0.1, 1.1], rtol=1e-5)


def test_a_specification_says_which_shape_is_kept():
    keeps = [tf.TensorSpec([], tf.int32), tf.TensorSpec(None, tf.int32)]
    grown = tf.while_loop(
        lambda i, _: i < 3, lambda i, x: (i + 1, tf.stack([x, x])), [0, tf.constant([1])], keeps
    )[1]
    with tf.Session() as session:
        assert session.run(grown).shape == (2, 2, 2, 1)
    sparse = tf.SparseTensor([[0]], [1.0], [10])
    with pytest.raises(TypeError, match="describes a dense tensor"):
        tf.while_loop(lambda i, _: i < 3, lambda i, x: (i + 1, x), [0, sparse], keeps)
