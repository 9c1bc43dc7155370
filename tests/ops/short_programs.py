"""Calls of a line, what comes of which TensorFlow 1.15.5 has told: a tensor's shape and value, or an error.

Each takes TensorFlow, a function that imports modules below ``tensorflow.python``, and NumPy. TensorFlow's Python 3.7
reads this module too. `tests/oracle/record/short_programs.py` records the answers.
"""

import struct


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


def _pairs(tf, dtype="float32"):
    return tf.SparseTensor([[0, 1], [1, 0]], tf.cast(tf.constant([2, 5]), dtype), [2, 2])


def _handles(tf, m, np, many):
    """Two sparse tensors through a map, and back."""
    name = "add_many_sparse_to_tensors_map" if many else "add_sparse_to_tensors_map"
    add = getattr(m("ops.sparse_ops"), "_" + name)
    first = add(_pairs(tf), shared_name="here")
    second = add(_pairs(tf), shared_name="here")
    with tf.control_dependencies([first, second]):
        handles = first if many else tf.stack([first, second])
    take = m("ops.sparse_ops")._take_many_sparse_from_tensors_map
    return take(first.op, handles, rank=1 if many else 2)


def _in_loop(tf, m, np):
    """A table that is made in every trip."""
    lookup = m("ops.lookup_ops")
    keys, values = tf.constant([1, 2, 3]), tf.constant([5, 10, 15])

    def found(x):
        return lookup.StaticHashTable(lookup.KeyValueTensorInitializer(keys, values), -1).lookup(x)

    return tf.map_fn(found, np.array([2, 4, 1], np.int32), dtype=tf.int32)


def _initialized(tf, m, *args):
    lookup = m("ops.lookup_ops")
    lookup.StaticHashTable(lookup.KeyValueTensorInitializer(*args), -1)
    return tf.tables_initializer()


def _times_hessian(tf, m):
    x, y = tf.constant([1.0, 2.0]), tf.constant([3.0, 5.0])
    product = m("ops.gradients_impl")._hessian_vector_product
    return product(tf.reduce_sum(x * x * y), [x, y], [tf.constant([1.0, 10.0]), tf.constant([2.0, 1.0])])


def _bmp(tf, width, height, bits, start=54, **kwargs):
    size = struct.pack("<I", start) + struct.pack("<Iii", 40, width, height) + struct.pack("<HH", 1, bits)
    return tf.image.decode_bmp(b"XX" + bytes(8) + size + bytes(24) + bytes(range(8)), **kwargs)


SPARSE = {
    "sparse times dense": lambda tf, m, np: [
        _pairs(tf) * np.array([[1, 2], [3, 4]], "f"),
        _pairs(tf) * 3,
        tf.constant([3.0, 4.0]) * _pairs(tf),
        (tf.constant([3.0, 4.0]) * _pairs(tf)).values.op.name,
    ],
    "sparse over dense": lambda tf, m, np: [
        _pairs(tf) / 2,
        _pairs(tf, "int32") / 2,
        _pairs(tf).__div__(tf.constant([2.0, 4.0])),
        (_pairs(tf, "int32") / 2).values.op.name,
    ],
    "sparse plus dense": lambda tf, m, np: _of(
        m, "ops.sparse_ops.sparse_dense_cwise_add", _pairs(tf), tf.constant([10.0, 20.0])
    ),
    "sparse times a larger tensor": lambda tf, m, np: _pairs(tf) * np.ones([3, 2]),
    "a number times sparse": lambda tf, m, np: 3 * _pairs(tf),
    "sparse plus a number": lambda tf, m, np: _pairs(tf) + 2,
    "sparse tensors by number": lambda tf, m, np: _handles(tf, m, np, False),
    "rows of sparse tensors by number": lambda tf, m, np: _handles(tf, m, np, True),
    "no map": lambda tf, m, np: _of(
        m,
        "ops.sparse_ops._take_many_sparse_from_tensors_map",
        tf.constant([1]).op,
        tf.constant([1], tf.int64),
    ),
}

