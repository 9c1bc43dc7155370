"""Functional control flow and functions, which TensorFlow rewrites before it places them.

The programs of `control_flow` and others are built again with control flow v2, which calls functions; `called_*` call
functions of 2.x, some marked as a session's graph has them once they are to be inlined.
"""

from __future__ import annotations

import functools

import tensorflow

from tests.oracle.corpus import control_flow, recurrent
from tests.oracle.corpus.blocks import attention, cross_entropy, dense, digits, lstm_step
from tests.oracle.corpus.programs import FUNCTION_PROGRAMS, function_program, tf


def with_control_flow_v2(function):
    """Builds with control flow v2, whose variables are resources."""

    @functools.wraps(function)
    def build():
        tf.enable_control_flow_v2()
        try:
            with tf.variable_scope("", use_resource=True):
                return function()
        finally:
            tf.disable_control_flow_v2()

    return build


for _function in (
    control_flow.conditionals,
    control_flow.conditional_on_devices,
    control_flow.nested_loops,
    control_flow.loop_with_swapping,
    control_flow.map_scan_fold,
    control_flow.case_and_assert,
    control_flow.stack_and_tensor_array,
    recurrent.sequence_to_sequence,
):
    FUNCTION_PROGRAMS["v2_" + _function.__name__] = with_control_flow_v2(_function)
FUNCTION_PROGRAMS["v2_lstm_in_a_loop"] = with_control_flow_v2(
    functools.partial(recurrent.lstm_in_a_loop, "resource")
)


def functional_program(function):
    """Adds a program that is built with control flow v2."""
    FUNCTION_PROGRAMS[function.__name__] = with_control_flow_v2(function)
    return function


def inlined():
    """Marks all calls of the graph for inlining."""
    for operation in tf.get_default_graph().get_operations():
        if operation.type in ("PartitionedCall", "StatefulPartitionedCall"):
            operation._set_attr("_lower_as_multi_device_function", tf.AttrValue(b=True))


@functional_program
def v2_training_loop():
    """Steps of an optimizer inside a loop, on a GPU, the variables beside."""
    with tf.device("/cpu:0"):
        w = tf.get_variable("w", [8, 4])
        x = tf.placeholder(tf.float32, [16, 8], "x")

    def step(i, loss):
        with tf.device("/gpu:0"):
            y = tf.reduce_sum(tf.square(tf.matmul(x, w)))
            with tf.control_dependencies([w.assign_sub(0.1 * tf.gradients(y, w)[0])]):
                return i + 1, y + 0.0 * loss

    loss = tf.while_loop(lambda i, _: i < 10, step, [0, 0.0])[1]
    tf.summary.scalar("loss", loss)


@functional_program
def v2_switched_towers():
    """Towers on two GPUs whose layers choose a branch, with one optimizer."""
    losses = []
    training = tf.placeholder(tf.bool, [], "training")
    for i in range(2):
        with tf.device("/gpu:%d" % i), tf.variable_scope("net", reuse=tf.AUTO_REUSE):
            images, labels = digits()
            hidden = dense(images, 16, "hidden")
            hidden = tf.cond(
                training,
                lambda h=hidden: h * tf.cast(tf.random_uniform(tf.shape(h)) > 0.5, tf.float32),
                lambda h=hidden: tf.identity(h),
            )
            losses.append(cross_entropy(dense(hidden, 10, "logits", tf.identity), labels))
    with tf.device("/cpu:0"):
        tf.train.AdamOptimizer().minimize(tf.add_n(losses), colocate_gradients_with_ops=True)


@functional_program
def v2_chosen_optimizer():
    """A case that trains with one of three rules, and one that only reports."""
    which = tf.placeholder(tf.int32, [], "which")
    v = tf.get_variable("v", [4])
    m = tf.get_variable("m", [4], initializer=tf.zeros_initializer())
    gradient = tf.gradients(tf.reduce_sum(v * v), v)[0]

    def momentum():
        with tf.control_dependencies([m.assign(0.9 * m + gradient)]):
            return v.assign_sub(0.1 * m) + 0.0

    branches = [
        lambda: v.assign_sub(0.1 * gradient) + 0.0,
        momentum,
        lambda: v.assign_sub(0.01 * tf.sign(gradient)) + 0.0,
    ]
    tensorflow.switch_case(which, branches)
    tf.cond(which > 1, lambda: tf.print("sign", v), lambda: tf.no_op())


@functional_program
def v2_queue_in_a_loop():
    """Elements of a queue and of an iterator taken inside a loop."""
    queue = tf.FIFOQueue(10, tf.float32, [[3]])
    queue.enqueue(tf.ones([3]))
    iterator = tf.data.make_initializable_iterator(tf.data.Dataset.range(10).batch(2, drop_remainder=True))

    def step(i, total):
        ids = tf.cast(iterator.get_next(), tf.float32)
        return i + 1, total + tf.reduce_sum(ids)

    tf.while_loop(lambda i, _: i < 3, step, [0, 0.0])
    with tf.device("/gpu:0"):
        tf.cond(queue.size() > 2, lambda: queue.dequeue() * 2.0, lambda: tf.zeros([3]))


