"""Residual nets, version 2: what comes into a unit is normalized, and its sum stays as it is.

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
    """A unit: the images, and what three convolutions make of them, added.

    Args:
        inputs: ``[batch, height, width, channels]``.
        depth: channels of what it gives.
        depth_bottleneck: channels inside.
        stride: by how much the images get smaller.
        rate: how far apart the elements of the window are.
        outputs_collections: where the output is collected.
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
    """A net of given blocks.

    Args:
        inputs: ``[batch, height, width, channels]``.
        blocks: the blocks.
        num_classes: how many logits; None: the features before them.
        is_training: whether batches are normalized by their own mean and variance.
        global_pool: take the mean of the whole image.
        output_stride: by how much the images get smaller at most; None: the strides decide.
        include_root_block: begin with a convolution and pooling, each of stride 2.
        reuse: share the variables of the scope.
        scope: the variable scope.

    Returns:
        The logits, ``[batch, height, width, num_classes]``, and name to output of each layer.

    Raises:
        ValueError: the strides do not give ``output_stride``.
    """


resnet_v2.default_image_size = 224  # type: ignore[attr-defined]


def resnet_v2_block(scope: str, base_depth: int, num_units: int, stride: int) -> Block:
    """Units of one depth, of which the last has the stride.

    Args:
        scope: the block's variable scope.
        base_depth: channels inside of the units; they give four times as many.
        num_units: how many.
        stride: of the last.
    """
    return resnet_utils.block(bottleneck, scope, base_depth, num_units, stride)


resnet_v2_50 = resnet_utils.net_of(resnet_v2, bottleneck, "resnet_v2_50", (3, 4, 6, 3))
resnet_v2_101 = resnet_utils.net_of(resnet_v2, bottleneck, "resnet_v2_101", (3, 4, 23, 3))
resnet_v2_152 = resnet_utils.net_of(resnet_v2, bottleneck, "resnet_v2_152", (3, 8, 36, 3))
resnet_v2_200 = resnet_utils.net_of(resnet_v2, bottleneck, "resnet_v2_200", (3, 24, 36, 3))
