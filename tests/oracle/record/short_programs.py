"""Records what comes of ``tests/ops/short_programs.py`` and ``tests/ops/refused_expressions.py`` in TensorFlow 1.15.5.

usage, with Python 3.7 and TensorFlow 1.15.5, from the root of the project:
    python tests/oracle/record/short_programs.py

Writes ``tests/ops/data/short-programs-1.15.json.gz``: program -> the shapes, types and values of what it gives, or the
class and the first line of its error; and ``refused-1.15.json.gz``: expression -> its nodes, or its error.
"""

import gzip
import importlib
import importlib.util
import json
import os
import sys

os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

TESTS = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def write(name, found):
    with open(os.path.join(TESTS, "ops", "data", name), "wb") as raw:
        with gzip.GzipFile(fileobj=raw, mode="wb", mtime=0) as file:
            file.write(json.dumps(found, separators=(",", ":"), sort_keys=True).encode())


def main():
    import numpy as np
    import tensorflow as tf

    tf.compat.v1.logging.set_verbosity("ERROR")
    sys.path.insert(0, os.path.dirname(TESTS))
    from tests.ops.refused_expressions import EXPRESSIONS, outcome
    from tests.ops.short_answers import answer
    from tests.ops.short_programs import PROGRAMS

    def module(name):
        return importlib.import_module("tensorflow.python." + name)

    found = {name: answer(tf, module, np, program) for name, program in PROGRAMS.items()}
    write("short-programs-1.15.json.gz", found)
    write("refused-1.15.json.gz", {text: outcome(tf, np, text) for text in EXPRESSIONS})
    for name, one in found.items():
        print(name, str(one)[:160], sep=": ")


if __name__ == "__main__":
    main()
