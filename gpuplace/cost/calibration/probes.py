"""Probes: steps that run to measure a machine, small graphs of many kinds, most of them with training.

>>> [probe.name for probe in PROBES][:3]
['small layers', 'wide layers', 'convolutions']
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.convert import convert_to_tensor, get_default_graph
from gpuplace.graph.graph import Graph
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.ops.array.constant import one_hot, placeholder
from gpuplace.ops.array.distinct import unique
from gpuplace.ops.array.gather import gather
from gpuplace.ops.array.joining import concat, split, stack, unstack
from gpuplace.ops.array.padding import pad
from gpuplace.ops.array.positions import argmax
from gpuplace.ops.array.reshaping import reshape, transpose
from gpuplace.ops.array.slicing import slice as slice_of
from gpuplace.ops.flow.while_loops import while_loop
from gpuplace.ops.gradients.indexed_slices import unsorted_segment_sum
from gpuplace.ops.math.cast import cast
from gpuplace.ops.math.elementwise import add_n, maximum, minimum
from gpuplace.ops.math.elementwise import pow as power
from gpuplace.ops.math.matrix import matmul
from gpuplace.ops.math.reduction import reduce_max, reduce_mean, reduce_sum
from gpuplace.ops.math.trigonometry import sigmoid, tanh
from gpuplace.ops.math.unary import abs as absolute
from gpuplace.ops.math.unary import exp, log, log1p, negative, rsqrt, sqrt, square
from gpuplace.ops.nn.activation import elu, log_softmax, relu, relu6, selu, softmax, softplus, softsign
from gpuplace.ops.nn.conv import conv2d
from gpuplace.ops.nn.depthwise import depthwise_conv2d
from gpuplace.ops.nn.entropy import (
    sigmoid_cross_entropy_with_logits,
    sparse_softmax_cross_entropy_with_logits,
)
from gpuplace.ops.nn.misc import dropout
from gpuplace.ops.nn.norm import fused_batch_norm, local_response_normalization
from gpuplace.ops.nn.pool import avg_pool, max_pool
from gpuplace.ops.random.random_ops import random_normal, random_uniform, truncated_normal
from gpuplace.ops.train.adagrad import AdagradOptimizer
from gpuplace.ops.train.adam import AdamOptimizer
from gpuplace.ops.train.gradient_descent import GradientDescentOptimizer
from gpuplace.ops.train.momentum import MomentumOptimizer
from gpuplace.ops.train.optimizer import Optimizer
from gpuplace.ops.train.rmsprop import RMSPropOptimizer
from gpuplace.ops.variables.initialization import global_variables_initializer
from gpuplace.ops.variables.state import scatter_add
from gpuplace.ops.variables.variables import Variable
from gpuplace.typing import Array

_CHAIN, _FAN, _FEEDS = 200, 60, 20
_BELOW = "below"
"""Collection with the names of fed integers, and their exclusive upper bounds."""
_SIZES = (
    (1, 1024, 1024),
    (16, 256, 1024),
    (64, 10, 784),
    (32, 32, 32),
    (40, 300, 50),
    (128, 128, 128),
    (500, 64, 64),
    (1000, 20, 50),
    (200, 400, 150),
    (256, 256, 256),
    (512, 512, 512),
    (64, 2048, 512),
    (8, 2048, 3072),
    (160, 1280, 960),
)
"""Rows, columns and sum lengths of matrix products."""
_SMALL_SIZES = (
    (1, 48, 96),
    (1, 256, 256),
    (3, 20, 16),
    (6, 96, 160),
    (24, 100, 12),
    (40, 64, 40),
    (80, 24, 200),
)
"""The same for products whose operands stay in the caches from one step to the next."""


class Probe(NamedTuple):
    """A graph whose run times calibrate the kernels or the executor."""

    name: str
    """Description."""
    build: Callable[[], Sequence[Tensor | Operation]]
    """Function that builds the graph in the default one, and returns the fetches."""
    has_kernels: bool = True
    """Whether its kernels are used for the fit; otherwise only the whole step is."""


class BuiltProbe(NamedTuple):
    """A probe with its graph."""

    name: str
    """Description."""
    graph: Graph
    """The graph."""
    fetches: tuple[str, ...]
    """Names of the fetches."""
    initializer: str
    """Name of the operation that runs before the first step."""
    feeds: Mapping[str, Array]
    """Names of placeholders to their feeds."""
    has_kernels: bool
    """Whether its kernels are used for the fit; see `Probe`."""


def build(probe: Probe) -> BuiltProbe:
    """Build the graph of a probe; feeds are reproducible, between 0.1 and 1.1, or integers.

    Args:
        probe: the probe.
    """
    graph = Graph()
    numbers = np.random.default_rng(14)
    with graph.as_default():
        fetches = tuple(fetch.name for fetch in probe.build())
        initializer = global_variables_initializer()
    feeds, below = {}, dict(graph.get_collection(_BELOW))
    for operation in graph.get_operations():
        if operation.type == "Placeholder":
            tensor = operation.outputs[0]
            sizes = [size or 1 for size in tensor.shape.sizes or ()]
            feeds[tensor.name] = (
                numbers.integers(0, below[tensor.name], sizes).astype(np.int32)
                if tensor.dtype.is_integer
                else (numbers.random(sizes) + 0.1).astype(np.float32)
            )
    return BuiltProbe(probe.name, graph, fetches, initializer.name, feeds, probe.has_kernels)


def _fed(*sizes: int) -> Tensor:
    return placeholder("float32", sizes)


def _summed(tensors: Sequence[Tensor]) -> list[Any]:
    """Return a scalar that depends on all tensors."""
    return [add_n([reduce_sum(cast(tensor, "float32")) for tensor in tensors])]


def _indices(below: int, *sizes: int) -> Tensor:
    """Return a placeholder for integers below a bound."""
    indices = placeholder("int32", sizes)
    get_default_graph().add_to_collection(_BELOW, (indices.name, below))
    return indices


def _weights(*sizes: int) -> Variable:
    return Variable(random_uniform(sizes, -0.1, 0.1, seed=14))


def _numbers(*sizes: int) -> Tensor:
    """Return a variable's value as kernel input: fed values would have to be copied, and constants would be folded."""
    return _weights(*sizes).read_value()


