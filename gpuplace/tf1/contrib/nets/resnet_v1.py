"""Residual networks, version 1: convolutions are normalized, and a unit's sum passes through ReLU.

Source: tensorflow/contrib/slim/python/slim/nets/resnet_v1.py, release 1.15; "Deep Residual Learning for Image
Recognition" (He and others 2015).
"""

from __future__ import annotations

from typing import Any

from gpuplace.graph.operation import Tensor
from gpuplace.ops.nn.activation import relu
from gpuplace.ops.variables.variable_scope import variable_scope
from gpuplace.ops.variants import variant_of
from gpuplace.tf1.contrib import convolutions
from gpuplace.tf1.contrib.arg_scope import add_arg_scope
from gpuplace.tf1.contrib.nets import resnet_utils
from gpuplace.tf1.contrib.nets.resnet_utils import Block, resnet_arg_scope
from gpuplace.tf1.contrib.utils import collect_named_outputs, last_dimension

__all__ = [
    "bottleneck", "resnet_arg_scope", "resnet_v1", "resnet_v1_101", "resnet_v1_152", "resnet_v1_200", "resnet_v1_50",
    "resnet_v1_block",
]  # fmt: skip


@add_arg_scope
def bottleneck(
    inputs: Tensor,
    depth: int,
    depth_bottleneck: int,
    stride: int,
    rate: int = 1,
    outputs_collections: Any = None,
    scope: Any = None,
) -> Tensor:
    """Return a residual unit: the sum of the images and three convolutions of them.

    Args:
        inputs: ``[batch, height, width, channels]``.
        depth: number of output channels.
        depth_bottleneck: number of inner channels.
        stride: stride of the unit.
        rate: dilation rate.
        outputs_collections: collections of the output.
        scope: the variable scope.
    """
    with variable_scope(scope, "bottleneck_v1", [inputs]) as opened:
        if depth == last_dimension(inputs.shape, min_rank=4):
            shortcut = resnet_utils.subsample(inputs, stride, "shortcut")
        else:
            shortcut = convolutions.conv2d(
                inputs, depth, [1, 1], stride=stride, activation_fn=None, scope="shortcut"
            )
        residual = convolutions.conv2d(inputs, depth_bottleneck, [1, 1], stride=1, scope="conv1")
        residual = resnet_utils.conv2d_same(residual, depth_bottleneck, 3, stride, rate=rate, scope="conv2")
        residual = convolutions.conv2d(residual, depth, [1, 1], stride=1, activation_fn=None, scope="conv3")
        return collect_named_outputs(outputs_collections, opened.name, relu(shortcut + residual))


@variant_of(resnet_utils.resnet, version="resnet_v1", unit_fn=bottleneck)
def resnet_v1() -> None:
    """Build a model from blocks.

    Args:
        inputs: ``[batch, height, width, channels]``.
        blocks: the blocks.
        num_classes: number of logits; None: return the features before them.
        is_training: whether to normalize batches by their own mean and variance.
        global_pool: whether to average over the whole image.
        output_stride: maximum reduction of the image size; None: that of the strides.
        include_root_block: whether to start with a convolution and pooling, each of stride 2.
        reuse: whether to reuse the variables of the scope.
        scope: the variable scope.

    Returns:
        The logits, ``[batch, height, width, num_classes]``, and a dict from layer name to output.

    Raises:
        ValueError: the strides cannot reach ``output_stride``.
    """


resnet_v1.default_image_size = 224  # type: ignore[attr-defined]


def resnet_v1_block(scope: str, base_depth: int, num_units: int, stride: int) -> Block:
    """Return a block of units with the same depth, of which the last has the stride.

    Args:
        scope: the block's variable scope.
        base_depth: number of inner channels of the units; they output four times as many.
        num_units: number of units.
        stride: stride of the last unit.
    """
    return resnet_utils.block(bottleneck, scope, base_depth, num_units, stride)


resnet_v1_50 = resnet_utils.model_function(resnet_v1, bottleneck, "resnet_v1_50", (3, 4, 6, 3))
resnet_v1_101 = resnet_utils.model_function(resnet_v1, bottleneck, "resnet_v1_101", (3, 4, 23, 3))
resnet_v1_152 = resnet_utils.model_function(resnet_v1, bottleneck, "resnet_v1_152", (3, 8, 36, 3))
resnet_v1_200 = resnet_utils.model_function(resnet_v1, bottleneck, "resnet_v1_200", (3, 24, 36, 3))
