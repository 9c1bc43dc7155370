"""From the bytes of a GraphDef to a placement DataFrame, beside TensorFlow's import and first run.

    python -m tests.benchmarks.bench_graph_def [--nodes 10000 50000] [--gpus 4] [--repeat 3]

The graph is a training graph of four towers with momentum, built here. TensorFlow's side is what it takes there to
learn a placement: `import_graph_def` and the first `Session.run`, of one constant; it is left out where TensorFlow is
not installed. Both sides start from the same bytes, in turns; times are the fastest of the runs.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable

import gpuplace as tf
from gpuplace.runtime.session.place import place

TOWERS = 4
FETCH = "towers/answer"


def training_graph_def(count: int) -> bytes:
    """A serialised training graph of about `count` nodes that TensorFlow can run."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 16], name="x")
        labels = tf.placeholder(tf.float32, [None, 16], name="labels")
        optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
        tf.constant(42.0, name=FETCH)
        step = 0
        while len(graph.get_operations()) < count:
            losses = []
            for tower in range(TOWERS):
                with tf.device(f"/gpu:{tower}"), tf.variable_scope(f"step_{step}/tower_{tower}"):
                    hidden = x
                    for layer in range(8):
                        with tf.variable_scope(f"layer_{layer}"):
                            weights = tf.get_variable("weights", [16, 16])
                            bias = tf.get_variable("bias", [16], initializer=tf.zeros_initializer())
                            hidden = tf.nn.relu(tf.nn.bias_add(tf.matmul(hidden, weights), bias))
                    losses.append(tf.reduce_mean(tf.square(hidden - labels)))
            with tf.variable_scope(f"step_{step}"):
                loss = tf.add_n(losses)
                variables = [v for v in tf.global_variables() if v.op.name.startswith(f"step_{step}/tower")]
                optimizer.minimize(loss, var_list=variables, colocate_gradients_with_ops=True)
            step += 1
        return graph.as_graph_def().SerializeToString()


def ours(data: bytes, machine: str) -> None:
    """Bytes to DataFrame."""
    placement = place(data, machine, tf.ConfigProto(allow_soft_placement=True), release="2.21")
    assert len(placement.frame()) == len(placement.graph)


def tensorflows(data: bytes) -> None:
    """Bytes to the end of the first run."""
    from tensorflow.compat import v1  # type: ignore[import-not-found]

    graph_def = v1.GraphDef.FromString(data)
    with v1.Graph().as_default():
        v1.import_graph_def(graph_def, name="")
        with v1.Session(config=v1.ConfigProto(allow_soft_placement=True)) as session:
            assert session.run(f"{FETCH}:0") == 42.0


def seconds(function: Callable[..., None], *arguments: object) -> float:
    """How long one call takes."""
    start = time.perf_counter()
    function(*arguments)
    return time.perf_counter() - start


def main() -> None:
    """Prints a row per size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, nargs="+", default=[10_000, 50_000])
    parser.add_argument("--gpus", type=int, default=4)
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    try:
        import tensorflow  # noqa: F401

        has_tensorflow = True
    except ImportError:
        has_tensorflow = False
    machine = f"{arguments.gpus}x Tesla K20m"
    ours(training_graph_def(100), machine)
    print("   nodes      MB   to DataFrame  import + first run  ratio")
    for count in arguments.nodes:
        data = training_graph_def(count)
        nodes = len(tf.GraphDef.FromString(data).node)
        mine, theirs = [], []
        for _ in range(arguments.repeat):
            mine.append(seconds(ours, data, machine))
            if has_tensorflow:
                theirs.append(seconds(tensorflows, data))
        row = f"{nodes:8} {len(data) / 1e6:7.1f} {min(mine):12.3f} s"
        print(
            row + (f" {min(theirs):17.3f} s {min(theirs) / min(mine):6.1f}" if theirs else " -"), flush=True
        )


if __name__ == "__main__":
    main()
