"""Records where TensorFlow 2.21 puts the nodes of a function that a call on one of four CPUs makes for its device.

    python -m tests.oracle.record.called

run in an environment with tensorflow==2.21.0. Writes `tests/data/called.json`: the graph, in base64, and what
`log_device_placement` printed of the function when the call ran.
"""

from __future__ import annotations

import base64
import json
import re
import subprocess
import sys
from pathlib import Path

TARGET = Path(__file__).parents[2] / "data" / "called.json"
_MARK = "the call runs"


def run() -> None:
    """Builds the graph, prints it and a mark, and runs the call with a log."""
    import tensorflow as tf

    v1 = tf.compat.v1
    v1.disable_eager_execution()

    @tf.function
    def inner(x, n, h, s):  # type: ignore[no-untyped-def]
        with tf.device("/cpu:3"):
            z = x * 3.0
        return z + x, n + 1, tf.strings.join([s, s]), h.read_value() * x

    with tf.Graph().as_default() as graph:
        with tf.device("/cpu:1"):
            h = v1.get_variable("h", [], use_resource=True, initializer=v1.zeros_initializer())
        x = v1.placeholder(tf.float32, [2], name="x")
        n = v1.placeholder(tf.int32, [], name="n")
        s = v1.placeholder(tf.string, [], name="s")
        with tf.device("/cpu:2"):
            y = inner(x, n, h, s)
    print(base64.b64encode(graph.as_graph_def().SerializeToString()).decode())
    config = v1.ConfigProto(device_count={"CPU": 4}, log_device_placement=True)
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    with v1.Session(graph=graph, config=config) as session:
        session.run(v1.global_variables_initializer())
        print(_MARK, flush=True)
        session.run(y, {x: [1.0, 2.0], n: 3, s: "a"})


def main() -> None:
    """Runs it in a process of its own, whose standard output has the log, and writes the record."""
    told = subprocess.run(
        [sys.executable, "-m", "tests.oracle.record.called", "run"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    lines = told[told.index(_MARK) :].splitlines()
    found = [re.fullmatch(r"(\S+): \(\w+\): (/job:\S+)", line) for line in lines]
    placed = {match[1]: match[2] for match in found if match}
    record = {"graph": told.splitlines()[0], "placed": placed}
    TARGET.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print(f"{len(placed)} nodes")


if __name__ == "__main__":
    run() if sys.argv[1:] == ["run"] else main()
