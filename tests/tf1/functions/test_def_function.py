"""``tf.function`` in graphs: traces, what is refused, gradients, variables, scopes."""

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.tf1.functions.auto_control_deps import AutomaticControlDependencies
from gpuplace.tf1.functions.defun import defun


def run(fetches, feed_dict=None):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches, feed_dict)


def test_a_function_is_traced_for_each_signature():
    traces = []

    @tf.function
    def twice(x, how="add"):
        traces.append((x.dtype.name, how))
        return x + x if how == "add" else x * 2

    one, two = tf.constant([1.0]), tf.constant([2.0])
    results = [
        twice(one),
        twice(two),
        twice(tf.constant([3])),
        twice(one, how="other"),
        twice(np.float32([4.0])),
    ]
    assert traces == [("float32", "add"), ("int32", "add"), ("float32", "other")]
    assert [value.tolist() for value in run(results)] == [[2.0], [4.0], [6], [2.0], [8.0]]
    with tf.Graph().as_default():
        twice(tf.constant([1.0]))
    assert len(traces) == 4
    concrete = twice.get_concrete_function(tf.TensorSpec([None], tf.float64))
    assert concrete.output_dtypes is tf.float64 and concrete.output_shapes.as_list() == [None]
    assert [arg.name for arg in concrete.function_def.signature.input_arg] == ["x"]
    assert run(concrete(x=tf.constant([2.5], tf.float64))).tolist() == [5.0]


def test_what_is_refused():
    @tf.function
    def wrong():
        return object()

    with pytest.raises(TypeError, match="must return zero or more Tensors"):
        wrong()
    with pytest.raises(TypeError, match="input_signature must be either a tuple or a list"):
        tf.function(wrong, input_signature=tf.TensorSpec([], tf.float32))
    signed = tf.function(lambda x: x, input_signature=[tf.TensorSpec([2], tf.float32)])
    with pytest.raises(ValueError, match="Python inputs incompatible with input_signature"):
        signed(tf.constant([1.0, 2.0, 3.0]))
    with pytest.raises(
        ValueError, match="Structure of Python function inputs does not match input_signature"
    ):
        tf.function(lambda x: x[0], input_signature=[[tf.TensorSpec([], tf.float32)] * 2])([tf.constant(1.0)])
    with pytest.raises(TypeError, match=r"Expected 1 arguments \(x\) to this function, got 2"):
        signed.get_concrete_function()(tf.constant([1.0, 2.0]), tf.constant([1.0, 2.0]))


def test_variables_are_made_once():
    made = []

    @tf.function
    def net(x):
        if not made:
            made.append(tf.Variable(lambda: tf.zeros([]) + 2.0, name="w"))
        return x * made[0]

    with tf.name_scope("outer"):
        y = net(tf.constant(3.0))
    assert made[0].op.graph is tf.get_default_graph() and made[0] in tf.trainable_variables()
    assert run([y, *tf.gradients(y, [made[0]])]) == [6.0, 3.0]

    @tf.function
    def always(x):
        return x * tf.Variable(1.0)

    with pytest.raises(ValueError, match="tried to create variables on non-first call"):
        always(tf.constant(1.0))


def test_gradients_are_those_without_functions():
    def net(x, w, table):
        hidden = tf.tanh(tf.matmul(x, w))
        rows = tf.gather(table, [0, 2, 0])
        return tf.reduce_sum(hidden) * tf.reduce_sum(rows * rows)

    random = np.random.RandomState(3)
    values = [tf.constant(random.normal(size=size), tf.float32) for size in ([2, 3], [3, 4], [3, 2])]
    plain = tf.gradients(net(*values), values)
    called = tf.gradients(tf.function(net)(*values), values)
    second = [tf.gradients(one[1], values[0])[0] for one in (plain, called)]
    for one, other in zip(
        *(run([tf.convert_to_tensor(g) for g in some]) for some in (plain, called)), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-5)
    np.testing.assert_allclose(*run(second), rtol=1e-5)


