"""Memory predicted: to the byte what the allocators of simulated GPUs show when the step runs in a session."""

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.cost.memory import dry_run
from gpuplace.process import PROCESS
from gpuplace.tf1.stand_in import functional_ops
from gpuplace.tf1.stand_in.framework.function import Defun

CASES = {}


def case(function):
    """A graph: what is fed, by tensor, and what is fetched."""
    CASES[function.__name__] = function
    return function


def convolutional(batch, side, layers=tf.layers):
    images, labels = tf.placeholder(tf.float32, [batch, side, side, 3]), tf.placeholder(tf.int32, [batch])
    top = layers.conv2d(images, 16, 3, padding="same", activation=tf.nn.relu)
    top = layers.max_pooling2d(top, 2, 2)
    top = layers.batch_normalization(layers.conv2d(top, 32, 3, activation=tf.nn.relu), training=True)
    top = layers.flatten(layers.average_pooling2d(top, 2, 2))
    top = tf.nn.dropout(layers.dense(top, 64, tf.nn.relu), 0.5)
    logits = layers.dense(top, 10)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    return {images: (batch, side, side, 3), labels: (batch,)}, loss


def trained(loss, optimizer=None, **options):
    return (optimizer or tf.train.GradientDescentOptimizer(0.1)).minimize(loss, **options)


@case
def forward():
    rows, weights = tf.placeholder(tf.float32, [None, 512]), tf.Variable(tf.zeros([512, 256]))
    return {rows: (64, 512)}, tf.nn.relu(tf.matmul(rows, weights))


@case
def perceptron_descent():
    rows, wanted = tf.placeholder(tf.float32, [None, 784]), tf.placeholder(tf.float32, [None, 10])
    top = tf.layers.dense(tf.layers.dense(rows, 500, tf.nn.relu), 300, tf.nn.tanh)
    loss = tf.losses.softmax_cross_entropy(wanted, tf.layers.dense(top, 10))
    return {rows: (128, 784), wanted: (128, 10)}, [trained(loss), loss]


@case
def perceptron_adam():
    rows, wanted = tf.placeholder(tf.float32, [None, 784]), tf.placeholder(tf.float32, [None, 10])
    top = tf.layers.dense(tf.layers.dense(rows, 500, tf.nn.sigmoid), 10)
    return {rows: (100, 784), wanted: (100, 10)}, trained(
        tf.losses.mean_squared_error(wanted, top), tf.train.AdamOptimizer()
    )


@case
def convolutions_forward():
    return convolutional(16, 64)


@case
def convolutions_momentum():
    feeds, loss = convolutional(8, 32)
    return feeds, [loss, trained(loss, tf.train.MomentumOptimizer(0.1, 0.9))]


@case
def convolutions_rmsprop():
    feeds, loss = convolutional(4, 40)
    return feeds, trained(loss, tf.train.RMSPropOptimizer(0.1))


@case
def transposed_convolution():
    images = tf.placeholder(tf.float32, [8, 32, 32, 3])
    top = tf.layers.conv2d_transpose(tf.layers.conv2d(images, 8, 3, 2, "same"), 3, 3, 2, "same")
    return {images: (8, 32, 32, 3)}, trained(tf.reduce_mean((top - images) ** 2))


@case
def branches_pads_and_slices():
    images = tf.placeholder(tf.float32, [4, 20, 20, 8])
    left = tf.nn.lrn(tf.layers.conv2d(images, 8, 3, padding="same"))
    both = tf.split(tf.concat([left, tf.layers.conv2d(images, 8, 1)], 3), 2, 3)
    padded = tf.pad(both[0], [[0, 0], [1, 1], [1, 1], [0, 0]])
    return {images: (4, 20, 20, 8)}, trained(tf.reduce_sum(padded) + tf.reduce_sum(both[1][:, 1:, :]))


