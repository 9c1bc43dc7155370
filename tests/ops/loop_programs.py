"""Programs with conditionals and loops, for TensorFlow 1.15 and for gpuplace: what they build and what it gives.

Each takes the module and returns what to fetch, and a list of feeds by tensor name. Runs in Python 3.7 too.
"""

PROGRAMS = {}
GRADIENT_PROGRAMS = {}
ARRAY_PROGRAMS = {}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


def gradient_program(function):
    GRADIENT_PROGRAMS[function.__name__] = function
    return function


def array_program(function):
    ARRAY_PROGRAMS[function.__name__] = function
    return function


def each(tensor, *values):
    return [{tensor.name: value} for value in values]


# Conditionals


@program
def cond_of_constants(tf):
    p = tf.placeholder(tf.bool, [], name="p")
    return [tf.cond(p, lambda: tf.constant(1.0), lambda: tf.constant(2.0))], each(p, True, False)


@program
def cond_captures(tf):
    x = tf.placeholder(tf.float32, [2], name="x")
    y = tf.constant([3.0, 4.0], name="y")
    total = tf.reduce_sum(x)
    r = tf.cond(total > 3.0, lambda: x * y + x, lambda: tf.negative(y), name="choose")
    return [r, r + 1.0], each(x, [1.0, 1.0], [2.0, 3.0])


@program
def cond_passes_through(tf):
    x = tf.placeholder(tf.float32, [], name="x")
    r = tf.cond(x > 0, lambda: x, lambda: 0.0)
    return [r], each(x, 1.0, -1.0)


@program
def cond_structures(tf):
    x = tf.placeholder(tf.float32, [], name="x")

    def positive():
        return {"a": x * 2.0, "b": (x + 1.0, tf.constant(7))}

    def negative():
        return {"a": x * 3.0, "b": (x - 1.0, tf.constant(8))}

    r = tf.cond(x > 0, positive, negative)
    return [r["a"], r["b"][0], r["b"][1]], each(x, 2.0, -2.0)


@program
def cond_nested(tf):
    x = tf.placeholder(tf.float32, [], name="x")
    y = x * 10.0

    def inner():
        return tf.cond(x > 5.0, lambda: x + y, lambda: x - y)

    return [tf.cond(x > 0, inner, lambda: y)], each(x, 6.0, 3.0, -1.0)


@program
def cond_with_operations(tf):
    x = tf.placeholder(tf.float32, [], name="x")
    v = tf.Variable(1.0, name="v", use_resource=False)
    w = tf.Variable(1.0, name="w", use_resource=True)
    r = tf.cond(x > 0, lambda: tf.assign_add(v, x), lambda: tf.assign(v, 5.0))
    with tf.control_dependencies([r]):
        o = tf.cond(x > 0, lambda: w.assign_add(x).op, lambda: tf.no_op())
    with tf.control_dependencies([o]):
        both = tf.stack([v.read_value(), w.read_value()])
    return [r, both], each(x, 2.0, -2.0)


@program
def cond_with_control_dependencies(tf):
    x = tf.placeholder(tf.float32, [], name="x")
    a = tf.identity(x, name="a")
    with tf.control_dependencies([a]):
        r = tf.cond(x > 0, lambda: tf.constant(1.0), lambda: x * 2.0)

    def branch():
        b = tf.square(x, name="b")
        with tf.control_dependencies([a, b]):
            return tf.constant(9.0)

    return [r, tf.cond(x > 1, branch, lambda: 3.0)], each(x, 2.0, -2.0, 0.5)


@program
def cond_strict_and_lists(tf):
    x = tf.placeholder(tf.float32, [], name="x")
    a = tf.cond(x > 0, lambda: [x + 1.0], lambda: [x])
    b = tf.cond(x > 0, lambda: [x + 1.0], lambda: [x], strict=True)
    c = tf.cond(x > 0, lambda: [x + 1.0, x], lambda: [x, 2.0])
    return [a, b[0], c[0], c[1]], each(x, 2.0, -2.0)


@program
def cond_on_devices(tf):
    x = tf.placeholder(tf.float32, [2], name="x")
    with tf.device("/cpu:0"):
        y = x + 1.0

    def branch():
        with tf.device("/job:localhost"):
            return y * 2.0

    with tf.device("/device:CPU:0"):
        r = tf.cond(x[0] > 0, branch, lambda: y)
    return [r], each(x, [1.0, 2.0], [-1.0, 2.0])


