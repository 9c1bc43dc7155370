"""Residual nets, version 1: convolutions are normalized, and a unit's sum goes through ReLU.

Source: tensorflow/contrib/slim/python/slim/nets/resnet_v1.py, release 1.15; "Deep Residual Learning for Image
Recognition" (He and others 2015).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpuplace.graph.operation import Tensor
from gpuplace.ops.contrib import layers
from gpuplace.ops.contrib.arg_scope import add_arg_scope, arg_scope
from gpuplace.ops.contrib.nets import resnet_utils
from gpuplace.ops.contrib.nets.resnet_utils import Block, resnet_arg_scope
from gpuplace.ops.contrib.nets.support import EndPoints
from gpuplace.ops.contrib.utils import collect_named_outputs, convert_collection_to_dict, last_dimension
from gpuplace.ops.math.reduction import reduce_mean
from gpuplace.ops.nn.activation import relu
from gpuplace.ops.variables.variable_scope import variable_scope

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
    with variable_scope(scope, "bottleneck_v1", [inputs]) as opened:
        if depth == last_dimension(inputs.shape, min_rank=4):
            shortcut = resnet_utils.subsample(inputs, stride, "shortcut")
        else:
            shortcut = layers.conv2d(
                inputs, depth, [1, 1], stride=stride, activation_fn=None, scope="shortcut"
            )
        residual = layers.conv2d(inputs, depth_bottleneck, [1, 1], stride=1, scope="conv1")
        residual = resnet_utils.conv2d_same(residual, depth_bottleneck, 3, stride, rate=rate, scope="conv2")
        residual = layers.conv2d(residual, depth, [1, 1], stride=1, activation_fn=None, scope="conv3")
        return collect_named_outputs(outputs_collections, opened.name, relu(shortcut + residual))


def resnet_v1(
    inputs: Tensor,
    blocks: Sequence[Block],
    num_classes: int | None = None,
    is_training: Any = True,
    global_pool: bool = True,
    output_stride: float | None = None,
    include_root_block: bool = True,
    reuse: Any = None,
    scope: Any = None,
) -> tuple[Tensor, EndPoints]:
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
    with variable_scope(scope, "resnet_v1", [inputs], reuse=reuse) as opened:
        collection = opened.original_name_scope + "_end_points"
        collected = [layers.conv2d, bottleneck, resnet_utils.stack_blocks_dense]
        with (
            arg_scope(collected, outputs_collections=collection),
            arg_scope([layers.batch_norm], is_training=is_training),
        ):
            net = inputs
            if include_root_block:
                output_stride = resnet_utils.root_stride(output_stride)
                net = resnet_utils.conv2d_same(net, 64, 7, stride=2, scope="conv1")
                net = layers.max_pool2d(net, [3, 3], stride=2, scope="pool1")
            net = resnet_utils.stack_blocks_dense(net, blocks, output_stride)
            if global_pool:
                net = reduce_mean(net, [1, 2], name="pool5", keepdims=True)
            if num_classes is not None:
                net = layers.conv2d(
                    net, num_classes, [1, 1], activation_fn=None, normalizer_fn=None, scope="logits"
                )
            end_points: EndPoints = convert_collection_to_dict(collection)
            if num_classes is not None:
                end_points["predictions"] = layers.softmax(net, scope="predictions")
            return net, end_points


resnet_v1.default_image_size = 224  # type: ignore[attr-defined]


def resnet_v1_block(scope: str, base_depth: int, num_units: int, stride: int) -> Block:
    """Units of one depth, of which the last has the stride.

    Args:
        scope: the block's variable scope.
        base_depth: channels inside of the units; they give four times as many.
        num_units: how many.
        stride: of the last.
    """
    return resnet_utils.block(bottleneck, scope, base_depth, num_units, stride)


def _resnet(name: str, units: Sequence[int]) -> Callable[..., tuple[Tensor, EndPoints]]:
    """A net of the family, by how many units each of its four blocks has."""

    def net(
        inputs: Tensor,
        num_classes: int | None = None,
        is_training: Any = True,
        global_pool: bool = True,
        output_stride: float | None = None,
        reuse: Any = None,
        scope: Any = name,
    ) -> tuple[Tensor, EndPoints]:
        """The net; see ``resnet_v1``.

        Args:
            inputs: ``[batch, height, width, channels]``.
            num_classes: how many logits; None: the features before them.
            is_training: whether batches are normalized by their own mean and variance.
            global_pool: take the mean of the whole image.
            output_stride: by how much the images get smaller at most; None: the strides decide.
            reuse: share the variables of the scope.
            scope: the variable scope.
        """
        sizes = zip((64, 128, 256, 512), units, (2, 2, 2, 1), strict=True)
        blocks = [resnet_v1_block(f"block{number}", *size) for number, size in enumerate(sizes, 1)]
        return resnet_v1(
            inputs, blocks, num_classes, is_training, global_pool, output_stride, reuse=reuse, scope=scope
        )

    net.__name__ = net.__qualname__ = name
    return net


resnet_v1_50 = _resnet("resnet_v1_50", (3, 4, 6, 3))
resnet_v1_101 = _resnet("resnet_v1_101", (3, 4, 23, 3))
resnet_v1_152 = _resnet("resnet_v1_152", (3, 8, 36, 3))
resnet_v1_200 = _resnet("resnet_v1_200", (3, 24, 36, 3))