@case
def static_lstm():
    rows = tf.placeholder(tf.float32, [8, 6, 20])
    outputs, _ = tf.nn.static_rnn(
        tf.nn.rnn_cell.BasicLSTMCell(32), tf.unstack(rows, axis=1), dtype=tf.float32
    )
    return {rows: (8, 6, 20)}, trained(tf.reduce_sum(outputs[-1] ** 2))


@case
def dynamic_lstm():
    rows = tf.placeholder(tf.float32, [None, 10, 20])
    return {rows: (16, 10, 20)}, tf.nn.dynamic_rnn(tf.nn.rnn_cell.LSTMCell(64), rows, dtype=tf.float32)[0]


@case
def dynamic_lstm_trained():
    rows = tf.placeholder(tf.float32, [None, 10, 20])
    outputs, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.LSTMCell(64), rows, dtype=tf.float32)
    return {rows: (16, 10, 20)}, trained(tf.reduce_mean(outputs), tf.train.AdamOptimizer())


@case
def gru_of_two_layers_by_lengths():
    rows, lengths = tf.placeholder(tf.float32, [12, 9, 30]), tf.placeholder(tf.int32, [12])
    cell = tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.GRUCell(48) for _ in range(2)])
    outputs, _ = tf.nn.dynamic_rnn(cell, rows, sequence_length=lengths, dtype=tf.float32)
    return {rows: (12, 9, 30), lengths: np.full(12, 9, np.int32)}, trained(tf.reduce_mean(outputs))


@case
def loop():
    matrix = tf.placeholder(tf.float32, [64, 64])
    found = tf.while_loop(lambda i, a: i < 7, lambda i, a: (i + 1, tf.matmul(a, a)), [tf.constant(0), matrix])
    return {matrix: (64, 64)}, found[1]


@case
def loop_trained():
    weights, matrix = tf.Variable(tf.ones([64, 64])), tf.placeholder(tf.float32, [64, 64])
    found = tf.while_loop(
        lambda i, a: i < 7, lambda i, a: (i + 1, tf.tanh(tf.matmul(a, weights))), [tf.constant(0), matrix]
    )
    return {matrix: (64, 64)}, trained(tf.reduce_sum(found[1]))


@case
def conditional():
    rows = tf.placeholder(tf.float32, [32, 64])
    chosen = tf.cond(
        tf.constant(True), lambda: tf.matmul(rows, tf.transpose(rows)), lambda: tf.zeros([32, 32])
    )
    return {rows: (32, 64)}, chosen * 2


@case
def embedding_adagrad():
    ids, table = tf.placeholder(tf.int32, [64]), tf.Variable(tf.random_uniform([5000, 64]))
    loss = tf.reduce_mean(tf.nn.embedding_lookup(table, ids) ** 2)
    return {ids: (64,)}, trained(loss, tf.train.AdagradOptimizer(0.1))


@case
def resource_variables():
    rows = tf.placeholder(tf.float32, [32, 64])
    weights = tf.get_variable("w", [64, 128], use_resource=True)
    return {rows: (32, 64)}, trained(tf.reduce_mean(tf.matmul(rows, weights) ** 2), tf.train.AdamOptimizer())


@case
def attention():
    rows = tf.placeholder(tf.float32, [4, 16, 32])
    query, key, value = (tf.layers.dense(rows, 32) for _ in range(3))
    weights = tf.nn.softmax(tf.matmul(query, key, transpose_b=True) / 5.0)
    top = tf.contrib.layers.layer_norm(tf.matmul(weights, value) + rows)
    return {rows: (4, 16, 32)}, trained(tf.reduce_mean(top**2), tf.train.AdamOptimizer())


