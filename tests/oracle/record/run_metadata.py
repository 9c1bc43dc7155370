"""Records what TensorFlow puts into ``RunMetadata``, for ``tests/runtime/tracing/test_run_metadata.py``.

    PYTHONPATH=tests/runtime/tracing python tests/oracle/record/run_metadata.py tests/data/run_metadata_1_15.json

Run it with the Python of TensorFlow 1.15 and with that of 2.21.
"""

import base64
import json
import os
import sys
import zlib

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"  # else some ops have other names

import measured_program
import tensorflow

tf = tensorflow.compat.v1

if tensorflow.__version__.startswith("2."):
    tf.disable_eager_execution()
    tf.disable_resource_variables()


def main(path):
    rows = {}
    for level in range(4):
        rows["level %d" % level] = measured_program.run(tf, level)
    rows["costs"] = measured_program.run(tf, 0, build_cost_model=1)
    rows["costs every 3rd, run 2"] = measured_program.run(tf, 0, build_cost_model=3, runs=2)
    rows["costs every 3rd, run 3"] = measured_program.run(tf, 0, build_cost_model=3, runs=3)
    packed = {
        name: base64.b64encode(zlib.compress(metadata.SerializeToString(), 9)).decode()
        for name, metadata in rows.items()
    }
    with open(path, "w") as file:
        json.dump({"tensorflow": tensorflow.__version__, "runs": packed}, file, indent=1, sort_keys=True)
        file.write("\n")


if __name__ == "__main__":
    main(sys.argv[1])
