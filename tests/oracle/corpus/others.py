"""Other kinds: linear algebra, integers, statistics, variables of all types, imported graphs."""

from __future__ import annotations

from tests.oracle.corpus.blocks import dense, digits
from tests.oracle.corpus.programs import program, tf


@program
def linear_algebra():
    """Decompositions, solvers, transforms."""
    x = tf.placeholder(tf.float32, [4, 4])
    tf.cholesky(x)
    tf.matrix_inverse(x)
    tf.svd(x)
    tf.qr(x)
    tf.self_adjoint_eig(x)
    tf.matrix_solve_ls(x, x)
    tf.einsum("ij,jk->ik", x, x)
    tf.fft(tf.complex(x, x))
    tf.lin_space(0.0, 1.0, 5)
    tf.signal.stft(tf.reshape(x, [-1]), 8, 4)
    tf.norm(x)


@program
def integers():
    """Counting with integers of all widths, some on a GPU."""
    for dtype in (tf.int8, tf.uint8, tf.int16, tf.int32, tf.int64):
        x = tf.placeholder(dtype, [4])
        y = tf.cast(x, tf.int32) * 2 + 1
        tf.reduce_max(y)
        tf.argmax(tf.cast(x, tf.float32))
        with tf.device("/gpu:0"):
            tf.cast(y, tf.int64) // 3
    counter = tf.get_variable("counter", [], tf.int32, initializer=tf.zeros_initializer())
    tf.assign_add(counter, 1)
    tf.bincount(tf.placeholder(tf.int32, [4]))


@program
def random_numbers():
    """Generators of random numbers, stateful and stateless."""
    shape = tf.shape(tf.placeholder(tf.float32))
    for function in (tf.random_normal, tf.random_uniform, tf.truncated_normal):
        function(shape)
    tf.multinomial(tf.ones([2, 3]), 4)
    tf.random_gamma([2], 1.0)
    tf.random_shuffle(tf.range(5))
    tf.random.stateless_uniform([2], [1, 2])
    tf.random_crop(tf.ones([4, 4]), [2, 2])
    tf.random_uniform([2], 0, 5, tf.int32)
    tf.random_poisson([1.0], [2])


@program
def reinforcement_learning():
    """Policy gradient, a target net that is copied, a replay of integers."""
    observations = tf.placeholder(tf.float32, [None, 4])
    with tf.variable_scope("policy"):
        logits = dense(dense(observations, 16, "a"), 2, "b", tf.identity)
    with tf.variable_scope("target"):
        dense(dense(observations, 16, "a"), 2, "b", tf.identity)
    actions = tf.stop_gradient(tf.squeeze(tf.multinomial(logits, 1), 1))
    log_probability = -tf.nn.sparse_softmax_cross_entropy_with_logits(labels=actions, logits=logits)
    loss = -tf.reduce_mean(log_probability * tf.placeholder(tf.float32, [None]))
    tf.train.RMSPropOptimizer(0.01).minimize(loss, var_list=tf.trainable_variables("policy"))
    pairs = zip(tf.trainable_variables("policy"), tf.trainable_variables("target"))
    tf.group(*[tf.assign(target, source) for source, target in pairs])


@program
def variational_autoencoder():
    """Sampling in the middle, two losses, on a GPU."""
    with tf.device("/gpu:0"):
        x = tf.placeholder(tf.float32, [None, 32])
        hidden = dense(x, 16, "encoder")
        mean, log_variance = dense(hidden, 4, "mean", tf.identity), dense(hidden, 4, "variance", tf.identity)
        z = mean + tf.exp(0.5 * log_variance) * tf.random_normal(tf.shape(mean))
        y = dense(z, 32, "decoder", tf.sigmoid)
        divergence = -0.5 * tf.reduce_sum(1 + log_variance - tf.square(mean) - tf.exp(log_variance), 1)
        loss = tf.reduce_mean(tf.reduce_sum(tf.square(x - y), 1) + divergence)
        tf.train.AdamOptimizer().minimize(loss)


@program
def word2vec():
    """Negative sampling with candidates of the CPU."""
    inputs, labels = tf.placeholder(tf.int32, [16]), tf.placeholder(tf.int32, [16, 1])
    with tf.device("/cpu:0"):
        embeddings = tf.Variable(tf.random_uniform([100, 8], -1.0, 1.0))
        x = tf.nn.embedding_lookup(embeddings, inputs)
        weights = tf.Variable(tf.truncated_normal([100, 8]))
        biases = tf.Variable(tf.zeros([100]))
    loss = tf.reduce_mean(tf.nn.nce_loss(weights, biases, labels, x, 8, 100))
    tf.train.GradientDescentOptimizer(1.0).minimize(loss)
    normalized = embeddings / tf.sqrt(tf.reduce_sum(tf.square(embeddings), 1, keepdims=True))
    tf.matmul(normalized, normalized, transpose_b=True)
    tf.global_variables_initializer()


