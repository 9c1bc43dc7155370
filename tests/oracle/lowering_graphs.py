"""Graphs with functional control flow, functions and aggregates, made by TensorFlow 2.21.

Each entry of `GRAPHS` fills the default graph; devices, captured values, resources, nesting and gradients vary.
"""

# mypy: ignore-errors

import tensorflow as tf

tf1 = tf.compat.v1


def while_string():
    def body(i, s):
        return i + 1, tf.strings.join([s, "x"])

    tf.while_loop(lambda i, s: i < 3, body, [tf.constant(0), tf.constant("a")])


def while_devices():
    with tf1.device("/gpu:1"):
        x = tf1.placeholder(tf.float32, [4], name="x")
    with tf1.device("/cpu:0"):
        y = tf.constant([1.0, 2.0, 3.0, 4.0])

    def body(i, v):
        with tf1.device("/gpu:0"):
            w = v * 2.0
        return i + 1, w + y

    with tf1.device("/gpu:0"):
        tf.while_loop(lambda i, v: i < 3, body, [0, x])


def while_control_inputs():
    go = tf.no_op(name="go")
    with tf.control_dependencies([go]):
        _, v = tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v * 2.0), [0, tf.constant(1.0)])
    with tf.control_dependencies([v]):
        tf.no_op(name="after")


def while_resource():
    with tf1.device("/cpu:0"):
        v = tf.Variable(1.0, name="v")
    w = tf.Variable(2.0, name="w")

    def body(i, x):
        v.assign_add(1.0)
        return i + 1, x * v + w

    _, x = tf.while_loop(lambda i, x: x < 10.0 + v, body, [0, tf.constant(1.0)])
    tf.identity(x, name="out")


def while_gradient():
    x = tf1.placeholder(tf.float32, [4, 4], name="x")
    w = tf1.get_variable("w", [4, 4], use_resource=True)
    _, y = tf.while_loop(
        lambda i, y: i < 3, lambda i, y: (i + 1, tf.tanh(y @ w)), [0, x], maximum_iterations=5
    )
    loss = tf.reduce_sum(y * y)
    tf1.train.GradientDescentOptimizer(0.1).minimize(loss)


def while_gradient_on_gpu():
    with tf1.device("/gpu:1"):
        while_gradient()


def if_simple():
    p = tf1.placeholder(tf.bool, [], name="p")
    x = tf1.placeholder(tf.float32, [4], name="x")
    tf.cond(p, lambda: x * 2.0, lambda: x + 1.0)


def if_devices():
    with tf1.device("/cpu:0"):
        p = tf1.placeholder(tf.bool, [], name="p")
    with tf1.device("/gpu:1"):
        x = tf1.placeholder(tf.float32, [4], name="x")

    def yes():
        with tf1.device("/cpu:0"):
            return x * 2.0

    def no():
        with tf1.device("/gpu:0"):
            return x + 1.0

    with tf1.device("/gpu:0"):
        c = tf.cond(p, yes, no)
    tf.identity(c, name="out")


def if_string_and_side_effects():
    p = tf1.placeholder(tf.bool, [], name="p")
    v = tf.Variable(1, name="v", dtype=tf.int32)
    w = tf.Variable(1.0, name="w")

    def yes():
        v.assign_add(1)
        w.assign(3.0)
        return "yes", w + 1.0

    def no():
        with tf.control_dependencies([tf.no_op(name="quiet")]):
            return "no", w - 1.0

    with tf.control_dependencies([tf.no_op(name="go")]):
        s, y = tf.cond(p, yes, no)
    with tf.control_dependencies([y.op]):
        tf.no_op(name="after")


def if_no_outputs():
    p = tf1.placeholder(tf.bool, [], name="p")
    w = tf.Variable(1.0, name="w")

    def yes():
        return w.assign(3.0).op

    tf.cond(p, yes, lambda: tf.no_op())


def if_gradient():
    p = tf1.placeholder(tf.bool, [], name="p")
    w = tf1.get_variable("w", [4, 4], use_resource=True)
    x = tf1.placeholder(tf.float32, [4, 4], name="x")
    y = tf.cond(p, lambda: tf.nn.relu(x @ w), lambda: tf.sigmoid(x) * w)
    tf1.train.AdamOptimizer(0.1).minimize(tf.reduce_sum(y))


