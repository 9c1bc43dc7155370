"""Records what TensorFlow 1.15.5 builds for ``tests/ops/loop_programs.py``, and what it computes.

usage, with Python 3.7 and TensorFlow 1.15.5:
    python tests/oracle/record/loops.py

Writes ``tests/ops/data/loops-1.15.json.gz``: program -> its GraphDef (base64), the fetches, and for each run the feeds
and the values. Variables are initialised anew before each run.
"""

import base64
import gzip
import importlib.util
import json
import os

os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

OPS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "ops")


def recorded(tf, program):
    graph = tf.Graph()
    with graph.as_default():
        fetches, feeds = program(tf)
        graph_def = graph.as_graph_def()
        runs = []
        initialize = [variable.initializer for variable in tf.global_variables()]
        for feed in feeds:
            with tf.Session(config=tf.ConfigProto(operation_timeout_in_ms=20000)) as session:
                session.run(initialize)
                values = session.run(fetches, feed)
            runs.append([feed, [[str(value.dtype), value.tolist()] for value in values]])
    return {
        "graph": base64.b64encode(graph_def.SerializeToString(deterministic=True)).decode(),
        "fetches": [fetch.name for fetch in fetches],
        "initialize": [op.name for op in initialize],
        "runs": runs,
    }


def main():
    import tensorflow as tf

    tf.compat.v1.logging.set_verbosity("ERROR")
    spec = importlib.util.spec_from_file_location("loop_programs", os.path.join(OPS, "loop_programs.py"))
    programs = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(programs)
    found = {}
    for table in (programs.PROGRAMS, programs.GRADIENT_PROGRAMS, programs.ARRAY_PROGRAMS):
        found.update((name, recorded(tf, program)) for name, program in table.items())
    with open(os.path.join(OPS, "data", "loops-1.15.json.gz"), "wb") as raw:
        with gzip.GzipFile(fileobj=raw, mode="wb", mtime=0) as file:
            file.write(json.dumps(found, separators=(",", ":")).encode())
    print({name: len(one["runs"]) for name, one in found.items()})


if __name__ == "__main__":
    main()
