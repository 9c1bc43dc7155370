"""OverFeat.

Source: tensorflow/contrib/slim/python/slim/nets/overfeat.py, release 1.15; "OverFeat: Integrated Recognition,
Localization and Detection using Convolutional Networks" (Sermanet and others 2014).
"""

from __future__ import annotations

from typing import Any

from gpuplace.graph.operation import Tensor
from gpuplace.ops.variables.init_ops import Constant, Zeros
from gpuplace.ops.variables.variable_scope import variable_scope
from gpuplace.tf1.contrib import convolutions, layers
from gpuplace.tf1.contrib.arg_scope import arg_scope
from gpuplace.tf1.contrib.nets.support import EndPoints, dense_top, model_outputs, normal_init, plain_scope

__all__ = ["overfeat", "overfeat_arg_scope"]


def overfeat_arg_scope(weight_decay: float = 0.0005) -> Any:
    """Return the default arguments of the model's layers.

    Args:
        weight_decay: factor of the weights' L2 regularizer.
    """
    return plain_scope(weight_decay, Zeros(), conv2d="SAME", max_pool2d="VALID")


def overfeat(
    inputs: Tensor,
    num_classes: int = 1000,
    is_training: Any = True,
    dropout_keep_prob: float = 0.5,
    spatial_squeeze: bool = True,
    scope: Any = "overfeat",
) -> tuple[Tensor, EndPoints]:
    """Build the model.

    Args:
        inputs: ``[batch, 231, 231, 3]``.
        num_classes: number of logits.
        is_training: whether to use dropout.
        dropout_keep_prob: probability of keeping an element.
        spatial_squeeze: whether to remove the axes of height and width.
        scope: the variable scope.

    Returns:
        The logits, ``[batch, num_classes]``, and a dict from layer name to output.
    """
    with variable_scope(scope, "overfeat", [inputs]) as opened:
        collection = opened.name + "_end_points"
        collected = [convolutions.conv2d, layers.fully_connected, convolutions.max_pool2d]
        with arg_scope(collected, outputs_collections=collection):
            net = convolutions.conv2d(inputs, 64, [11, 11], 4, padding="VALID", scope="conv1")
            net = convolutions.max_pool2d(net, [2, 2], scope="pool1")
            net = convolutions.conv2d(net, 256, [5, 5], padding="VALID", scope="conv2")
            net = convolutions.max_pool2d(net, [2, 2], scope="pool2")
            for number, depth in ((3, 512), (4, 1024), (5, 1024)):
                net = convolutions.conv2d(net, depth, [3, 3], scope=f"conv{number}")
            net = convolutions.max_pool2d(net, [2, 2], scope="pool5")
            with arg_scope(
                [convolutions.conv2d],
                weights_initializer=normal_init(0.005),
                biases_initializer=Constant(0.1),
            ):
                last = {"biases_initializer": Zeros()}
                net = dense_top(net, (3072, 4096), [6, 6], num_classes, dropout_keep_prob, is_training, last)
            return model_outputs(net, collection, opened, spatial_squeeze)