def test_gradients_through_loops_in_functions():
    @defun
    def power(x):
        return tf.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, y * x), [0, x])[1]

    x = tf.constant(2.0)
    assert run([power(x), *tf.gradients(power(x), [x])]) == [16.0, 32.0]


def test_gradients_within_functions():
    x = tf.constant(3.0)

    @defun
    def slope():
        y = x * x
        return tf.gradients(y, [x])[0]

    assert run(slope()) == 6.0


def test_what_is_stateful_runs_in_its_order():
    v = tf.Variable(1.0, use_resource=True)

    @tf.function
    def steps(x):
        v.assign(10.0)
        first = v.read_value()
        v.assign_add(x)
        return first, v.read_value()

    assert run(steps(tf.constant(5.0))) == (10.0, 15.0)
    with AutomaticControlDependencies() as added:
        v.assign(7.0)
        value = added.mark_as_return(v * 2.0)
    assert run(value) == 14.0


def test_methods_and_structures():
    class Net:
        def __init__(self, factor):
            self.factor = factor

        @tf.function
        def __call__(self, pair):
            return {"low": pair[0] * self.factor, "high": (pair[1], None)}

    found = [Net(factor)((tf.constant(1.0), tf.constant(2.0))) for factor in (3.0, 4.0)]
    assert run([one["low"] for one in found]) == [3.0, 4.0] and found[0]["high"][1] is None


def test_init_scope_leaves_functions():
    graph = tf.get_default_graph()
    found = []

    @tf.function
    def inner(x):
        with tf.name_scope("scope"), tf.init_scope():
            found.append((tf.get_default_graph(), tf.no_op().name))
        assert tf.get_default_graph().building_function
        return x

    with graph.device("/cpu:0"):
        inner(tf.constant(1.0))
    assert found == [(graph, "scope/NoOp")] and not graph.building_function


def test_functions_travel_in_graph_defs():
    @tf.function
    def cube(x):
        return x * square(x)

    @defun
    def square(x):
        return x * x

    y = cube(tf.constant(2.0))
    slope = tf.gradients(y, y.op.inputs)[0]
    message = tf.get_default_graph().as_graph_def()
    with tf.Graph().as_default():
        fetched = tf.import_graph_def(message, return_elements=[y.name, slope.name], name="")
        with tf.Session() as session:
            assert session.run(fetched) == [8.0, 12.0]


def test_branches_change_variables_in_their_order():
    v = tf.Variable(1.0, use_resource=True)
    chosen = tf.placeholder(tf.bool, [])
    with AutomaticControlDependencies() as added:
        tf.cond(chosen, lambda: v.assign(v + 1.0), lambda: v.assign(v + 4.0))
        value = added.mark_as_return(v.read_value())
    with tf.Session() as session:
        session.run(v.initializer)
        assert [float(session.run(value, {chosen: one})) for one in (False, True)] == [5.0, 6.0]


def test_conditions_in_functions():
    v = tf.Variable(1.0, use_resource=True)

    @tf.function
    def step(is_large):
        tf.cond(is_large, lambda: v.assign_add(10.0), lambda: v.assign_add(1.0))
        return v.read_value()

    with tf.Session() as session:
        session.run(v.initializer)
        large, small = step(tf.constant(True)), step(tf.constant(False))
        assert [float(session.run(one)) for one in (large, small, large)] == [11.0, 12.0, 22.0]


def test_a_function_that_another_traced_first_is_called_outside_too():
    v = tf.get_variable("v", initializer=[[1.0, 2.0], [3.0, 4.0]], use_resource=True)

    @tf.function
    def step(x):
        y = tf.matmul(x, v)
        v.assign_add(y)
        return tf.nn.relu(y)

    @tf.function
    def twice(x):
        return step(x) + step(2.0 * x)

    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    slopes = tf.gradients(step(twice(x)), [x, v])
    with tf.Session() as session:
        session.run(v.initializer)
        by_x, by_v = session.run(slopes)
    assert by_x.tolist() == [[17428.0, 38100.0], [17428.0, 38100.0]]  # TensorFlow 1.15.5's
    assert by_v.tolist() == [[3134.0, 6494.0], [4688.0, 9728.0]]
