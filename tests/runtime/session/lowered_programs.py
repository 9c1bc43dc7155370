"""Programs with functional control flow, as graphs of TensorFlow 1.15.5, and the steps that are run of them.

Each takes ``tf`` and returns ``(name, fetches, feeds, mode)`` for its steps, in their order: names of tensors and
operations, name of a tensor -> value, and which session runs it: one that places ``"hard"``, one that does it
``"soft"``, or one that places what a step needs alone, ``"pruned"``.
"""

PROGRAMS = {}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


@program
def branch(tf):
    x, p = tf.compat.v1.placeholder("float32", [2], "x"), tf.compat.v1.placeholder("bool", [], "p")
    y = tf.cond(p, lambda: (x * 2.0, x - 1.0), lambda: (x + 1.0, x), name="cond")
    tf.add(y[0], y[1], name="sum")
    fed = {"x:0": [1.0, 2.0], "p:0": True}
    return [
        ("true", ["sum:0"], fed, "hard"),
        ("false", ["sum:0"], {**fed, "p:0": False}, "hard"),
        ("outputs_of_the_node", ["cond:0", "cond:1", "sum:0"], fed, "hard"),
        ("the_node_runs", ["cond"], fed, "hard"),
        ("an_output_is_fed", ["sum:0"], {**fed, "cond:0": [7.0, 7.0]}, "hard"),
        ("what_takes_an_output_is_fed", ["sum:0"], {**fed, "cond/Identity:0": [7.0, 7.0]}, "hard"),
        ("pruned", ["sum:0"], fed, "pruned"),
        ("pruned_and_an_output_is_fed", ["sum:0"], {**fed, "cond:0": [7.0, 7.0]}, "pruned"),
        ("pruned_and_the_node_runs", ["cond"], fed, "pruned"),
    ]


@program
def case(tf):
    x, i = tf.compat.v1.placeholder("float32", [2], "x"), tf.compat.v1.placeholder("int32", [], "i")
    y = tf.switch_case(i, [lambda: x * 2.0, lambda: x + 1.0, lambda: -x], name="case")
    tf.identity(y, name="out")
    return [
        (str(number), ["out:0"], {"x:0": [1.0, 2.0], "i:0": number}, "hard") for number in (0, 1, 2, 7, -1)
    ]


@program
def case_of_one_in_branch(tf):
    x, p = tf.compat.v1.placeholder("float32", [2], "x"), tf.compat.v1.placeholder("bool", [], "p")

    def one():
        return tf.switch_case(tf.constant(0), [lambda: x * 2.0])

    def two():
        return tf.switch_case(tf.cast(x[0], "int32"), [lambda: x - 1.0, lambda: x - 2.0])

    tf.identity(tf.cond(p, one, two, name="cond"), name="out")
    return [
        ("one", ["out:0"], {"x:0": [1.0, 2.0], "p:0": True}, "hard"),
        ("two", ["out:0"], {"x:0": [1.0, 2.0], "p:0": False}, "hard"),
    ]


@program
def loop(tf):
    x, n = tf.compat.v1.placeholder("float32", [2], "x"), tf.compat.v1.placeholder("int32", [], "n")
    with tf.control_dependencies([tf.identity(x, name="before")]):
        i, y = tf.while_loop(lambda i, v: i < n, lambda i, v: (i + 1, v * 1.5), [0, x], name="loop")
    with tf.control_dependencies([i.op]):
        tf.constant(3.0, name="after")
    tf.identity(y, name="out")
    fed = {"x:0": [1.0, 2.0], "n:0": 3}
    return [
        ("thrice", ["out:0", "after:0"], fed, "hard"),
        ("never", ["out:0"], {**fed, "n:0": 0}, "hard"),
        ("outputs_of_the_node", ["loop:0", "loop:2", "loop:3"], fed, "hard"),
        ("the_node_runs", ["loop"], fed, "hard"),
        ("pruned", ["out:0", "after:0"], fed, "pruned"),
        ("pruned_outputs_of_the_node", ["loop:0", "loop:3"], fed, "pruned"),
    ]


@program
def branch_in_loop_in_branch(tf):
    x, p = tf.compat.v1.placeholder("float32", [2], "x"), tf.compat.v1.placeholder("bool", [], "p")

    def body(i, v):
        return i + 1, tf.cond(tf.equal(i % 2, 0), lambda: v * x, lambda: v + 1.0)

    def spin():
        return tf.while_loop(lambda i, v: i < 4, body, [0, x], name="loop")[1]

    y = tf.cond(p, spin, lambda: x, name="cond")
    tf.identity(y, name="out")
    tf.identity(tf.gradients(y, [x])[0], name="slope")
    return [
        ("loop", ["out:0", "slope:0"], {"x:0": [1.0, 2.0], "p:0": True}, "hard"),
        ("none", ["out:0", "slope:0"], {"x:0": [1.0, 2.0], "p:0": False}, "hard"),
    ]


