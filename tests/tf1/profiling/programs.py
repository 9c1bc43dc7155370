"""Graphs whose profiles TensorFlow 1.15.5 has printed, and the options they were printed with.

TensorFlow's Python 3.7 reads this module too; `tests/oracle/record/profiler.py` records the answers.
"""


def perceptron(tf):
    """Layers with scopes, gradients, a product of unknown size and two outputs of one node."""
    x = tf.placeholder(tf.float32, [8, 10], name="x")
    more = tf.placeholder(tf.float32, [None, 4], name="more")
    with tf.name_scope("net"):
        w = tf.get_variable("w", [10, 4], initializer=tf.zeros_initializer())
        b = tf.get_variable("b", [4], initializer=tf.zeros_initializer())
        y = tf.nn.bias_add(tf.nn.relu(tf.matmul(x, w) + b), b)
    scalar = tf.get_variable("scalar", [], initializer=tf.zeros_initializer(), trainable=False)
    _, places = tf.unique(tf.constant([3, 3, 1]), name="unique")
    tf.identity(places, name="places")
    tf.matmul(more, tf.ones([4, 3]), name="unknown")
    loss = tf.reduce_mean(tf.square(y)) * scalar
    tf.train.GradientDescentOptimizer(0.1).minimize(loss)


def convolutions(tf):
    """More than sixteen op types, many of them with equal counts."""
    x = tf.placeholder(tf.float32, [2, 12, 12, 3], name="images")
    for i in range(3):
        with tf.variable_scope("block" + str(i)):
            kernel = tf.get_variable(
                "kernel", [3, 3, x.shape[3].value, 4], initializer=tf.zeros_initializer()
            )
            x = tf.nn.max_pool(
                tf.nn.relu(tf.nn.conv2d(x, kernel, [1, 1, 1, 1], "SAME")), [1, 2, 2, 1], [1, 2, 2, 1], "SAME"
            )
    odds = tf.nn.softmax(tf.reshape(x, [2, 16]))
    for function in (
        tf.log,
        tf.square,
        tf.negative,
        tf.rsqrt,
        tf.reciprocal,
        tf.nn.l2_loss,
        tf.reduce_sum,
        tf.argmax,
    ):
        function(odds)
    for function in (tf.maximum, tf.minimum, tf.pow, tf.subtract, tf.squared_difference, tf.equal, tf.less):
        function(odds, odds)


PROGRAMS = {"perceptron": perceptron, "convolutions": convolutions}

EVERYTHING = [
    *("bytes", "micros", "params", "float_ops", "tensor_value", "device", "op_types", "occurrence"),
    *("input_shapes", "peak_bytes", "residual_bytes", "output_bytes"),
]


def options(builder):
    """Name -> options."""
    names = builder(builder.float_operation())
    return {
        "parameters": builder.trainable_variables_parameter(),
        "operations": builder.float_operation(),
        "times": builder.time_and_memory(min_micros=0, min_bytes=0),
        "slow": builder.time_and_memory(),
        "plain": builder().build(),
        "everything": builder(builder.float_operation())
        .select(EVERYTHING)
        .with_min_float_operations(0)
        .order_by("params")
        .build(),
        "all sums": builder(builder.float_operation()).account_displayed_op_only(False).build(),
        "names": names.with_node_names(
            start_name_regexes=["net.*", "grad.*", "block.*", "M.*"],
            show_name_regexes=[".*a.*", ".*o.*"],
            hide_name_regexes=[".*Mul.*"],
            trim_name_regexes=[".*_grad/.*", "AddN"],
        )
        .with_min_float_operations(0)
        .order_by("name")
        .build(),
        "types": builder()
        .with_accounted_types(["MatMul", "Conv2D", ".*gpu:0"])
        .select(["device", "op_types"])
        .build(),
        "deep": builder().with_max_depth(2).order_by("occurrence").with_min_occurrence(1).build(),
        "small": builder()
        .with_min_parameters(5)
        .select(["params", "accelerator_micros", "cpu_micros"])
        .build(),
        "no such order": dict(builder().order_by("zoo").build(), select=["zoo"]),
        "no such step": builder().with_step(7).build(),
        "no such output": dict(builder().build(), output="zoo"),
        "no file": dict(builder().build(), output="file"),
        "bare": {},
    }


def step(tf):
    """A measured step of the perceptron, on a CPU and a GPU, with executions that are told apart."""
    metadata = tf.RunMetadata()

    def add(device, name, start, took, **memory):
        stats = {one.device: one for one in metadata.step_stats.dev_stats}.get(device)
        stats = stats or metadata.step_stats.dev_stats.add(device=device)
        node = stats.node_stats.add(node_name=name, all_start_micros=start, op_end_rel_micros=took)
        if memory:
            node.memory.add(allocator_name="GPU_0_bfc" if "GPU" in device else "cpu", **memory)
            node.memory_stats.temp_memory_size = 64
            node.memory_stats.persistent_memory_size = 32
            output = node.output.add(slot=0)
            output.tensor_description.allocation_description.requested_bytes = 128
            output.tensor_description.shape.dim.add(size=5)
            output.tensor_description.shape.dim.add(size=3)
        return node

    gpu, cpu = "/job:localhost/replica:0/task:0/device:GPU:0", "/job:localhost/replica:0/task:0/device:CPU:0"
    add(
        gpu,
        "net/MatMul",
        1000,
        7,
        total_bytes=256,
        peak_bytes=256,
        live_bytes=128,
        allocator_bytes_in_use=1024,
    )
    add(gpu + "/stream:all", "net/MatMul:MatMul", 1003, 1200)
    add(gpu + "/stream:7", "net/MatMul:MatMul", 1003, 1200)
    add(gpu, "net/MatMul", 3000, 5)
    add(cpu, "net/MatMul", 3100, 5)
    add(cpu, "unknown", 4000, 0, total_bytes=60, peak_bytes=60, live_bytes=60)
    add(cpu, "w", 4100, 20)
    add(cpu, "_SOURCE", 900, 1)
    add(cpu, "only_ran", 5000, 3500000, total_bytes=3000000)
    add(gpu + "/memcpy", "edge_1_x:MEMCPYHtoD", 950, 9)
    return metadata


def plain(message):
    """A message as a dict without zeros; the classes of the two packages have other names."""
    found = {}
    for field, value in message.ListFields():
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            nested = field.message_type.fields_by_name["value"].message_type is not None
            found[field.name] = {
                str(key): plain(value[key]) if nested else value[key] for key in sorted(value)
            }
        elif field.message_type is not None and hasattr(value, "append") or hasattr(value, "add"):
            found[field.name] = [plain(one) for one in value]
        elif field.message_type is not None:
            found[field.name] = plain(value)
        elif hasattr(value, "append"):
            found[field.name] = list(value)
        else:
            found[field.name] = value
    return found
