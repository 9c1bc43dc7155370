"""A program on two CPU devices with a variable, a split, strings and a control edge: run by TensorFlow and by us."""


def build(tf):
    """Fetches and feeds, in the default graph."""
    with tf.device("/cpu:0"):
        x = tf.placeholder(tf.float32, [4, 4], name="x")
        product = tf.matmul(x, x, name="product")
    with tf.device("/cpu:1"):
        c = tf.constant([[2.0] * 4] * 4, name="c")
        total = tf.multiply(product, c, name="total")
        parts = tf.split(total, 2, name="parts")
        with tf.control_dependencies([product]):
            after = tf.no_op(name="after")
    with tf.device("/cpu:0"):
        v = tf.Variable([1.0, 2.0], name="v")
        update = tf.assign_add(v, [1.0, 1.0], name="update")
        text = tf.as_string(total, name="text")
    return [parts[1], update, text, after], {x: [[float(i == j) for i in range(4)] for j in range(4)]}


def run(tf, trace_level, build_cost_model=0, runs=1):
    """``RunMetadata`` of the last of some runs."""
    with tf.Graph().as_default():
        fetches, feeds = build(tf)
        config = tf.ConfigProto(device_count={"CPU": 2})
        config.graph_options.rewrite_options.disable_meta_optimizer = True
        config.graph_options.optimizer_options.opt_level = -1
        config.graph_options.build_cost_model = build_cost_model
        with tf.Session(config=config) as session:
            session.run(tf.global_variables_initializer())
            for _ in range(runs):
                metadata = tf.RunMetadata()
                options = tf.RunOptions(trace_level=trace_level, output_partition_graphs=True)
                session.run(fetches, feeds, options, metadata)
    return metadata
