"""Runs steps with the TensorFlow of another interpreter, which needs nothing but TensorFlow and NumPy.

``PYTHON -I tensorflow_steps.py FOLDER LIMITS`` reads from standard input the name of a probe a line, runs
``FOLDER/NAME.pb`` with the arrays of ``FOLDER/NAME.npz`` as the JSON in ``FOLDER/NAME`` says, prints as JSON the median
seconds of untraced steps, and a ``RunMetadata`` of traced ones in base 64. What was asked for before is kept, with its
variables. First of all it prints the release of TensorFlow. ``LIMITS`` is JSON: how often a step runs at least; how
often and for how many seconds at most; the same traced.
"""

import base64
import functools
import json
import os
import statistics
import sys
import time
from typing import Any, Callable, Dict, List, Tuple


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


def usual(
    call: Any,
    fewest: int,
    limit: Tuple[int, float],
    before: Any = None,
    clock: Callable[[], float] = time.perf_counter,
) -> Tuple[float, Any]:
    """Return the median seconds of some calls, and the result of one of about that time; the first third is left out.

    Args:
        call: what is timed.
        fewest: how often it is called at least.
        limit: how often at most, and the seconds after which no call begins.
        before: called before each of them, untimed.
        clock: tells seconds.
    """
    most, most_seconds = limit
    taken: List[Any] = []
    seconds = 0.0
    while len(taken) < fewest or (len(taken) < most and seconds < most_seconds):
        if before is not None:
            before()
        started = clock()
        found = call()
        taken.append((clock() - started, found))
        seconds += taken[-1][0]
    counted = sorted(taken[len(taken) // 3 :], key=lambda one: one[0])
    return statistics.median(one for one, _ in counted), counted[(len(counted) - 1) // 2][1]


def main(folder: str, limits: str) -> None:
    """Runs what is asked for until standard input ends."""
    fewest, untraced_limit, traced_limit = json.loads(limits)
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

        def untraced(at_will: Any = at_will) -> None:
            at_will()

        def traced(one_by_one: Any = one_by_one) -> Any:
            trace = tf.RunMetadata()
            one_by_one(options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=trace)
            return trace

        taken, _ = usual(untraced, fewest, untraced_limit)
        _, trace = usual(traced, fewest, traced_limit, one_by_one)
        packed = base64.b64encode(trace.SerializeToString()).decode("ascii")
        print(json.dumps([taken, packed]), file=answers, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