def towers(count, optimizer, variables):
    feeds, gradients = {}, []
    for tower in range(count):
        with tf.variable_scope("", reuse=tower > 0), tf.device(f"/gpu:{tower}"):
            rows = tf.placeholder(tf.float32, [32, 100])
            feeds[rows] = (32, 100)
            with tf.device(variables):
                first, bias = tf.get_variable("first", [100, 200]), tf.get_variable("bias", [200])
                second = tf.get_variable("second", [200, 10])
            top = tf.matmul(tf.nn.relu(tf.matmul(rows, first) + bias), second)
            gradients.append(optimizer.compute_gradients(tf.reduce_mean(tf.square(top))))
    with tf.device("/cpu:0"):
        mean = [
            (tf.reduce_mean(tf.stack([grad for grad, _ in pairs]), 0), pairs[0][1])
            for pairs in zip(*gradients, strict=True)
        ]
        return feeds, optimizer.apply_gradients(mean)


@case
def two_towers_with_variables_on_the_cpu():
    return towers(2, tf.train.GradientDescentOptimizer(0.1), "/cpu:0")


@case
def two_towers_with_variables_on_a_gpu():
    return towers(2, tf.train.GradientDescentOptimizer(0.1), "/gpu:0")


@case
def four_towers_momentum():
    return towers(4, tf.train.MomentumOptimizer(0.1, 0.9), "/cpu:0")


@case
def two_convolutional_towers():
    feeds, losses = {}, []
    for tower in range(2):
        with tf.device(f"/gpu:{tower}"), tf.variable_scope(f"tower_{tower}"):
            fed, loss = convolutional(4, 32)
            feeds |= fed
            losses.append(loss)
    return feeds, trained(tf.add_n(losses), colocate_gradients_with_ops=True)


@case
def a_variable_on_the_cpu_that_a_gpu_begins():
    with tf.device("/gpu:0"):
        start = tf.random_uniform([300, 300]) * 2
    with tf.device("/cpu:0"):
        weights = tf.Variable(start, name="weights")
        scale = tf.Variable(tf.ones([300]) / 3, name="scale")
    with tf.device("/gpu:0"):
        return {}, trained(tf.reduce_sum(tf.matmul(weights, weights) * scale))


def named_as_others(traced):
    """A function whose node has the name of one of another size."""
    rows = tf.placeholder(tf.float32, [100, 200])

    @traced
    def squared(x):
        return tf.matmul(x, x, transpose_a=True, name="product")

    with tf.device("/gpu:0"):
        product = tf.matmul(rows, rows, transpose_b=True, name="product")
        return {rows: (100, 200)}, tf.reduce_sum(squared(rows)) + tf.reduce_sum(product)


@case
def a_traced_function_with_names_of_others():
    return named_as_others(tf.function)


@case
def a_function_of_the_library_with_names_of_others():
    return named_as_others(Defun(tf.float32))


def filtered_in_a_call(batch):
    """A call that is not inlined: its body knows no batch."""

    @Defun(tf.float32, tf.float32, noinline=True)
    def filtered(images, weights):
        images.set_shape([None, 32, 32, 16])
        weights.set_shape([3, 3, 16, 24])
        top = tf.nn.relu(tf.nn.conv2d(images, weights, strides=[1, 1, 1, 1], padding="SAME"))
        return tf.reduce_mean(tf.concat([top, top], 3), [1, 2])

    images, weights = (
        tf.placeholder(tf.float32, [None, 32, 32, 16]),
        tf.placeholder(tf.float32, [3, 3, 16, 24]),
    )
    return {images: (batch, 32, 32, 16), weights: (3, 3, 16, 24)}, filtered(images, weights)


@case
def a_call_that_is_not_inlined():
    return filtered_in_a_call(8)


@case
def a_branch_of_functions_trained():
    tf.enable_control_flow_v2()
    rows, is_wide = tf.placeholder(tf.float32, [64, 200]), tf.placeholder(tf.bool, [])
    weights = tf.Variable(tf.ones([200, 300]), use_resource=True)
    top = tf.cond(
        is_wide, lambda: tf.nn.relu(tf.matmul(rows, weights)), lambda: tf.matmul(rows * 2.0, weights) + 1.0
    )
    return {rows: (64, 200), is_wide: np.array(True)}, trained(tf.reduce_sum(top**2))