TABLES = {
    "a table in a loop": _in_loop,
    "a table of nothing": lambda tf, m, np: _initialized(
        tf, m, tf.constant([], tf.string), tf.constant([], tf.int64)
    ),
    "a hash that there is not": lambda tf, m, np: (
        m("ops.lookup_ops")
        .IdTableWithHashBuckets(None, 1, hasher_spec=m("ops.lookup_ops").HasherSpec("x", None))
        .lookup(tf.constant(["a"]))
    ),
    "a vocabulary of no size": lambda tf, m, np: _of(
        m, "ops.lookup_ops.index_table_from_file", tf.constant("abc"), vocab_size=0
    ),
    "a table from two files": lambda tf, m, np: m("ops.lookup_ops").StaticHashTable(
        m("ops.lookup_ops").TextFileInitializer(tf.constant(["a", "b"]), tf.string, -2, tf.int64, -1), -1
    ),
    "a matrix for keys that are not there": lambda tf, m, np: (
        m("ops.lookup_ops").MutableHashTable(tf.string, tf.int64, tf.constant([[-1, -1]], tf.int64)).size()
    ),
}

FUNCTIONS = {
    **{
        "py_func of " + name: lambda tf, m, np, make=make: tf.py_func(lambda: make(np), [], tf.string)
        for name, make in {
            "records": lambda np: np.array([], dtype=[("foo", np.float32)]),
            "a dict": lambda np: {"foo": 1},
            "dates": lambda np: np.array(["2000-01-01"], "M8[D]"),
            "nothing in a list": lambda np: [None],
            "texts": lambda np: np.array(["a", b"b"], object),
        }.items()
    },
    **{
        "einsum " + equation: lambda tf, m, np, equation=equation, shapes=shapes: tf.einsum(
            equation, *[tf.constant(np.arange(float(np.prod(shape))).reshape(shape)) for shape in shapes]
        )
        for equation, shapes in {
            "...ij,...jk->...ik": [(2, 3, 4), (2, 4, 5)],
            "...jkl,...j->...kl": [(2, 3, 4, 5), (2, 3)],
            "...ij->...ji": [(2, 3, 4)],
            "...i,i": [(2, 3), (3,)],
            "ij...,jk->ik...": [(2, 3, 4), (3, 5)],
            "...ij,...jk": [(3, 4), (2, 4, 5)],
            "i...->...": [(2, 3, 4)],
            "ij,jk->...": [(2, 3), (3, 4)],
            "ii": [(3, 3)],
            "...i...j,jk->ik": [(2, 3), (3, 4)],
            "...ijk,jk->...ik": [(2, 3), (3, 4)],
            "...i,i->j": [(2, 3), (3,)],
            "ij...->ji....": [(2, 3, 4)],
            "ij->ijk": [(2, 3)],
        }.items()
    },
    "einsum, a rank that is not known": lambda tf, m, np: tf.einsum(
        "...ij,jk->...ik", tf.placeholder("float32"), tf.ones([3, 4])
    ),
    "einsum, arguments that there are not": lambda tf, m, np: tf.einsum(
        "ij->ji", tf.ones([1, 1]), no=1, nor=2
    ),
    "raw_ops by position": lambda tf, m, np: tf.raw_ops.Add(1.0, y=2.0),
    "raw_ops, an argument too many": lambda tf, m, np: tf.raw_ops.Add(x=1.0, y=2.0, z=3.0),
    "raw_ops, the op's name of an input": lambda tf, m, np: tf.raw_ops.Sum(input=[1], reduction_indices=0),
    "raw_ops, TensorFlow's names of inputs": lambda tf, m, np: [
        tf.raw_ops.Sum(input=[1, 2], axis=0),
        tf.raw_ops.Squeeze(input=[[1]], axis=[0]),
        tf.raw_ops.Split(axis=0, value=[1, 2], num_split=2),
        tf.raw_ops.Where(condition=[False, True]),
        tf.raw_ops.Select(condition=[True], x=[1], y=[2]),
        tf.raw_ops.ExpandDims(input=1, axis=0),
    ],
    "gen_array_ops.squeeze by position": lambda tf, m, np: _of(m, "ops.gen_array_ops.squeeze", [[1, 2]], [0]),
    "histogram_fixed_width": lambda tf, m, np: [
        tf.histogram_fixed_width(np.array([-1, 0, 1.5, 2, 5, 15], "f"), [0.0, 5.0], 5, dtype="int64"),
        tf.histogram_fixed_width_bins(np.array([-1, 0, 1.5, 2, 5, 15], "f"), [0.0, 5.0], 5, dtype="int64"),
        tf.histogram_fixed_width([1.0], [0.0, 5.0], 5).op.type,
    ],
    "histogram_fixed_width, a number for the range": lambda tf, m, np: tf.histogram_fixed_width(
        [1.0], 5.0, 5
    ),
    "histogram_fixed_width, no buckets": lambda tf, m, np: tf.histogram_fixed_width([1.0], [0.0, 5.0], 0),
    "histogram_fixed_width, a range that falls": lambda tf, m, np: tf.histogram_fixed_width(
        [1.0], [5.0, 0.0], 5
    ),
    "inplace_ops": lambda tf, m, np: [
        _of(m, "ops.inplace_ops.inplace_update", np.ones([3, 2], "f"), [2], [[7.0, 8.0]]),
        _of(m, "ops.inplace_ops.inplace_add", np.ones([3, 2], "f"), 1, [7.0, 8.0]),
        _of(m, "ops.inplace_ops.inplace_add", np.ones([3, 2], "f"), np.array([0]), np.array([[7, 8]])),
        _of(m, "ops.inplace_ops.inplace_sub", np.ones([3, 2], "f"), None, np.full([3, 2], 0.5, "f")),
    ],
}