@program
def case_of_predicates(tf):
    x = tf.placeholder(tf.int32, [], name="x")
    y = tf.constant(5.0)
    r = tf.case(
        [
            (tf.equal(x, 1), lambda: y + 1.0),
            (tf.equal(x, 2), lambda: y * 2.0),
            (x > 5, lambda: tf.constant(0.5)),
        ],
        default=lambda: tf.constant(-1.0),
        exclusive=True,
    )
    s = tf.case(
        [(x < 2, lambda: tf.constant(1)), (x < 4, lambda: tf.constant(2))], default=lambda: tf.constant(3)
    )
    t = tf.case([(x < 2, lambda: tf.constant(1)), (x < 40, lambda: tf.constant(2))])
    return [r, s, t], each(x, 1, 2, 3, 7)


# Loops


@program
def while_counts(tf):
    n = tf.placeholder(tf.int32, [], name="n")
    r = tf.while_loop(lambda i: tf.less(i, n), lambda i: tf.add(i, 1), [0])
    return [r], each(n, 0, 1, 10)


@program
def while_several_variables(tf):
    x = tf.placeholder(tf.float32, [3], name="x")
    c = tf.constant([1.0, 2.0, 3.0])

    def body(i, total, parts):
        return i + 1, total * c + x, (parts[0] + total, parts[1])

    r = tf.while_loop(lambda i, *_: i < 4, body, [tf.constant(0), x, (c, tf.constant(2.5))], name="loop")
    return [r[0], r[1], r[2][0], r[2][1]], each(x, [1.0, 0.5, 2.0])


@program
def while_options(tf):
    x = tf.placeholder(tf.float32, [None], name="x")
    r = tf.while_loop(
        lambda i, v: i < 3,
        lambda i, v: (i + 1, tf.concat([v, v], 0)),
        [0, x],
        shape_invariants=[tf.TensorShape([]), tf.TensorShape([None])],
        parallel_iterations=3,
        back_prop=False,
        swap_memory=True,
    )
    s = tf.while_loop(lambda i, v: v < 1000, lambda i, v: [i + 1, v * 2], [0, 1], maximum_iterations=5)
    t = tf.while_loop(
        lambda v: v < 1000.0, lambda v: [v * 2.0], [tf.constant(1.0)], return_same_structure=True
    )
    return [r[1], s[0], s[1], t[0]], each(x, [1.0], [1.0, 2.0])


@program
def while_nested(tf):
    n = tf.placeholder(tf.int32, [], name="n")

    def outer(i, total):
        j, inner = tf.while_loop(lambda j, _: j < i, lambda j, t: (j + 1, t + i * j), [0, total])
        return i + 1, inner + j

    return list(tf.while_loop(lambda i, _: i < n, outer, [0, 1])), each(n, 0, 1, 5)


@program
def while_with_cond(tf):
    n = tf.placeholder(tf.int32, [], name="n")
    y = tf.constant(100)

    def body(i, total):
        total = tf.cond(tf.equal(i % 2, 0), lambda: total + i, lambda: total * 3 - y)
        return i + 1, total

    return list(tf.while_loop(lambda i, _: i < n, body, [0, 1])), each(n, 0, 4, 7)


@program
def cond_with_while(tf):
    x = tf.placeholder(tf.float32, [], name="x")
    y = x + 0.5

    def branch():
        return tf.while_loop(lambda v: v < 100.0, lambda v: tf.abs(v) * 2.0 + y * y, [x])

    return [tf.cond(x > 0, branch, lambda: y), tf.cond(x > 0, lambda: y, branch)], each(x, 3.0, -3.0)


@program
def while_with_nested_everything(tf):
    x = tf.placeholder(tf.float32, [], name="x")
    limit = tf.constant(3)

    def body(i, v):
        def inner_loop():
            return tf.while_loop(
                lambda j, w: j < limit,
                lambda j, w: (j + 1, tf.cond(w > 10.0, lambda: w - x, lambda: w + v)),
                [0, v],
            )[1]

        return i + 1, tf.cond(v > 2.0, inner_loop, lambda: v + x)

    return [tf.while_loop(lambda i, v: i < 5, body, [0, x])[1]], each(x, 1.0, 3.5, -1.0)