@case
def one_of_three_branches_of_functions():
    tf.enable_control_flow_v2()
    rows = tf.placeholder(tf.float32, [64, 200])
    top = tf.switch_case(
        tf.constant(1), [lambda: rows * 2.0, lambda: tf.matmul(rows, rows, False, True), lambda: rows + 1.0]
    )
    return {rows: (64, 200)}, tf.reduce_sum(tf.tanh(top))


@case
def a_loop_of_functions():
    tf.enable_control_flow_v2()
    rows, weights = tf.placeholder(tf.float32, [64, 200]), tf.Variable(tf.ones([200, 200]))
    return {rows: (64, 200)}, tf.while_loop(
        lambda i, x: i < 7, lambda i, x: (i + 1, tf.nn.relu(tf.matmul(x, weights))), [0, rows]
    )[1]


@case
def a_loop_of_functions_trained():
    tf.enable_control_flow_v2()
    rows, weights = tf.placeholder(tf.float32, [64, 200]), tf.Variable(tf.ones([200, 200]), use_resource=True)
    top = tf.while_loop(
        lambda i, x: i < 5, lambda i, x: (i + 1, tf.nn.relu(tf.matmul(x, weights))), [0, rows]
    )[1]
    return {rows: (64, 200)}, trained(tf.reduce_sum(top))


@case
def a_sum_in_place():
    rows = tf.placeholder(tf.float32, [64, 200])
    return {rows: (64, 200)}, tf.accumulate_n([tf.nn.relu(rows), rows * 2.0, rows + 1.0])


@case
def rows_joined_in_place():
    rows = tf.placeholder(tf.float32, [1, 200])
    return {rows: (1, 200)}, tf.nn.relu(tf.parallel_stack([rows[0], rows[0] * 2.0, rows[0] + 1.0]))


@case
def slots_of_middling_size():
    rows = tf.placeholder(tf.float32, [16, 100])
    top = tf.layers.dense(tf.layers.dense(rows, 100, tf.nn.relu), 200)
    return {rows: (16, 100)}, trained(tf.reduce_sum(top**2), tf.train.AdadeltaOptimizer())


@case
def flattened_after_a_kernel_of_its_own_strides():
    images = tf.placeholder(tf.float32, [16, 12, 12, 3])
    top = tf.layers.flatten(tf.image.resize_bilinear(tf.layers.conv2d(images, 9, 3), [13, 11]))
    return {images: (16, 12, 12, 3)}, trained(tf.reduce_mean(tf.layers.dense(top, 10)))


@case
def rows_of_an_embedding():
    words = tf.placeholder(tf.int32, [33, 7])
    rows = tf.nn.embedding_lookup(tf.get_variable("rows", [1000, 12]), words)
    loss = tf.reduce_sum(tf.layers.dense(tf.reshape(rows, [33, 84]), 10) ** 2)
    return {words: np.arange(231, dtype=np.int32).reshape(33, 7)}, trained(loss, tf.train.AdamOptimizer())


@case
def rows_of_an_embedding_of_which_only_the_number_is_known():
    words = tf.placeholder(tf.int32, [33, 7])
    rows = tf.nn.embedding_lookup(tf.get_variable("rows", [1000, 12], use_resource=True), words)
    loss = tf.reduce_sum(tf.layers.dense(tf.reshape(rows, [33, 84]), 10) ** 2)
    fetched = trained(loss, tf.train.MomentumOptimizer(0.1, 0.9))
    return {words: Distinct((33, 7))}, fetched


@case
def gradients_in_rows():
    with tf.device("/gpu:1"):
        rows = tf.get_variable("rows", [100, 12])
        return {}, tf.gradients(tf.reduce_sum(tf.nn.embedding_lookup(rows, tf.constant([1, 2]))), rows)


class Distinct(tuple):
    """A shape, for which different numbers are fed."""