PICTURES = {
    **{
        "decode_bmp " + name: lambda tf, m, np, given=given, channels=channels: _bmp(
            tf, *given, channels=channels
        )
        for name, (given, channels) in {
            "of colours": ((2, 1, 24), 3),
            "of colours and alpha": ((2, -1, 32), 0),
            "of grays": ((3, 2, 8), 1),
            "of other channels": ((2, 1, 24), 1),
            "of two channels": ((2, 1, 16), 0),
            "of no width": ((0, 1, 24), 0),
            "of no height": ((1, 0, 24), 0),
            "that is cut": ((3, 1, 24), 0),
            "that begins far away": ((2, 1, 24, 1000000), 0),
        }.items()
    },
    "decode_bmp of nothing": lambda tf, m, np: tf.image.decode_bmp(b""),
}

REFUSED = {
    "reshape, no elements": lambda tf, m, np: [
        tf.reshape(fed(tf, np, np.zeros([0, 6])), [0, -1, 3]), tf.reshape(fed(tf, np, np.zeros([0, 6])), [-1, 3]),
        tf.reshape(fed(tf, np, np.zeros([2, 0, 6])), [0, 4, -1]),
    ],
    "reshape, no elements into some": lambda tf, m, np: tf.reshape(fed(tf, np, np.zeros([0, 6])), [2, -1, 3]),
    "reshape, some elements into none": lambda tf, m, np: tf.reshape(fed(tf, np, np.zeros([2, 6])), [0, -1]),
    "softmax, an axis too far": lambda tf, m, np: tf.nn.softmax([1.0, 2.0], axis=tf.constant(100)),
    "random integers, several bounds": lambda tf, m, np: tf.random_uniform([3], [1, 2], 3, "int32"),
    "bincount, sizes in a vector": lambda tf, m, np: _of(m, "ops.gen_math_ops.bincount", [1, 2], [1], []),
    "bincount, a negative size": lambda tf, m, np: _of(m, "ops.gen_math_ops.bincount", [1, 2], -5, []),
    "diag of a number": lambda tf, m, np: tf.diag(0.0),
    "sparse_concat, two ranks": lambda tf, m, np: tf.sparse_concat(
        1, [_pairs(tf), tf.SparseTensor([[0, 0, 0]], [1.0], [1, 1, 1])]
    ),
    "sparse_reduce_max, too large a shape": lambda tf, m, np: _of(
        m, "ops.gen_sparse_ops.sparse_reduce_max", [[1, 2], [3, 4]], [1, 3], [2**32, 2**31], [0]
    ),
    "gradient of filled rows, too large a number": lambda tf, m, np: tf.raw_ops.SparseFillEmptyRowsGrad(
        reverse_index_map=[2, 10], grad_values=[0, 1, 2, 3]
    ),
    "gradient of filled rows, a negative number": lambda tf, m, np: tf.raw_ops.SparseFillEmptyRowsGrad(
        reverse_index_map=[2, -1], grad_values=[0, 1, 2, 3]
    ),
    "gradient of filled rows, a matrix": lambda tf, m, np: tf.raw_ops.SparseFillEmptyRowsGrad(
        reverse_index_map=[0, 1], grad_values=[[0, 1], [2, 3]]
    ),
    "sparse_eye of sparse_ops": lambda tf, m, np: _of(m, "ops.sparse_ops.sparse_eye", 2, 3),
    "decode_base64, characters that are none": lambda tf, m, np: tf.decode_base64([b"aa?a"]),
    "decode_base64, not safe in an address": lambda tf, m, np: tf.decode_base64([b"aa+a"]),
    "decode_base64, beyond ASCII": lambda tf, m, np: tf.decode_base64([b"aa\x80a"]),
    "sharded_filename, shards in a vector": lambda tf, m, np: _of(
        m, "ops.gen_io_ops.sharded_filename", "foo", [1, 2], 3
    ),
    "sharded_filespec, shards in a vector": lambda tf, m, np: _of(
        m, "ops.gen_io_ops.sharded_filespec", "foo", [1, 2]
    ),
    "concat of a number and a vector": lambda tf, m, np: tf.concat([fed(tf, np, [1]), fed(tf, np, 2)], 0),
    "softmax cross entropy, three axes": lambda tf, m, np: _of(
        m, "ops.gen_nn_ops.softmax_cross_entropy_with_logits", np.ones([1, 1, 1], "f"), np.ones([1, 1, 1], "f")
    ),
    "approximate_equal, two ranks": lambda tf, m, np: m("ops.math_ops").approximate_equal(
        np.array([1.0, 2.0]), np.array([[1.0, 2.0]])
    ),
    "adjust_contrast, factors in a vector": lambda tf, m, np: tf.image.adjust_contrast(
        np.zeros([2, 2, 3], "f"), [2.0, 2.0]
    ),
    "reduce_join, an axis too far": lambda tf, m, np: tf.reduce_join(
        tf.placeholder_with_default(["a"], None), fed(tf, np, 1, "int32")
    ),
    "beam search, more paths than beams": lambda tf, m, np: tf.nn.ctc_beam_search_decoder(
        np.ones([2, 1, 3], "f"), [2], beam_width=2, top_paths=3
    ),
    "ctc_loss, no batch": lambda tf, m, np: tf.nn.ctc_loss(
        tf.SparseTensor(np.zeros([0, 2], "int64"), np.zeros([0], "int32"), [0, 0]), np.zeros([2, 0, 5], "f"),
        np.zeros([0], "int32"),
    ),
    "decode_csv, a matrix for a default": lambda tf, m, np: tf.decode_csv(["1"], [[[0]]]),
    "max_pool of no strides": lambda tf, m, np: tf.nn.max_pool(
        np.ones([1, 2, 2, 1], "f"), [1, 1, 1, 1], [1, 0, 1, 1], "SAME"
    ),
    "pad, large": lambda tf, m, np: tf.pad(np.ones([2, 2], "f"), [[0, 1], [0, 1], [0, 1]]),
    "transposed, a rank alone": lambda tf, m, np: tf.transpose(
        tf.placeholder_with_default(np.ones([3], "f"), [None])
    ),
    "convolution of two types": lambda tf, m, np: _of(
        m, "ops.nn_ops.convolution", np.ones([1, 2, 2, 1]), np.ones([1, 1, 1, 1], "f"), "SAME"
    ),
    "data_format_vec_permute, a long format": lambda tf, m, np: _of(
        m, "ops.gen_nn_ops.data_format_vec_permute", [0, 3, 1, 2], src_format="12345678", dst_format="87654321"
    ),
    "check_numerics beside a condition": lambda tf, m, np: [
        tf.cond(fed(tf, np, True, "bool"), lambda: tf.constant(1.0), lambda: tf.constant(2.0)),
        tf.add_check_numerics_ops(),
    ],
    "a Hessian times a vector": lambda tf, m, np: _times_hessian(tf, m),
    "a Hessian times no vector": lambda tf, m, np: m("ops.gradients_impl")._hessian_vector_product(
        tf.constant(1.0), [tf.constant(1.0)], []
    ),
    "regex_full_match": lambda tf, m, np: [
        tf.strings.regex_full_match("foo", "[a-z]*"), tf.strings.regex_full_match("foo", "[a-z]*").op.type,
        tf.strings.regex_full_match("foo", tf.constant("[a-z]")),
    ],
}  # fmt: skip


