"""Records measured steps and what TensorFlow's ``Timeline`` makes of them: for ``tests/runtime/tracing``.

    python tests/oracle/record/timelines.py tests/data/timelines_1_15.json

Run it with the Python of TensorFlow 1.15 and with that of 2.21, from another folder than the project's.
"""

import base64
import json
import os
import sys
import zlib

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow
from tensorflow.python.client import timeline

tf = tensorflow.compat.v1

TWO_ONE = tensorflow.__version__.startswith("2.")
if TWO_ONE:
    tf.disable_eager_execution()


def training():
    """Two devices, a variable, a split and a string."""
    with tf.device("/cpu:0"):
        x = tf.placeholder(tf.float32, [4, 4], name="x")
        product = tf.matmul(x, x, name="product")
    with tf.device("/cpu:1"):
        total = tf.add(product, tf.constant(np.ones([4, 4], np.float32), name="c"), name="total")
        parts = tf.split(total, 2, name="parts")
        with tf.control_dependencies([product]):
            after = tf.no_op(name="after")
    with tf.device("/cpu:0"):
        v = tf.get_variable("v", [2], use_resource=False)
        update = tf.assign_add(v, [1.0, 1.0], name="update")
        text = tf.as_string(total, name="text")
    return [parts[1], update, text, after], {x: np.eye(4)}


def towers():
    """Independent products, so that threads overlap."""
    a = tf.random_uniform([200, 200], seed=1, name="a")
    made = []
    for number in range(4):
        with tf.device("/cpu:%d" % (number % 2)), tf.name_scope("tower_%d" % number):
            made.append(tf.matmul(tf.matmul(a, a), a))
    return tf.add_n(made, name="sum"), None


def branches():
    """A conditional."""
    x = tf.placeholder(tf.float32, [4], name="x")
    p = tf.placeholder(tf.bool, [], name="p")
    return tf.cond(p, lambda: tf.negative(x), lambda: tf.square(x)), {x: np.ones(4), p: True}


def measured(build, level):
    with tf.Graph().as_default():
        tf.set_random_seed(1)
        fetches, feeds = build()
        config = tf.ConfigProto(device_count={"CPU": 2})
        config.graph_options.rewrite_options.disable_meta_optimizer = True
        with tf.Session(config=config) as session:
            session.run(tf.global_variables_initializer())
            metadata = tf.RunMetadata()
            session.run(fetches, feeds, tf.RunOptions(trace_level=level), metadata)
    return metadata.step_stats


def of_gpus():
    """Written by hand: streams, copies, what another process sent, and names that no label explains."""
    stats = tf.RunMetadata().step_stats
    job = "/job:worker/replica:0/task:1/device:GPU:0"
    for device, nodes in (
        (
            job,
            [
                ("a", "a = Const()", 100, 3, 64),
                ("b", "b = MatMul(a, x/_7)", 102, 5, 128),
                ("b", "b = MatMul(a, x/_7)", 110, 5, 256),
                ("c", "no label", 103, 4, 0),
                ("d", "d = Add(b, gone, ^c)", 120, 0, 32),
            ],
        ),
        ("/device:GPU:0/stream:all", [("b:MatMul", "", 104, 20, 0), ("other", "sgemm@@d:Add#id", 130, 2, 0)]),
        ("/device:GPU:0/memcpy", [("edge_3_x:MEMCPYHtoD", "MEMCPYHtoD 64 bytes", 101, 1, 0)]),
        ("/job:ps/replica:0/task:0/device:CPU:0", [("x", "x = VariableV2()", 90, 5, 64)]),
        ("/job:worker/replica:0/task:1", [("RecvTensor", "[4B] edge_3_x from ps to worker", 95, 4, 0)]),
        ("/host:CPU", [("b:MatMul", "id=3,device=GPU,async=false", 102, 4, 0)]),
    ):
        made = stats.dev_stats.add(device=device)
        for name, label, start, lasted, nbytes in nodes:
            node = made.node_stats.add(
                node_name=name, timeline_label=label, all_start_micros=start, all_end_rel_micros=lasted
            )
            for slot in range(2 if nbytes > 64 else 1 if nbytes else 0):
                memory = node.output.add(slot=slot).tensor_description.allocation_description
                memory.requested_bytes, memory.allocator_name = (
                    nbytes,
                    "gpu_bfc" if "GPU" in device else "cpu",
                )
    return stats


def answers(stats):
    found = {}
    for dataflow in (False, True):
        for memory in (False, True):
            for op_time in ("schedule", "gpu", "all") if TWO_ONE else ("schedule",):
                given = type(stats).FromString(stats.SerializeToString())
                more = {"op_time": op_time} if TWO_ONE else {}
                made = timeline.Timeline(given).analyze_step_stats(
                    show_dataflow=dataflow, show_memory=memory, **more
                )
                key = "%d%d %s" % (dataflow, memory, op_time)
                maximums = {
                    name: [most.timestamp, most.num_bytes, sorted(most.tensors)]
                    for name, most in made.allocator_maximums.items()
                }
                found[key] = [json.loads(made.chrome_trace.format_to_string()), maximums]
    return found


def main(path):
    steps = {"gpus": of_gpus(), "empty": tf.RunMetadata().step_stats}
    for build in (training, towers, branches):
        for level in (1, 3):
            steps["%s_%d" % (build.__name__, level)] = measured(build, level)
    rows = {}
    for name, stats in steps.items():
        packed = base64.b64encode(zlib.compress(stats.SerializeToString(), 9)).decode()
        told = zlib.compress(json.dumps(answers(stats), sort_keys=True).encode(), 9)
        rows[name] = {"step_stats": packed, "answers": base64.b64encode(told).decode()}
    with open(path, "w") as file:
        json.dump({"tensorflow": tensorflow.__version__, "steps": rows}, file, indent=1, sort_keys=True)
        file.write("\n")


if __name__ == "__main__":
    main(sys.argv[1])
