"""Graphs and losses of ``tf.distribute.MirroredStrategy`` beside those of TensorFlow 1.15.5.

    python -m tests.oracle.compare_strategies --python PYTHON3.7_WITH_TENSORFLOW_1.15.5 [--record]

The programs of `tests/tf1/strategy_programs.py` on 1, 2 and 4 GPUs: names, op types, devices, inputs and colocation
groups of all nodes in their order, names of variables, and the losses of 50 steps, for which all ops go to the CPU.
``--record`` writes them to `tests/data/strategies.json.gz`, which the test suite reads. The exit code is the number of
graphs that differ.

Both sides run `built`, so this module imports only what Python 3.7 has.
"""

from __future__ import annotations

import argparse
import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

if __package__:
    from tests.tf1.strategy_programs import PROGRAMS
else:  # run as a file by TensorFlow's Python
    sys.path[:0] = [str(Path(__file__).parent.parent / "tf1")]
    from strategy_programs import PROGRAMS

TARGET = Path(__file__).parent.parent / "data" / "strategies.json.gz"
GPUS = (1, 2, 4)
STEPS = 50


def rows(graph: Any) -> list[Any]:
    """Name, type, device, inputs and group of each node."""
    found = []
    for op in graph.get_operations():
        node = op.node_def
        group = sorted(one.decode() for one in node.attr["_class"].list.s)
        found.append([node.name, node.op, node.device, list(node.input), group])
    return found


def losses_of(tf: Any, loss: Any) -> list[float] | None:
    """The losses of some steps; None where the ops run on GPUs alone."""
    if any(op.type.startswith("Nccl") for op in loss.graph.get_operations()):
        return None
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
        session.run(tf.global_variables_initializer())
        return [float(session.run(loss)) for _ in range(STEPS)]


def built(tf: Any, np: Any) -> dict[str, Any]:
    """Program and number of GPUs -> nodes, losses, and names of all and of trainable variables."""
    made = {}
    for program in PROGRAMS:
        for count in GPUS:
            with tf.Graph().as_default() as graph:
                loss = program(tf, np, [f"/gpu:{number}" for number in range(count)])
                nodes = rows(graph)
                variables = [
                    [one.name for one in list_()] for list_ in (tf.global_variables, tf.trainable_variables)
                ]
                made[f"{program.__name__} on {count}"] = [nodes, losses_of(tf, loss), *variables]
    return made


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--python", required=True)
    parser.add_argument("--record", action="store_true")
    options = parser.parse_args()
    run = subprocess.run([options.python, __file__, "--built"], capture_output=True, text=True, check=True)
    theirs = json.loads(run.stdout.splitlines()[-1])
    import numpy as np

    import gpuplace as tf

    tf.use_machine("cpu")
    ours = json.loads(json.dumps(built(tf, np)))
    wrong = 0
    for name, recorded in theirs.items():
        found = ours[name]
        is_equal = found[0] == recorded[0] and found[2:] == recorded[2:]
        wrong += not is_equal
        print("equal" if is_equal else "DIFFERENT", len(recorded[0]), "nodes", name)
        for one, other in zip(recorded[0], found[0]):
            if one != other:
                print("   theirs", one, "\n   ours  ", other)
                break
        if recorded[1] is not None:
            print("   losses differ by at most", max(abs(a - b) for a, b in zip(recorded[1], found[1])))
    if options.record:
        TARGET.write_bytes(gzip.compress(json.dumps(theirs).encode(), mtime=0))
    return wrong


if __name__ == "__main__":
    if sys.argv[1:] == ["--built"]:
        import numpy
        import tensorflow

        print(json.dumps(built(tensorflow, numpy)))
    else:
        sys.exit(main())
