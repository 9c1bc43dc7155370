"""``tensorflow.examples.tutorials.mnist.mnist``: the tutorial's MNIST model with two hidden layers, in four functions.

Source: tensorflow/examples/tutorials/mnist/mnist.py, release 1.13 (names, scopes, ops).
"""

from __future__ import annotations

import math
from typing import Any

from gpuplace.dtypes import int32, int64
from gpuplace.graph.convert import name_scope
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.ops import losses, summaries
from gpuplace.ops.array.constant import zeros
from gpuplace.ops.math.cast import cast
from gpuplace.ops.math.matrix import matmul
from gpuplace.ops.math.reduction import reduce_sum
from gpuplace.ops.nn.activation import relu
from gpuplace.ops.nn.misc import in_top_k
from gpuplace.ops.random.random_ops import truncated_normal
from gpuplace.ops.train.gradient_descent import GradientDescentOptimizer
from gpuplace.ops.variables.variables import Variable
from gpuplace.typing import TensorLike

__all__ = ["IMAGE_PIXELS", "IMAGE_SIZE", "NUM_CLASSES", "evaluation", "inference", "loss", "training"]

NUM_CLASSES = 10
"""Number of digits."""
IMAGE_SIZE = 28
"""Image height and width in pixels."""
IMAGE_PIXELS = IMAGE_SIZE * IMAGE_SIZE
"""Number of pixels in an image."""


def _dense(inputs: TensorLike, columns: int, units: int) -> Any:
    drawn = truncated_normal([columns, units], stddev=1.0 / math.sqrt(float(columns)))
    weights = Variable(drawn, name="weights")
    biases = Variable(zeros([units]), name="biases")
    product: Any = matmul(inputs, weights)
    return product + biases


def inference(images: TensorLike, hidden1_units: int, hidden2_units: int) -> Tensor:
    """Build the network.

    Args:
        images: ``[batch, IMAGE_PIXELS]``.
        hidden1_units: size of the first hidden layer.
        hidden2_units: size of the second.

    Returns:
        The logits, ``[batch, NUM_CLASSES]``.
    """
    with name_scope("hidden1"):
        hidden = relu(_dense(images, IMAGE_PIXELS, hidden1_units))
    with name_scope("hidden2"):
        hidden = relu(_dense(hidden, hidden1_units, hidden2_units))
    with name_scope("softmax_linear"):
        logits: Tensor = _dense(hidden, hidden2_units, NUM_CLASSES)
    return logits


def loss(logits: Tensor, labels: TensorLike) -> Tensor:
    """Return the mean cross entropy.

    Args:
        logits: the result of ``inference``.
        labels: the true classes, integers ``[batch]``.

    Returns:
        A scalar.
    """
    return losses.sparse_softmax_cross_entropy(labels=cast(labels, int64), logits=logits)


def training(loss: Tensor, learning_rate: TensorLike) -> Operation:
    """Return the gradient descent op, and add a summary of the loss.

    Args:
        loss: a scalar.
        learning_rate: a number or a scalar tensor.

    Returns:
        The op, which also increments a variable ``global_step``.
    """
    summaries.scalar("loss", loss)
    optimizer = GradientDescentOptimizer(learning_rate)
    return optimizer.minimize(loss, global_step=Variable(0, name="global_step", trainable=False))


def evaluation(logits: Tensor, labels: TensorLike) -> Tensor:
    """Return the number of correct predictions in a batch.

    Args:
        logits: the result of ``inference``.
        labels: the true classes, integers ``[batch]``.

    Returns:
        An int32 scalar.
    """
    return reduce_sum(cast(in_top_k(logits, labels, 1), int32))
