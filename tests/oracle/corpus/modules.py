"""SavedModels of 2.x: their signatures are functions, which the graph calls."""

from __future__ import annotations

import os
import tempfile

import tensorflow

from tests.oracle.corpus.programs import eager_program


def function(*specs):
    """A `tf.function` for arguments of these shapes and types."""
    signature = [tensorflow.TensorSpec(shape, dtype) for shape, dtype in specs]
    return tensorflow.function(input_signature=signature)


def saved(module, **signatures):
    """The folder with the module's SavedModel."""
    folder = os.path.join(tempfile.mkdtemp(), "model")
    tensorflow.saved_model.save(module, folder, signatures=signatures)
    return folder


@eager_program
def saved_module():
    """Two signatures, one over strings."""

    class Module(tensorflow.Module):
        def __init__(self):
            self.w = tensorflow.Variable(tensorflow.ones([4, 2]))

        @function(([None, 4], tensorflow.float32))
        def predict(self, x):
            return {"y": tensorflow.matmul(x, self.w)}

        @function(([], tensorflow.string))
        def measure(self, s):
            return {"n": tensorflow.strings.length(s)}

    module = Module()
    return saved(module, serving_default=module.predict, measure=module.measure)


@eager_program
def saved_trainer():
    """A signature that trains, with momentum, a gradient tape and a counter of steps."""

    class Trainer(tensorflow.Module):
        def __init__(self):
            self.w = tensorflow.Variable(tensorflow.ones([4, 2]))
            self.m = tensorflow.Variable(tensorflow.zeros([4, 2]), trainable=False)
            self.step = tensorflow.Variable(0, dtype=tensorflow.int64, trainable=False)

        @function(([None, 4], tensorflow.float32), ([None, 2], tensorflow.float32))
        def train(self, x, y):
            with tensorflow.GradientTape() as tape:
                loss = tensorflow.reduce_mean((tensorflow.tanh(x @ self.w) - y) ** 2)
            self.m.assign(0.9 * self.m + tape.gradient(loss, self.w))
            self.w.assign_sub(0.1 * self.m)
            return {"loss": loss, "step": self.step.assign_add(1)}

        @function(([None, 4], tensorflow.float32))
        def predict(self, x):
            return {"y": tensorflow.tanh(x @ self.w)}

    module = Trainer()
    return saved(module, train=module.train, serving_default=module.predict)


@eager_program
def saved_vocabulary():
    """A table that a signature looks words up in, with a file as asset."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt", delete=False) as file:
        file.write("a\nb\n")

    class Vocabulary(tensorflow.Module):
        def __init__(self):
            lookup = tensorflow.lookup
            initializer = lookup.TextFileInitializer(
                file.name,
                tensorflow.string,
                lookup.TextFileIndex.WHOLE_LINE,
                tensorflow.int64,
                lookup.TextFileIndex.LINE_NUMBER,
            )
            self.table = lookup.StaticVocabularyTable(initializer, 1)
            self.embedding = tensorflow.Variable(tensorflow.ones([3, 4]))

        @function(([None], tensorflow.string))
        def embed(self, words):
            return {"x": tensorflow.gather(self.embedding, self.table.lookup(words))}

    module = Vocabulary()
    return saved(module, serving_default=module.embed)


@eager_program
def saved_decoder():
    """A loop with a condition inside, on devices that the model's author chose."""

    class Decoder(tensorflow.Module):
        def __init__(self):
            self.w = tensorflow.Variable(tensorflow.ones([4, 4]))

        @function(([2, 4], tensorflow.float32), ([], tensorflow.int32))
        def decode(self, h, steps):
            total = tensorflow.zeros([])
            for i in tensorflow.range(steps):
                with tensorflow.device("/gpu:0"):
                    h = tensorflow.tanh(h @ self.w)
                if tensorflow.reduce_sum(h) > 0.0:
                    with tensorflow.device("/cpu:0"):
                        total += tensorflow.reduce_max(h)
                else:
                    total -= tensorflow.cast(i, tensorflow.float32)
            return {"h": h, "total": total}

    module = Decoder()
    return saved(module, serving_default=module.decode)


@eager_program
def saved_layers():
    """Convolution, batch normalisation and dropout, one function inside another."""

    class Net(tensorflow.Module):
        def __init__(self):
            self.kernel = tensorflow.Variable(tensorflow.ones([3, 3, 1, 4]))
            self.scale = tensorflow.Variable(tensorflow.ones([4]))
            self.mean = tensorflow.Variable(tensorflow.zeros([4]), trainable=False)
            self.seen = tensorflow.Variable(0, trainable=False)

        @tensorflow.function
        def normalize(self, x, training):
            if training:
                mean = tensorflow.reduce_mean(x, [0, 1, 2])
                self.mean.assign(0.9 * self.mean + 0.1 * mean)
            else:
                mean = self.mean
            return (x - mean) * self.scale

        @function(([None, 8, 8, 1], tensorflow.float32), ([], tensorflow.bool))
        def call(self, x, training):
            y = tensorflow.nn.relu(tensorflow.nn.conv2d(x, self.kernel, 1, "SAME"))
            y = self.normalize(y, training)
            if training:
                y = tensorflow.nn.dropout(y, 0.5)
                self.seen.assign_add(1)
            return {"y": tensorflow.reduce_mean(y, [1, 2])}

    module = Net()
    return saved(module, serving_default=module.call)
