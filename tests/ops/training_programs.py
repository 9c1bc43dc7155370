"""Programs around training whose graphs are compared with those of TensorFlow 1.15, as those of ``programs.py``."""

PROGRAMS = {}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


@program
def summaries(tf):
    x = tf.placeholder(tf.float32, [4, 3], name="x")
    tf.summary.scalar("loss", tf.reduce_mean(x))
    tf.summary.scalar("loss", 3)
    tf.summary.scalar("with blanks: and/more", tf.reduce_max(x))
    tf.summary.scalar("/leading", 1.0)
    tf.summary.histogram("weights", x)
    tf.summary.histogram(None, x)
    with tf.name_scope("tower_0"), tf.device("/gpu:0"):
        tf.summary.scalar("loss", tf.reduce_sum(x))
        tf.summary.scalar("loss", 2.0, family="losses")
        tf.summary.scalar("loss", 2.0, family="losses", collections=["mine"])
        tf.summary.histogram("gradients", x, family="my family")
    tf.summary.image("images", tf.zeros([2, 4, 4, 3]))
    tf.summary.image("bytes", tf.zeros([2, 4, 4, 1], tf.uint8), max_outputs=1, family="f")
    tf.summary.audio("sounds", tf.zeros([2, 10]), 44100)
    tf.summary.audio("sounds", tf.zeros([2, 10, 2]), tf.constant(8000.0), max_outputs=1)
    tf.summary.text("notes", tf.constant(["a", "b"]))
    tf.summary.text("notes", tf.as_string(x), collections=[])
    tf.summary.tensor_summary("raw", x, summary_description="about", display_name="shown", family="f")
    tf.summary.merge_all()
    tf.summary.merge_all("mine", name="merged")
    tf.summary.merge_all(scope="tower_0")
    tf.summary.merge_all("none of these")
    tf.summary.merge([tf.summary.scalar("a", 1.0), tf.summary.scalar("b", 2.0)], ["of_both"], name="a b")


@program
def summaries_of_a_net(tf):
    images = tf.placeholder(tf.float32, [None, 8, 8, 1])
    labels = tf.placeholder(tf.int64, [None])
    tf.summary.image("input", images, 2)
    with tf.variable_scope("dense"):
        w = tf.get_variable("w", [64, 10])
        tf.summary.histogram("w", w)
        tf.summary.scalar("sparsity", tf.nn.zero_fraction(w))
        logits = tf.matmul(tf.reshape(images, [-1, 64]), w)
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    tf.summary.scalar("loss", loss)
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    gradients = optimizer.compute_gradients(loss)
    for gradient, variable in gradients:
        tf.summary.histogram(variable.op.name + "/gradients", gradient)
        tf.summary.histogram(variable.op.name, variable)
    optimizer.apply_gradients(gradients, tf.train.get_or_create_global_step())
    tf.summary.merge_all()


@program
def moving_averages(tf):
    step = tf.train.get_or_create_global_step()
    w = tf.get_variable("w", [3], initializer=tf.ones_initializer())
    r = tf.get_variable("r", [2], use_resource=True)
    loss = tf.reduce_sum(w * 2.0, name="loss")
    with tf.name_scope("scope"):
        halves = tf.identity(tf.ones([2], tf.float16), name="halves")
    averages = tf.train.ExponentialMovingAverage(0.9, step)
    averages.apply([w, r])
    averages.apply([w])
    of_losses = tf.train.ExponentialMovingAverage(0.5, name="avg")
    with tf.control_dependencies([of_losses.apply([loss, halves] + tf.trainable_variables())]):
        tf.identity(of_losses.average(loss))
    unbiased = tf.train.ExponentialMovingAverage(0.75, zero_debias=True)
    unbiased.apply([loss, halves, w])
    tf.global_variables_initializer()


@program
def scaffold(tf):
    step = tf.train.get_or_create_global_step()
    w = tf.get_variable("w", [3], initializer=tf.ones_initializer())
    tf.get_variable("count", [], collections=["local_variables"])
    tf.get_variable("r", [2], use_resource=True)
    tf.summary.scalar("w", tf.reduce_sum(w))
    tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(w), step)
    tf.train.StopAtStepHook(last_step=3).begin()
    made = tf.train.Scaffold().finalize()
    assert tf.get_collection(tf.GraphKeys.INIT_OP) == [made.init_op]
    assert tf.get_collection(tf.GraphKeys.READY_OP) == [made.ready_op]
    assert tf.get_collection(tf.GraphKeys.READY_FOR_LOCAL_INIT_OP) == [made.ready_for_local_init_op]
    assert tf.get_collection(tf.GraphKeys.LOCAL_INIT_OP) == [made.local_init_op]
    assert tf.get_collection(tf.GraphKeys.SUMMARY_OP) == [made.summary_op]
    assert tf.get_collection(tf.GraphKeys.SAVERS) == [made.saver]
    assert len(tf.get_collection("global_step_read_op_cache")) == 1


@program
def scaffold_of_an_empty_graph(tf):
    tf.train.Scaffold().finalize()


@program
def supervisor(tf):
    step = tf.Variable(0, name="global_step", trainable=False)
    w = tf.get_variable("w", [3], initializer=tf.ones_initializer())
    tf.summary.histogram("w", w)
    tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(w), step)
    made = tf.train.Supervisor()
    assert made.global_step.name == "global_step:0"
    assert tf.get_collection(tf.GraphKeys.INIT_OP) == [made.init_op]
    assert tf.get_collection(tf.GraphKeys.SUMMARY_OP) == [made.summary_op]
    assert tf.get_collection(tf.GraphKeys.SAVERS) == [made.saver]


@program
def tables(tf):
    tf.tables_initializer()
    tf.add_to_collection(tf.GraphKeys.TABLE_INITIALIZERS, tf.no_op(name="first"))
    tf.add_to_collection(tf.GraphKeys.TABLE_INITIALIZERS, tf.no_op(name="second"))
    tf.initialize_all_tables()
    tf.train.Scaffold.default_local_init_op()


@program
def variables_made_beside_others_within_a_device(tf):
    v = tf.Variable(1.0, name="v")
    with tf.device("/job:worker"):
        w = tf.Variable(1.0, name="w")
    with tf.device("/gpu:0"):
        tf.train.MomentumOptimizer(0.1, 0.9).minimize(v * w)
        tf.train.ExponentialMovingAverage(0.9).apply([v, w])
        with tf.colocate_with(v.op):
            tf.no_op("n")
            tf.get_variable("s", [])
            tf.get_variable("r", [], use_resource=True)
            with tf.device("/cpu:0"):
                tf.Variable(2.0, name="u")


@program
def loss_scales(tf):
    scales = tf.train.experimental
    v = tf.Variable([1.0, 2.0], name="v")
    r = tf.Variable([1.0, 2.0], name="r", use_resource=True)
    step = tf.train.get_or_create_global_step()
    loss = tf.reduce_sum(v * r)
    for scale, name in ((8.0, "fixed"), ("dynamic", "dynamic")):
        inner = tf.train.MomentumOptimizer(0.1, 0.9, name=name)
        optimizer = scales.MixedPrecisionLossScaleOptimizer(inner, scale)
        optimizer.minimize(loss, global_step=step)
    table = tf.Variable([[1.0], [2.0]], name="table")
    rows = tf.nn.embedding_lookup(table, [1, 0, 1])
    again = scales.MixedPrecisionLossScaleOptimizer(
        tf.train.AdamOptimizer(0.1), scales.DynamicLossScale(4, increment_period=2, multiplier=3)
    )
    again.minimize(tf.reduce_sum(rows))
