"""tf.cond and tf.case: what they refuse, and the contexts that users see."""

import numpy as np
import pytest

import gpuplace as tf


@pytest.fixture
def x():
    return tf.placeholder(tf.float32, [], name="x")


def test_a_branch_is_a_context_and_takes_values_in_by_switch(x):
    graph, seen = tf.get_default_graph(), []

    def branch():
        seen.append(graph._get_control_flow_context())
        return x * 2.0

    result = tf.cond(x > 0, branch, lambda: x)
    (context,) = seen
    assert graph._get_control_flow_context() is None
    assert (
        context.branch == 1
        and context.pivot.name == "cond/switch_t:0"
        and context.pred.name == "cond/pred_id:0"
    )
    mul = graph.get_operation_by_name("cond/mul")
    assert mul._get_control_flow_context() is context
    assert mul.inputs[0].op.type == "Switch" and mul.inputs[0].value_index == 1
    assert not graph.is_fetchable(mul) and graph.is_fetchable(result)
    assert [one.branch for one in tf.get_collection(tf.GraphKeys.COND_CONTEXT)] == [1, 0]
    with tf.Session() as session, pytest.raises(ValueError, match="has been marked as not fetchable"):
        session.run(mul.outputs[0], {x: 1.0})


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda p, x: tf.cond(p, 1, lambda: x), TypeError, "true_fn must be callable."),
        (lambda p, x: tf.cond(p, lambda: x, 1), TypeError, "false_fn must be callable."),
        (lambda p, x: tf.cond(p, lambda: x), TypeError, "cond(): false_fn argument required"),
        (lambda p, x: tf.cond(p), TypeError, "cond(): true_fn argument required"),
        (
            lambda p, x: tf.cond(p, lambda: x, fn1=lambda: x),
            TypeError,
            "cond(): true_fn and fn1 may not be set simultaneously.",
        ),
        (lambda p, x: tf.cond(True, lambda: x, lambda: x), TypeError, "pred must not be a Python bool"),
        (lambda p, x: tf.cond(p, lambda: None, lambda: x), ValueError, "true_fn must have a return value."),
        (lambda p, x: tf.cond(p, lambda: x, lambda: None), ValueError, "false_fn must have a return value."),
        (
            lambda p, x: tf.cond(p, lambda: x, lambda: tf.constant(1)),
            ValueError,
            "Outputs of true_fn and false_fn must have the same type: float32, int32",
        ),
        (
            lambda p, x: tf.cond(p, lambda: [x, x], lambda: x),
            ValueError,
            "Incompatible return values of true_fn and false_fn: The two structures don't have the same nested",
        ),
        (
            lambda p, x: tf.cond(p, lambda: [x, x], lambda: (x, x)),
            TypeError,
            "Incompatible return types of true_fn and false_fn: The two structures don't have the same nested",
        ),
        (lambda p, x: tf.case(p), TypeError, "fns must be a list, tuple, or dict"),
        (lambda p, x: tf.case([p]), TypeError, "Each entry in pred_fn_pairs must be a 2-tuple"),
        (lambda p, x: tf.case([(x, lambda: x)]), TypeError, "pred must be Tensor of type bool: x:0"),
        (lambda p, x: tf.case([(True, lambda: x)]), TypeError, "pred must be a Tensor, got: True"),
        (lambda p, x: tf.case([(p, 3)]), TypeError, "fn for pred Greater:0 must be callable."),
    ],
)
def test_what_is_refused(x, call, error, text):
    with pytest.raises(error) as caught:
        call(x > 0, x)
    assert str(caught.value).startswith(text)


def test_failed_functions_leave_no_context(x):
    def fails():
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        tf.cond(x > 0, fails, lambda: x)
    assert tf.get_default_graph()._get_control_flow_context() is None


def test_slices_and_operations(x):
    table = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    slices = tf.cond(
        x > 0,
        lambda: tf.IndexedSlices(table * x, tf.constant([0, 1])),
        lambda: tf.IndexedSlices(table, tf.constant([1, 1])),
    )
    done = tf.cond(x > 0, lambda: tf.no_op(), lambda: tf.group(slices.values))
    with tf.Session() as session:
        values, indices = session.run([slices.values, slices.indices], {x: 2.0})
        np.testing.assert_array_equal(values, [[2.0, 4.0], [6.0, 8.0]])
        assert indices.tolist() == [0, 1] and session.run(done, {x: 2.0})
        assert session.run(slices.indices, {x: -2.0}).tolist() == [1, 1] and not session.run(done, {x: -2.0})


def test_case_says_which_input_is_wrong(x):
    exclusive = tf.case([(x > 0, lambda: x), (x > 1, lambda: x * 2.0)], default=lambda: x, exclusive=True)
    complete = tf.case([(x > 0, lambda: x), (x > 1, lambda: x * 2.0)])
    with tf.Session() as session:
        assert session.run(exclusive, {x: 0.5}) == 0.5
        with pytest.raises(
            tf.errors.InvalidArgumentError, match=r"exclusive=True: more than 1 conditions \(Greater"
        ):
            session.run(exclusive, {x: 2.0})
        with pytest.raises(tf.errors.InvalidArgumentError, match="None of conditions evaluated as True:"):
            session.run(complete, {x: -1.0})


def test_an_assertion_prints_only_when_it_fails(x):
    check = tf.Assert(x > 0, [x * 2.0])
    with tf.control_dependencies([check]):
        result = tf.identity(x)
    assert check.type == "Merge"
    with tf.Session() as session:
        assert session.run(result, {x: 1.0}) == 1.0
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"assertion failed: \[-4\]"):
            session.run(result, {x: -2.0})
