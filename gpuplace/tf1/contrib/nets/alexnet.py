"""AlexNet for one GPU.

Source: tensorflow/contrib/slim/python/slim/nets/alexnet.py, release 1.15; "One weird trick for parallelizing
convolutional neural networks" (Krizhevsky 2014).
"""

from __future__ import annotations

from typing import Any

from gpuplace.graph.operation import Tensor
from gpuplace.ops.variables.init_ops import Constant, Zeros
from gpuplace.ops.variables.variable_scope import variable_scope
from gpuplace.tf1.contrib import convolutions, layers
from gpuplace.tf1.contrib.arg_scope import arg_scope
from gpuplace.tf1.contrib.nets.support import EndPoints, dense_top, model_outputs, normal_init, plain_scope

__all__ = ["alexnet_v2", "alexnet_v2_arg_scope"]


def alexnet_v2_arg_scope(weight_decay: float = 0.0005) -> Any:
    """Return the default arguments of the model's layers.

    Args:
        weight_decay: factor of the weights' L2 regularizer.
    """
    return plain_scope(weight_decay, Constant(0.1), conv2d="SAME", max_pool2d="VALID")


def alexnet_v2(
    inputs: Tensor,
    num_classes: int = 1000,
    is_training: Any = True,
    dropout_keep_prob: float = 0.5,
    spatial_squeeze: bool = True,
    scope: Any = "alexnet_v2",
) -> tuple[Tensor, EndPoints]:
    """Build the model.

    Args:
        inputs: ``[batch, 224, 224, 3]``.
        num_classes: number of logits.
        is_training: whether to use dropout.
        dropout_keep_prob: probability of keeping an element.
        spatial_squeeze: whether to remove the axes of height and width.
        scope: the variable scope.

    Returns:
        The logits, ``[batch, num_classes]``, and a dict from layer name to output.
    """
    with variable_scope(scope, "alexnet_v2", [inputs]) as opened:
        collection = opened.original_name_scope + "_end_points"
        collected = [convolutions.conv2d, layers.fully_connected, convolutions.max_pool2d]
        with arg_scope(collected, outputs_collections=[collection]):
            net = convolutions.conv2d(inputs, 64, [11, 11], 4, padding="VALID", scope="conv1")
            net = convolutions.max_pool2d(net, [3, 3], 2, scope="pool1")
            net = convolutions.conv2d(net, 192, [5, 5], scope="conv2")
            net = convolutions.max_pool2d(net, [3, 3], 2, scope="pool2")
            for number, depth in ((3, 384), (4, 384), (5, 256)):
                net = convolutions.conv2d(net, depth, [3, 3], scope=f"conv{number}")
            net = convolutions.max_pool2d(net, [3, 3], 2, scope="pool5")
            with arg_scope(
                [convolutions.conv2d],
                weights_initializer=normal_init(0.005),
                biases_initializer=Constant(0.1),
            ):
                last = {"biases_initializer": Zeros()}
                net = dense_top(net, (4096, 4096), [5, 5], num_classes, dropout_keep_prob, is_training, last)
            return model_outputs(net, collection, opened, spatial_squeeze)


alexnet_v2.default_image_size = 224  # type: ignore[attr-defined]
