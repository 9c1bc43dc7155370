"""Programs that call the common functions once each; their graphs are compared as those of `programs.py`."""

PROGRAMS = {}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


def _operands(tf):
    x, y = tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0])
    return x, y, tf.constant([1, 2]), tf.constant([[1.0, 2.0], [3.0, 4.0]]), tf.constant([True, False])


@program
def operators(tf):
    x, y, i, m, b = _operands(tf)
    return [
        x + 1.0,
        1.0 + x,
        x - y,
        2.0 - x,
        x * y,
        x / y,
        i / i,
        x // y,
        i // 2,
        x % y,
        x**2.0,
        2.0**x,
        -x,
        abs(x),
        x < y,
        x <= y,
        x > y,
        x >= y,
        b & b,
        b | b,
        b ^ b,
        ~b,
        m @ m,
        x[0],
        x[0:1],
        x[..., tf.newaxis],
    ]


@program
def arithmetic_functions(tf):
    x, y, i, m, b = _operands(tf)
    tf.add(x, y)
    tf.subtract(x, y)
    tf.multiply(x, y)
    tf.divide(x, y)
    tf.div(x, y)
    tf.truediv(x, y)
    tf.realdiv(x, y)
    tf.floordiv(x, y)
    tf.floor_div(x, y)
    tf.truncatediv(x, y)
    tf.mod(x, y)
    tf.floormod(x, y)
    tf.truncatemod(x, y)
    tf.div_no_nan(x, y)
    tf.pow(x, y)
    tf.maximum(x, y)
    tf.abs(x)
    tf.abs(tf.constant([1j]))
    tf.negative(x)
    tf.sign(x)
    tf.square(x)
    tf.sqrt(x)
    tf.sigmoid(x)
    tf.tanh(x)
    tf.round(x)
    tf.round(i)
    tf.reciprocal(x)
    tf.logical_and(b, b)
    tf.logical_xor(b, b)
    tf.logical_not(b)
    tf.equal(x, y)
    tf.not_equal(x, y)
    tf.less(x, y)
    tf.cast(i, tf.float32)
    tf.cast(x, tf.float32)
    tf.to_float(i)
    tf.saturate_cast(x, tf.uint8)
    tf.clip_by_value(x, 0.0, 1.0)
    tf.clip_by_norm(x, 1.0)
    tf.clip_by_global_norm([x, y], 1.0)
    tf.clip_by_average_norm(x, 1.0)
    tf.squared_difference(x, y)
    tf.complex(x, y)
    tf.real(tf.constant([1j]))
    tf.angle(tf.constant([1j]))
    tf.conj(x)
    tf.conj(tf.constant([1j]))
    tf.is_nan(x)


@program
def reductions(tf):
    x, y, i, m, b = _operands(tf)
    tf.reduce_sum(m)
    tf.reduce_sum(m, 1, keepdims=True)
    tf.reduce_mean(m, [0])
    tf.reduce_any(b)
    tf.reduce_all(b)
    tf.reduce_prod(m)
    tf.reduce_max(m)
    tf.reduce_min(m)
    tf.reduce_logsumexp(m)
    tf.count_nonzero(m)
    tf.argmax(m)
    tf.argmin(m, 1)
    tf.cumsum(x)
    tf.cumprod(x)
    tf.norm(m)
    tf.segment_sum(x, [0, 0])
    tf.unsorted_segment_sum(x, [0, 0], 1)
    tf.unsorted_segment_mean(x, [0, 0], 1)
    tf.bincount(i)


@program
def matrices(tf):
    x, y, i, m, b = _operands(tf)
    tf.matmul(m, m)
    tf.matmul(tf.constant([[[1.0]]]), tf.constant([[[1.0]]]))
    tf.add_n([x, y])
    tf.add_n([x])
    tf.accumulate_n([x, y])
    tf.tensordot(m, m, 1)
    tf.tensordot(m, m, [[1], [0]])
    tf.einsum("ij, jk->ik", m, m)
    tf.matrix_diag(x)
    tf.matrix_transpose(m)
    tf.matrix_diag_part(m)
    tf.matrix_set_diag(m, x)
    tf.matrix_band_part(m, 0, 0)
    tf.diag(x)
    tf.trace(m)
    tf.cross([1.0, 2.0, 3.0], [1.0, 2.0, 3.0])


