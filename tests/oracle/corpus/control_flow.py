"""Control flow v1, stacks and tensor arrays."""

from __future__ import annotations

from tests.oracle.corpus.programs import program, tf


@program
def conditionals():
    """Nested cond with variables that are updated in the branches, and its gradient."""
    p, q = tf.placeholder(tf.bool), tf.placeholder(tf.bool)
    v = tf.get_variable("v", [2])
    inner = tf.cond(q, lambda: v * 2.0, lambda: tf.identity(v))
    y = tf.cond(p, lambda: tf.assign_add(v, inner), lambda: inner - 1.0)
    tf.gradients(y, v)


@program
def conditional_on_devices():
    """Branches on different devices."""
    x = tf.placeholder(tf.float32, [4])

    def gpu():
        with tf.device("/gpu:0"):
            return tf.exp(x)

    def cpu():
        with tf.device("/cpu:0"):
            return tf.log(x)

    tf.cond(tf.reduce_sum(x) > 0.0, gpu, cpu)


@program
def nested_loops():
    """A loop in a loop, over integers and floats, one on the CPU."""

    def outer(i, total):
        _, total = tf.while_loop(lambda j, _: j < i, lambda j, t: (j + 1, t * 1.5), [0, total])
        return i + 1, total

    with tf.device("/cpu:0"):
        tf.while_loop(lambda i, _: i < 3, outer, [0, 1.0])
    total = tf.while_loop(lambda i, _: i < 3, outer, [0, 1.0])[1]
    tf.sqrt(total)


@program
def loop_with_swapping():
    """A loop whose intermediate values may be swapped to memory, and its gradient."""
    x = tf.get_variable("x", [8, 8])
    y = tf.while_loop(
        lambda i, _: i < 4,
        lambda i, m: (i + 1, tf.tanh(tf.matmul(m, x))),
        [0, tf.ones([8, 8])],
        swap_memory=True,
        parallel_iterations=2,
    )[1]
    with tf.device("/gpu:0"):
        tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(y))


@program
def map_scan_fold():
    """Higher-order functions of control flow v1."""
    x = tf.placeholder(tf.float32, [6, 3])
    tf.map_fn(tf.square, x)
    tf.scan(lambda a, b: a + b, x)
    tf.foldl(lambda a, b: a * b, x)
    tf.map_fn(lambda s: tf.string_to_number(s), tf.constant(["1", "2"]), dtype=tf.float32)


@program
def case_and_assert():
    """case with a default, assertions, prints."""
    x = tf.placeholder(tf.int32, [])
    y = tf.case([(x < 0, lambda: -x), (x > 10, lambda: x * 2)], default=lambda: x, exclusive=True)
    with tf.control_dependencies([tf.Assert(y > 0, [y]), tf.assert_equal(x, y)]):
        tf.Print(y, [y], "y ")
        tf.print("sum", y, x)


@program
def stack_and_tensor_array():
    """Tensor arrays of integers and strings, scattered, concatenated."""
    array = tf.TensorArray(tf.int32, 0, dynamic_size=True).write(0, 1).write(1, 2)
    array.gather([0, 1])
    array.size()
    names = tf.TensorArray(tf.string, 2).unstack(["a", "b"])
    names.stack()
    with tf.device("/gpu:0"):
        tf.TensorArray(tf.float32, 3).scatter([0, 1, 2], tf.ones([3, 2])).stack()
