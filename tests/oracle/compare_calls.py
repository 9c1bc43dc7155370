"""Optimizers, losses, metrics, layers and cells, node by node: our graphs beside those of TensorFlow 1.15.5.

    python -m tests.oracle.compare_calls --python PYTHON3.7_WITH_TENSORFLOW_1.15.5 [--record]

The calls are those of `tests/ops/building_calls.py`, each under `/gpu:1`: with known shapes, with an unknown first
dimension, and with unknown ranks. What is compared, and how, is that of `compare_gradients.py`.

Prints the first difference of each graph that differs, and how many calls and graphs are equal. `--record` writes a
digest of each of TensorFlow's graphs to `tests/data/layer_graphs.json.gz`, which the test suite reads.

Both sides run `built`, so this module imports only what Python 3.7 has.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

if __package__:
    from tests.ops.building_calls import CALLS
    from tests.oracle.compare_gradients import SHAPES, difference, rows
else:  # run as a file by TensorFlow's Python
    sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent / "ops")]
    from building_calls import CALLS
    from compare_gradients import SHAPES, difference, rows

TARGET = Path(__file__).parent.parent / "data" / "layer_graphs.json.gz"


def built(tf: Any) -> dict[str, Any]:
    """The rows of every graph, or the error in its place.

    Args:
        tf: the module.
    """
    made: dict[str, Any] = {}
    for name, call in CALLS.items():
        for shapes in SHAPES:
            graph = tf.Graph()

            def given(sizes: list[int], dtype: str = "float32", shapes: str = shapes) -> Any:
                known = {"known": sizes, "batch": [None, *sizes[1:]], "rank": None}
                return tf.placeholder(dtype, known[shapes])

            try:
                with graph.as_default(), tf.device("/gpu:1"):
                    call(tf, given)
                made[f"{name}/{shapes}"] = rows(graph, tf.make_ndarray)
            except Exception as error:  # the answer of the call
                made[f"{name}/{shapes}"] = f"{type(error).__name__}: {error}".splitlines()[0]
    return made


def digest(graph: Any) -> str:
    """Shorten the rows of a graph to what tells whether another graph is equal; an error to its class."""
    if isinstance(graph, str):
        return graph.partition(":")[0]
    return hashlib.sha256(json.dumps(graph).encode()).hexdigest()[:16]


def main() -> None:
    """Compares."""
    if sys.argv[1:] == ["--tensorflow"]:
        import tensorflow

        tensorflow.compat.v1.logging.set_verbosity("ERROR")
        json.dump(built(tensorflow), sys.stdout)
        return
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--python", required=True, help="Python 3.7 with TensorFlow 1.15.5")
    parser.add_argument("--record", action="store_true", help="write TensorFlow's graphs")
    arguments = parser.parse_args()
    command = [arguments.python, __file__, "--tensorflow"]
    theirs = json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)
    if arguments.record:
        digests = {name: digest(graph) for name, graph in theirs.items()}
        TARGET.write_bytes(gzip.compress(json.dumps(digests).encode(), mtime=0))
    import gpuplace

    ours = built(gpuplace)
    differences = {graph: difference(ours[graph], rows_there) for graph, rows_there in theirs.items()}
    for graph, told in differences.items():
        if told:
            print(graph, told[:600])
    other = {graph.rpartition("/")[0] for graph, told in differences.items() if told}
    equal = sum(not told for told in differences.values())
    print(f"{len(CALLS) - len(other)} of {len(CALLS)} calls, {equal} of {len(theirs)} graphs are equal")


if __name__ == "__main__":
    main()