def if_in_while():
    x = tf1.placeholder(tf.float32, [4], name="x")

    def body(i, y):
        y = tf.cond(i > 1, lambda: y * 2.0, lambda: tf.cond(i > 0, lambda: y + 1.0, lambda: y))
        return i + 1, y

    tf.while_loop(lambda i, y: i < 3, body, [0, x])


def while_in_if():
    p = tf1.placeholder(tf.bool, [], name="p")
    x = tf1.placeholder(tf.float32, [4], name="x")

    def yes():
        return tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * 2.0), [0, x])[1]

    tf.cond(p, yes, lambda: x)


def while_in_while():
    x = tf1.placeholder(tf.float32, [4], name="x")

    def outer(i, y):
        return i + 1, tf.while_loop(lambda j, z: j < i, lambda j, z: (j + 1, z + 1.0), [0, y])[1]

    tf.while_loop(lambda i, y: i < 3, outer, [0, x])


def nested_gradient():
    x = tf1.placeholder(tf.float32, [4], name="x")

    def body(i, y):
        return i + 1, tf.cond(i > 1, lambda: tf.sin(y), lambda: tf.exp(y))

    y = tf.while_loop(lambda i, y: i < 3, body, [0, x], maximum_iterations=4)[1]
    tf1.gradients(y, x)


def case_indexed():
    k = tf1.placeholder(tf.int32, [], name="k")
    x = tf1.placeholder(tf.float32, [4], name="x")
    with tf1.device("/gpu:0"):
        y = tf.switch_case(k, [lambda: x * 2.0, lambda: x + 1.0, lambda: tf.exp(x)])
    tf.identity(y, name="out")


def case_resource():
    k = tf1.placeholder(tf.int32, [], name="k")
    with tf1.device("/cpu:0"):
        v = tf.Variable(1.0, name="v")
    w = tf.Variable(1.0, name="w")

    def second():
        w.assign(v)
        return w + 1.0

    tf.switch_case(k, [lambda: v + 1.0, second])


def case_gradient():
    k = tf1.placeholder(tf.int32, [], name="k")
    x = tf1.placeholder(tf.float32, [4], name="x")
    y = tf.switch_case(k, [lambda: x * x, lambda: tf.sin(x)])
    tf1.gradients(y, x)


def call_simple():
    @tf.function
    def double(x):
        return x * 2.0

    x = tf1.placeholder(tf.float32, [4], name="x")
    tf.identity(double(x) + double(x + 1.0), name="out")


def call_devices():
    v = tf.Variable(1.0, name="v")

    @tf.function
    def update(x):
        with tf1.device("/cpu:0"):
            y = x * 2.0
        v.assign_add(tf.reduce_sum(y))
        return y

    with tf1.device("/gpu:1"):
        y = update(tf.constant([1.0, 2.0]))
    tf.identity(y, name="out")


def call_in_while():
    @tf.function
    def inner(x):
        return tf.tanh(x)

    @tf.function
    def double(x):
        with tf1.device("/cpu:0"):
            return inner(x) * 2.0

    tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, double(x)), [0, tf.constant(1.0)])


def call_in_if():
    v = tf.Variable(1.0, name="v")

    @tf.function
    def double():
        v.assign_add(1.0)
        return v * 2.0

    p = tf1.placeholder(tf.bool, [], name="p")
    tf.cond(p, double, lambda: v + 0.0)


def call_with_loop():
    @tf.function
    def power(x, n):
        y = x
        while n > 0:
            y = y * x
            n = n - 1
        return y

    x = tf1.placeholder(tf.float32, [4], name="x")
    tf1.gradients(power(x, tf.constant(3)), x)


def tensor_array():
    ta = tf.TensorArray(tf.float32, 3)

    def body(i, ta):
        return i + 1, ta.write(i, tf.cast(i, tf.float32))

    _, ta = tf.while_loop(lambda i, t: i < 3, body, [0, ta])
    ta.stack()


