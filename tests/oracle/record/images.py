"""Records what TensorFlow 1.15.5 builds for ``tests/tf1/image_programs.py``, and what it computes.

usage, with Python 3.7 and TensorFlow 1.15.5:
    python tests/oracle/record/images.py

Writes ``tests/tf1/data/images-1.15.json.gz``: program -> name, type and inputs of each node, and the values.
"""

import base64
import gzip
import importlib.util
import io
import json
import os

import numpy as np

os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

TF1 = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "tf1")


def encoded(value):
    array = np.asarray(value)
    if array.dtype.kind in "SO":
        return ["bytes", [], base64.b64encode(bytes(array[()])).decode()]
    data = np.ascontiguousarray(array).tobytes()
    return [str(array.dtype), list(array.shape), base64.b64encode(data).decode()]


def main():
    import tensorflow as tf

    tf.compat.v1.logging.set_verbosity("ERROR")
    spec = importlib.util.spec_from_file_location("image_programs", os.path.join(TF1, "image_programs.py"))
    programs = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(programs)
    found = {}
    for name, program in programs.PROGRAMS.items():
        with tf.Graph().as_default() as graph:
            fetches = program(tf)
            nodes = [[node.name, node.op, list(node.input)] for node in graph.as_graph_def().node]
            with tf.Session() as session:
                values = [encoded(value) for value in session.run(fetches)]
        found[name] = {"nodes": nodes, "values": values}
    buffer = io.BytesIO()
    with gzip.GzipFile(fileobj=buffer, mode="wb", compresslevel=9, mtime=0) as file:
        file.write(json.dumps(found, sort_keys=True).encode())
    with open(os.path.join(TF1, "data", "images-1.15.json.gz"), "wb") as file:
        file.write(buffer.getvalue())


if __name__ == "__main__":
    main()
