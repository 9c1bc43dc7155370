"""Builds the advisor's nets by TensorFlow itself, within the Python that an advice gives, and writes the graphs.

    PYTHONPATH=. TENSORFLOW_PYTHON tests/oracle/write_advised.py

reads requests, one JSON object a line: ``net``, ``gpus``, ``is_small`` and ``python``, the text of `Advice.as_python`
(``""``: as the program is). Answers each with the GraphDef as base64 in quotes. Runs with TensorFlow 1.15.5 and 2.21.
"""

from __future__ import annotations

import base64
import json
import os
import sys

os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow

from tests.benchmarks.advised_nets import build
from tests.support.advised_programs import build_as_advised

tf = tensorflow.compat.v1
tf.disable_v2_behavior()


def written(net, gpus, is_small, python):
    """The serialised GraphDef of a net."""
    with tf.Graph().as_default() as graph:
        if python:
            build_as_advised(tf, python, lambda: build(tf, net, gpus, is_small))
        else:
            build(tf, net, gpus, is_small)
    return graph.as_graph_def().SerializeToString()


def main():
    """Serves requests until the input ends."""
    for line in sys.stdin:
        print(json.dumps(base64.b64encode(written(**json.loads(line))).decode()), flush=True)


if __name__ == "__main__":
    main()