def lstm():
    x = tf1.placeholder(tf.float32, [2, 5, 3], name="x")
    w = tf1.get_variable("w", [7, 16], use_resource=True)

    def body(i, h, c, out):
        z = tf.concat([x[:, i], h], 1) @ w
        a, b, d, e = tf.split(z, 4, 1)
        c = tf.sigmoid(a) * c + tf.sigmoid(b) * tf.tanh(d)
        h = tf.sigmoid(e) * tf.tanh(c)
        return i + 1, h, c, out.write(i, h)

    zero = tf.zeros([2, 4])
    out = tf.while_loop(lambda i, *_: i < 5, body, [0, zero, zero, tf.TensorArray(tf.float32, 5)])[3].stack()
    tf1.train.AdamOptimizer(0.1).minimize(tf.reduce_mean(out))


def map_and_scan():
    x = tf1.placeholder(tf.float32, [5, 3], name="x")
    with tf1.device("/gpu:0"):
        tf.map_fn(lambda row: tf.nn.softmax(row), x)
    tf.scan(lambda a, row: a + row, x)


def accumulate():
    with tf1.device("/gpu:1"):
        a, b = tf.constant([1.0]), tf1.placeholder(tf.float32, [1], name="b")
    with tf.control_dependencies([tf.no_op(name="go")]):
        tf.raw_ops.AccumulateNV2(inputs=[a, b, b], shape=[1], name="acc")
    tf.raw_ops.AccumulateNV2(inputs=[tf.constant([1]), tf.constant([2])], shape=[1], name="ints")


def parallel():
    with tf1.device("/gpu:1"):
        a = tf1.placeholder(tf.float32, [2], name="a")
        tf.parallel_stack([a, tf.constant([1.0, 2.0])], name="stack")
    with tf.control_dependencies([tf.no_op(name="go")]):
        tf.parallel_stack([tf.constant(["a"]), tf.constant(["b"])], name="words")


def mixed_aggregates():
    p = tf1.placeholder(tf.bool, [], name="p")
    a = tf1.placeholder(tf.float32, [2], name="a")
    tf.cond(p, lambda: a * 2.0, lambda: tf.raw_ops.AccumulateNV2(inputs=[a, a], shape=[2]))
    tf.raw_ops.AccumulateNV2(inputs=[a, a], shape=[2], name="acc")
    tf.parallel_stack([a, a], name="stack")
    tf.raw_ops.AccumulateNV2(inputs=[a, a], shape=[2], name="acc2")
    tf.cond(p, lambda: a * 2.0, lambda: a)


def colocated_in_function():
    x = tf1.placeholder(tf.float32, [4], name="x")
    p = tf1.placeholder(tf.bool, [], name="p")

    def yes():
        with tf1.device("/cpu:0"):
            y = x * 2.0
        with tf1.colocate_with(y):
            return tf.exp(tf.constant(1.0)) + y

    tf.cond(p, yes, lambda: x)


def partial_devices():
    p = tf1.placeholder(tf.bool, [], name="p")

    def yes():
        with tf1.device("/device:GPU:*"):
            a = tf.constant(1.0) * 2.0
        with tf1.device("/task:0"):
            return a + 1.0

    with tf1.device("/job:localhost/gpu:1"):
        tf.cond(p, yes, lambda: tf.constant(3.0))


def not_lowered():
    x = tf1.placeholder(tf.float32, [4], name="x")
    tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * 2.0), [0, x], name="loop")
    p = tf1.placeholder(tf.bool, [], name="p")
    tf.cond(p, lambda: x * 2.0, lambda: x)
    for op in tf1.get_default_graph().get_operations():
        if op.type.endswith(("While", "If")):
            op._clear_attr("_lower_using_switch_merge")


def impossible_body():
    p = tf1.placeholder(tf.bool, [], name="p")

    def yes():
        with tf1.device("/gpu:7"):
            return tf.constant(1.0)

    tf.cond(p, yes, lambda: tf.constant(2.0))


