"""Programs whose sessions log where their ops are placed, for gpuplace and TensorFlow 1.15.5.

Each takes the module and a session's configuration that logs, in a graph of its own, and runs what it wants.
"""


def product(tf, config):
    a = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[2, 3], name="a")
    b = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[3, 2], name="b")
    with tf.Session(config=config) as session:
        session.run(tf.matmul(a, b))


def product_on_the_cpu(tf, config):
    with tf.device("/cpu:0"):
        a = tf.constant([[1.0, 2.0]], name="a")
    with tf.Session(config=config) as session:
        session.run(tf.matmul(a, a, transpose_b=True))


def soft_request(tf, config):
    config.allow_soft_placement = True
    with tf.device("/gpu:2"):
        a = tf.constant(1.0, name="a")
        b = tf.add(a, 2.0)
    with tf.Session(config=config) as session:
        session.run(b)


def two_runs(tf, config):
    """The second run logs what it places, a third of the same fetches nothing."""
    x = tf.placeholder(tf.float32, [2], name="x")
    y, z = tf.exp(x), tf.log(x)
    with tf.Session(config=config) as session:
        for _ in range(2):
            session.run(y, {x: [1.0, 2.0]})
        session.run([y, z], {x: [1.0, 2.0]})


def two_sessions(tf, config):
    c = tf.constant(3, name="c") * 2
    for _ in range(2):
        with tf.Session(config=config) as session:
            session.run(c)


def reference_variable(tf, config):
    v = tf.get_variable("v", [3], initializer=tf.zeros_initializer())
    add = v.assign_add([1.0, 2.0, 3.0])
    with tf.Session(config=config) as session:
        session.run(tf.global_variables_initializer())
        session.run(add)


def resource_variable(tf, config):
    v = tf.get_variable("v", [3], initializer=tf.ones_initializer(), use_resource=True)
    with tf.Session(config=config) as session:
        session.run(v.initializer)
        session.run(tf.reduce_sum(v * 2.0))


def gradient_descent(tf, config):
    w = tf.get_variable("w", [2, 1], initializer=tf.ones_initializer())
    loss = tf.reduce_mean(tf.square(tf.matmul([[1.0, 2.0]], w) - 1.0))
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    with tf.Session(config=config) as session:
        session.run(tf.global_variables_initializer())
        session.run([train, loss])


def adam(tf, config):
    w = tf.get_variable("w", [2, 1], initializer=tf.ones_initializer())
    train = tf.train.AdamOptimizer().minimize(tf.nn.l2_loss(w), tf.train.get_or_create_global_step())
    with tf.Session(config=config) as session:
        session.run(tf.global_variables_initializer())
        session.run(train)


def conditional(tf, config):
    x = tf.placeholder(tf.float32, [], name="x")
    y = tf.cond(x > 0, lambda: x * 2, lambda: x - 1)
    with tf.Session(config=config) as session:
        session.run(y, {x: 1.0})


def loop(tf, config):
    found = tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s + tf.cast(i, tf.float32)), (0, 0.0))
    with tf.Session(config=config) as session:
        session.run(found)


def recurrent_net(tf, config):
    x = tf.ones([2, 3, 4])
    outputs, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.BasicRNNCell(2), x, dtype=tf.float32)
    with tf.Session(config=config) as session:
        session.run(tf.global_variables_initializer())
        session.run(outputs)


def convolutional_net(tf, config):
    x = tf.ones([1, 8, 8, 3])
    h = tf.layers.max_pooling2d(tf.layers.conv2d(x, 4, 3, activation=tf.nn.relu), 2, 2)
    y = tf.layers.dense(tf.layers.flatten(h), 2)
    with tf.Session(config=config) as session:
        session.run(tf.global_variables_initializer())
        session.run(tf.nn.softmax(y))


def batch_normalization(tf, config):
    x = tf.layers.batch_normalization(tf.random_normal([2, 4, 4, 3], seed=1), training=True)
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    with tf.Session(config=config) as session:
        session.run(tf.global_variables_initializer())
        session.run([x, updates])


def embedding(tf, config):
    table = tf.get_variable("table", [5, 2], initializer=tf.ones_initializer())
    loss = tf.reduce_sum(tf.nn.embedding_lookup(table, [1, 2, 2]))
    train = tf.train.AdagradOptimizer(0.1).minimize(loss)
    with tf.Session(config=config) as session:
        session.run(tf.global_variables_initializer())
        session.run(train)


def queue(tf, config):
    q = tf.FIFOQueue(3, tf.float32, shapes=[[]])
    put, taken = q.enqueue_many([[1.0, 2.0]]), q.dequeue()
    with tf.Session(config=config) as session:
        session.run(put)
        session.run(taken + 1.0)


def data_set(tf, config):
    iterator = tf.data.Dataset.range(4).map(lambda x: x * 2).batch(2).make_initializable_iterator()
    row = iterator.get_next()
    with tf.Session(config=config) as session:
        session.run(iterator.initializer)
        session.run(row)


def texts(tf, config):
    parts = tf.string_split(["a b", "c"])
    with tf.Session(config=config) as session:
        session.run([tf.string_join([["x"], ["y"]]), parts.values, tf.size(parts.indices)])


def control_dependencies(tf, config):
    a = tf.constant(1.0, name="a")
    with tf.control_dependencies([tf.Assert(a > 0, [a])]):
        b = tf.identity(a, name="b")
    with tf.Session(config=config) as session:
        session.run(b)


def scopes_and_names(tf, config):
    with tf.name_scope("outer"), tf.name_scope("inner"):
        a = tf.constant([2, 3], name="a")
        with tf.device("/device:CPU:0"):
            b = tf.reshape(tf.range(6), a, name="b")
    with tf.Session(config=config) as session:
        session.run(tf.transpose(b, name="c"))


PROGRAMS = [
    *(
        product,
        product_on_the_cpu,
        soft_request,
        two_runs,
        two_sessions,
        reference_variable,
        resource_variable,
    ),
    *(
        gradient_descent,
        adam,
        conditional,
        loop,
        recurrent_net,
        convolutional_net,
        batch_normalization,
        embedding,
    ),
    *(queue, data_set, texts, control_dependencies, scopes_and_names),
]
