"""Records what TensorFlow 1.15.5 answers to ``tests/ops/distributions/cases.py``, or to another table of that form.

usage, with Python 3.7 and TensorFlow 1.15.5:
    cd tests/ops/distributions
    python ../../oracle/record/distributions.py cases.py answers-1.15.json.gz

The file maps a case's name to its tensors in order: [type, shape, the elements in a row].
"""

import gzip
import importlib.util
import json
import os
import sys

os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"


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
        recorded[name] = [[str(a.dtype), list(a.shape), a.ravel().tolist()] for a in arrays]
    with open(path, "wb") as raw, gzip.GzipFile(fileobj=raw, mode="wb", mtime=0) as file:
        file.write(json.dumps(recorded, separators=(",", ":")).encode())
    print({name: len(rows) for name, rows in recorded.items()})


if __name__ == "__main__":
    main(*sys.argv[1:])