@program
def matrix_factorization():
    """Two embeddings, sparse gradients, an integer step on the GPU."""
    users, items = tf.placeholder(tf.int32, [None]), tf.placeholder(tf.int32, [None])
    with tf.device("/gpu:0"):
        left = tf.nn.embedding_lookup(tf.get_variable("users", [50, 4]), users)
        right = tf.nn.embedding_lookup(tf.get_variable("items", [50, 4]), items)
        loss = tf.reduce_sum(tf.square(tf.reduce_sum(left * right, 1) - tf.placeholder(tf.float32, [None])))
        step = tf.get_variable("step", [], tf.int64, initializer=tf.zeros_initializer(), trainable=False)
        tf.train.AdamOptimizer().minimize(loss, step)


@program
def k_means():
    """Assignments, dependent updates, int64."""
    points = tf.placeholder(tf.float32, [None, 2])
    centroids = tf.get_variable("centroids", [5, 2])
    distances = tf.reduce_sum(tf.square(points[:, None] - centroids[None]), 2)
    nearest = tf.argmin(distances, 1)
    sums = tf.unsorted_segment_sum(points, nearest, 5)
    counts = tf.unsorted_segment_sum(tf.ones_like(points[:, :1]), nearest, 5)
    changed = tf.assign(centroids, sums / tf.maximum(counts, 1.0))
    with tf.control_dependencies([changed]):
        tf.identity(tf.reduce_min(distances))


@program
def metrics():
    """Streaming metrics, whose variables are local."""
    labels, predictions = tf.placeholder(tf.int64, [None]), tf.placeholder(tf.int64, [None])
    for metric in (tf.metrics.accuracy, tf.metrics.precision, tf.metrics.recall):
        metric(labels, predictions)
    tf.metrics.mean(tf.cast(labels, tf.float32))
    tf.metrics.auc(labels > 0, tf.sigmoid(tf.cast(predictions, tf.float32)), num_thresholds=5)
    tf.local_variables_initializer()


@program
def variables_of_all_types():
    """Reference and resource variables of many types, read and assigned."""
    for dtype in (tf.float32, tf.float64, tf.float16, tf.int32, tf.int64, tf.bool, tf.complex64, tf.string):
        for resource in (False, True):
            initial = tf.constant("a") if dtype == tf.string else tf.cast(tf.constant([0.0, 1.0]), dtype)
            name = "v_%s_%d" % (dtype.name, resource)
            v = tf.get_variable(name, initializer=initial, use_resource=resource, collections=[])
            v.read_value()
            v.assign(initial)


@program
def scattered_updates():
    """Scatter ops on both kinds of variables."""
    indices = tf.placeholder(tf.int32, [None])
    for resource in (False, True):
        v = tf.get_variable("v%d" % resource, [5, 2], use_resource=resource)
        tf.scatter_add(v, indices, tf.ones([1, 2]))
        tf.scatter_update(v, indices, tf.ones([1, 2]))
        tf.scatter_nd_update(v, indices[:, None], tf.ones([1, 2]))
        tf.assign(v[0], [1.0, 2.0]) if not resource else v[0].assign([1.0, 2.0])
        tf.count_up_to(tf.get_variable("c%d" % resource, [], tf.int32, use_resource=resource), 5)


@program
def python_functions():
    """py_func, and a gradient of our own."""
    x = tf.placeholder(tf.float32, [3])
    y = tf.py_func(lambda a: a, [x], tf.float32)
    tf.square(tf.ensure_shape(y, [3]))
    with tf.device("/gpu:0"):
        tf.py_func(lambda a: a, [x], tf.float32)


@program
def critical_sections():
    """Mutexes, barriers, group and tuple."""
    v = tf.get_variable("v", [], use_resource=True)
    tf.CriticalSection(name="section").execute(lambda: v.assign_add(1.0), exclusive_resource_access=True)
    tf.tuple([tf.identity(v), tf.ones([])])
    tf.group(v.initializer, tf.no_op())


@program
def quantized():
    """Simulated and real quantization."""
    x = tf.placeholder(tf.float32, [4, 4])
    tf.quantization.fake_quant_with_min_max_args(x)
    low, high = tf.get_variable("low", []), tf.get_variable("high", [])
    tf.quantization.fake_quant_with_min_max_vars(x, low, high)
    q = tf.quantize(x, -1.0, 1.0, tf.quint8)
    tf.dequantize(q.output, q.output_min, q.output_max)


@program
def frozen():
    """A graph whose variables became constants."""
    with tf.device("/gpu:0"):
        images, _ = digits()
        logits = dense(dense(images[:, :8], 4, "hidden"), 3, "logits", tf.nn.softmax)
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
        session.run(tf.global_variables_initializer())
        return tf.graph_util.convert_variables_to_constants(
            session, tf.get_default_graph().as_graph_def(), [logits.op.name]
        )


@program
def imported_twice():
    """A graph imported under two names, one on a GPU."""
    with tf.Graph().as_default() as inner:
        x = tf.placeholder(tf.float32, [None, 4], "x")
        dense(x, 2, "dense")
    message = inner.as_graph_def()
    tf.import_graph_def(message, {"x": tf.ones([1, 4])}, name="first")
    with tf.device("/gpu:1"):
        tf.import_graph_def(message, {"x": tf.zeros([1, 4])}, name="second")
