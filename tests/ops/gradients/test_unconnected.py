"""What is asked for the gradient of something on which nothing depends; the operations are TensorFlow 1.15.5's."""

import gpuplace as tf

ZERO = tf.UnconnectedGradients.ZERO


def test_zeros_are_of_the_variables_type():
    tensor = tf.placeholder_with_default(tf.constant(2.0, tf.float64), [])
    variable = tf.get_variable("v", initializer=tf.constant(100.0, tf.float64), use_resource=True)
    before = len(tf.get_default_graph().get_operations())
    found = tf.gradients(tf.constant(0.0, name="y"), [tensor, variable], unconnected_gradients=ZERO)
    assert [one.dtype for one in found] == [tf.float64, tf.float64]
    made = [(op.name, op.type) for op in tf.get_default_graph().get_operations()[before:]]
    assert made[-4:] == [
        ("zeros_like", "Const"),
        ("Const_2", "Const"),
        ("zeros/Const", "Const"),
        ("zeros", "Fill"),
    ]
    with tf.Session() as session:
        assert session.run(found) == [0.0, 0.0]


def test_in_a_function_too():
    variable = tf.get_variable("v", initializer=tf.constant([1.0, 2.0], tf.float64), use_resource=True)

    @tf.function
    def slope(x):
        return tf.gradients(2.0 * x, variable, unconnected_gradients=ZERO)[0]

    with tf.Session() as session:
        session.run(variable.initializer)
        assert session.run(slope(tf.constant(3.0))).tolist() == [0.0, 0.0]
