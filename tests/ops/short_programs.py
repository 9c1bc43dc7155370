"""Calls of a line, what comes of which TensorFlow 1.15.5 has told: a tensor's shape and value, or an error.

Each takes TensorFlow, a function that imports modules below ``tensorflow.python``, and NumPy. TensorFlow's Python 3.7
reads this module too. `tests/oracle/record/short_programs.py` records the answers.
"""


def fed(tf, np, value, dtype="float32"):
    """A tensor of which nothing is known while the graph is built."""
    return tf.placeholder_with_default(np.asarray(value, dtype), None)


def _of(module, name, *args, **kwargs):
    home, function = name.rsplit(".", 1)
    return getattr(module(home), function)(*args, **kwargs)


ARRAYS = {
    "gather_nd, batch_dims a tensor": lambda tf, m, np: tf.gather_nd(
        np.arange(6.0).reshape(2, 3), [[2], [0]], batch_dims=tf.constant([1])
    ),
    "gather_nd, batch_dims a text": lambda tf, m, np: tf.gather_nd([[1.0]], [[0]], batch_dims="x"),
    "gather_nd, batch_dims unknown": lambda tf, m, np: tf.gather_nd(
        [[1.0]], [[0]], batch_dims=tf.placeholder("int32", [])
    ),
    "gather_nd, two batch dimensions": lambda tf, m, np: tf.gather_nd(
        np.arange(24.0).reshape(2, 3, 4), np.zeros([2, 3, 1], "int32"), batch_dims=2
    ),
    "gather, batch_dims None": lambda tf, m, np: tf.gather([[1, 2], [3, 4]], [1, 0], axis=1, batch_dims=None),
    "gather, neither axis nor batch_dims": lambda tf, m, np: tf.gather([[1, 2]], [0], batch_dims=None),
    "integers of other types": lambda tf, m, np: [
        tf.constant([300, -1], "uint8"),
        tf.constant([300, -1], "int8"),
        tf.constant(2**31, "int32"),
        tf.constant([2**40], "int16"),
        tf.constant(-1, "uint64"),
        tf.constant([-1, 2**63 + 1], "uint64"),
    ],
    "an integer of 65 bits": lambda tf, m, np: tf.constant(2**64, "uint64"),
    "an integer of 64 bits with a sign": lambda tf, m, np: tf.constant([2**63], "int64"),
    "a shape with a large size": lambda tf, m, np: tf.convert_to_tensor(tf.TensorShape([2**31, 2])),
    "a shape that int32 does not hold": lambda tf, m, np: tf.convert_to_tensor(
        tf.TensorShape([2**31, 2]), "int32"
    ),
    "large zeros": lambda tf, m, np: tf.zeros([2**33, 1]).shape.as_list(),
    "ragged, of a type": lambda tf, m, np: tf.constant([[1, 2], [3]], "int32"),
    "one_hot, a number of another type": lambda tf, m, np: tf.one_hot([1], 3, on_value=1, dtype="float32"),
    "a slice up to a half": lambda tf, m, np: tf.zeros([9])[0:1.5],
    "a slice from a text": lambda tf, m, np: tf.zeros([9])["a":],
    "a slice up to a vector": lambda tf, m, np: tf.zeros([9])[: tf.constant([1, 2])],
    "an index of few bits": lambda tf, m, np: tf.zeros([9])[tf.constant(1, "int16")],
    "a slice up to an unknown size": lambda tf, m, np: tf.zeros([9, 2])[: tf.Dimension(None)],
    "split, too long": lambda tf, m, np: tf.split([1.0, 2.0], [1, 2]),
    "split, too long when it runs": lambda tf, m, np: tf.split(fed(tf, np, [1, 2]), [1, 2], num=2)[0],
    "split, no axis": lambda tf, m, np: tf.split(
        fed(tf, np, [1, 2]), [1, 1], fed(tf, np, [], "int32"), num=2
    )[0],
    "split, an axis in a vector": lambda tf, m, np: tf.split(
        fed(tf, np, [1, 2]), [1, 1], fed(tf, np, [0], "int32")
    ),
    "constant of constant_op, filled up": lambda tf, m, np: _of(
        m, "framework.constant_op.constant", [1, 2, 3], shape=[5]
    ),
    "constant of constant_op, cut": lambda tf, m, np: _of(
        m, "framework.constant_op.constant", [1, 2, 3], shape=[2]
    ),
    "constant of constant_op": lambda tf, m, np: [
        _of(m, "framework.constant_op.constant", [7], shape=[3]),
        _of(m, "framework.constant_op.constant", 3, shape=[2, 2]),
        _of(m, "framework.constant_op.constant", [[1, 2], [3, 4]], "float32", [4]),
    ],
}

