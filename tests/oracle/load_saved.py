"""Loads, by TensorFlow, what gpuplace saved, and prints what it finds as one JSON object.

    python tests/oracle/load_saved.py FOLDER

in an environment with TensorFlow 1.15.5 (Python 3.7) or 2.21. In FOLDER are ``all.*``, ``sharded.*`` and ``one``,
checkpoints; ``model.*``, a checkpoint with a meta graph whose ``x:0`` and ``out:0`` a loop lies between; and
``export``, a SavedModel with ``x`` and ``y``.
"""

import json
import os
import sys

os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow

tf = tensorflow.compat.v1
tf.disable_v2_behavior()
SOFT = tf.ConfigProto(allow_soft_placement=True)


def digits(value):
    """An array as hexadecimal digits."""
    value = np.asarray(value)
    if value.dtype.kind in "OS":
        return [bytes(one).hex() for one in value.reshape(-1).tolist()]
    return np.ascontiguousarray(value).tobytes().hex()


def contents(prefix):
    """What a checkpoint holds: element type, shape and bytes by name."""
    reader = tf.train.NewCheckpointReader(prefix)
    types, shapes = reader.get_variable_to_dtype_map(), reader.get_variable_to_shape_map()
    names = sorted(types)
    with tf.Graph().as_default(), tf.Session() as session:
        slices = [""] * len(names)
        dtypes = [types[name] for name in names]
        read = tf.raw_ops.RestoreV2(prefix=prefix, tensor_names=names, shape_and_slices=slices, dtypes=dtypes)
        values = session.run(read)
    return {name: [types[name].name, shapes[name], digits(value)] for name, value in zip(names, values)}


def main():
    """Prints what there is."""
    folder = os.path.join(sys.argv[1], "")
    found = {name: contents(folder + name) for name in ("all", "sharded", "one")}
    for scope in ("", "there/"):
        with tf.Graph().as_default() as graph, tf.Session(config=SOFT) as session:
            saver = tf.train.import_meta_graph(folder + "model.meta", import_scope=scope[:-1] or None)
            saver.restore(session, folder + "model")
            x, out = graph.get_tensor_by_name(scope + "x:0"), graph.get_tensor_by_name(scope + "out:0")
            fetches = [out] + tf.gradients(out, [x])
            found["meta " + scope] = [
                [float(one) for one in session.run(fetches, {x: value})] for value in (0.5, 3.0)
            ]
    with tf.Graph().as_default(), tf.Session(config=SOFT) as session:
        meta = tf.saved_model.loader.load(session, ["serve"], folder + "export")
        signature = meta.signature_def["serving_default"]
        value = session.run(signature.outputs["y"].name, {signature.inputs["x"].name: [[1.0, 10.0]]})
        found["export"] = value.tolist()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
