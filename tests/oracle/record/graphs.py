"""Records the graphs that TensorFlow 1.15.5 builds for ``*programs.py`` in ``tests/ops`` and ``tests/tf1``.

usage, with Python 3.7 and TensorFlow 1.15.5:
    python tests/oracle/record/graphs.py tests/ops/data/graphs-1.15.json.gz
    python tests/oracle/record/graphs.py tests/ops/data/function-graphs-1.15.json.gz ops/function_programs.py
    python tests/oracle/record/graphs.py tests/ops/data/training-graphs-1.15.json.gz ops/training_programs.py
    python tests/oracle/record/graphs.py tests/ops/data/net-graphs-1.15.json.gz ops/net_programs.py
    python tests/oracle/record/graphs.py tests/tf1/data/contrib-graphs-1.15.json.gz tf1/contrib_programs.py

The file maps a program's name to its nodes in the order of the GraphDef: name, op type, inputs, device, colocation.
"""

import gzip
import importlib.util
import json
import os
import sys

os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"


def nodes(graph_def):
    rows = []
    for node in graph_def.node:
        groups = [value.decode() for value in node.attr["_class"].list.s] if "_class" in node.attr else []
        rows.append([node.name, node.op, list(node.input), node.device, groups])
    return rows


def main(path, programs_file="ops/programs.py"):
    import tensorflow as tf

    tf.compat.v1.logging.set_verbosity("ERROR")
    tests = os.path.abspath(__file__).rsplit(os.sep, 3)[0]
    source = os.path.join(tests, *programs_file.split("/"))
    spec = importlib.util.spec_from_file_location("programs", source)
    programs = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(programs)
    recorded = {}
    for name, program in programs.PROGRAMS.items():
        graph = tf.Graph()
        with graph.as_default():
            program(tf)
        recorded[name] = nodes(graph.as_graph_def())
    with open(path, "wb") as raw, gzip.GzipFile(fileobj=raw, mode="wb", mtime=0) as file:
        file.write(json.dumps(recorded, separators=(",", ":")).encode())
    print({name: len(rows) for name, rows in recorded.items()})


if __name__ == "__main__":
    main(*sys.argv[1:])