ARITHMETIC = {
    "reduced_shape": lambda tf, m, np: [
        _of(m, "ops.math_ops.reduced_shape", [3, 4], [-1]), _of(m, "ops.math_ops.reduced_shape", [0, 3], [0]),
        _of(m, "ops.math_ops.reduced_shape", [5, 3], [0, 1]),
    ],
    "segment_sum, a last id below 0": lambda tf, m, np: tf.segment_sum(np.ones([4, 1], "f"), [0, 0, 0, -1]),
    "confusion_matrix, vectors of two lengths": lambda tf, m, np: tf.confusion_matrix([1, 2], [1, 2, 3]),
    "confusion_matrix, a row": lambda tf, m, np: tf.confusion_matrix([1, 2], [[1, 2]]),
    "confusion_matrix, a column": lambda tf, m, np: tf.confusion_matrix([1, 2], [[1], [2]]),
    "remove_squeezable_dimensions, nothing to squeeze": lambda tf, m, np: _of(
        m, "ops.confusion_matrix.remove_squeezable_dimensions", np.ones([2, 3, 2]), np.ones([2, 3])
    ),
    "sparse softmax cross entropy, labels in rows": lambda tf, m, np: tf.losses.sparse_softmax_cross_entropy(
        [[0, 2]], [[1.0, 0.0], [0.0, 1.0]]
    ),
}  # fmt: skip

WINDOWS = {
    "max_pool, strides along the batch": lambda tf, m, np: tf.nn.max_pool(
        tf.placeholder("float32"), [1, 1, 1, 1], [2, 1, 1, 1], "SAME"
    ),
    "avg_pool, a window along the batch": lambda tf, m, np: tf.nn.avg_pool(
        tf.placeholder("float32"), [2, 1, 1, 1], [1, 1, 1, 1], "SAME"
    ),
    "conv2d, strides along the batch": lambda tf, m, np: tf.nn.conv2d(
        tf.placeholder("float32"), tf.placeholder("float32"), [2, 1, 1, 1], "SAME"
    ),
    "conv2d, a negative padding": lambda tf, m, np: tf.nn.conv2d(
        tf.placeholder("float32"), tf.placeholder("float32"), [1, 1, 1, 1], [[0, 0], [0, -1], [1, 2], [0, 0]]
    ),
    "conv2d, padding along the channels": lambda tf, m, np: tf.nn.conv2d(
        tf.placeholder("float32"), tf.placeholder("float32"), [1, 1, 1, 1], [[0, 0], [0, 0], [0, 0], [0, 1]]
    ),
    "conv2d_backprop_filter, no filters": lambda tf, m, np: tf.nn.conv2d_backprop_filter(
        np.ones([1, 2, 3, 1], "f"), [2, 2, 1, 0], np.ones([1, 1, 2, 0], "f"), [1, 1, 1, 1], "VALID"
    ),
    "conv2d_backprop_input, a negative padding": lambda tf, m, np: tf.nn.conv2d_backprop_input(
        [1, 20, 20, 3], tf.placeholder("float32", [18, 18, 3, 2]), tf.placeholder("float32"), [1, 1, 1, 1],
        [[0, 0], [-1, 0], [0, 0], [0, 0]],
    ),
}  # fmt: skip

PROGRAMS = {**ARRAYS, **ARITHMETIC, **WINDOWS}