@program
def while_with_variables(tf):
    n = tf.placeholder(tf.int32, [], name="n")
    v = tf.Variable(1.0, name="v", use_resource=False)
    w = tf.Variable([1.0, 2.0], name="w", use_resource=True)

    def body(i):
        with tf.control_dependencies([tf.assign_add(v, 1.5), w.assign_add([1.0, 1.0])]):
            return i + 1

    r = tf.while_loop(lambda i: i < n, body, [0])
    with tf.control_dependencies([r]):
        last = [v.read_value(), w.read_value()]
    return [r, *last], each(n, 0, 3)


@program
def while_reads_variables(tf):
    n = tf.placeholder(tf.int32, [], name="n")
    v = tf.Variable(1.5, name="v", use_resource=False)
    w = tf.Variable([1.0, 2.0], name="w", use_resource=True)
    r = tf.while_loop(lambda i, t: i < n, lambda i, t: (i + 1, t + v * w), [0, tf.constant([0.0, 0.0])])
    return list(r), each(n, 0, 3)


@program
def while_with_control_dependencies(tf):
    n = tf.placeholder(tf.int32, [], name="n")
    before = tf.identity(n, name="before")

    def body(i, t):
        a = tf.square(t, name="a")
        with tf.control_dependencies([a, before]):
            b = tf.constant(2.0)
        with tf.control_dependencies([before]):
            return i + 1, t + b

    with tf.control_dependencies([before]):
        i, t = tf.while_loop(lambda i, t: i < n, body, [0, 0.0])
    with tf.control_dependencies([i]):
        after = tf.constant(4.0) + t
    return [i, t, after], each(n, 0, 3)


@program
def while_on_devices(tf):
    x = tf.placeholder(tf.float32, [2], name="x")

    def body(i, v):
        with tf.device("/cpu:0"):
            v = v * 2.0
        with tf.device("/job:localhost"):
            return i + 1, v + x

    with tf.device("/device:CPU:0"):
        r = tf.while_loop(lambda i, v: i < 3, body, [0, x])
    return list(r), each(x, [1.0, 2.0])


@program
def while_chained(tf):
    x = tf.placeholder(tf.float32, [], name="x")
    a = tf.while_loop(lambda v: v < 100.0, lambda v: v * 3.0, [x])
    b = tf.while_loop(lambda v, w: v > 1.0, lambda v, w: (v / 2.0, w + a), [a, x], name="second")
    return [a, b[0], b[1]], each(x, 2.0, 7.0)


@program
def while_scopes(tf):
    x = tf.placeholder(tf.float32, [], name="x")
    with tf.name_scope("outer"):
        a = tf.while_loop(lambda v: v < 10.0, lambda v: v * 3.0, [x], name="w")
        with tf.name_scope("inner"):
            b = tf.cond(x > 3.0, lambda: a, lambda: x, name="c")
    return [a, b], each(x, 2.0, 7.0)


# Gradients


@gradient_program
def gradient_of_cond(tf):
    x = tf.placeholder(tf.float32, [], name="x")
    y = x * 2.0
    r = tf.cond(x > 1.0, lambda: y * y * x, lambda: x * 5.0)
    return [r, *tf.gradients(r, [x, y])], each(x, 2.0, 0.5)


@gradient_program
def gradient_of_one_sided_cond(tf):
    x = tf.placeholder(tf.float32, [2], name="x")
    r = tf.cond(tf.reduce_sum(x) > 1.0, lambda: x * x, lambda: tf.constant([1.0, 2.0]))
    return [r, tf.gradients(r, x)[0]], each(x, [2.0, 3.0], [0.0, 0.5])


@gradient_program
def gradient_of_while(tf):
    x = tf.placeholder(tf.float32, [], name="x")
    r = tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v * v), [0, x])[1]
    return [r, tf.gradients(r, x)[0]], each(x, 2.0, 0.5)


@gradient_program
def gradient_of_while_with_invariant(tf):
    x = tf.placeholder(tf.float32, [], name="x")
    w = tf.placeholder(tf.float32, [2], name="w")
    r = tf.while_loop(lambda i, v: i < 4, lambda i, v: (i + 1, tf.tanh(v * w) + x), [0, tf.stack([x, x])])[1]
    return [r, *tf.gradients(r, [x, w])], [{x.name: 0.5, w.name: [1.0, -2.0]}]


@gradient_program
def gradient_of_while_with_cond(tf):
    x = tf.placeholder(tf.float32, [], name="x")

    def body(i, v):
        return i + 1, tf.cond(v > 5.0, lambda: v * x, lambda: v * v + 1.0)

    r = tf.while_loop(lambda i, v: i < 4, body, [0, x])[1]
    return [r, tf.gradients(r, x)[0]], each(x, 2.0, 0.5)