def sessions_of_datasets():
    data = tf.data.Dataset.range(10).map(lambda x: tf.cond(x > 3, lambda: x * 2, lambda: x)).batch(2)
    it = tf1.data.make_initializable_iterator(data)
    n = it.get_next()
    tf.while_loop(lambda i: i < n[0], lambda i: i + 1, [tf.constant(0, tf.int64)])


def aggregates_and_branches():
    p = tf1.placeholder(tf.bool, [], name="p")
    a = tf1.placeholder(tf.float32, [2], name="a")
    tf.cond(p, lambda: a * 2.0, lambda: a, name="first")
    tf.raw_ops.AccumulateNV2(inputs=[a, a], shape=[2], name="acc")
    tf.parallel_stack([a, a], name="stack")
    tf.raw_ops.AccumulateNV2(inputs=[a, a], shape=[2], name="acc2")
    tf.cond(p, lambda: a * 2.0, lambda: a, name="second")


def accumulate_on_devices():
    with tf1.device("/gpu:1"):
        a = tf.constant([1.0])
        with tf1.device("/cpu:0"):
            b = tf.constant([1.0])
        c = tf.raw_ops.AccumulateNV2(inputs=[a, b], shape=[1], name="acc")
    with tf1.colocate_with(b):
        d = tf.raw_ops.AccumulateNV2(inputs=[c, a], shape=[1], name="beside")
        tf.parallel_stack([d, b], name="stack")


def case_in_while_in_if():
    p = tf1.placeholder(tf.bool, [], name="p")
    x = tf1.placeholder(tf.float32, [4], name="x")

    def body(i, y):
        with tf1.device("/cpu:0"):
            return i + 1, tf.switch_case(i, [lambda: y * 2.0, lambda: y + 1.0, lambda: y])

    def yes():
        return tf.while_loop(lambda i, y: tf.reduce_sum(y) < 9.0, body, [0, x])[1]

    with tf1.device("/gpu:1"):
        tf.cond(p, yes, lambda: x)


def case_pair():
    k = tf1.placeholder(tf.int32, [], name="k")
    v = tf.Variable(1.0, name="v")
    s = tf.constant("s")
    with tf.control_dependencies([tf.no_op(name="go")]):
        y = tf.switch_case(k, [lambda: (s, v + 1.0), lambda: ("t", v.assign(2.0) + 0.0)])[1]
    with tf.control_dependencies([y]):
        tf.no_op(name="after")


def loop_over_strings_and_devices():
    with tf1.device("/gpu:1"):
        n = tf.constant(4)
    with tf1.device("/cpu:0"):
        words = tf.constant(["a", "b"])

    def body(i, w, total):
        with tf1.device("/gpu:1"):
            total = total + tf.cast(i, tf.float32)
        return i + 1, tf.strings.upper(w), total

    with tf1.device("/gpu:0"):
        tf.while_loop(lambda i, *_: i < n, body, [0, words, tf.constant(0.0)])


def two_towers():
    x = tf1.placeholder(tf.float32, [4, 4], name="x")
    w = tf1.get_variable("w", [4, 4], use_resource=True)
    losses = []
    for i in range(2):
        with tf1.device(f"/gpu:{i}"), tf1.name_scope(f"tower_{i}"):
            y = tf.while_loop(
                lambda k, y: k < 3,
                lambda k, y: (k + 1, tf.cond(k > 1, lambda: y @ w, lambda: tf.tanh(y))),
                [0, x],
                maximum_iterations=3,
            )[1]
            losses.append(tf.reduce_mean(y))
    with tf1.device("/cpu:0"):
        tf1.train.MomentumOptimizer(0.1, 0.9).minimize(tf.add_n(losses))


def reference_variable_in_branch():
    p = tf1.placeholder(tf.bool, [], name="p")
    v = tf1.get_variable("v", [4], use_resource=False)
    with tf1.device("/gpu:1"):
        y = tf.cond(p, lambda: v * 2.0, lambda: v + 1.0)
    tf.while_loop(lambda a: tf.reduce_sum(a) < 3.0, lambda a: a + v, [y])


