"""Records what TensorFlow 1.15.5 answers to ``tests/tf1/distributions/cases.py`` or ``linear_operators/cases.py``.

usage, with Python 3.7 and TensorFlow 1.15.5:
    cd tests/tf1/distributions
    python ../../oracle/record/answers.py cases.py answers-1.15.json.gz
    cd ../linear_operators
    python ../../oracle/record/answers.py cases.py answers-1.15.json.gz

The file maps a case's name to its tensors in order: [type, shape, the elements in a row], of
complex ones the two parts of each.
"""

import gzip
import importlib.util
import json
import os
import sys

import numpy as np

os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"


def row(array):
    if array.dtype.kind in "OS":
        return ["text", [], array.item().decode()]
    real = np.stack([array.real, array.imag], -1) if array.dtype.kind == "c" else array
    return [str(array.dtype), list(array.shape), real.ravel().tolist()]


def main(table, path):
    import tensorflow as tf

    tf.compat.v1.logging.set_verbosity("ERROR")
    spec = importlib.util.spec_from_file_location("cases", table)
    cases = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(cases)
    recorded = {}
    for name, case in cases.CASES.items():
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            arrays = session.run(case(tf))
        recorded[name] = [row(np.asarray(array)) for array in arrays]
    with open(path, "wb") as raw, gzip.GzipFile(fileobj=raw, mode="wb", mtime=0) as file:
        file.write(json.dumps(recorded, separators=(",", ":")).encode())
    print({name: len(rows) for name, rows in recorded.items()})


if __name__ == "__main__":
    main(*sys.argv[1:])
