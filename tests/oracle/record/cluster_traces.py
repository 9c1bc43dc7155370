"""Records what TensorFlow's servers leave of a traced step on several tasks: for ``tests/clusters/test_traces.py``.

    python tests/oracle/record/cluster_traces.py tests/data/cluster_traces.json

Run it with the Python of TensorFlow 1.15 and with that of 2.21, from another folder than the project's: each adds its
own part to the file.
"""

import json
import os
import re
import socket
import sys

import numpy as np

FED = np.ones((2, 4), np.float32)


def program(tf):
    """A variable, an edge that crosses, one that only waits, and a feed; what to run, and with what."""
    with tf.device("/job:ps"):
        w = tf.get_variable("w", [4, 4], initializer=tf.ones_initializer(), use_resource=False)
        n = tf.get_variable("n", [], initializer=tf.zeros_initializer(), use_resource=False)
    with tf.device("/job:worker/task:0"):
        x = tf.placeholder(tf.float32, [2, 4], name="x")
        y = tf.matmul(x, w, name="y")
    with tf.device("/job:worker/task:1"):
        z = tf.square(y, name="z")
        with tf.control_dependencies([y]):
            total = tf.add(tf.reduce_sum(z), tf.constant(2.0, name="c"), name="total")
    with tf.device("/job:ps"), tf.control_dependencies([total]):
        counted = tf.assign_add(n, 1.0, name="counted")
    with tf.device("/job:worker/task:0"):
        last = tf.identity(total, name="last")
    return [last, counted.op], {x: FED}


def plain(name):
    """A name without the numbers that master, worker or edge give it."""
    return re.sub(r"edge_\d+_", "edge_", re.sub(r"_S\d+", "_S", name))


def summary(run_metadata):
    """The lists of devices, the copies between tasks, and the partition graphs, sorted."""
    lists, copies = {}, []
    for device in run_metadata.step_stats.dev_stats:
        for node in device.node_stats:
            if node.node_name == "RecvTensor":
                size, _, told = node.timeline_label.split(" ", 2)
                copies.append([device.device, size, plain(told)])
            elif device.device.startswith("/job:"):
                op = node.timeline_label.partition(" = ")[2].partition("(")[0]
                lists.setdefault(device.device, []).append([plain(node.node_name), op])
    graphs = {
        graph.node[0].device: sorted(
            [plain(node.name), node.op, sorted(map(plain, node.input))] for node in graph.node
        )
        for graph in run_metadata.partition_graphs
    }
    return {
        "lists": {device: sorted(found) for device, found in lists.items()},
        "copies": sorted(copies),
        "graphs": graphs,
    }


def _addresses(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("localhost", 0))
    found = ["localhost:%d" % one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return found


def main(path):
    """Records the answers of the TensorFlow that runs this."""
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow

    tf = tensorflow.compat.v1
    release = "2.21" if tensorflow.__version__.startswith("2.") else "1.15"
    if release == "2.21":
        tf.disable_eager_execution()
    ps, *workers = _addresses(3)
    cluster = {"ps": [ps], "worker": workers}
    servers = [tf.train.Server(cluster, job, index) for job in cluster for index in range(len(cluster[job]))]
    fetches, feeds = program(tf)
    found = {}
    with tf.Session(servers[1].target) as session:
        session.run(tf.global_variables_initializer())
        for level in [0, 1, 2] + 10 * [3]:
            metadata = tf.RunMetadata()
            options = tf.RunOptions(trace_level=level, output_partition_graphs=True)
            session.run(fetches, feeds, options, metadata)
            made, before = summary(metadata), found.get(str(level), {"copies": []})
            if len(made["copies"]) >= len(before["copies"]):  # some are noted too late for their step
                found[str(level)] = made
    recorded = {}
    if os.path.exists(path):
        with open(path) as file:
            recorded = json.load(file)
    recorded[release] = found
    with open(path, "w") as file:
        json.dump(recorded, file, sort_keys=True)
        file.write("\n")


if __name__ == "__main__":
    main(os.path.abspath(sys.argv[1]))
    os._exit(0)