def one_line(**options):
    return tf.ConfigProto(allow_soft_placement=True, inter_op_parallelism_threads=1, **options)


@pytest.mark.parametrize("name", CASES)
def test_the_predicted_peak_is_the_allocators(name):
    tf.use_machine("4x Tesla K80")
    with tf.Graph().as_default() as graph:
        feeds, fetches = CASES[name]()
        initialize = tf.global_variables_initializer()
        step = tf.estimate(graph, fetches, feeds, machine="4x Tesla K80", config=one_line())
        predicted = step.peak_memory
        with tf.Session(config=one_line()) as session:
            session.run(initialize)
            arrays = {
                tensor: shape
                if isinstance(shape, np.ndarray)
                else np.arange(np.prod(shape), dtype=tensor.dtype.as_numpy_dtype).reshape(shape)
                if isinstance(shape, Distinct)
                else np.zeros(shape, tensor.dtype.as_numpy_dtype)
                for tensor, shape in feeds.items()
            }
            session.run(fetches, arrays)
            shown = {
                device: allocator.stats().peak_bytes_in_use
                for device, allocator in session.allocators.items()
            }
    assert not step.memory.assumed
    assert sum(shown.values()) > 0
    assert {device: predicted[device] for device in shown} == shown


@pytest.mark.parametrize("name", CASES)
def test_walking_a_schedule_asks_what_the_compiled_plan_asks(name, monkeypatch):
    with tf.Graph().as_default() as graph:
        feeds, fetches = CASES[name]()
    walked = all_requests(graph, fetches, feeds)
    monkeypatch.delattr(dry_run._DryCompiler, "_code")
    compiled = all_requests(graph, fetches, feeds)
    assert walked and walked == compiled


def all_requests(graph, fetches, feeds):
    """Runs of (device, node, bytes, number) that a step asks for; what goes at its end goes in no order."""
    asked = tf.estimate(graph, fetches, feeds, machine="4x Tesla K80", config=one_line())
    assert asked.memory.devices
    (found,) = asked.memory_requests.values()
    rows = found.requests.rows
    end = max(number for number, (_, _, nbytes, _) in enumerate(rows) if nbytes > 0) + 1
    return rows[:end], sorted(rows[end:]), found.requests.begin


def test_a_variable_in_no_collection_begins_with_its_initial_value():
    """One that the step needs; another is not initialized."""
    with tf.Graph().as_default() as graph:
        rows = tf.Variable(tf.ones([256, 512]), collections=[], name="rows")
        tf.Variable(tf.ones([2048, 512]), collections=[], name="other")
        weights = tf.Variable(tf.ones([512, 64]))
        fetch = tf.matmul(rows, weights)
        step = tf.estimate(graph, fetch, machine="1x Tesla K80", config=one_line())
        tf.use_machine("1x Tesla K80")
        with tf.Session(config=one_line()) as session:
            session.run([weights.initializer, rows.initializer])
            session.run(fetch)
            (allocator,) = session.allocators.values()
            shown = allocator.stats().peak_bytes_in_use
    assert not step.memory.assumed
    assert step.memory.of("GPU:0").peak == shown > 256 * 512 * 4


def test_what_does_not_fit_is_said_with_what_is_short():
    with tf.Graph().as_default() as graph:
        images = tf.placeholder(tf.float32, [None, 1 << 20], name="images")
        top = tf.nn.relu(images, name="first")
        tf.reduce_sum(tf.nn.relu(top, name="second") + top, name="out")
    step = tf.estimate(graph, "out", {"images": (4096, 1 << 20)}, machine="1x Tesla K40c")
    use = step.memory.of("GPU:0")
    assert use.short > 0 and not step.memory.fits and use.peak - use.limit == use.short
    assert "The step does not fit on GPU:0" in step.explain() and "GiB are missing" in step.explain()
    assert not step.rows("memory")[1].fits
    asked = tf.estimate(graph, "out", {"images": (None, 1 << 20)}, machine="1x Tesla K40c")
    batch = asked.largest_batch()
    assert 500 < batch < 1000
    for size, fits in ((batch, True), (batch + 1, False)):
        assert tf.estimate(graph, "out", {"images": (size, 1 << 20)}, machine="1x K40c").memory.fits is fits


