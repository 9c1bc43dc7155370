"""Runs steps with the TensorFlow of another interpreter, which needs nothing but TensorFlow and NumPy.

``PYTHON -I tensorflow_steps.py FOLDER FEWEST MOST SECONDS`` reads from standard input the name of a probe a line, runs
``FOLDER/NAME.pb`` with the arrays of ``FOLDER/NAME.npz`` as the JSON in ``FOLDER/NAME`` says, prints as JSON the median
seconds of untraced steps, and a ``RunMetadata`` of traced ones in base 64. What was asked for before is
kept, with its variables. First of all it prints the release of TensorFlow.
"""

import base64
import functools
import json
import os
import sys
import time
from typing import Any, Dict, List, Tuple


def opened(tf: Any, path: str) -> List[Any]:
    """Two calls that run a probe's step: as usual, and one kernel at a time."""
    import numpy as np

    with open(path) as stream:
        asked = json.load(stream)
    graph_def = tf.GraphDef()
    with open(path + ".pb", "rb") as stream:
        graph_def.ParseFromString(stream.read())
    with np.load(path + ".npz") as arrays:
        feeds = {name: arrays[key] for name, key in asked["feeds"].items()}
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(graph_def, name="")
    calls = []
    for config in (None, tf.ConfigProto(inter_op_parallelism_threads=1, use_per_session_threads=True)):
        session = tf.Session(graph=graph, config=config)
        session.run(asked["initializer"])
        calls.append(functools.partial(session.run, asked["fetches"], feeds))
    return calls


def usual(call: Any, fewest: int, most: int, seconds: float, before: Any = None) -> Tuple[float, Any]:
    """Median seconds of some calls, and what the call of that time returned; the first third counts for nothing."""
    taken: List[Any] = []
    while len(taken) < fewest or (len(taken) < most and sum(one[0] for one in taken) < seconds):
        if before is not None:
            before()
        started = time.perf_counter()
        found = call()
        taken.append((time.perf_counter() - started, found))
    counted = sorted(taken[len(taken) // 3 :], key=lambda one: one[0])
    return counted[len(counted) // 2]


def main(folder: str, fewest: int, most: int, seconds: float) -> None:
    """Runs what is asked for until standard input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    import tensorflow.compat.v1 as tf

    tf.disable_v2_behavior()
    print(tf.__version__, file=answers, flush=True)
    calls: Dict[str, List[Any]] = {}
    for line in sys.stdin:
        path = os.path.join(folder, line.strip())
        if path not in calls:
            calls[path] = opened(tf, path)
        at_will, one_by_one = calls[path]

        def traced(one_by_one: Any = one_by_one) -> Any:
            trace = tf.RunMetadata()
            one_by_one(options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=trace)
            return trace

        untraced, _ = usual(at_will, fewest, most, seconds)
        _, trace = usual(traced, fewest, most, seconds, one_by_one)
        packed = base64.b64encode(trace.SerializeToString()).decode("ascii")
        print(json.dumps([untraced, packed]), file=answers, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]))
