"""TensorFlow's objects as input: each places and is estimated exactly as the SavedModel that TensorFlow exports of it.

    python tests/oracle/objects.py [NAME ...]

run with TensorFlow 2.21 and gpuplace in one environment builds models of `keras_models` and the functions below, or the
named ones. It gives each to gpuplace as an object and as the folder that it is exported to, and prints a line for each;
the exit code is the number of those that differ.
"""

import os
import sys
import tempfile
from functools import partial

os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ["KERAS_BACKEND"] = "tensorflow"

import tensorflow as tf  # noqa: E402

import gpuplace  # noqa: E402

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import keras_models  # noqa: E402

MACHINE = "2x V100"
MODELS = (
    "MobileNet MobileNetV2 MobileNetV3Small EfficientNetB0 ResNet50 DenseNet121 lstm_classifier gru_stack"
    " bidirectional_lstm transformer_encoder attention_classifier translation vision_transformer conv_lstm"
    " ResNet50V2 Xception InceptionV3 MobileNetV3Large EfficientNetV2B0 VGG16"
).split()


def functions():
    """Ten functions by name: branches, loops, variables, several devices, several results, gradients."""
    weights = tf.Variable(tf.random.normal([8, 4]), name="weights")
    steps = tf.Variable(0, dtype=tf.int64, name="steps")
    rows = tf.TensorSpec([None, 8], name="rows")

    def product(rows):
        return rows @ weights

    def branch(rows):
        return tf.cond(tf.reduce_sum(rows) > 0, lambda: rows * 2.0, lambda: tf.nn.relu(rows))

    def loop(rows):
        return tf.while_loop(lambda n, _: n < 5, lambda n, top: (n + 1, tf.tanh(top)), [0, rows])[1]

    def two_devices(rows):
        with tf.device("/gpu:1"):
            top = tf.nn.softmax(rows)
        with tf.device("/cpu:0"):
            return top + 1.0

    def results(rows):
        return {"mean": tf.reduce_mean(rows, 0), "most": tf.argmax(rows, 1)}

    def gradient(rows):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((rows @ weights) ** 2)
        return {"gradient": tape.gradient(loss, weights)}

    def update(rows):
        steps.assign_add(1)
        weights.assign_sub(0.1 * tf.reduce_mean(rows) * tf.ones_like(weights))
        return {"steps": steps.read_value()}

    def mapped(rows):
        return tf.map_fn(lambda row: tf.reduce_sum(row**2), rows)

    def texts(rows):
        return tf.strings.as_string(tf.cast(rows, tf.int32))

    inner = tf.function(lambda top: tf.nn.relu(top @ weights))

    def calls(rows):
        return inner(rows) + inner(rows * 2.0)

    plain = (product, branch, loop, two_devices, results, gradient, update, mapped, texts, calls)
    return {made.__name__: tf.function(made, input_signature=[rows]) for made in plain}, [weights, steps]


def answers(thing):
    """Devices by node, and step time, bytes and copies of the estimate of a batch of 4."""
    placement = gpuplace.place(thing, machine=MACHINE, soft_placement=True)
    step = gpuplace.estimate(thing, machine=MACHINE, batch=4)
    return dict(placement), step.step_time, dict(step.peak_memory), len(step.copies)


def differs(name, thing, export):
    """Whether an object and its export have different answers; prints a line."""
    with tempfile.TemporaryDirectory() as folder:
        export(folder)
        mine, theirs = answers(thing), answers(folder)
    same = mine == theirs
    print(
        f"{'equal' if same else 'DIFFERS':<8}{name:<24}{len(mine[0]):>6} nodes  {mine[1] * 1e3:>10.4f} ms",
        flush=True,
    )
    if not same:
        print(
            "  nodes",
            len(mine[0]),
            len(theirs[0]),
            "moved",
            sum(theirs[0].get(key) != mine[0][key] for key in mine[0]),
        )
        print("  time, memory, copies", mine[1:], theirs[1:])
    return not same


def main(names):
    """Compare all; the number that differs."""
    made, variables = functions()
    different = 0
    for name, function in made.items():
        if names and name not in names:
            continue
        keeper = tf.Module()
        keeper.kept = variables
        concrete = function.get_concrete_function()
        save = partial(tf.saved_model.save, keeper, signatures=concrete)
        different += differs(name, function, save)
    for name in MODELS:
        if not names or name in names:
            model = keras_models.build(name)
            different += differs(name, model, partial(model.export, verbose=False))
            tf.keras.backend.clear_session()
    return different


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