@gradient_program
def gradient_of_nested_while(tf):
    x = tf.placeholder(tf.float32, [], name="x")

    def body(i, v):
        inner = tf.while_loop(lambda j, w: j < 2, lambda j, w: (j + 1, w * x), [0, v])[1]
        return i + 1, inner + v

    r = tf.while_loop(lambda i, v: i < 3, body, [0, x])[1]
    return [r, tf.gradients(r, x)[0]], each(x, 2.0, 0.5)


@gradient_program
def gradient_of_while_swapping(tf):
    x = tf.placeholder(tf.float32, [2], name="x")
    r = tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, tf.sin(v) * v), [0, x], swap_memory=True)[1]
    return [r, tf.gradients(r, x)[0]], each(x, [1.0, 2.0])


@gradient_program
def gradient_of_while_in_cond(tf):
    x = tf.placeholder(tf.float32, [], name="x")
    r = tf.cond(
        x > 1.0,
        lambda: tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v * x), [0, x])[1],
        lambda: x * 7.0,
    )
    return [r, tf.gradients(r, x)[0]], each(x, 2.0, 0.5)


@gradient_program
def gradient_of_while_with_variables(tf):
    v = tf.Variable([1.0, 2.0], name="v", use_resource=False)
    w = tf.Variable([0.5, 0.25], name="w", use_resource=True)
    x = tf.placeholder(tf.float32, [2], name="x")
    r = tf.while_loop(lambda i, t: i < 3, lambda i, t: (i + 1, t * v + w), [0, x])[1]
    return [r, *tf.gradients(r, [x, v, w])], each(x, [1.0, 2.0])


@gradient_program
def gradient_of_while_with_matmul(tf):
    x = tf.placeholder(tf.float32, [2, 2], name="x")
    w = tf.constant([[0.5, 0.25], [-1.0, 2.0]])
    r = tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, tf.nn.relu(tf.matmul(v, w))), [0, x])[1]
    return [r, *tf.gradients(tf.reduce_sum(r), [x, w])], each(x, [[1.0, 2.0], [3.0, 4.0]])


# Arrays of tensors, and what is built on them


@array_program
def tensor_array(tf):
    x = tf.placeholder(tf.float32, [3, 2], name="x")
    ta = tf.TensorArray(tf.float32, 3).unstack(x)
    other = tf.TensorArray(tf.float32, 2, clear_after_read=False)
    other = other.write(0, ta.read(0)).write(1, x[1] * 2.0)
    parts = tf.TensorArray(tf.float32, 2, infer_shape=False).split(x, [1, 2])
    return [other.stack(), other.size(), other.gather([1]), other.concat(), parts.read(1)], each(
        x, [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
    )


@array_program
def map_of_squares(tf):
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    a = tf.map_fn(lambda v: v * v, x)
    b = tf.map_fn(lambda v: (v[0] + v[1], v[0]), (x, x * 2.0), dtype=(tf.float32, tf.float32))
    return [a, *b], each(x, [[1.0, 2.0]], [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])


@array_program
def folds(tf):
    x = tf.placeholder(tf.float32, [3, 2], name="x")
    left = tf.foldl(lambda a, v: a * 2.0 + v, x)
    right = tf.foldr(lambda a, v: a * 2.0 + v, x, initializer=tf.constant([1.0, 1.0]))
    return [left, right], each(x, [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])


@array_program
def scans(tf):
    x = tf.placeholder(tf.float32, [3, 2], name="x")
    a = tf.scan(lambda a, v: a + v, x)
    b = tf.scan(lambda a, v: a * v, x, initializer=tf.constant([1.0, 2.0]), reverse=True)
    return [a, b], each(x, [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])


@array_program
def gradient_of_map(tf):
    x = tf.placeholder(tf.float32, [3], name="x")
    y = tf.map_fn(lambda v: v * v * v, x)
    return [y, tf.gradients(y, x)[0]], each(x, [1.0, 2.0, 3.0])


@array_program
def gradient_of_scan(tf):
    x = tf.placeholder(tf.float32, [3], name="x")
    y = tf.scan(lambda a, v: a * v, x)
    return [y, tf.gradients(y, x)[0]], each(x, [1.0, 2.0, 3.0])