def _each(call, *values):
    """What comes of a call for each value: tensors, or the class of an error."""
    found = []
    for value in values:
        try:
            found.append(call(value))
        except (TypeError, ValueError) as error:
            found.append([type(error).__name__, str(error).split("\n")[0]])
    return found


NUMBERS = [
    "+1",
    "-2",
    " 3 ",
    "+2.5",
    "0x10",
    "-0X1f",
    "1e3",
    "inf",
    "-INF",
    "nan",
    "Infinity",
    "-infinity",
    "1_0",
    "1f",
]
"""Texts that are numbers for some readers."""

TEXTS = {
    **{
        f"{text!r} as {dtype}": lambda tf, m, np, text=text, dtype=dtype: tf.string_to_number(text, dtype)
        for text in NUMBERS
        for dtype in ("float32", "int64")
    },
    **{
        f"{text!r} in a record, {type(default).__name__}": lambda tf, m, np, text=text, default=default: tf.decode_csv(
            ["x," + text], [[""], [default]]
        )[1]
        for text in NUMBERS
        for default in (5.0, 5)
    },
}  # fmt: skip

LAYERS = {
    "flatten, sizes that are not known": lambda tf, m, np: [
        *(
            [
                tf.layers.flatten(tf.placeholder("float32", sizes)).shape.as_list(),
                len(tf.get_default_graph().get_operations()),
            ]
            for sizes in (
                [None, None, 2], [None, 3, 4], [3, None, 2], [2, 3, 0], [None], [None, 3, 0], [0, None],
            )
        ),
    ],
    "flatten, rows of a size that is not known": lambda tf, m, np: tf.layers.flatten(
        tf.placeholder_with_default(np.arange(12, dtype="f").reshape(2, 3, 2), [None, None, 2])
    ),
    "flatten, channels first": lambda tf, m, np: tf.layers.flatten(
        tf.placeholder_with_default(np.arange(12, dtype="f").reshape(2, 3, 2), [None, None, 2]),
        data_format="channels_first",
    ),
    "flatten of a number": lambda tf, m, np: tf.layers.flatten(tf.constant(1.0)),
    "flatten of an unknown rank": lambda tf, m, np: tf.layers.flatten(tf.placeholder("float32")),
    "dense of integers": lambda tf, m, np: tf.layers.dense(tf.zeros([3, 2], "int32"), 2),
    "layouts and paddings of layers": lambda tf, m, np: [
        found if isinstance(found, list) else found.shape.as_list()
        for found in (
            *_each(lambda layout: tf.layers.conv1d(tf.zeros([1, 5, 3]), 2, 3, data_format=layout), None, "NWC"),
            *_each(lambda layout: tf.layers.conv2d(tf.zeros([1, 5, 5, 3]), 2, 3, data_format=layout), None, "foo"),
            *_each(lambda layout: tf.layers.max_pooling2d(tf.zeros([1, 5, 5, 3]), 2, 2, data_format=layout), None),
            *_each(lambda layout: tf.layers.average_pooling1d(tf.zeros([1, 5, 3]), 2, 2, data_format=layout), None),
            *_each(lambda way: tf.layers.conv2d(tf.zeros([1, 5, 5, 3]), 2, 3, padding=way), "SAME", "causal", "Foo"),
            *_each(lambda way: tf.layers.conv1d(tf.zeros([1, 5, 3]), 2, 3, padding=way), "causal", "foo"),
            *_each(lambda way: tf.layers.max_pooling2d(tf.zeros([1, 5, 5, 3]), 2, 2, padding=way), "foo"),
        )
    ],
}  # fmt: skip

