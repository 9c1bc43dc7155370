"""Exports Keras models as SavedModels, with the facts about them that TensorFlow itself gives.

    python tests/oracle/keras_models.py FOLDER [NAME ...]

run with TensorFlow 2.21 writes ``FOLDER/NAME`` for every model of ``MODELS`` (or the named ones) as ``model.export``
does, with random weights, and ``FOLDER/facts.json``. For each model that file has

- ``inputs`` and ``outputs``: of the default signature, name -> shape and dtype;
- ``parameters``, ``parameter_bytes``: of the model;
- ``example``: name -> shape of one example; a size that the model leaves open is ``LENGTH``;
- ``flops``: floating-point operations of one example as TensorFlow's profiler counts them on the frozen graph;
- ``einsum_flops``: those of the graph's ``Einsum`` nodes, which the profiler does not count;
- ``loops``: the number of while loops in that graph, whose bodies the profiler counts once;
- ``unrolled_flops``, ``unrolled_einsum_flops``: the same for the model with its recurrent layers unrolled, so that
  every trip counts; null if the model has no loop.

Every model is built in a process of its own, one after the other, so the largest model bounds the memory.
"""

import json
import os
import subprocess
import sys

LENGTH = 128
"""Steps of an example, or rows and columns of an image, where the model takes any number."""

APPLICATIONS = (
    "ResNet50 ResNet50V2 ResNet101 VGG16 VGG19 InceptionV3 InceptionResNetV2 Xception MobileNet MobileNetV2"
    " MobileNetV3Small MobileNetV3Large DenseNet121 DenseNet169 NASNetMobile EfficientNetB0 EfficientNetV2B0"
    " ConvNeXtTiny"
).split()


def lstm_classifier(layers, unroll, length):
    """Classify reviews as the Keras guide does: word numbers, an LSTM, a dense layer."""
    words = layers.Input((length or 80,), dtype="int32", name="words")
    top = layers.Embedding(20000, 128)(words)
    top = layers.LSTM(128, unroll=unroll)(top)
    return words, layers.Dense(1, activation="sigmoid")(top)


def gru_stack(layers, unroll, length):
    """Two GRUs over a series of measurements."""
    series = layers.Input((length or 120, 14), name="series")
    top = layers.GRU(64, return_sequences=True, unroll=unroll)(series)
    top = layers.GRU(64, unroll=unroll)(top)
    return series, layers.Dense(1)(top)


def bidirectional_lstm(layers, unroll, length):
    """Two bidirectional LSTMs that tag every word of a text of any length."""
    words = layers.Input((length,), dtype="int32", name="words")
    top = layers.Embedding(20000, 128)(words)
    for _ in range(2):
        top = layers.Bidirectional(layers.LSTM(64, return_sequences=True, unroll=unroll))(top)
    return words, layers.Dense(10, activation="softmax")(top)