@program
def loop_in_loop(tf):
    x = tf.compat.v1.placeholder("float32", [2], "x")

    def body(i, v):
        return i + 1, tf.while_loop(lambda j, w: j < i, lambda j, w: (j + 1, w + x), [0, v])[1]

    tf.identity(tf.while_loop(lambda i, v: i < 3, body, [0, x], name="loop")[1], name="out")
    return [("", ["out:0"], {"x:0": [1.0, 2.0]}, "hard")]


@program
def state(tf):
    with tf.compat.v1.variable_scope("", use_resource=True):
        count = tf.compat.v1.get_variable("count", initializer=1.0)
    tf.group(count.initializer, name="init")
    n = tf.compat.v1.placeholder("int32", [], "n")

    def body(i):
        with tf.control_dependencies([count.assign_add(2.0)]):
            return tf.cond(i > 0, lambda: i + 1, lambda: i + tf.cast(count.assign(count * 10.0), "int32"))

    i = tf.while_loop(lambda i: i < n, body, [0], name="loop")
    with tf.control_dependencies([tf.identity(i)]):
        tf.identity(count.read_value(), name="out")
    return [
        ("initialized", ["init"], {}, "hard"),
        ("first", ["out:0"], {"n:0": 33}, "hard"),
        ("second", ["out:0"], {"n:0": 2}, "hard"),
        ("pruned_initialized", ["init"], {}, "pruned"),
        ("pruned", ["out:0"], {"n:0": 33}, "pruned"),
    ]


@program
def array(tf):
    x = tf.compat.v1.placeholder("float32", [3], "x")

    def body(i, rows):
        return i + 1, rows.write(i, x * tf.cast(i, "float32"))

    rows = tf.TensorArray("float32", size=4, element_shape=[3])
    _, rows = tf.while_loop(lambda i, _: i < 4, body, [0, rows], name="loop")
    tf.reduce_sum(rows.stack(), 0, name="out")
    return [("", ["out:0"], {"x:0": [1.0, 2.0, 3.0]}, "hard")]


@program
def device_in_branch(tf):
    p = tf.compat.v1.placeholder("bool", [], "p")

    def far():
        with tf.device("/gpu:1"):
            return tf.identity(tf.constant([1.0, 2.0], name="value"), name="far")

    tf.identity(tf.cond(p, far, lambda: tf.constant([3.0, 4.0]), name="cond"), name="out")
    return [
        ("hard", ["out:0"], {"p:0": False}, "hard"),
        ("soft", ["out:0"], {"p:0": True}, "soft"),
    ]


@program
def failing(tf):
    x, p = tf.compat.v1.placeholder("float32", None, "x"), tf.compat.v1.placeholder("bool", [], "p")
    tf.identity(tf.cond(p, lambda: tf.reshape(x, [3], name="root"), lambda: x, name="cond"), name="out")
    y = tf.while_loop(
        lambda i, v: i < 2, lambda i, v: (i + 1, tf.reshape(v, [3], name="root")), [0, x], name="loop"
    )[1]
    tf.identity(y, name="out_of_loop")

    def check():
        return tf.cond(x[0] > 0, lambda: tf.reshape(x, [3], name="root"), lambda: x)

    tf.identity(tf.cond(p, check, lambda: x, name="outer"), name="out_of_two")
    fed = {"x:0": [1.0, 2.0], "p:0": True}
    return [
        ("in_a_branch", ["out:0"], fed, "hard"),
        ("not_taken", ["out:0"], {**fed, "p:0": False}, "hard"),
        ("in_a_loop", ["out_of_loop:0"], fed, "hard"),
        ("in_a_branch_of_a_branch", ["out_of_two:0"], fed, "hard"),
    ]


@program
def not_lowered(tf):
    x, p = tf.compat.v1.placeholder("float32", [2], "x"), tf.compat.v1.placeholder("bool", [], "p")
    y = tf.cond(p, lambda: x * 2.0, lambda: x + 1.0, name="cond")
    y.op.inputs[0].op._set_attr("_lower_using_switch_merge", tf.compat.v1.AttrValue(b=False))
    tf.identity(y, name="out")
    return [("", ["out:0"], {"x:0": [1.0, 2.0], "p:0": True}, "hard")]


@program
def rows_and_sums(tf):
    x = tf.compat.v1.placeholder("float32", [2], "x")
    tf.parallel_stack([x, x * 2.0, x + 1.0], name="rows")
    tf.math.accumulate_n([x, x * 2.0, x + 1.0], name="sum")
    return [
        ("rows", ["rows/ParallelConcat:0"], {"x:0": [1.0, 2.0]}, "hard"),
        ("sum", ["sum:0"], {"x:0": [1.0, 2.0]}, "hard"),
    ]
