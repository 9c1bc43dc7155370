"""Records what TensorFlow 1.15.5 builds for ``tests/ops/flow/call_programs.py``, and what it computes.

usage, with Python 3.7 and TensorFlow 1.15.5, from the root of the project:
    python tests/oracle/record/call_programs.py

Writes ``tests/ops/data/call-programs-1.15.json.gz``: program -> the nodes of its graph (name, op, inputs, device) and
the values of what it fetches, with their types.
"""

import gzip
import importlib
import importlib.util
import json
import os

os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

TESTS = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def module(name):
    return importlib.import_module("tensorflow.python." + name)


def recorded(tf, program):
    with tf.Graph().as_default() as graph:
        fetches = program(tf, module)
        nodes = [[node.name, node.op, list(node.input), node.device] for node in graph.as_graph_def().node]
        initialize = tf.global_variables_initializer()
        with tf.Session() as session:
            session.run(initialize)
            values = session.run(fetches)
    return {
        "nodes": nodes,
        "values": [None if value is None else [str(value.dtype), value.tolist()] for value in values],
    }


def main():
    import tensorflow as tf

    tf.compat.v1.logging.set_verbosity("ERROR")
    path = os.path.join(TESTS, "ops", "flow", "call_programs.py")
    spec = importlib.util.spec_from_file_location("call_programs", path)
    programs = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(programs)
    found = {name: recorded(tf, program) for name, program in programs.PROGRAMS.items()}
    with open(os.path.join(TESTS, "ops", "data", "call-programs-1.15.json.gz"), "wb") as raw:
        with gzip.GzipFile(fileobj=raw, mode="wb", mtime=0) as file:
            file.write(json.dumps(found, separators=(",", ":"), sort_keys=True).encode())
    print({name: len(one["values"]) for name, one in found.items()})


if __name__ == "__main__":
    main()