def test_memory_by_op_scope_and_time():
    with tf.Graph().as_default() as graph:
        with tf.name_scope("net"):
            rows = tf.placeholder(tf.float32, [256, 1024], name="rows")
            loss = tf.reduce_sum(tf.layers.dense(rows, 1024, tf.nn.relu), name="loss")
        train = trained(loss)
    step = tf.estimate(graph, train, machine="1x V100")
    memory = step.memory
    use = memory.of("GPU:0")
    assert sum(memory.by("GPU:0").values()) == use.peak == sum(memory.by("GPU:0", "scope").values())
    assert memory.by("GPU:0")["variable"] >= 1024 * 1024 * 4 + 1024 * 4
    assert memory.by("GPU:0", "name")["dense/kernel"] == 1024 * 1024 * 4
    assert max(nbytes for _, nbytes in use.timeline) == use.step_peak
    assert use.timeline[-1][1] >= use.before  # what the session keeps is not given back in the step
    assert step.peak_memory["/job:localhost/replica:0/task:0/device:CPU:0"] >= 256 * 1024 * 4
    with pytest.raises(KeyError, match="no GPU 'GPU:7'"):
        memory.of("GPU:7")


def test_nothing_of_the_process_is_touched():
    from gpuplace.numerics import threads
    from gpuplace.runtime.memory.process_state import process_state

    tf.use_machine("1x K40c")
    threads.reset()
    with tf.Graph().as_default() as graph:
        tf.reduce_sum(tf.random_uniform([512, 512]), name="sum")
    assert tf.estimate(graph, "sum", machine="2x V100").peak_memory
    assert not process_state.allocators() and PROCESS.intra_op_threads == 0


def squarings(condition):
    """A loop over matrices whose condition is a function of what it computes, and its gradient."""
    given = tf.placeholder(tf.float32, [100, 100], name="given")
    weights = tf.Variable(tf.ones([100, 100]), name="weights")
    last = tf.while_loop(condition, lambda i, x: (i + 1, tf.matmul(x, weights)), [0, given])[1]
    return tf.gradients(last, weights)


