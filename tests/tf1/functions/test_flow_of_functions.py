"""Conditionals and loops that are calls of functions: what the recorded programs do not show."""

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.errors import InaccessibleTensorError
from gpuplace.ops.flow import control_flow_util
from gpuplace.tf1.functions.flow.cond_v2 import cond_v2, indexed_case
from gpuplace.tf1.functions.flow.while_v2 import while_loop
from gpuplace.tf1.stand_in import test_util
from gpuplace.tf1.stand_in.names import resolve


def value(tensors, feeds=None):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(tensors, feeds)


def test_the_switch_is_that_of_the_module_too():
    util = resolve("tensorflow.python.ops.control_flow_util")
    assert not tf.control_flow_v2_enabled()
    tf.enable_control_flow_v2()
    assert util.ENABLE_CONTROL_FLOW_V2 and tf.control_flow_v2_enabled()
    util.ENABLE_CONTROL_FLOW_V2 = False
    assert tf.cond(tf.constant(True), lambda: 1, lambda: 2).op.type == "Merge"
    assert not util.GraphOrParentsInXlaContext(tf.get_default_graph())


def test_functions_have_functional_control_flow_in_any_case():
    types = []

    @tf.function
    def double_until(x):
        types.append(tf.control_flow_v2_enabled())
        y = tf.while_loop(lambda v: v < 10.0, lambda v: v * 2.0, [x])
        types.extend(op.type for op in tf.get_default_graph().get_operations())
        return y

    assert value(double_until(tf.constant(3.0))) == 12.0
    assert types[0] and "While" in types and "Enter" not in types


@pytest.mark.parametrize(("pred", "answers"), [(True, [6.0, 3.0, 2.0]), (False, [5.0, 1.0, 1.0])])
def test_gradients_of_branches_that_compute_different_things(pred, answers):
    x, y, p = tf.constant(2.0), tf.constant(3.0), tf.placeholder(tf.bool, [])
    z = cond_v2(p, lambda: tf.exp(tf.log(x) + tf.log(y)), lambda: x + y)
    found = value([z, *tf.gradients(z, [x, y])], {p: pred})
    np.testing.assert_allclose(found, answers, rtol=1e-6)


def test_slices_in_one_branch_make_slices_of_both():
    table = tf.get_variable("table", initializer=[[1.0], [2.0], [3.0]], use_resource=True)
    p = tf.placeholder(tf.bool, [])
    z = cond_v2(p, lambda: tf.reduce_sum(tf.gather(table, [2, 2])), lambda: tf.reduce_sum(table * table))
    (slices,) = tf.gradients(z, table)
    assert isinstance(slices, tf.IndexedSlices)
    dense = tf.convert_to_tensor(slices)
    assert value(dense, {p: True}).ravel().tolist() == [0.0, 0.0, 2.0]
    assert value(dense, {p: False}).ravel().tolist() == [2.0, 4.0, 6.0]


def test_zeros_for_a_variable_have_its_type():
    weight = tf.get_variable("weight", initializer=np.float64(2.0), use_resource=True)
    p = tf.placeholder(tf.bool, [])
    z = cond_v2(p, lambda: weight * weight, lambda: tf.constant(1.0, tf.float64))
    (slope,) = tf.gradients(z, weight)
    assert (value(slope, {p: True}), value(slope, {p: False})) == (4.0, 0.0)


def test_branches_that_do_not_fit():
    x = tf.constant(1.0)
    with pytest.raises(
        TypeError, match="true_fn and false_fn arguments to tf.cond must have the same number"
    ):
        cond_v2(x > 0, lambda: x, lambda: (x, x))
    with pytest.raises(TypeError, match="have different types"):
        cond_v2(x > 0, lambda: x, lambda: 1)
    with pytest.raises(TypeError, match="pred must not be a Python bool"):
        cond_v2(True, lambda: x, lambda: x)
    with pytest.raises(TypeError, match="branch_index must not be a Python int"):
        indexed_case(1, [lambda: x])
    kept = []

    def keeps():
        kept.append(x + 1.0)
        return kept[0]

    with pytest.raises(ValueError, match="in true_fn is accessed from false_fn"):
        cond_v2(x > 0, keeps, lambda: kept[0] * 2.0)


def test_a_tensor_of_a_function_stays_in_it():
    x, kept = tf.constant(1.0), []

    @tf.function
    def outer(y):
        tf.cond(y > 0, lambda: kept.append(y * 2.0) or y, lambda: y)
        return kept[-1] + 1.0

    with pytest.raises(InaccessibleTensorError, match="defined in another function or code block"):
        outer(x)


def test_loop_variables_that_change():
    with pytest.raises(
        TypeError, match="enters the loop with type <dtype: 'int32'> but has type <dtype: 'float32'>"
    ):
        while_loop(lambda i: i < 3, lambda i: tf.cast(i, tf.float32), [1])
    with pytest.raises(ValueError, match="has shape \\(2,\\) after one iteration"):
        while_loop(lambda v: True, lambda v: tf.concat([v, v], 0), [tf.constant([1.0])])


def test_slices_and_sparse_tensors_go_round():
    sparse = tf.SparseTensor([[0], [2]], [1.0, 2.0], [3])

    def body(i, one):
        return i + 1, tf.SparseTensor(one.indices, one.values * 2.0, one.dense_shape)

    _, found = while_loop(lambda i, one: i < 2, body, [0, sparse])
    assert value(tf.sparse.to_dense(found)).tolist() == [4.0, 0.0, 8.0]