def _dense(x: Tensor, units: int) -> Tensor:
    return apply_op(
        "BiasAdd", value=matmul(x, _weights(int(x.shape[-1]), units)), bias=_weights(units)
    ).outputs[0]


def _trained(loss: Tensor, optimizer: Optimizer | None = None) -> list[Any]:
    return [(optimizer or GradientDescentOptimizer(1e-4)).minimize(loss), loss]


def _entropy(logits: Tensor) -> Tensor:
    labels = _indices(int(logits.shape[1]), int(logits.shape[0]))
    return reduce_mean(sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))


def _layers(
    batch: int, width: int, depth: int, activate: Callable[..., Tensor], optimizer: Optimizer | None = None
) -> list[Any]:
    out = _fed(batch, width)
    for _ in range(depth):
        out = activate(_dense(out, width))
    return _trained(_entropy(_dense(out, 20)), optimizer)


def _convolutions(batch: int, size: int, channels: int, depth: int, window: int = 3) -> list[Any]:
    out = _fed(batch, size, size, 3)
    for layer in range(depth):
        filters = _weights(window, window, 3 if not layer else channels, channels)
        out = conv2d(out, filters, strides=[1, 1, 1, 1], padding="SAME")
        out = relu(fused_batch_norm(out, _weights(channels), _weights(channels))[0])
        if layer == 0:
            out = max_pool(out, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    return _trained(
        reduce_sum(avg_pool(out, [1, 2, 2, 1], [1, 2, 2, 1], "VALID")), MomentumOptimizer(1e-6, 0.9)
    )


def _biased_convolutions() -> list[Any]:
    out = _fed(6, 40, 40, 3)
    for channels, stride in ((24, 2), (48, 1), (72, 2)):
        filters = _weights(5 if stride == 2 else 3, 5 if stride == 2 else 3, int(out.shape[-1]), channels)
        out = conv2d(out, filters, strides=[1, stride, stride, 1], padding="VALID")
        out = relu(apply_op("BiasAdd", value=out, bias=_weights(channels)).outputs[0])
    out = max_pool(out, [1, 3, 3, 1], [1, 2, 2, 1], "VALID")
    return _trained(_entropy(_dense(reshape(out, [6, -1]), 30)), AdamOptimizer(1e-4))


def _joined_branches() -> list[Any]:
    """Convolutions of several widths side by side, with concatenated channels."""
    top = _fed(4, 24, 24, 72)
    for width in (24, 40):

        def convolved(x: Tensor, size: int, channels: int) -> Tensor:
            filters = _weights(size, size, int(x.shape[-1]), channels)
            return relu(conv2d(x, filters, strides=[1, 1, 1, 1], padding="SAME"))

        around = max_pool(top, [1, 3, 3, 1], [1, 1, 1, 1], "SAME")
        narrow = convolved(top, 1, width // 2)
        parts = [convolved(top, 1, width), convolved(narrow, 3, 2 * width), convolved(around, 1, width)]
        top = concat(parts, 3)
    return _trained(reduce_sum(square(top)), MomentumOptimizer(1e-6, 0.9))


def _large_images() -> list[Any]:
    """First layers of a model for photographs: large strided windows and a pool, until few pixels are left."""
    out = _fed(6, 120, 120, 3)
    for channels, size, stride in ((40, 7, 2), (96, 5, 1)):
        filters = _weights(size, size, int(out.shape[-1]), channels)
        out = relu(conv2d(out, filters, strides=[1, stride, stride, 1], padding="SAME"))
        out = max_pool(out, [1, 3, 3, 1], [1, 2, 2, 1], "SAME")
    return _trained(reduce_sum(out), MomentumOptimizer(1e-6, 0.9))


def _small_images() -> list[Any]:
    """First layers of a model for small images: many pixels with few channels, then a quarter as many with more."""
    out = _fed(10, 36, 36, 3)
    for channels, stride in ((16, 1), (16, 1), (48, 2), (48, 1)):
        filters = _weights(3, 3, int(out.shape[-1]), channels)
        out = conv2d(out, filters, strides=[1, stride, stride, 1], padding="SAME")
        out = relu(fused_batch_norm(out, _weights(channels), _weights(channels))[0])
    return _trained(reduce_sum(out), MomentumOptimizer(1e-6, 0.9))


def _late_layers() -> list[Any]:
    """Last layers of a model for photographs: few pixels with many channels."""
    out = _fed(4, 12, 12, 224)
    for channels in (288, 240):
        filters = _weights(3, 3, int(out.shape[-1]), channels)
        out = relu(conv2d(out, filters, strides=[1, 1, 1, 1], padding="SAME"))
    return _trained(reduce_sum(out), MomentumOptimizer(1e-6, 0.9))


def _elementwise(count: int) -> list[Any]:
    x, y = _numbers(count) + 1.0, _numbers(count) + 2.0
    first = [x + y, x * y, x - y, x / (y + 3.0), relu(x), tanh(x), sigmoid(x), exp(x * 0.1), sqrt(x * x)]
    return _summed([*first, reduce_mean(apply_op("Maximum", x=x, y=y).outputs[0])])


def _broadcasts() -> list[Any]:
    rows, row, column = _numbers(300, 400), _numbers(400), _numbers(300, 1)
    sums = [reduce_sum(rows, 0), reduce_sum(rows, 1), reduce_max(rows, 1), reduce_mean(rows, 0)]
    return _summed([rows + row, rows * column, rows - row, row + column, *sums])


def _products(sizes: Sequence[tuple[int, int, int]]) -> list[Any]:
    return _summed([matmul(_weights(m, k), _weights(k, n)) for m, n, k in sizes])


def _inference_layers(batch: int, width: int, depth: int) -> list[Any]:
    """Layers without training."""
    out = _fed(batch, width)
    for _ in range(depth):
        out = relu(_dense(out, width))
    return [softmax(_dense(out, 12))]


def _activations(*sizes: int) -> list[Any]:
    """Activation functions with their gradients."""
    x, labels = _weights(*sizes).read_value(), _fed(*sizes)
    near = [
        elu(x),
        selu(x),
        softplus(x),
        softsign(x),
        absolute(x),
        relu6(x * 8.0),
        log_softmax(x),
        softmax(x),
    ]
    above = [
        log(labels + square(x)),
        rsqrt(labels + square(x)),
        power(square(x) + 0.5, 1.5),
        exp(negative(x)),
    ]
    chosen = [maximum(x, labels - 0.5), minimum(x, labels), x / (labels + 1.0), log1p(square(x))]
    rates = sigmoid_cross_entropy_with_logits(labels=labels, logits=x)
    return _trained(reduce_mean(add_n([*near, *above, *chosen, rates])))


def _random_numbers(*sizes: int) -> list[Any]:
    """Random number generators."""
    drawn = [random_normal(sizes, seed=14), random_uniform(sizes, seed=15), truncated_normal(sizes, seed=16)]
    return _summed([*drawn, dropout(_weights(*sizes), 0.5, seed=17)])


def _rows_changed(words: int, width: int, count: int) -> list[Any]:
    """Rows of a table, summed over equal indices, and updated in the ways of optimizers."""
    table, places = _weights(words, width), _indices(words, count)
    squares = Variable(random_uniform([words, width], 0.1, 1.0, seed=14))
    segment_ids = unique(places)[1]
    sums = unsorted_segment_sum(gather(table, places), segment_ids, count)
    rows: dict[str, Any] = {"indices": places, "grad": sums}
    rate = convert_to_tensor(1e-6)
    table_ref, squares_ref = (convert_to_tensor(one, as_ref=True) for one in (table, squares))
    changed = [
        apply_op("SparseApplyAdagrad", var=table_ref, accum=squares_ref, lr=rate, **rows),
        apply_op("SparseApplyMomentum", var=table_ref, accum=squares_ref, lr=rate, momentum=rate, **rows),
        scatter_add(squares, places, square(sums)).op,
    ]
    return [reduce_mean(sums), *changed]


def _other_windows() -> list[Any]:
    images = _fed(4, 32, 32, 24)
    apart = relu6(depthwise_conv2d(images, _weights(3, 3, 24, 1), [1, 1, 1, 1], "SAME"))
    mixed = conv2d(apart, _weights(1, 1, 24, 48), [1, 2, 2, 1], "SAME")
    biased = apply_op("BiasAdd", value=mixed, bias=_weights(48)).outputs[0]
    out = local_response_normalization(avg_pool(biased, [1, 2, 2, 1], [1, 2, 2, 1], "SAME"))
    return _trained(_entropy(_dense(reduce_max(out, [1, 2]), 12)), MomentumOptimizer(1e-4, 0.9))


def _gated() -> list[Any]:
    inputs, units = _fed(8, 12, 40), 40
    gates, change = _weights(2 * units, 2 * units), _weights(2 * units, units)
    hidden = inputs[0] * 0.0
    for now in unstack(inputs):
        both = apply_op("BiasAdd", value=matmul(concat([now, hidden], 1), gates), bias=_weights(2 * units))
        keep, take = split(sigmoid(both.outputs[0]), 2, 1)
        new = tanh(matmul(concat([now, take * hidden], 1), change))
        hidden = keep * hidden + (1.0 - keep) * new
    return _trained(reduce_mean(square(hidden)), AdagradOptimizer(1e-4))


def _short_loop() -> list[Any]:
    weights = _weights(24, 24)

    def body(count: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        return count + 1, tanh(matmul(state, weights)) * 0.5

    return [while_loop(lambda count, state: count < 60, body, [0, _fed(6, 24)])[1]]


def _memory_bound() -> list[Any]:
    hidden = relu(_dense(_fed(8, 3072), 2048))
    rates = _dense(hidden, 1024)
    first, second = _entropy(_dense(rates, 30)), reduce_mean(square(_dense(hidden, 800)))
    return [*_trained(first, MomentumOptimizer(1e-4, 0.9)), *_trained(second, AdamOptimizer(1e-4))]


def _unrolled() -> list[Any]:
    inputs, units = _fed(12, 24, 48), 48
    kernel, bias = _weights(2 * units, 4 * units), _weights(4 * units)
    hidden = cell = inputs[0] * 0.0
    for now in unstack(inputs):
        gates = matmul(concat([now, hidden], 1), kernel) + bias
        start, new, forget, out = split(gates, 4, 1)
        cell = cell * sigmoid(forget + 1.0) + sigmoid(start) * tanh(new)
        hidden = tanh(cell) * sigmoid(out)
    return _trained(reduce_sum(square(hidden)))


def _loop() -> list[Any]:
    start, weights = _fed(16, 64), _weights(64, 64)

    def body(count: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        return count + 1, tanh(matmul(state, weights))

    _, last = while_loop(lambda count, state: count < 20, body, [0, start])
    return _trained(reduce_sum(square(last)))


def _embedding(words: int, width: int, *sizes: int) -> list[Any]:
    rows = gather(_weights(words, width), _indices(words, *sizes))
    return _trained(_entropy(_dense(reduce_mean(rows, 1), 15)))


def _attention(batch: int, length: int, width: int, heads: int) -> list[Any]:
    x = _fed(batch * length, width)

    def headed(rows: Tensor) -> Tensor:
        return transpose(reshape(rows, [batch, length, heads, width // heads]), [0, 2, 1, 3])

    query, key, value = (headed(_dense(x, width)) for _ in range(3))
    mixed = matmul(softmax(matmul(query, key, transpose_b=True) * 0.25), value)
    joined = _dense(reshape(transpose(mixed, [0, 2, 1, 3]), [batch * length, width]), width) + x
    centerd = joined - reduce_mean(joined, 1, keepdims=True)
    normal = centerd / sqrt(reduce_mean(square(centerd), 1, keepdims=True) + 1e-6)
    return _trained(_entropy(_dense(relu(_dense(normal, 4 * width)), 50)), AdamOptimizer(1e-4))


def _rearranged() -> list[Any]:
    x, indices = _numbers(64, 32, 16), _indices(50, 256)
    moved = [transpose(x, [2, 0, 1]), concat([x, x], 2), stack([x, x]), pad(x, [[0, 0], [1, 1], [2, 2]])]
    parts = [slice_of(x, [8, 0, 0], [32, 32, 8]), x[:, ::2], *split(x, 4, 1)]
    return _summed([*moved, *parts, one_hot(indices, 50), argmax(x, 2)])


def _chain() -> list[Any]:
    out, factor = _fed(4), _fed(4)
    for _ in range(_CHAIN):
        out = square(out) * factor  # without the product, TensorFlow would fuse the unary functions
    return [out]


def _fan() -> list[Any]:
    first = tanh(_fed(8))
    return [add_n([sigmoid(first * (number + 2.0)) for number in range(_FAN)])]


def _many_fed() -> list[Any]:
    return [add_n([_fed(16) for _ in range(_FEEDS)])]


PROBES = (
    Probe("small layers", lambda: _layers(32, 96, 4, relu)),
    Probe("wide layers", lambda: _layers(128, 512, 3, tanh, MomentumOptimizer(1e-4, 0.9))),
    Probe("convolutions", lambda: _convolutions(8, 32, 16, 3)),
    Probe("wide convolutions", lambda: _convolutions(4, 28, 64, 2)),
    Probe("small windows", lambda: _convolutions(8, 24, 96, 3, window=1)),
    Probe("large windows", lambda: _convolutions(4, 20, 24, 3, window=5)),
    Probe("many channels", lambda: _convolutions(2, 40, 128, 2)),
    Probe("convolutions with biases", _biased_convolutions),
    Probe("joined branches", _joined_branches),
    Probe("small images", _small_images),
    Probe("large images", _large_images),
    Probe("few pixels of many channels", _late_layers),
    Probe("few numbers", lambda: _elementwise(1_000)),
    Probe("many numbers", lambda: _elementwise(100_000)),
    Probe("a great many numbers", lambda: _elementwise(2_000_000)),
    Probe("rows and columns", _broadcasts),
    Probe("products", lambda: _products(_SIZES)),
    Probe("small products", lambda: _products(_SMALL_SIZES)),
    Probe("inference layers", lambda: _inference_layers(2, 160, 6)),
    Probe("functions of few numbers", lambda: _activations(12, 25)),
    Probe("functions of many numbers", lambda: _activations(150, 400)),
    Probe("few random numbers", lambda: _random_numbers(24, 20)),
    Probe("many random numbers", lambda: _random_numbers(500, 300)),
    Probe("many weights", _memory_bound),
    Probe("more weights than caches hold", lambda: _layers(12, 4096, 1, relu, MomentumOptimizer(1e-4, 0.9))),
    Probe("very wide layers", lambda: _layers(96, 896, 2, relu, AdamOptimizer(1e-4))),
    Probe("narrow layers with Adam", lambda: _layers(48, 40, 3, relu, AdamOptimizer(1e-4))),
    Probe("more layers with Adam", lambda: _layers(24, 112, 3, relu, AdamOptimizer(1e-4))),
    Probe("layers with Adam", lambda: _layers(64, 384, 3, sigmoid, AdamOptimizer(1e-4))),
    Probe("recurrent", _unrolled),
    Probe("a loop", _loop),
    Probe("rows of a table", lambda: _embedding(5_000, 32, 48, 12)),
    Probe("rows of a large table", lambda: _embedding(30_000, 96, 24, 6)),
    Probe("rows of a small table", lambda: _embedding(400, 16, 150, 20)),
    Probe("wide rows of a table", lambda: _embedding(6_000, 128, 40, 12)),
    Probe("more wide rows of a table", lambda: _embedding(4_000, 96, 64, 16)),
    Probe("a great many rows of a table", lambda: _embedding(2_000, 24, 160, 20)),
    Probe("few rows changed", lambda: _rows_changed(600, 12, 40)),
    Probe("rows changed", lambda: _rows_changed(3_000, 24, 150)),
    Probe("many rows changed", lambda: _rows_changed(8_000, 48, 500)),
    Probe("layers with RMSProp", lambda: _layers(40, 72, 2, relu, RMSPropOptimizer(1e-5))),
    Probe("wide layers with RMSProp", lambda: _layers(48, 320, 2, elu, RMSPropOptimizer(1e-5))),
    Probe("wide layers with Adagrad", lambda: _layers(24, 280, 2, relu, AdagradOptimizer(1e-4))),
    Probe("other windows", _other_windows),
    Probe("gates", _gated),
    Probe("a loop without gradients", _short_loop),
    Probe("attention", lambda: _attention(4, 48, 96, 4)),
    Probe("longer attention", lambda: _attention(2, 100, 160, 2)),
    Probe("attention of whole vectors", lambda: _attention(3, 96, 128, 2)),
    Probe("rearranged", _rearranged),
    Probe("a chain", _chain),
    Probe("a fan", _fan, has_kernels=False),
    Probe("many fed", _many_fed, has_kernels=False),
    Probe("nothing", lambda: [tanh(_fed(4))], has_kernels=False),
)
"""All probes: training steps, elementwise ops, products and data movement, of several sizes."""
