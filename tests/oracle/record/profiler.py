"""Records what TensorFlow 1.15.5's profiler says: tests/profiling/data/profiler-1.15.json.gz.

usage, with Python 3.7 and TensorFlow 1.15.5, from the root of the project:
    python tests/oracle/record/profiler.py

`flops`: case of `tests/profiling/flop_cases.py` -> the number, or the error.
"""

import gzip
import json
import os
import sys

os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

TESTS = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def main():
    import tensorflow as tf
    from tensorflow.python.framework import ops
    from tensorflow.python.profiler import tfprof_logger  # noqa: F401  (registers the statistics)

    tf.compat.v1.logging.set_verbosity("ERROR")
    sys.path.insert(0, os.path.dirname(TESTS))
    from tests.profiling import flop_cases

    def statistics(graph, node):
        return ops.get_stats_for_node_def(graph, node, "flops").value

    found = {
        "flops": {
            name: flop_cases.counted(tf, build, statistics) for name, build in flop_cases.cases().items()
        }
    }
    print(len(found["flops"]), "counts")
    with open(os.path.join(TESTS, "profiling", "data", "profiler-1.15.json.gz"), "wb") as raw:
        with gzip.GzipFile(fileobj=raw, mode="wb", mtime=0) as file:
            file.write(json.dumps(found, separators=(",", ":"), sort_keys=True).encode())


if __name__ == "__main__":
    main()