def test_the_most_iterations_and_one_variable_alone():
    tf.enable_control_flow_v2()
    limited = tf.while_loop(lambda v: v < 100, lambda v: v + 1, [0], maximum_iterations=tf.constant(3))
    kept = tf.while_loop(lambda v: v < 5, lambda v: v + 1, [0], return_same_structure=True)
    assert value([limited, *kept]) == [3, 5]


def test_gradients_of_a_loop_within_a_conditional_numerically():
    tf.enable_control_flow_v2()
    start = np.array([0.3, -0.2])
    x = tf.constant(start)

    def spin(v):
        return tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, tf.sin(v) * x + v * v), [0, v])[1]

    y = tf.reduce_sum(tf.cond(x[0] > 0, lambda: spin(x), lambda: x))
    with tf.Session():
        error = tf.test.compute_gradient_error(x, [2], y, [], x_init_value=start, delta=1e-5)
    assert error < 1e-8


def test_a_call_waits_for_what_its_branch_waits_for():
    count = tf.get_variable("count", initializer=0.0, use_resource=True)
    add = count.assign_add(1.0)

    def read():
        with tf.control_dependencies([add]):
            return count.read_value()

    z = cond_v2(tf.constant(True), read, lambda: 0.0)
    assert [op.name for op in z.op.inputs[0].op.control_inputs] == [add.op.name]
    assert value(z) == 1.0


def test_gradients_through_what_a_function_uses_of_the_graph_around_it():
    x = tf.constant(3.0)
    square, found = x * x, []

    @tf.function
    def slope():
        found.extend(tf.gradients(square * 2.0, [x]))
        return found[0]

    @tf.function
    def around():
        return slope() + tf.gradients(square, [x])[0]

    assert value(around()) == 18.0


def test_a_loop_that_never_ends_is_ended():
    tf.enable_control_flow_v2()
    loop = tf.while_loop(lambda v: True, lambda v: v + 1, [0])
    with tf.Session() as session, pytest.raises(tf.errors.DeadlineExceededError):
        session.run(loop, options=tf.RunOptions(timeout_in_ms=50))


def test_an_array_of_tensors_is_a_list():
    tf.enable_control_flow_v2()
    array = tf.TensorArray(tf.float32, size=2, dynamic_size=True)
    assert isinstance(array, tf.TensorArray) and array.handle is None
    array = array.write(0, [1.0]).write(1, [2.0]).write(2, [3.0])
    pieces = tf.TensorArray(tf.float32, size=2).split([[1.0], [2.0]], [1, 1])
    rows = tf.TensorArray(tf.int32, size=3).scatter([2, 0], [5, 6])
    found = value([array.stack(), array.size(), array.identity().concat(), pieces.concat(), rows.read(0)])
    assert [one.tolist() for one in found] == [[[1.0], [2.0], [3.0]], 3, [1.0, 2.0, 3.0], [[1.0], [2.0]], 6]
    assert array.close().type == "NoOp"
    with pytest.raises(NotImplementedError):
        array.grad("gradients")
    with pytest.raises(TypeError, match="TensorArray dtype is int32 but Op is trying to write dtype float32"):
        rows.write(1, tf.constant(1.0))
    with pytest.raises(ValueError, match="Inconsistent shapes"):
        array.write(0, [1.0, 2.0])
    for options, error in (({}, "Size must be"), ({"flow": array.flow, "size": 1}, "flow and size")):
        with pytest.raises(ValueError, match=error):
            tf.TensorArray(tf.float32, **options)
    with pytest.raises(TypeError, match="variant"):
        tf.TensorArray(tf.float32, flow=tf.constant(1.0))


def test_decorators_of_tests():
    seen = []

    @test_util.with_control_flow_v2
    class Case:
        def testBoth(self):  # noqa: N802 - TensorFlow's form
            seen.append(control_flow_util.ENABLE_CONTROL_FLOW_V2)

        @test_util.disable_control_flow_v2("it is no test of it")
        def testOne(self):  # noqa: N802
            seen.append("one")

    Case().testBoth()
    Case().testBothWithControlFlowV2()
    assert seen == [False, True] and not control_flow_util.ENABLE_CONTROL_FLOW_V2
    assert not hasattr(Case, "testOneWithControlFlowV2")


def test_variables_of_the_inner_module_are_resource_variables():
    variables = resolve("tensorflow.python.ops.variables")
    one, other = variables.Variable(1.0, name="one"), variables.VariableV1(2.0, name="other")
    assert one.handle.dtype is tf.resource and other.op.type == "VariableV2"
    assert isinstance(one, variables.Variable) and isinstance(other, variables.Variable)
    assert issubclass(variables.VariableV1, variables.Variable)
    assert tf.global_variables() == [one, other]


def test_resource_variables_are_counted_up():
    count = tf.get_variable("count", initializer=np.int64(1), use_resource=True)
    counted = tf.count_up_to(count, 2)
    assert counted.op.type == "ResourceCountUpTo" and counted.dtype is tf.int64
    with tf.Session() as session:
        session.run(count.initializer)
        assert (session.run(counted), session.run(count)) == (1, 2)
        with pytest.raises(tf.errors.OutOfRangeError, match="Reached limit of 2"):
            session.run(count.count_up_to(2))