@program
def constants(tf):
    x, y, i, m, b = _operands(tf)
    tf.constant(1.0)
    tf.placeholder(tf.float32)
    tf.placeholder_with_default(1.0, [])
    tf.zeros([2])
    tf.zeros([2], tf.int32)
    tf.zeros([1000])
    tf.zeros(tf.constant([2, 3]))
    tf.ones([2, 3])
    tf.ones([2000])
    tf.zeros_like(x)
    tf.ones_like(x)
    tf.ones_like(tf.placeholder(tf.float32))
    tf.zeros_like(tf.placeholder(tf.float32))
    tf.fill([2], 3.0)
    tf.range(5)
    tf.range(1, 5, 2)
    tf.range(0.0, 5)
    tf.linspace(0.0, 1.0, 3)
    tf.lin_space(0.0, 1.0, 3)
    tf.eye(3)
    tf.eye(3, batch_shape=[2])
    tf.one_hot([0, 1], 3)


@program
def arrays(tf):
    x, y, i, m, b = _operands(tf)
    tf.transpose(m)
    tf.transpose(m, [1, 0])
    tf.shape(x)
    tf.shape(tf.placeholder(tf.float32))
    tf.size(x)
    tf.rank(x)
    tf.shape_n([x, y])
    tf.reshape(m, [-1])
    tf.expand_dims(x, 0)
    tf.squeeze(x)
    tf.concat([x, y], 0)
    tf.concat([x], 0)
    tf.stack([x, y])
    tf.stack([1.0, 2.0])
    tf.unstack(m)
    tf.split(x, 2)
    tf.split(x, [1, 1])
    tf.slice(x, [0], [1])
    tf.strided_slice(x, [0], [1])
    tf.gather(x, [0])
    tf.gather_nd(x, [[0]])
    tf.tile(x, [2])
    tf.pad(x, [[1, 1]])
    tf.pad(x, [[1, 1]], constant_values=1.0)
    tf.pad(x, [[1, 1]], "REFLECT")
    tf.reverse(x, [0])
    tf.where(b, x, y)
    tf.where(b)
    tf.where_v2(b, x, y)
    tf.identity(x)
    tf.stop_gradient(x)
    tf.broadcast_to(x, [2, 2])
    tf.sequence_mask([1, 2])
    tf.sequence_mask([1, 2], 3)
    tf.boolean_mask(x, b)
    tf.unique(x)
    tf.unique_with_counts(x)
    tf.invert_permutation(i)
    tf.setdiff1d(i, i)
    tf.roll(x, 1, 0)
    tf.dynamic_partition(x, i, 2)
    tf.dynamic_stitch([[0], [1]], [[1.0], [2.0]])
    tf.scatter_nd([[0]], [1.0], [3])
    tf.space_to_depth(tf.zeros([1, 2, 2, 1]), 2)
    tf.bitcast(x, tf.int32)
    tf.parallel_stack([x, y])
    tf.broadcast_dynamic_shape([1], [2])
    tf.check_numerics(x, "m")
    tf.verify_tensor_all_finite(x, "m")
    tf.ensure_shape(x, [2])
    tf.reverse_sequence(m, [1, 2], seq_axis=1)
    tf.guarantee_const(x)


@program
def random_and_control(tf):
    x, y, i, m, b = _operands(tf)
    tf.random_uniform([2])
    tf.random_uniform([2], maxval=5, dtype=tf.int32)
    tf.random_normal([2])
    tf.truncated_normal([2])
    tf.random_shuffle(x)
    tf.multinomial(m, 3)
    tf.random.categorical(m, 3)
    tf.random_crop(x, [1])
    tf.no_op()
    tf.group(x, y)
    tf.group()
    tf.tuple([x, y])
    tf.identity_n([x, y])
    tf.Print(x, [x])
    tf.string_join(["a", "b"])
    tf.as_string(x)
    tf.string_to_number("1")
    tf.assert_type(x, tf.float32)
