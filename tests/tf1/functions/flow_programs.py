"""Programs whose loops and conditionals are calls of functions; they run in TensorFlow 1.15.5 and here.

Each takes ``tf`` and returns what is fetched, after the initialisers have run.
"""

PROGRAMS = {}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


def functional(function):
    """A program in whose graph loops and conditionals are calls of functions, also outside of ``tf.function``."""

    def built(tf):
        tf.compat.v1.enable_control_flow_v2()
        try:
            return function(tf)
        finally:
            tf.compat.v1.disable_control_flow_v2()

    PROGRAMS[function.__name__] = built
    return function


@functional
def cond_basic(tf):
    x = tf.constant([1.0, 2.0], name="x")
    y = tf.constant([3.0, 4.0], name="y")
    z = tf.cond(tf.reduce_sum(x) > 0, lambda: x * y, lambda: y + 1.0)
    return [z] + tf.gradients(z, [x, y])


@functional
def cond_second(tf):
    x = tf.constant([1.0, 2.0], name="x")
    y = tf.constant([3.0, 4.0], name="y")
    z = tf.cond(tf.reduce_sum(x) > 0, lambda: x * y * y, lambda: y + 1.0, name="choice")
    g = tf.gradients(z, [x, y])
    return [z] + g + tf.gradients(g[1], [x, y])


@functional
def cond_nested(tf):
    x = tf.constant(2.0, name="x")
    y = tf.constant(3.0, name="y")

    def inner():
        return tf.cond(y > 1, lambda: x * x * y, lambda: y)

    z = tf.cond(x > 0, inner, lambda: x + y)
    return [z] + tf.gradients(z, [x, y])


@functional
def cond_structure(tf):
    x = tf.constant(2.0, name="x")
    z = tf.cond(x > 0, lambda: {"a": (x, x + 1), "b": [x * 2]}, lambda: {"a": (x, x), "b": [x]})
    return [z["a"][0], z["a"][1], z["b"][0]]


@program
def cond_in_function(tf):
    v = tf.compat.v1.get_variable("v", initializer=3.0, use_resource=True)

    @tf.function
    def f(x):
        return tf.cond(x > 0, lambda: x * v, lambda: v.assign_add(1.0) * x)

    x = tf.constant(2.0)
    z = f(x)
    return [z] + tf.gradients(z, [x, v])


@functional
def while_basic(tf):
    x = tf.constant(2.0, name="x")
    y = tf.constant(1.5, name="y")
    z = tf.while_loop(lambda v: v < 8.0, lambda v: v * v * y, [x])
    return [z] + tf.gradients(z, [x, y])


@functional
def while_two(tf):
    x = tf.constant(2.0, name="x")
    n = tf.constant(5, name="n")
    i, z = tf.while_loop(
        lambda i, v: i < n, lambda i, v: (i + 1, tf.sin(v) * x), [0, x], maximum_iterations=4, name="loop"
    )
    g = tf.gradients(z, [x])
    return [i, z] + g + tf.gradients(g[0], [x])


@functional
def while_nested(tf):
    x = tf.constant(1.1, name="x")

    def body(i, v):
        return i + 1, tf.while_loop(lambda j, w: j < 3, lambda j, w: (j + 1, w * w * x), [0, v])[1]

    i, z = tf.while_loop(lambda i, v: i < 2, body, [0, x])
    return [z] + tf.gradients(z, [x])


@functional
def while_invariants(tf):
    x = tf.constant([1.0, 2.0], name="x")
    i, z = tf.while_loop(
        lambda i, v: i < 2,
        lambda i, v: (i + 1, tf.concat([v, v * 2.0], 0)),
        [0, x],
        shape_invariants=[tf.TensorShape([]), tf.TensorShape([None])],
    )
    return [z] + tf.gradients(z, [x])


@functional
def cond_in_while(tf):
    x = tf.constant(2.0, name="x")
    i, z = tf.while_loop(
        lambda i, v: i < 4,
        lambda i, v: (i + 1, tf.cond(tf.equal(i % 2, 0), lambda: v * x, lambda: v + x)),
        [0, x],
    )
    return [z] + tf.gradients(z, [x])


@program
def while_in_function(tf):
    v = tf.compat.v1.get_variable("v", initializer=3.0, use_resource=True)

    @tf.function
    def f(x):
        return tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * v + x), [0, x])[1]

    x = tf.constant(2.0)
    z = f(x)
    return [z] + tf.gradients(z, [x, v])


@program
def while_in_function_embedding(tf):
    v = tf.compat.v1.get_variable("v", initializer=[[1.0, 2.0], [3.0, 4.0]], use_resource=True)

    @tf.function
    def f(x):
        return tf.while_loop(
            lambda i, a: i < 3, lambda i, a: (i + 1, a + tf.reduce_sum(tf.gather(v, [i % 2]))), [0, x]
        )[1]

    x = tf.constant(2.0)
    z = f(x)
    g = tf.gradients(z, [x, v])
    return [z, g[0], tf.convert_to_tensor(g[1])]


