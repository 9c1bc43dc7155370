"""Records what comes of the calls in ``tests/ops/short_programs.py`` in TensorFlow 1.15.5.

usage, with Python 3.7 and TensorFlow 1.15.5, from the root of the project:
    python tests/oracle/record/short_programs.py
    python tests/oracle/record/short_programs.py ops.refused_expressions ops/data/refused

Writes ``tests/ops/data/short-programs-1.15.json.gz``, or another file below ``tests``: program -> the shapes, types and
values of what it gives, or the class and the first line of its error; for expressions instead of programs their
nodes, or the class and the text of the error.
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


def main(programs="ops.short_programs", path="ops/data/short-programs"):
    import numpy as np
    import tensorflow as tf

    tf.compat.v1.logging.set_verbosity("ERROR")
    sys.path.insert(0, os.path.dirname(TESTS))
    from tests.ops.short_answers import answer

    module_of_programs = importlib.import_module("tests." + programs)

    def module(name):
        return importlib.import_module("tensorflow.python." + name)

    if hasattr(module_of_programs, "EXPRESSIONS"):
        found = {one: module_of_programs.outcome(tf, np, one) for one in module_of_programs.EXPRESSIONS}
    else:
        table = module_of_programs.PROGRAMS
        found = {name: answer(tf, module, np, program) for name, program in table.items()}
    with open(os.path.join(TESTS, path + "-1.15.json.gz"), "wb") as raw:
        with gzip.GzipFile(fileobj=raw, mode="wb", mtime=0) as file:
            file.write(json.dumps(found, separators=(",", ":"), sort_keys=True).encode())
    for name, one in found.items():
        print(name, str(one)[:160], sep=": ")


if __name__ == "__main__":
    main(*sys.argv[1:])