def encoder_block(layers, top, heads, width, hidden):
    """One block of a Transformer encoder, normalised after each half."""
    attended = layers.MultiHeadAttention(heads, width // heads)(top, top)
    top = layers.LayerNormalization(epsilon=1e-6)(layers.Add()([top, layers.Dropout(0.1)(attended)]))
    grown = layers.Dense(width)(layers.Dense(hidden, activation="gelu")(top))
    return layers.LayerNormalization(epsilon=1e-6)(layers.Add()([top, layers.Dropout(0.1)(grown)]))


def positions(layers, count, width):
    """A layer that adds a learned vector for each position."""

    class PositionEmbedding(layers.Layer):
        def build(self, shape):
            self.table = self.add_weight(shape=(count, width), name="positions")

        def call(self, top):
            return top + self.table[: top.shape[1]]

    return PositionEmbedding()


def transformer_encoder(layers, unroll, length):
    """Four blocks of self-attention over 128 words."""
    words = layers.Input((length or 128,), dtype="int32", name="words")
    top = positions(layers, 128, 256)(layers.Embedding(20000, 256)(words))
    for _ in range(4):
        top = encoder_block(layers, top, 8, 256, 1024)
    top = layers.GlobalAveragePooling1D()(top)
    return words, layers.Dense(2, activation="softmax")(top)


def attention_classifier(layers, unroll, length):
    """One block of self-attention over a text of any length, padding masked."""
    words = layers.Input((length,), dtype="int32", name="words")
    top = layers.Embedding(20000, 256, mask_zero=True)(words)
    top = encoder_block(layers, top, 8, 256, 1024)
    top = layers.GlobalMaxPooling1D()(top)
    return words, layers.Dense(2, activation="softmax")(top)


def translation(layers, unroll, length):
    """Sequence to sequence: LSTM encoder and decoder with dot-product attention; two inputs."""
    source = layers.Input((length or 40,), dtype="int32", name="source")
    target = layers.Input((length or 40,), dtype="int32", name="target")
    encoded, hidden, cell = layers.LSTM(256, return_sequences=True, return_state=True, unroll=unroll)(
        layers.Embedding(8000, 128)(source)
    )
    decoded = layers.LSTM(256, return_sequences=True, unroll=unroll)(
        layers.Embedding(8000, 128)(target), initial_state=[hidden, cell]
    )
    context = layers.Attention()([decoded, encoded])
    top = layers.Dense(256, activation="tanh")(layers.Concatenate()([decoded, context]))
    return [source, target], layers.Dense(8000)(top)


def vision_transformer(layers, unroll, length):
    """Patches of an image, six blocks of self-attention."""
    images = layers.Input((224, 224, 3), name="images")
    top = layers.Conv2D(192, 16, strides=16)(images)
    top = positions(layers, 196, 192)(layers.Reshape((196, 192))(top))
    for _ in range(6):
        top = encoder_block(layers, top, 3, 192, 768)
    top = layers.GlobalAveragePooling1D()(top)
    return images, layers.Dense(1000, activation="softmax")(top)


def conv_lstm(layers, unroll, length):
    """The next frame of a film, by convolutional LSTMs."""
    frames = layers.Input((length or 10, 40, 40, 1), name="frames")
    top = frames
    for _ in range(2):
        top = layers.ConvLSTM2D(32, 3, padding="same", return_sequences=True, unroll=unroll)(top)
        top = layers.BatchNormalization()(top)
    return frames, layers.Conv3D(1, 3, padding="same", activation="sigmoid")(top)


def video_classifier(layers, unroll, length):
    """A convolutional net for each frame, a GRU over the frames."""
    frames = layers.Input((length or 16, 64, 64, 3), name="frames")
    top = frames
    for channels in (32, 64, 128):
        top = layers.TimeDistributed(layers.Conv2D(channels, 3, padding="same", activation="relu"))(top)
        top = layers.TimeDistributed(layers.MaxPooling2D())(top)
    top = layers.TimeDistributed(layers.GlobalAveragePooling2D())(top)
    top = layers.GRU(64, unroll=unroll)(top)
    return frames, layers.Dense(10, activation="softmax")(top)


def character_model(layers, unroll, length):
    """A language model over characters: a simple recurrent layer and a GRU, for text of any length."""
    text = layers.Input((length,), dtype="int64", name="text")
    top = layers.Embedding(96, 64)(text)
    top = layers.SimpleRNN(128, return_sequences=True, unroll=unroll)(top)
    top = layers.GRU(256, return_sequences=True, unroll=unroll)(top)
    return text, layers.Dense(96)(top)


SEQUENCES = {
    make.__name__: make
    for make in (
        lstm_classifier, gru_stack, bidirectional_lstm, transformer_encoder, attention_classifier, translation,
        vision_transformer, conv_lstm, video_classifier, character_model,
    )
}  # fmt: skip
"""Models with recurrent layers or attention; each makes inputs and outputs from ``layers, unroll, length``."""

MODELS = (*APPLICATIONS, *SEQUENCES)


def build(name, unroll=False, length=None):
    """Build a model; ``length`` replaces an open number of steps, which unrolled layers need to know."""
    import keras

    if name in APPLICATIONS:
        shape = {"input_shape": (224, 224, 3)} if name == "MobileNetV3Small" else {}  # otherwise any size
        return getattr(keras.applications, name)(weights=None, **shape)
    layers = keras.layers
    return keras.Model(*SEQUENCES[name](layers, unroll, length), name=name)


def frozen(model, example):
    """The frozen graph of what the model serves, for a batch of one."""
    import tensorflow as tf
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

    given = [tf.TensorSpec(shape, tensor.dtype) for shape, tensor in zip(example, model.inputs)]
    served = tf.function(lambda *inputs: model(list(inputs) if len(inputs) > 1 else inputs[0]))
    return convert_variables_to_constants_v2(served.get_concrete_function(*given)).graph


def profiled(graph):
    """Floating-point operations of a graph by TensorFlow's profiler, and those of its Einsum nodes."""
    import tensorflow as tf

    options = tf.compat.v1.profiler.ProfileOptionBuilder(
        tf.compat.v1.profiler.ProfileOptionBuilder.float_operation()
    )
    counts = tf.compat.v1.profiler.profile(graph, cmd="op", options=options.with_empty_output().build())
    return int(counts.total_float_ops), sum(
        einsum_flops(op) for op in graph.get_operations() if op.type == "Einsum"
    )


def einsum_flops(op):
    """Two operations for each point of an Einsum's index space; a single operand is only moved or summed."""
    labels = {}
    terms = op.get_attr("equation").decode().partition("->")[0].split(",")
    for term, tensor in zip(terms, op.inputs):
        shape = list(tensor.shape)
        front, dots, back = term.partition("...")
        middle = shape[len(front) : len(shape) - len(back)] if dots else []
        places = [*front, *(("...", at - len(middle)) for at in range(len(middle))), *back]
        labels.update((place, size) for place, size in zip(places, shape) if size != 1 or place not in labels)
    count = 2 if len(terms) > 1 else 0
    for size in labels.values():
        count *= size
    return count


def export(folder, name):
    """Write one model and return its facts."""
    import tensorflow as tf

    model = build(name)
    path = os.path.join(folder, name)
    model.export(path, verbose=False)
    signature = tf.saved_model.load(path).signatures["serving_default"]
    example = [
        [1, *(LENGTH if size is None else size for size in tensor.shape[1:])] for tensor in model.inputs
    ]
    graph = frozen(model, example)
    flops, in_einsums = profiled(graph)
    loops = sum(op.type in ("While", "StatelessWhile", "LoopCond") for op in graph.get_operations())
    unrolled = [None, None]
    if loops:
        whole = build(name, unroll=True, length=LENGTH if None in model.inputs[0].shape[1:] else None)
        unrolled = profiled(frozen(whole, example))
    return {
        "inputs": {key: described(spec) for key, spec in signature.structured_input_signature[1].items()},
        "outputs": {key: described(spec) for key, spec in signature.structured_outputs.items()},
        "parameters": model.count_params(),
        "parameter_bytes": sum(weight.value.dtype.size * weight.value.shape.num_elements() for weight in model.weights),
        "example": dict(zip((tensor.name for tensor in model.inputs), example)),
        "flops": flops,
        "einsum_flops": in_einsums,
        "loops": loops,
        "unrolled_flops": unrolled[0],
        "unrolled_einsum_flops": unrolled[1],
    }  # fmt: skip


def described(spec):
    """Shape and dtype of a tensor."""
    return {"shape": spec.shape.as_list(), "dtype": spec.dtype.name}


def main(folder, names):
    """Export models, each in a process of its own; facts of other models in the file stay."""
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "facts.json")
    facts = {}
    if os.path.exists(path):
        with open(path) as file:
            facts = json.load(file)
    for name in names or MODELS:
        command = [sys.executable, os.path.abspath(__file__), "--one", folder, name]
        answer = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
        facts[name] = json.loads(answer.decode().splitlines()[-1])
        with open(path, "w") as file:
            json.dump(facts, file, indent=1)
        print(name, facts[name]["flops"], facts[name]["unrolled_flops"], flush=True)


if __name__ == "__main__":
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ["KERAS_BACKEND"] = "tensorflow"
    if sys.argv[1] == "--one":
        print(json.dumps(export(*sys.argv[2:])))
    else:
        main(sys.argv[1], sys.argv[2:])
