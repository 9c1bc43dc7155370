"""A SavedModel is written, loaded and called by its signature."""

import tempfile

import tensorflow as tf


class Scale(tf.Module):
    """Multiplies by a variable."""

    def __init__(self):
        self.factor = tf.Variable(3.0)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def __call__(self, x):
        return {"scaled": x * self.factor}


with tempfile.TemporaryDirectory() as folder:
    tf.saved_model.save(Scale(), folder)
    loaded = tf.saved_model.load(folder)
    print(loaded.signatures["serving_default"](tf.ones([2]))["scaled"].numpy().tolist())
