"""Training with each optimizer."""

from __future__ import annotations

from tests.oracle.corpus.blocks import cross_entropy, dense, digits, perceptron
from tests.oracle.corpus.programs import program, tf, variants


def optimizers():
    """Name -> optimizer."""
    train = tf.train
    return {
        "sgd": lambda: train.GradientDescentOptimizer(0.1),
        "momentum": lambda: train.MomentumOptimizer(0.1, 0.9),
        "nesterov": lambda: train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
        "adam": lambda: train.AdamOptimizer(),
        "adagrad": lambda: train.AdagradOptimizer(0.1),
        "adagrad_da": lambda: train.AdagradDAOptimizer(0.1, train.get_or_create_global_step()),
        "adadelta": lambda: train.AdadeltaOptimizer(),
        "rmsprop": lambda: train.RMSPropOptimizer(0.1),
        "centered_rmsprop": lambda: train.RMSPropOptimizer(0.1, centered=True),
        "ftrl": lambda: train.FtrlOptimizer(0.1),
        "proximal_sgd": lambda: train.ProximalGradientDescentOptimizer(0.1),
        "proximal_adagrad": lambda: train.ProximalAdagradOptimizer(0.1),
    }


@variants(optimizer=sorted(optimizers()))
def trained_ref(optimizer):
    """A net with reference variables on GPU 0, trained."""
    with tf.device("/gpu:0"):
        optimizers()[optimizer]().minimize(perceptron())


@variants(optimizer=sorted(optimizers()))
def trained_resource(optimizer):
    """A net with resource variables and an embedding, trained wherever it falls."""
    with tf.variable_scope("net", use_resource=True):
        table = tf.get_variable("table", [100, 8])
        x = tf.reduce_mean(tf.nn.embedding_lookup(table, tf.placeholder(tf.int64, [None, 3])), 1)
        loss = tf.reduce_sum(tf.square(dense(x, 4, "dense")))
    optimizers()[optimizer]().minimize(loss)


@variants(optimizer=["sgd", "momentum", "adam", "adagrad", "rmsprop", "ftrl"])
def sparse_gradients(optimizer):
    """Reference embeddings with IndexedSlices as gradients."""
    table = tf.get_variable("table", [100, 8])
    rows = tf.nn.embedding_lookup(table, tf.placeholder(tf.int32, [None]))
    more = tf.gather(table, tf.placeholder(tf.int32, [None]))
    optimizers()[optimizer]().minimize(tf.nn.l2_loss(rows) + tf.nn.l2_loss(more))


@program
def averages_and_decay():
    """Exponential moving averages, decaying rate, global step."""
    loss = perceptron()
    step = tf.train.get_or_create_global_step()
    rate = tf.train.exponential_decay(0.1, step, 1000, 0.96, staircase=True)
    training = tf.train.GradientDescentOptimizer(rate).minimize(loss, step)
    averages = tf.train.ExponentialMovingAverage(0.99, step)
    with tf.control_dependencies([training]):
        averages.apply(tf.trainable_variables())
    tf.train.Saver(averages.variables_to_restore())


@program
def piecewise_rate():
    """A rate chosen by a case of control flow v1."""
    step = tf.train.get_or_create_global_step()
    rate = tf.train.piecewise_constant(step, [100, 200], [0.1, 0.01, 0.001])
    tf.train.MomentumOptimizer(rate, 0.9).minimize(perceptron(), step)


@program
def clipped_by_value():
    """compute_gradients, clipping, noise, apply_gradients."""
    optimizer = tf.train.AdamOptimizer()
    pairs = optimizer.compute_gradients(perceptron())
    clipped = [(tf.clip_by_value(g, -1.0, 1.0) + tf.random_normal(tf.shape(g)), v) for g, v in pairs]
    optimizer.apply_gradients(clipped)
    tf.add_check_numerics_ops()


@program
def loss_scaling():
    """float16 with float32 masters."""
    x = tf.cast(tf.placeholder(tf.float32, [None, 8]), tf.float16)
    master = tf.get_variable("master", [8, 8])
    y = tf.matmul(x, tf.cast(master, tf.float16))
    loss = tf.reduce_mean(tf.cast(y, tf.float32)) * 128.0
    (gradient,) = tf.gradients(loss, [master])
    finite = tf.reduce_all(tf.is_finite(gradient))
    update = tf.where(tf.fill([8, 8], finite), gradient / 128.0, tf.zeros([8, 8]))
    tf.train.GradientDescentOptimizer(0.1).apply_gradients([(update, master)])


@program
def hessian():
    """Second derivatives."""
    w = tf.get_variable("w", [3, 3])
    loss = tf.reduce_sum(tf.tanh(tf.matmul(w, w)))
    gradient = tf.gradients(loss, w)[0]
    tf.gradients(gradient * tf.ones([3, 3]), w)
    v = tf.get_variable("v", [4])
    tf.hessians(tf.reduce_sum(v * v * v), v)


@program
def gradients_beside_their_ops():
    """Gradients colocated with the forward ops, accumulated as a tree."""
    with tf.device("/gpu:1"):
        images, labels = digits()
        x = dense(images, 16, "a")
    with tf.device("/cpu:0"):
        loss = cross_entropy(dense(x, 10, "b", tf.identity) + dense(x, 10, "c"), labels)
    method = tf.AggregationMethod.EXPERIMENTAL_TREE
    tf.train.GradientDescentOptimizer(0.1).minimize(
        loss, colocate_gradients_with_ops=True, aggregation_method=method
    )