@pytest.mark.parametrize(
    "condition", [lambda i, x: tf.reduce_sum(x) < 1e9, lambda i, x: tf.constant(True)], ids=["sum", "always"]
)
def test_a_loop_without_a_bound_is_predicted_as_often_as_is_assumed_or_given(condition):
    """Dry, its condition would hold for ever."""
    with tf.Graph().as_default() as graph:
        fetches = squarings(condition)
        peaks = [
            tf.estimate(graph, fetches, machine="1x K80", trip_counts=trips).peak_memory[
                "/job:localhost/replica:0/task:0/device:GPU:0"
            ]
            for trips in (None, {"while": 1}, {"while": 5}, {"while": 9})
        ]
    assert peaks[0] == peaks[1] < peaks[2] < peaks[3]
    assert peaks[3] - peaks[2] == 4 * 4 * 100 * 100 + 4 * (-(-40_000 // 256) * 256 - 40_000)


def test_a_loop_with_a_bound_takes_what_it_takes_when_the_bound_is_given():
    with tf.Graph().as_default() as graph:
        fetches = squarings(lambda i, x: i < 6)
        found, given = (
            tf.estimate(graph, fetches, machine="1x K80", trip_counts=trips).peak_memory
            for trips in (None, {"while": 6})
        )
    assert found == given


def test_a_loop_of_functions_runs_once():
    @Defun(tf.float32)
    def is_small(x):
        return tf.reduce_sum(x) < 1e9

    @Defun(tf.float32)
    def double(x):
        return x * 2.0

    with tf.Graph().as_default() as graph:
        out = functional_ops.While([tf.placeholder(tf.float32, [4000])], is_small, double)
        step = tf.estimate(graph, out, machine="1x K80")
    assert step.guessed == 1.0
    assert step.peak_memory["/job:localhost/replica:0/task:0/device:GPU:0"] >= 2 * 16_000


GPU = "/job:localhost/replica:0/task:0/device:GPU:0"


def test_nothing_is_computed_in_a_call(monkeypatch):
    def convolve(*inputs):
        raise AssertionError("a kernel ran")

    monkeypatch.setattr("gpuplace.ops.nn.conv.convolve", convolve)
    with tf.Graph().as_default() as graph:
        feeds, fetches = filtered_in_a_call(100_000)
        step = tf.estimate(graph, fetches, feeds, machine="1x K80")
    images, filtered = 4 * 100_000 * 32 * 32 * 16, 4 * 100_000 * 32 * 32 * 24
    assert not step.memory.assumed and step.peak_memory[GPU] > images + 2 * filtered


def test_values_that_nobody_computed_are_no_faults():
    """Zeros have no Cholesky factor, and an empty line has no three fields."""
    with tf.Graph().as_default() as graph:
        with tf.device("/gpu:0"):
            factor = tf.cholesky(tf.matmul(tf.placeholder(tf.float32, [8, 8]), tf.ones([8, 8])))
        fields = tf.decode_csv(tf.placeholder(tf.string, [20]), [[0.0], [0.0], [0.0]])
        step = tf.estimate(graph, [factor, fields], machine="1x K80")
    assert not step.memory.assumed and step.peak_memory[GPU] >= 2 * 256


def test_a_model_whose_variables_are_loaded_has_them_in_memory():
    with tf.Graph().as_default() as graph, tf.device("/gpu:0"):
        weights = tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[784, 100], name="weights")
        rows = tf.placeholder(tf.float32, [32, 784])
        out = tf.matmul(rows, tf.raw_ops.ReadVariableOp(resource=weights, dtype=tf.float32))
        memory = tf.estimate(graph, out, machine="1x K80").memory
    assert memory.assumed == ("Variables without an initializer are assumed to be loaded: weights",)
    assert memory.variables[memory.of("GPU:0").device] == 4 * 784 * 100


@pytest.mark.parametrize("release", ["1.15", "2.21"])
def test_a_graph_of_a_later_release_is_predicted(release):
    """What 1.15 does not know of a node it was placed without; the process's release has no say in it."""
    with tf.Graph().as_default() as graph:
        tf.matmul(tf.placeholder(tf.float32, [64, 64]), tf.ones([64, 64]), name="product")
    message = graph.as_graph_def()
    message.node[-1].attr["grad_a"].b = False
    message.node.add(name="bins", op="StatelessRandomGetAlg") if release == "2.21" else None
    step = tf.estimate(message, "product", machine="1x K80", release=release)
    assert not step.memory.assumed and step.peak_memory[GPU] >= 3 * 4 * 64 * 64


def test_nothing_outside_is_touched(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    called = []
    with tf.Graph().as_default() as graph, tf.device("/cpu:0"):
        variable = tf.get_variable("variable", [100, 100])
        saver = tf.train.Saver(sharded=True).as_saver_def()
        functions = [
            tf.py_func(lambda: called.append(1) or 1.0, [], tf.float64, stateful=stateful) * 2.0
            for stateful in (True, False)
        ]
        fetches = [
            *(saver.save_tensor_name, tf.write_file("written", "text"), tf.Print(variable, [variable])),
            *(tf.print("printed"), tf.Assert(tf.constant(False), ["wrong"]), *functions),
        ]
        assert not tf.estimate(graph, fetches, machine="1x K80").memory.assumed
    assert not called and not list(tmp_path.iterdir()) and capfd.readouterr() == ("", "")
