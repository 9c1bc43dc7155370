"""Residual networks, version 2: a unit normalizes its inputs, and its sum has no activation.

Source: tensorflow/contrib/slim/python/slim/nets/resnet_v2.py, release 1.15; "Identity Mappings in Deep Residual
Networks" (He and others 2016).
"""

from __future__ import annotations

from typing import Any

from gpuplace.graph.operation import Tensor
from gpuplace.ops.nn.activation import relu
from gpuplace.ops.variables.variable_scope import variable_scope
from gpuplace.ops.variants import variant_of
from gpuplace.tf1.contrib import convolutions, normalization
from gpuplace.tf1.contrib.arg_scope import add_arg_scope
from gpuplace.tf1.contrib.nets import resnet_utils
from gpuplace.tf1.contrib.nets.resnet_utils import Block, resnet_arg_scope
from gpuplace.tf1.contrib.utils import collect_named_outputs, last_dimension

__all__ = [
    "bottleneck", "resnet_arg_scope", "resnet_v2", "resnet_v2_101", "resnet_v2_152", "resnet_v2_200", "resnet_v2_50",
    "resnet_v2_block",
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
    plain: dict[str, Any] = {"normalizer_fn": None, "activation_fn": None}
    with variable_scope(scope, "bottleneck_v2", [inputs]) as opened:
        keeps_depth = depth == last_dimension(inputs.shape, min_rank=4)
        normalized = normalization.batch_norm(inputs, activation_fn=relu, scope="preact")
        if keeps_depth:
            shortcut = resnet_utils.subsample(inputs, stride, "shortcut")
        else:
            shortcut = convolutions.conv2d(
                normalized, depth, [1, 1], stride=stride, scope="shortcut", **plain
            )
        residual = convolutions.conv2d(normalized, depth_bottleneck, [1, 1], stride=1, scope="conv1")
        residual = resnet_utils.conv2d_same(residual, depth_bottleneck, 3, stride, rate=rate, scope="conv2")
        residual = convolutions.conv2d(residual, depth, [1, 1], stride=1, scope="conv3", **plain)
        return collect_named_outputs(outputs_collections, opened.name, shortcut + residual)


@variant_of(resnet_utils.resnet, version="resnet_v2", unit_fn=bottleneck)
def resnet_v2() -> None:
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


resnet_v2.default_image_size = 224  # type: ignore[attr-defined]


def resnet_v2_block(scope: str, base_depth: int, num_units: int, stride: int) -> Block:
    """Return a block of units with the same depth, of which the last has the stride.

    Args:
        scope: the block's variable scope.
        base_depth: number of inner channels of the units; they output four times as many.
        num_units: number of units.
        stride: stride of the last unit.
    """
    return resnet_utils.block(bottleneck, scope, base_depth, num_units, stride)


resnet_v2_50 = resnet_utils.model_function(resnet_v2, bottleneck, "resnet_v2_50", (3, 4, 6, 3))
resnet_v2_101 = resnet_utils.model_function(resnet_v2, bottleneck, "resnet_v2_101", (3, 4, 23, 3))
resnet_v2_152 = resnet_utils.model_function(resnet_v2, bottleneck, "resnet_v2_152", (3, 8, 36, 3))
resnet_v2_200 = resnet_utils.model_function(resnet_v2, bottleneck, "resnet_v2_200", (3, 24, 36, 3))