@functional_program
def v2_beam_search():
    """A table of words read in a loop over integers, with strings inside the branches."""
    scores = tf.get_variable("scores", [16, 16])
    words = tf.constant(["w%d" % i for i in range(16)])

    def step(i, beams, total):
        with tf.device("/gpu:0"):
            best, found = tf.nn.top_k(tf.gather(scores, beams), 2)
        total = total + tf.reduce_max(best)
        return i + 1, tf.reshape(found, [-1])[:4], total

    state = [0, tf.zeros([4], tf.int32), 0.0]
    _, beams, total = tf.while_loop(
        lambda i, *_: i < 5,
        step,
        state,
        shape_invariants=[tf.TensorShape([]), tf.TensorShape([None]), tf.TensorShape([])],
    )
    text = tf.cond(total > 0.0, lambda: tf.gather(words, beams), lambda: tf.constant([""]))
    tf.strings.length(text)


@functional_program
def v2_second_derivatives():
    """A gradient of a gradient through a conditional."""
    x = tf.placeholder(tf.float32, [3])
    y = tf.cond(tf.reduce_sum(x) > 0.0, lambda: x * x * x, lambda: tf.sin(x))
    first = tf.gradients(y, x)[0]
    tf.gradients(first, x)


@functional_program
def v2_parameter_servers():
    """A conditional update of variables on parameter servers, asked for by a worker."""
    cluster = {"ps": ["a:1", "b:1"], "worker": ["c:1", "d:1"]}
    setter = tf.train.replica_device_setter(cluster=cluster, worker_device="/job:worker/task:1")
    with tf.device(setter):
        v, w = tf.get_variable("v", [4]), tf.get_variable("w", [4])
        step = tf.train.get_or_create_global_step()
        good = tf.reduce_all(tf.math.is_finite(v))

        def update():
            with tf.device("/gpu:0"):
                change = tf.sqrt(tf.abs(w)) * 2.0
            return v.assign_add(change) + 0.0

        y = tf.cond(good, update, lambda: v + 0.0)
        with tf.control_dependencies([y]):
            step.assign_add(1)


@functional_program
def v2_variables_on_devices():
    """One loop over variables that lie on three devices."""
    variables = []
    for i, device in enumerate(("/cpu:0", "/gpu:0", "/gpu:1")):
        with tf.device(device):
            variables.append(tf.get_variable("v%d" % i, [4]))

    def step(i, total):
        for v in variables:
            total = total + v
        with tf.control_dependencies([variables[1].assign_add(total)]):
            return i + 1, tf.identity(total)

    with tf.device("/gpu:1"):
        tf.while_loop(lambda i, _: i < 3, step, [0, tf.zeros([4])])


def called(marked):
    """Functions called on several devices, one inside another."""

    @tensorflow.function
    def inner(x):
        return tf.square(x)

    @tensorflow.function
    def outer(x):
        with tf.device("/gpu:0"):
            y = inner(x)
        return y + 1.0

    with tf.device("/cpu:0"):
        outer(tf.placeholder(tf.float32, [2]))
    outer(tf.ones([2]))
    if marked:
        inlined()


FUNCTION_PROGRAMS["called_functions"] = functools.partial(called, False)
FUNCTION_PROGRAMS["called_functions_inlined"] = functools.partial(called, True)


@function_program
def called_layer():
    """A function over captured variables on a GPU, its gradient, and an optimizer outside."""
    with tf.device("/gpu:0"):
        w = tf.get_variable("w", [4, 2], use_resource=True)
        b = tf.get_variable("b", [2], use_resource=True)

    @tensorflow.function
    def layer(x):
        with tf.device("/gpu:1"):
            y = tf.matmul(x, w)
        return tf.nn.relu(y + b)

    y = layer(tf.placeholder(tf.float32, [None, 4], "x"))
    tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(y), var_list=[w, b])
    inlined()


@function_program
def called_loops():
    """Python loops and conditions, which a function turns into graphs."""

    @tensorflow.function
    def collatz(n):
        steps = 0
        while n > 1:
            if n % 2 == 0:
                n = n // 2
            else:
                n = 3 * n + 1
            steps += 1
        return steps

    with tf.device("/gpu:0"):
        collatz(tf.placeholder(tf.int64, [], "n"))
    collatz(tf.constant(7))
    inlined()


