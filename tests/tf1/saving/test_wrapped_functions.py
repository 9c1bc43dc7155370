"""Functions of TensorFlow 1's kind, and parts of them; as the documentation of `tf.wrap_function` and 1.15.5 say."""

import pytest

import gpuplace as tf
from gpuplace.tf1.saving.wrapped_functions import WrappedGraph, function_from_graph_def


def value(*tensors):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return [session.run(one) for one in tensors]


def update(x, adds):
    v = tf.Variable(5.0, name="up" if adds else "down")
    op = v.assign_add(x) if adds else v.assign_sub(x)
    with tf.control_dependencies([op]):
        return v.read_value()


def test_each_function_has_variables_of_its_own():
    add = tf.wrap_function(update, [tf.TensorSpec([], tf.float32), True])
    sub = tf.wrap_function(update, [tf.TensorSpec([], tf.float32), False], name="sub")
    up, down = add(tf.constant(1.0)), sub(tf.constant(1.0))
    assert value(up, up, down, down) == [6.0, 7.0, 4.0, 3.0]
    assert len(add.variables) == 1 and add.trainable_variables == add.variables != sub.variables
    assert add.name.startswith("__inference_wrapped_function_") and "wrapped_function_sub" in sub.name


def test_what_no_result_needs_does_not_run():
    count = tf.get_variable("count", initializer=0.0, use_resource=True)

    def counts(x):
        count.assign_add(1.0)
        return x * 2.0

    doubled = tf.wrap_function(counts, [tf.TensorSpec([], tf.float32)])(tf.constant(2.0))
    assert value(doubled, count) == [4.0, 0.0]


def test_parts_are_taken_out():
    scale = tf.get_variable("scale", initializer=3.0, use_resource=True)
    graph_of = tf.wrap_function(
        lambda x: tf.add(tf.multiply(x, scale, name="scaled"), 1.0, name="more"),
        [tf.TensorSpec([], tf.float32, name="x")],
    )
    scaled = graph_of.prune("x:0", "scaled:0")
    more = graph_of.prune(["scaled:0"], {"more": "more:0", "done": "more"}, name="rest")
    rest = more(tf.constant(10.0))
    assert rest["done"] is None
    assert value(scaled(tf.constant(2.0)), rest["more"]) == [6.0, 11.0]
    assert [op.type for op in more.graph.get_operations()].count("Placeholder") == 2
    (slope,) = tf.gradients(scaled(tf.constant(2.0)), scale)
    assert value(slope) == [2.0]


def test_what_cannot_be_taken_out():
    one = tf.wrap_function(lambda x: tf.identity(x, name="y"), [tf.TensorSpec([], tf.float32, name="x")])
    with pytest.raises(ValueError, match="Feeds must be tensors"):
        one.prune("x", "y:0")
    with pytest.raises(
        ValueError, match="Can only prune function whose feeds and fetches are from this graph"
    ):
        one.prune("x:0", tf.constant(1.0))


def test_functions_in_one_graph_share_variables():
    graph = WrappedGraph()

    def weight():
        with tf.variable_scope("vars", reuse=tf.AUTO_REUSE):
            return tf.get_variable("v", initializer=1.0)

    add = graph.wrap_function(lambda x: weight() + x, [tf.TensorSpec([], tf.float32)], name="add")
    grow = graph.wrap_function(
        lambda x: {"op": weight().assign_add(x).op, "x": x}, [tf.TensorSpec([], tf.float32)], name="grow"
    )
    assert set(graph.functions) == {"add", "grow"} and len(graph.variables) == 1
    grown = grow(tf.constant(5.0))
    assert grown["op"] is None
    assert value(add(tf.constant(1.0)), grown["x"], add(tf.constant(1.0))) == [2.0, 5.0, 7.0]
    assert graph.graph.get_collection("trainable_variables") == graph.variables


def test_a_function_of_a_graph_with_a_loop():
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [], name="x")
        tf.identity(tf.while_loop(lambda v: v < 10.0, lambda v: v * 2.0, [x]), name="y")
    doubled = function_from_graph_def(graph.as_graph_def(), ["x:0"], "y:0")
    assert value(doubled(tf.constant(3.0))) == [12.0]
