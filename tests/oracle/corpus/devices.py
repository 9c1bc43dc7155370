"""Towers, replicas, parameter servers, models cut over several devices."""

from __future__ import annotations

from tests.oracle.corpus.blocks import perceptron
from tests.oracle.corpus.programs import program, tf, variants


@variants(gpus=[1, 2, 4, 8])
def towers(gpus):
    """Towers with variables on the CPU and averaged gradients."""
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    tower_gradients = []
    with tf.device("/cpu:0"):
        for i in range(gpus):
            with tf.device("/gpu:%d" % i), tf.variable_scope("net", reuse=tf.AUTO_REUSE):
                tower_gradients.append(optimizer.compute_gradients(perceptron()))
        averaged = []
        for pairs in zip(*tower_gradients):
            gradient = tf.reduce_mean(tf.stack([g for g, _ in pairs]), 0)
            averaged.append((gradient, pairs[0][1]))
        optimizer.apply_gradients(averaged, tf.train.get_or_create_global_step())
        tf.train.Saver(tf.global_variables())


@program
def towers_with_resource_variables():
    """Towers whose device function puts variables on the CPU."""

    def device_of_tower(tower):
        def device(operation):
            return "/cpu:0" if operation.type in ("VarHandleOp", "VariableV2") else "/gpu:%d" % tower

        return device

    losses = []
    for tower in range(2):
        with tf.variable_scope("net", reuse=tf.AUTO_REUSE, use_resource=True):
            with tf.device(device_of_tower(tower)):
                losses.append(perceptron())
    with tf.device("/cpu:0"):
        tf.train.AdamOptimizer().minimize(tf.add_n(losses), colocate_gradients_with_ops=True)
    tf.global_variables_initializer()


@program
def mirrored_variables():
    """A copy of the variables on each GPU, summed by hand on one of them."""
    gradients = []
    for i in range(2):
        with tf.device("/device:GPU:%d" % i), tf.variable_scope("replica%d" % i, use_resource=True):
            loss = perceptron()
            gradients.append(tf.gradients(loss, tf.trainable_variables("replica%d" % i)))
    with tf.device("/gpu:0"):
        total = [tf.add_n(list(pair)) for pair in zip(*gradients)]
    for i in range(2):
        with tf.device("/gpu:%d" % i):
            for gradient, variable in zip(total, tf.trainable_variables("replica%d" % i)):
                variable.assign_sub(0.1 * gradient)


@program
def model_parallel():
    """One large product cut over four GPUs."""
    x = tf.placeholder(tf.float32, [None, 64])
    parts = []
    for i in range(4):
        with tf.device("/gpu:%d" % i):
            parts.append(tf.matmul(x, tf.get_variable("w%d" % i, [64, 16])))
    with tf.device("/cpu:0"):
        tf.nn.softmax(tf.concat(parts, 1))


@program
def pinned_to_the_cpu():
    """Everything asked for the CPU, one part for the GPU."""
    with tf.device("/cpu:0"):
        loss = perceptron()
        with tf.device(None):
            free = tf.square(loss)
        with tf.device("/gpu:0"):
            tf.sqrt(free)
    tf.train.AdagradOptimizer(0.1).minimize(loss)


@variants(variables=["ref", "resource"])
def parameter_servers(variables):
    """Two parameter servers and a worker, as replica_device_setter places them."""
    cluster = {"ps": ["a:1", "b:1"], "worker": ["c:1", "d:1"]}
    setter = tf.train.replica_device_setter(cluster=cluster, worker_device="/job:worker/task:1/gpu:0")
    with tf.device(setter), tf.variable_scope("net", use_resource=variables == "resource"):
        step = tf.train.get_or_create_global_step()
        tf.train.AdamOptimizer().minimize(perceptron(), step)
    tf.train.Saver(sharded=True)


@program
def synchronous_replicas():
    """SyncReplicasOptimizer: accumulators and token queues."""
    cluster = {"ps": ["a:1"], "worker": ["c:1", "d:1"]}
    with tf.device(tf.train.replica_device_setter(cluster=cluster)):
        step = tf.train.get_or_create_global_step()
        inner = tf.train.GradientDescentOptimizer(0.1)
        optimizer = tf.train.SyncReplicasOptimizer(inner, 2, total_num_replicas=2)
        optimizer.minimize(perceptron(), step)
        optimizer.get_init_tokens_op()


@program
def local_accumulators():
    """Conditional accumulators of one process."""
    accumulator = tf.ConditionalAccumulator(tf.float32, [2])
    accumulator.apply_grad(tf.ones([2]))
    accumulator.take_grad(1)
    sparse = tf.SparseConditionalAccumulator(tf.float32)
    sparse.apply_indexed_slices_grad(tf.IndexedSlices(tf.ones([1, 2]), tf.constant([0], tf.int64)))


@program
def partitioned_embedding():
    """A partitioned variable, looked up by both strategies, and saved in slices."""
    partitioner = tf.fixed_size_partitioner(3)
    table = tf.get_variable("table", [99, 8], partitioner=partitioner)
    ids = tf.placeholder(tf.int64, [None])
    x = tf.nn.embedding_lookup(table, ids, "mod") + tf.nn.embedding_lookup(table, ids, "div")
    tf.train.AdagradOptimizer(0.1).minimize(tf.reduce_sum(x))
    tf.convert_to_tensor(table)
    tf.train.Saver()


@program
def partitioned_on_devices():
    """Shards of a table on the CPU and two GPUs."""
    shards = []
    for i, device in enumerate(("/cpu:0", "/gpu:0", "/gpu:1")):
        with tf.device(device):
            shards.append(tf.get_variable("shard%d" % i, [33, 8]))
    tf.nn.embedding_lookup(shards, tf.placeholder(tf.int32, [None]))