NAMES = {
    "conv1d, the input under both names": lambda tf, m, np: tf.nn.conv1d(
        tf.zeros([1, 2, 1]), tf.zeros([1, 1, 1]), 1, "SAME", input=tf.zeros([1, 2, 1])
    ),
    "convolution, filters under both names": lambda tf, m, np: tf.nn.conv2d_transpose(
        tf.zeros([1, 2, 2, 1]), tf.zeros([1, 1, 1, 1]), [1, 2, 2, 1], [1, 1], filters=tf.zeros([1, 1, 1, 1])
    ),
    "softmax, two axes": lambda tf, m, np: tf.nn.softmax([[1.0]], 0, dim=0),
    "l2_normalize, two axes": lambda tf, m, np: tf.nn.l2_normalize([[1.0]], 0, dim=0),
    "depthwise_conv2d, two dilations": lambda tf, m, np: tf.nn.depthwise_conv2d(
        tf.zeros([1, 2, 2, 1]), tf.zeros([1, 1, 1, 1]), [1, 1, 1, 1], "SAME", rate=[1, 1], dilations=[1, 1]
    ),
    "weighted cross entropy, two labels": lambda tf, m, np: tf.nn.weighted_cross_entropy_with_logits(
        labels=[1.0], logits=[1.0], pos_weight=1.0, targets=[1.0]
    ),
    "max_pool, the input under both names": lambda tf, m, np: tf.nn.max_pool(
        tf.zeros([1, 2, 2, 1]), 1, 1, "SAME", input=tf.zeros([1, 2, 2, 1])
    ),
    "conv3d, filters under both names": lambda tf, m, np: tf.nn.conv3d(
        tf.zeros([1, 2, 2, 2, 1]), tf.zeros([1, 1, 1, 1, 1]), [1] * 5, "SAME", filters=tf.zeros([1, 1, 1, 1, 1])
    ),
    "expand_dims, no axis": lambda tf, m, np: tf.expand_dims([1.0]),
    "expand_dims, two axes": lambda tf, m, np: tf.expand_dims([1.0], 0, dim=0),
    "a sum under both names": lambda tf, m, np: tf.reduce_sum([1.0], 0, reduction_indices=0),
    "sparse_concat, two axes": lambda tf, m, np: tf.sparse.concat(0, [tf.sparse.eye(2)], concat_dim=0),
}  # fmt: skip

PRODUCTS = {
    "products of unknown rank": lambda tf, m, np: [
        [tf.matmul(a, b, transpose_b=swap).op.type, tf.matmul(a, b, transpose_b=swap)]
        for swap in (False, True)
        for a, b in (
            (tf.placeholder_with_default(np.ones([2, 2, 2], "f"), None), tf.constant([[1.0, 2.0], [3.0, 4.0]])),
            (tf.constant([[1.0, 2.0], [3.0, 4.0]]), tf.placeholder_with_default(np.ones([2, 2, 2], "f"), None)),
        )
    ],
}  # fmt: skip

FILES = {
    "patterns in a matrix": lambda tf, m, np: tf.matching_files([["/none"]]),
}

PROGRAMS = {
    **ARRAYS,
    **ARITHMETIC,
    **WINDOWS,
    **SPARSE,
    **TABLES,
    **FUNCTIONS,
    **PICTURES,
    **REFUSED,
    **TEXTS,
    **LAYERS,
    **NAMES,
    **FILES,
    **PRODUCTS,
}