@function_program
def called_recurrence():
    """An LSTM in a function that is called once for each direction, on two GPUs."""

    @tensorflow.function(autograph=False)
    def recur(x, kernel):
        c = h = tf.zeros([4, 8])
        for step in tf.unstack(x, axis=1):
            i, j, f, o = tf.split(tf.matmul(tf.concat([step, h], 1), kernel), 4, 1)
            c = c * tf.sigmoid(f) + tf.sigmoid(i) * tf.tanh(j)
            h = tf.tanh(c) * tf.sigmoid(o)
        return h

    x = tf.placeholder(tf.float32, [4, 3, 8])
    outputs = []
    for i, direction in enumerate((x, tf.reverse(x, [1]))):
        with tf.device("/gpu:%d" % i):
            kernel = tf.get_variable("kernel%d" % i, [16, 32], use_resource=True)
            outputs.append(recur(direction, kernel))
    tf.concat(outputs, 1)
    inlined()


@function_program
def called_attention():
    """Heads of attention: one function, called in a function, per head."""

    @tensorflow.function(autograph=False)
    def head(q, k, v):
        return attention(q, k, v)

    @tensorflow.function(autograph=False)
    def block(x):
        parts = tf.split(x, 2, 2)
        with tf.device("/gpu:1"):
            first = head(parts[0], parts[0], parts[0])
        return tf.concat([first, head(parts[1], parts[1], parts[1])], 2)

    with tf.device("/gpu:0"):
        y = block(tf.placeholder(tf.float32, [2, 5, 8]))
    block(y)
    inlined()


@function_program
def called_with_side_effects():
    """A function that updates a variable, prints and asserts; control edges into and out of its calls."""
    v = tf.get_variable("v", [], tf.int64, initializer=tf.zeros_initializer(), use_resource=True)

    @tensorflow.function(autograph=False)
    def count(x):
        with tf.control_dependencies([tf.Assert(x > 0.0, [x]), tf.print("x", x)]):
            v.assign_add(1)
        return x * 2.0

    with tf.control_dependencies([tf.no_op(name="go")]):
        y = count(tf.placeholder(tf.float32, [], "x"))
    with tf.control_dependencies([y]):
        tf.no_op(name="done")
    inlined()


@function_program
def called_table():
    """A table looked up in a function."""
    keys = tf.constant(["a", "b"])
    table = tensorflow.lookup.StaticHashTable(
        tensorflow.lookup.KeyValueTensorInitializer(keys, tf.constant([1, 2])), -1
    )

    @tensorflow.function(autograph=False)
    def ids(words):
        return tf.one_hot(table.lookup(words), 3)

    with tf.device("/gpu:0"):
        ids(tf.placeholder(tf.string, [None], "words"))
    tf.tables_initializer()
    inlined()


@function_program
def called_resource_results():
    """Functions that give back a variable's handle."""
    with tf.device("/gpu:1"):
        v = tf.get_variable("v", [2], use_resource=True)

    @tensorflow.function(autograph=False)
    def handle():
        return tf.identity(v.handle)

    @tensorflow.function(autograph=False)
    def same(h):
        return h

    for made in (handle(), same(v.handle)):
        tf.raw_ops.ReadVariableOp(resource=made, dtype=tf.float32)
    inlined()


@function_program
def called_mapped_dataset():
    """A dataset whose functions are not called by the graph but by the dataset."""
    data = tf.data.Dataset.from_tensor_slices([[1.0, 2.0], [3.0, 4.0]])
    data = data.map(lambda x: tf.cond(x[0] > 1.0, lambda: x * 2.0, lambda: x)).filter(lambda x: x[0] > 0.0)
    iterator = tf.data.make_initializable_iterator(data.batch(1))
    with tf.device("/gpu:0"):
        tf.square(iterator.get_next())


@function_program
def called_lstm_cells():
    """Cells as functions inside a loop of functions."""
    kernel = tf.get_variable("kernel", [12, 16], use_resource=True)
    tf.enable_control_flow_v2()

    @tensorflow.function(autograph=False)
    def cell(x, c, h):
        with tf.variable_scope("cell", use_resource=True):
            i, j, f, o = tf.split(tf.matmul(tf.concat([x, h], 1), kernel), 4, 1)
        c = c * tf.sigmoid(f) + tf.sigmoid(i) * tf.tanh(j)
        return c, tf.tanh(c) * tf.sigmoid(o)

    x = tf.placeholder(tf.float32, [2, 8])
    zeros = tf.zeros([2, 4])

    def step(i, c, h):
        with tf.device("/gpu:0"):
            c, h = cell(x, c, h)
        return i + 1, c, h

    try:
        tf.while_loop(lambda i, *_: i < 4, step, [0, zeros, zeros])
        with tf.variable_scope("plain", use_resource=True):
            tf.cond(tf.reduce_sum(x) > 0.0, lambda: lstm_step(x, zeros, zeros, 4)[1], lambda: zeros)
    finally:
        tf.disable_control_flow_v2()
