"""Records where TensorFlow 2.21 and 1.15.5 run the nodes of branches and of a loop that are not inlined.

    python -m tests.oracle.record.branches --python PYTHON3.7_WITH_TENSORFLOW_1.15.5

run in an environment with tensorflow==2.21.0. Writes `tests/data/branches.json`: the graph, in base64, and by release
what a trace says of each branch on three CPUs. Steps of a `While` are not traced; that its body asks for a GPU that is
not there, and runs, shows that nothing is placed there.
"""

from __future__ import annotations

import argparse
import base64
import json
import subprocess
import sys
from pathlib import Path

TARGET = Path(__file__).parents[2] / "data" / "branches.json"


def run() -> None:
    """Builds the graph, runs it and prints both; in Python 3.7 too."""
    import tensorflow

    tf = tensorflow.compat.v1
    tf.disable_v2_behavior()
    from tensorflow.python.framework import function
    from tensorflow.python.ops import gen_functional_ops

    @function.Defun(tf.float32, func_name="then_branch")
    def then_branch(x):  # type: ignore[no-untyped-def]
        sum_ = tf.add(x, 1.0, name="then_free")
        with tf.device("/cpu:0"):
            twice = tf.multiply(sum_, 2.0, name="then_on_cpu_0")
        with tf.device("/gpu:7"):
            return tf.subtract(twice, 1.0, name="then_nowhere")

    @function.Defun(tf.float32, func_name="else_branch")
    def else_branch(x):  # type: ignore[no-untyped-def]
        return tf.multiply(x, 5.0, name="else_free")

    @function.Defun(tf.float32, func_name="loop_cond")
    def loop_cond(x):  # type: ignore[no-untyped-def]
        return tf.less(x, 100.0, name="cond_free")

    @function.Defun(tf.float32, func_name="loop_body")
    def loop_body(x):  # type: ignore[no-untyped-def]
        with tf.device("/gpu:7"):
            return tf.multiply(x, 2.0, name="body_nowhere")

    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [], name="x")
        with tf.device("/cpu:1"):
            chosen = gen_functional_ops._if(
                x > 0.0, [x], [tf.float32], then_branch, else_branch, name="choose"
            )
            looped = gen_functional_ops._while(chosen, loop_cond, loop_body, name="loop")
        with tf.device("/cpu:2"):
            last = gen_functional_ops.case(
                tf.constant(1), looped, [tf.float32], [then_branch, else_branch], name="case"
            )
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    metadata = tf.RunMetadata()
    config = tf.ConfigProto(device_count={"CPU": 3})
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    with tf.Session(graph=graph, config=config) as session:
        (value,) = session.run(last, {x: 1.0}, options, metadata)
    ran = {
        node.node_name: device.device
        for device in metadata.step_stats.dev_stats
        if device.device.startswith("/job:")
        for node in device.node_stats
        if node.node_name.startswith(("then_", "else_", "cond_", "body_"))
        or node.node_name in ("choose", "case")
    }
    graph_def = base64.b64encode(graph.as_graph_def().SerializeToString()).decode()
    print(json.dumps({"graph": graph_def, "ran": ran, "value": float(value)}))


def main() -> None:
    """Runs it in processes of both releases and writes the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", required=True, help="Python 3.7 with TensorFlow 1.15.5")
    arguments = parser.parse_args()
    record = {}
    for release, python in (("2.21", sys.executable), ("1.15", arguments.python)):
        told = subprocess.run([python, __file__, "run"], capture_output=True, text=True, check=True).stdout
        record[release] = json.loads(told.splitlines()[-1])
    TARGET.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print({release: len(found["ran"]) for release, found in record.items()})


if __name__ == "__main__":
    run() if sys.argv[1:] == ["run"] else main()
