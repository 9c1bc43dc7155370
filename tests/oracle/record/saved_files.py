"""Writes checkpoints and a SavedModel by TensorFlow, for tests that load them without it.

    python tests/oracle/record/saved_files.py

run in an environment with TensorFlow 1.15.5 (Python 3.7) or 2.21 writes ``tests/data/saved-1.15.tar.xz`` or
``saved-2.21.tar.xz``:

- ``all.*``: a checkpoint of one shard with all element types; ``sliced.*``: slices of two tensors;
- ``sharded*``: what a sharded saver writes, with a partitioned variable; ``one``, ``parts-*``: the first format;
- ``model/``: a SavedModel;
- ``expected.json``: name of a checkpoint -> name of a tensor -> element type, shape and bytes, or texts, in
  hexadecimal digits.
"""

import io
import json
import os
import tarfile
import tempfile

os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "data")
IS_2 = tensorflow.__version__.startswith("2.")
tf = tensorflow.compat.v1
tf.disable_v2_behavior()

NAMES = (
    "float32 float64 int32 uint8 int16 int8 int64 bool complex64 complex128 float16 bfloat16 uint16 uint32 uint64"
    " qint8 quint8 qint32 qint16 quint16 string"
).split()
IN_FIRST_FORMAT = (
    "float32 float64 int32 uint8 int16 int8 int64 bool complex64 complex128 float16 string".split()
)


def tensor(name, rng):
    """A tensor of an element type."""
    dtype = getattr(tf, name)
    if name == "string":
        return tf.constant(np.array([[b"a", b""], [b"\x00\xff" * 100, b"xyz" * 100]], dtype=object))
    if name == "bool":
        return tf.constant(rng.rand(3, 2) > 0.5)
    if name == "bfloat16":
        return tf.cast(tf.constant(rng.randn(3, 2).astype(np.float32)), tf.bfloat16)
    if dtype.is_complex:
        return tf.constant((rng.randn(3, 2) + 1j * rng.randn(3, 2)).astype(name))
    if dtype.is_quantized:
        return tf.bitcast(tf.constant((rng.rand(3, 2) * 100).astype(name[1:])), dtype)
    return tf.constant((rng.rand(3, 2) * 100).astype(name))


def save(prefix, names, slices, tensors):
    """The operation that writes a checkpoint."""
    return tf.raw_ops.SaveV2(prefix=prefix, tensor_names=names, shape_and_slices=slices, tensors=tensors)


def digits(value):
    """An array as hexadecimal digits."""
    value = np.asarray(value)
    if value.dtype == object:
        return [one.hex() for one in value.reshape(-1).tolist()]
    return np.ascontiguousarray(value).tobytes().hex()


def contents(prefix):
    """What a checkpoint holds."""
    reader = tf.train.NewCheckpointReader(prefix)
    types = reader.get_variable_to_dtype_map()
    shapes = reader.get_variable_to_shape_map()
    names = sorted(types)
    with tf.Graph().as_default(), tf.Session() as session:
        values = session.run(
            tf.raw_ops.RestoreV2(
                prefix=prefix,
                tensor_names=names,
                shape_and_slices=[""] * len(names),
                dtypes=[types[name] for name in names],
            )
        )
    return {name: [types[name].name, shapes[name], digits(value)] for name, value in zip(names, values)}


def write(folder):
    """Writes all files into a folder; returns what they hold."""
    path = os.path.join(folder, "")
    rng = np.random.RandomState(7)
    with tf.Graph().as_default():
        names = sorted(NAMES) + ["scalar", "empty", "big", "one text"]
        tensors = [tensor(name, rng) for name in sorted(NAMES)]
        tensors += [
            tf.constant(3.5),
            tf.zeros([0, 3]),
            tf.reshape(tf.range(600.0), [20, 30]),
            tf.constant("t"),
        ]
        slices = ["4 6 0,2:0,6", "4 6 2,2:0,6", "4 6 -:0,3", "4 6 -:3,3"]
        parts = [tf.ones([2, 6]), tf.fill([2, 6], 2.0), tf.fill([4, 3], 3.0), tf.fill([4, 3], 4.0)]
        with tf.Session() as session:
            session.run(save(path + "all", names, [""] * len(names), tensors))
            session.run(save(path + "sliced", ["p", "p", "q", "q"], slices, parts))
    with tf.Graph().as_default():
        with tf.device("/job:localhost/device:CPU:0"):
            ref = tf.Variable([1.0, 2.0], name="ref")
        resource = tf.Variable([[3.0]], name="resource", use_resource=True)
        split = tf.get_variable(
            "split",
            [5, 4],
            partitioner=tf.fixed_size_partitioner(2),
            initializer=tf.random_uniform_initializer(seed=1),
        )
        old = [tf.Variable(tensor(name, rng), name=name) for name in IN_FIRST_FORMAT]
        zeros = tf.Variable(tf.zeros([40, 40]), name="zeros")
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            tf.train.Saver([ref, resource] + list(split), sharded=True).save(
                session, path + "sharded", global_step=3
            )
            first = {"write_version": tf.train.SaverDef.V1}
            kept = old + list(split) + [zeros]
            tf.train.Saver(kept, **first).save(
                session, path + "one", write_meta_graph=False, write_state=False
            )
            tf.train.Saver([ref] + list(split), sharded=True, **first).save(
                session, path + "parts", write_meta_graph=False, write_state=False
            )
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        with tf.device("/gpu:1"):
            w = tf.Variable([[1.0], [2.0]], name="w")
        y = tf.identity(tf.matmul(x, w), name="y")
        with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
            session.run(w.initializer)
            builder = tf.saved_model.builder.SavedModelBuilder(path + "model")
            signature = tf.saved_model.predict_signature_def({"x": x}, {"y": y})
            builder.add_meta_graph_and_variables(session, ["serve"], {"serving_default": signature})
            builder.save()
    prefixes = {
        "all": "all",
        "sliced": "sliced",
        "sharded": "sharded-3",
        "one": "one",
        "parts": "parts-?????-of-00002",
    }
    return {name: contents(path + prefix) for name, prefix in prefixes.items()}


def main():
    """Writes the archive."""
    folder = tempfile.mkdtemp()
    expected = write(folder)
    os.remove(os.path.join(folder, "checkpoint"))  # it names this folder
    with open(os.path.join(folder, "expected.json"), "w") as file:
        json.dump(expected, file)
    target = os.path.join(DATA, "saved-%s.tar.xz" % ("2.21" if IS_2 else "1.15"))
    with tarfile.open(target, "w:xz") as archive:
        for place, _, names in sorted(os.walk(folder)):
            for name in sorted(names):
                file = os.path.join(place, name)
                info = tarfile.TarInfo(os.path.relpath(file, folder))
                with open(file, "rb") as stream:
                    data = stream.read()
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))
    print(target, os.path.getsize(target), sorted(expected))


if __name__ == "__main__":
    main()