@program
def switch(tf):
    x = tf.constant(2.0, name="x")
    i = tf.constant(1)
    z = tf.switch_case(i, [lambda: x, lambda: x * x, lambda: x * x * x], default=lambda: x + 1)
    return [z] + tf.gradients(z, [x])


@program
def case_in_function(tf):
    @tf.function
    def f(x):
        return tf.case([(x > 5, lambda: x), (x > 1, lambda: x * x)], default=lambda: x + 1)

    x = tf.constant(2.0, name="x")
    z = f(x)
    return [z] + tf.gradients(z, [x])


@program
def map_in_function(tf):
    @tf.function
    def f(x):
        return tf.map_fn(lambda r: r * r, x)

    x = tf.constant([2.0, 3.0], name="x")
    z = f(x)
    return [z] + tf.gradients(z, [x])


@functional
def scan_v2(tf):
    x = tf.constant([2.0, 3.0], name="x")
    z = tf.scan(lambda a, r: a * r, x)
    w = tf.foldl(lambda a, r: a * r + x[0], x)
    return [z, w] + tf.gradients([z, w], [x])


@functional
def rnn_v2(tf):
    x = tf.constant([[[0.2], [0.3]]], name="x")
    cell = tf.compat.v1.nn.rnn_cell.BasicRNNCell(2)
    with tf.compat.v1.variable_scope("s", initializer=tf.constant_initializer(0.5)):
        out, st = tf.compat.v1.nn.dynamic_rnn(cell, x, dtype=tf.float32)
    return [out, st] + tf.gradients(out, [x] + tf.compat.v1.trainable_variables())


@functional
def array_in_loop(tf):
    x = tf.constant([2.0, 3.0, 4.0], name="x")
    ta = tf.TensorArray(tf.float32, size=3)
    src = tf.TensorArray(tf.float32, size=3).unstack(x)
    _, ta = tf.while_loop(lambda i, t: i < 3, lambda i, t: (i + 1, t.write(i, src.read(i) * 2.0)), [0, ta])
    z = ta.stack()
    return [z, ta.size(), ta.gather([0, 2])] + tf.gradients(z, [x])


@functional
def control_from_outside(tf):
    v = tf.compat.v1.get_variable("v", initializer=0.0, use_resource=True)
    with tf.device("/cpu:0"):
        assign = v.assign(1.5)

    def f():
        with tf.control_dependencies([assign]):
            return v.read_value()

    z = tf.cond(tf.constant(True), f, lambda: 0.0)
    i = tf.while_loop(lambda i: i < 2.0, lambda i: i + f(), [0.0])
    return [z, i]


@functional
def branches_on_devices(tf):
    x = tf.constant([1.0, 2.0], name="x")
    with tf.device("/gpu:0"):
        y = tf.constant([3.0, 4.0], name="y")

    def large():
        with tf.device("/gpu:1"):
            z = x * y
        return z + 1.0

    def small():
        with tf.compat.v1.colocate_with(y.op):
            return x - y

    with tf.device("/cpu:0"):
        z = tf.cond(tf.reduce_sum(x) > 5.0, large, small)
    return [z, *tf.gradients(z, [x, y])]


@functional
def a_loop_on_devices(tf):
    with tf.device("/gpu:0"):
        weights = tf.constant([[1.0, 2.0], [3.0, 4.0]], name="weights")
    x = tf.constant([[1.0, 1.0]], name="x")

    def body(i, v):
        with tf.device("/gpu:1"):
            v = tf.matmul(v, weights)
        return i + 1, v * 0.1

    _, z = tf.while_loop(lambda i, v: i < 3, body, [0, x])
    return [z, *tf.gradients(z, [x, weights])]


@program
def branches_of_a_dataset(tf):
    def choose(x):
        return tf.cond(
            x > 2, lambda: x * 2, lambda: tf.while_loop(lambda i: i < 10, lambda i: i + x + 1, [x])
        )

    data = tf.data.Dataset.range(5).map(choose).batch(5)
    return [tf.data.experimental.get_single_element(data)]


@program
def a_critical_section(tf):
    count = tf.compat.v1.get_variable("count", initializer=0.0, use_resource=True)
    x = tf.constant(2.0, name="x")

    def step():
        seen = count.read_value()
        with tf.control_dependencies([seen]), tf.control_dependencies([count.assign_add(x * 3.0)]):
            return tf.identity(seen), 1.0

    section = tf.CriticalSection(name="section")
    first, second = section.execute(step), section.execute(step, name="again")
    return [first[0] + second[0], first[1]]
