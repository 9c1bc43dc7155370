"""Run steps with the TensorFlow of another interpreter, which needs only TensorFlow and NumPy.

``PYTHON -I tensorflow_steps.py FOLDER LIMITS`` prints the TensorFlow release first. It then reads probe names from
standard input, one per line. For each name it runs ``FOLDER/NAME.pb`` with the arrays of ``FOLDER/NAME.npz`` as the
JSON in ``FOLDER/NAME`` states, and prints as JSON the median seconds of untraced steps and a base64 ``RunMetadata`` of
traced ones. Sessions stay open between requests for the same probe, with their variables. ``LIMITS`` is JSON: minimum
number of runs; maximum number and seconds; the same maxima for traced runs.
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
    """Return two functions that run a probe's step: as usual, and one kernel at a time."""
    import numpy as np

    with open(path) as stream:
        description = json.load(stream)
    graph_def = tf.GraphDef()
    with open(path + ".pb", "rb") as stream:
        graph_def.ParseFromString(stream.read())
    with np.load(path + ".npz") as arrays:
        feeds = {name: arrays[key] for name, key in description["feeds"].items()}
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(graph_def, name="")
    calls = []
    for config in (None, tf.ConfigProto(inter_op_parallelism_threads=1, use_per_session_threads=True)):
        session = tf.Session(graph=graph, config=config)
        session.run(description["initializer"])
        calls.append(functools.partial(session.run, description["fetches"], feeds))
    return calls


def usual(
    call: Any,
    fewest: int,
    limit: Tuple[int, float],
    before: Any = None,
    clock: Callable[[], float] = time.perf_counter,
) -> Tuple[float, Any]:
    """Return the median seconds of several calls, and the result of a call of about that time; the first third is
    ignored.

    Args:
        call: function to time.
        fewest: minimum number of calls.
        limit: maximum number of calls, and the seconds after which no call begins.
        before: function that is called before each of them, untimed.
        clock: clock in seconds.
    """
    most, most_seconds = limit
    timed_calls: List[Any] = []
    seconds = 0.0
    while len(timed_calls) < fewest or (len(timed_calls) < most and seconds < most_seconds):
        if before is not None:
            before()
        started = clock()
        result = call()
        timed_calls.append((clock() - started, result))
        seconds += timed_calls[-1][0]
    counted = sorted(timed_calls[len(timed_calls) // 3 :], key=lambda timed: timed[0])
    return statistics.median(duration for duration, _ in counted), counted[(len(counted) - 1) // 2][1]


def main(folder: str, limits: str) -> None:
    """Run the requested probes until standard input ends."""
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

        median_seconds, _ = usual(untraced, fewest, untraced_limit)
        _, trace = usual(traced, fewest, traced_limit, one_by_one)
        packed = base64.b64encode(trace.SerializeToString()).decode("ascii")
        print(json.dumps([median_seconds, packed]), file=answers, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