def random_and_assert():
    x = tf1.placeholder(tf.float32, [4], name="x")

    def body(i, y):
        check = tf.debugging.Assert(tf.reduce_all(y > -9.0), [y])
        with tf.control_dependencies([check] if check is not None else []):
            return i + 1, y + tf.random.normal([4])

    tf.while_loop(lambda i, y: i < 3, body, [0, x])


def two_calls_of_one_function_in_a_loop():
    @tf.function
    def twice(x):
        return tf.cond(tf.reduce_sum(x) > 1.0, lambda: x * 2.0, lambda: x)

    x = tf1.placeholder(tf.float32, [4], name="x")
    tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, twice(twice(y))), [0, x])


def shape_and_size_in_loop():
    x = tf1.placeholder(tf.float32, [None, 4], name="x")
    with tf1.device("/gpu:1"):
        z = x * 1.0

    def body(i, y):
        return i + tf.size(y), tf.reshape(y + z, tf.shape(y))

    tf.while_loop(lambda i, y: i < 30, body, [0, x], shape_invariants=[tf.TensorShape([]), x.shape])


def while_without_loop_variables_of_its_own():
    v = tf.Variable(1.0, name="v")

    def body(i):
        with tf.control_dependencies([v.assign_add(1.0)]):
            return tf.identity(i)

    tf.while_loop(lambda i: v < 3.0, body, [tf.constant(0)])


def captured_strings():
    p = tf1.placeholder(tf.bool, [], name="p")
    s = tf.constant("s")
    with tf1.device("/cpu:0"):
        t = tf.constant(3)
    with tf.control_dependencies([tf.no_op(name="go")]):
        y = tf.cond(p, lambda: (s, t), lambda: (s, t + 1))[1]
    tf.cond(p, lambda: (s, y), lambda: (tf.strings.upper(s), t))


def parallel_concat_in_branch():
    p = tf1.placeholder(tf.bool, [], name="p")
    x = tf1.placeholder(tf.float32, [4], name="x")
    tf.cond(p, lambda: tf.parallel_stack([x, x]), lambda: tf.parallel_stack([x, x * 2.0]))
    tf.parallel_stack([x, x], name="stack")


def graph_of_a_function():
    p = tf1.placeholder(tf.bool, [], name="p")
    x = tf1.placeholder(tf.float32, [4], name="x")
    y = tf.cond(p, lambda: x * 2.0, lambda: x)
    attrs = {"T": tf1.AttrValue(type=1), "index": tf1.AttrValue(i=0)}
    tf1.get_default_graph().create_op("_Retval", [y], [], name="ret", attrs=attrs)


def direct_call():
    @tf.function
    def double(x):
        with tf1.device("/gpu:0"):
            return x * 2.0

    graph = tf1.get_default_graph()
    x = tf1.placeholder(tf.float32, [4], name="x")
    concrete = double.get_concrete_function(tf.TensorSpec([4], tf.float32))
    concrete.add_to_graph(graph)
    name = concrete.function_def.signature.name
    with tf1.device("/gpu:1"):
        y = graph.create_op(name, [x], [tf.float32], name="direct")
        graph.create_op(name, [x], [tf.float32], name="kept")
    y._set_attr("_lower_as_multi_device_function", tf1.AttrValue(b=True))


def marked_calls():
    v = tf.Variable(1.0, name="v")

    @tf.function
    def inner(x):
        return x + v

    @tf.function
    def outer(x):
        with tf1.device("/gpu:0"):
            return inner(x * 2.0)

    x = tf1.placeholder(tf.float32, [4], name="x")
    with tf1.device("/gpu:1"):
        outer(x)
    for op in tf1.get_default_graph().get_operations():
        if op.type.endswith("Call"):
            op._set_attr("_lower_as_multi_device_function", tf1.AttrValue(b=True))


GRAPHS = {
    name: make
    for name, make in list(globals().items())
    if callable(make) and getattr(make, "__module__", "") == __name__
}


def graph_def(name):
    """The serialised GraphDef of one of them."""
    tf1.enable_control_flow_v2()
    with tf.Graph().as_default() as graph:
        tf1.set_random_seed(1)
        GRAPHS[name]()
        return graph.as_graph_def().SerializeToString(deterministic=True)
