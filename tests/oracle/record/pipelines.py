"""Records what TensorFlow 1.15.5 builds for ``tests/tf1/pipeline_programs.py``, and what comes out of the pipelines.

usage, with Python 3.7 and TensorFlow 1.15.5:
    python tests/oracle/record/pipelines.py

Writes ``tests/tf1/data/pipelines-1.15.json.gz``: pipeline -> its GraphDef (base64), its elements and its error.
"""

import base64
import gzip
import importlib.util
import json
import os
import tempfile

os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

TF1 = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "tf1")


def main():
    import tensorflow as tf

    tf.compat.v1.logging.set_verbosity("ERROR")
    spec = importlib.util.spec_from_file_location(
        "pipeline_programs", os.path.join(TF1, "pipeline_programs.py")
    )
    programs = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(programs)
    found = {}
    for name in programs.PIPELINES:
        with tempfile.TemporaryDirectory() as folder, tf.Graph().as_default() as graph:
            programs.write_files(folder)
            found[name] = programs.run(tf, name, folder)
            message = graph.as_graph_def()
            message.ClearField("library")
            found[name]["graph"] = base64.b64encode(message.SerializeToString(deterministic=True)).decode()
    text = json.dumps(found, sort_keys=True)
    with open(os.path.join(TF1, "data", "pipelines-1.15.json.gz"), "wb") as file:
        file.write(_compressed(text.encode()))


def _compressed(data):
    """The same bytes at every run: without the time."""
    import io

    buffer = io.BytesIO()
    with gzip.GzipFile(fileobj=buffer, mode="wb", compresslevel=9, mtime=0) as file:
        file.write(data)
    return buffer.getvalue()


if __name__ == "__main__":
    main()
