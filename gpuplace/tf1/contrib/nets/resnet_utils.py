"""Components of residual networks: blocks of units, with strides or dilation.

Source: tensorflow/contrib/slim/python/slim/nets/resnet_utils.py, release 1.15; "Deep Residual Learning for Image
Recognition" (He and others 2015).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from gpuplace.graph.graph_keys import GraphKeys
from gpuplace.graph.operation import Tensor
from gpuplace.ops.array.padding import pad
from gpuplace.ops.math.reduction import reduce_mean
from gpuplace.ops.nn.activation import relu
from gpuplace.ops.variables.variable_scope import variable_scope
from gpuplace.tf1.contrib import convolutions, layers, normalization
from gpuplace.tf1.contrib.arg_scope import add_arg_scope, arg_scope
from gpuplace.tf1.contrib.nets.support import EndPoints
from gpuplace.tf1.contrib.regularizers import l2_regularizer, variance_scaling_initializer
from gpuplace.tf1.contrib.utils import collect_named_outputs, convert_collection_to_dict

__all__ = ["Block", "conv2d_same", "resnet_arg_scope", "stack_blocks_dense", "subsample"]

OUT_OF_REACH = "The target output_stride cannot be reached."


class Block(NamedTuple):
    """A sequence of units."""

    scope: str
    """The variable scope."""
    unit_fn: Callable[..., Tensor]
    """Builds a unit from images and arguments."""
    args: Sequence[Mapping[str, Any]]
    """The arguments of each unit."""


def subsample(inputs: Tensor, factor: int, scope: str | None = None) -> Tensor:
    """Keep every ``factor``-th row and column.

    Args:
        inputs: images.
        factor: the step between rows or columns.
        scope: the name scope.
    """
    return inputs if factor == 1 else convolutions.max_pool2d(inputs, [1, 1], stride=factor, scope=scope)


def conv2d_same(
    inputs: Tensor, num_outputs: int, kernel_size: int, stride: int, rate: int = 1, scope: Any = None
) -> Tensor:
    """Return a convolution with symmetric padding, so that a stride selects the same rows for all sizes.

    Args:
        inputs: images.
        num_outputs: number of output channels.
        kernel_size: height and width of the window.
        stride: stride of the window.
        rate: dilation rate.
        scope: the variable scope.
    """
    settings: dict[str, Any] = {"stride": stride, "rate": rate, "scope": scope}
    if stride == 1:
        return convolutions.conv2d(inputs, num_outputs, kernel_size, padding="SAME", **settings)
    total = (kernel_size - 1) * rate
    around = [total // 2, total - total // 2]
    padded = pad(inputs, [[0, 0], around, around, [0, 0]])
    return convolutions.conv2d(padded, num_outputs, kernel_size, padding="VALID", **settings)


@add_arg_scope
def stack_blocks_dense(
    net: Tensor, blocks: Sequence[Block], output_stride: float | None = None, outputs_collections: Any = None
) -> Tensor:
    """Stack blocks of units.

    Args:
        net: images.
        blocks: the blocks.
        output_stride: maximum reduction of the image size: once it is reached, strides are replaced by dilation. None:
            that of the strides.
        outputs_collections: collections of the blocks' outputs.

    Raises:
        ValueError: the strides cannot reach ``output_stride``.
    """
    current: float = 1
    rate = 1
    for block in blocks:
        with variable_scope(block.scope, "block", [net]) as opened:
            for number, unit in enumerate(block.args, 1):
                if output_stride is not None and current > output_stride:
                    raise ValueError(OUT_OF_REACH)
                stride = unit.get("stride", 1)
                with variable_scope(f"unit_{number}", values=[net]):
                    if current == output_stride:
                        net = block.unit_fn(net, rate=rate, **{**unit, "stride": 1})
                        rate *= stride
                    else:
                        net = block.unit_fn(net, rate=1, **unit)
                        current *= stride
            net = collect_named_outputs(outputs_collections, opened.name, net)
    if output_stride is not None and current != output_stride:
        raise ValueError(OUT_OF_REACH)
    return net


def resnet_arg_scope(
    weight_decay: float = 0.0001,
    batch_norm_decay: float = 0.997,
    batch_norm_epsilon: float = 1e-5,
    batch_norm_scale: bool = True,
) -> Any:
    """Return the default arguments of the model's layers.

    Args:
        weight_decay: factor of the weights' L2 regularizer.
        batch_norm_decay: decay of the moving averages.
        batch_norm_epsilon: a small number added to variances.
        batch_norm_scale: whether to use a scale factor for each channel.
    """
    normalized: dict[str, Any] = {"decay": batch_norm_decay, "epsilon": batch_norm_epsilon}
    normalized |= {"scale": batch_norm_scale, "updates_collections": GraphKeys.UPDATE_OPS}
    with (
        arg_scope(
            [convolutions.conv2d],
            weights_regularizer=l2_regularizer(weight_decay),
            weights_initializer=variance_scaling_initializer(),
            activation_fn=relu,
            normalizer_fn=normalization.batch_norm,
            normalizer_params=normalized,
        ),
        arg_scope([normalization.batch_norm], **normalized),
        arg_scope([convolutions.max_pool2d], padding="SAME") as defaults,
    ):
        return defaults


def block(unit_fn: Callable[..., Tensor], scope: str, base_depth: int, num_units: int, stride: int) -> Block:
    """Return a block of units with the same depth, of which the last has the stride.

    Args:
        unit_fn: builds a unit.
        scope: the block's variable scope.
        base_depth: number of inner channels of the units; they output four times as many.
        num_units: number of units.
        stride: stride of the last unit.
    """
    sizes = {"depth": base_depth * 4, "depth_bottleneck": base_depth}
    strides = [1] * (num_units - 1) + [stride]
    return Block(scope, unit_fn, [{**sizes, "stride": stride} for stride in strides])


def root_stride(output_stride: float | None) -> float | None:
    """Return the output stride that is left for the blocks.

    Args:
        output_stride: output stride of the whole model.

    Raises:
        ValueError: it is not a multiple of 4.
    """
    if output_stride is None:
        return None
    if output_stride % 4 != 0:
        raise ValueError("The output_stride needs to be a multiple of 4.")
    return output_stride / 4


def resnet(
    inputs: Tensor,
    blocks: Sequence[Block],
    num_classes: int | None = None,
    is_training: Any = True,
    global_pool: bool = True,
    output_stride: float | None = None,
    include_root_block: bool = True,
    reuse: Any = None,
    scope: Any = None,
    *,
    version: str = "",
    unit_fn: Callable[..., Tensor] = convolutions.conv2d,
) -> tuple[Tensor, EndPoints]:
    """Build a model of either version; the second one normalizes the inputs of units, and the last sum."""
    is_first = version == "resnet_v1"
    with variable_scope(scope, version, [inputs], reuse=reuse) as opened:
        collection = opened.original_name_scope + "_end_points"
        collected = [convolutions.conv2d, unit_fn, stack_blocks_dense]
        with (
            arg_scope(collected, outputs_collections=collection),
            arg_scope([normalization.batch_norm], is_training=is_training),
        ):
            net = inputs
            if include_root_block:
                output_stride = root_stride(output_stride)
                plain = {} if is_first else {"activation_fn": None, "normalizer_fn": None}
                with arg_scope([convolutions.conv2d], **plain):
                    net = conv2d_same(net, 64, 7, stride=2, scope="conv1")
                net = convolutions.max_pool2d(net, [3, 3], stride=2, scope="pool1")
            net = stack_blocks_dense(net, blocks, output_stride)
            if not is_first:
                net = normalization.batch_norm(net, activation_fn=relu, scope="postnorm")
            if global_pool:
                net = reduce_mean(net, [1, 2], name="pool5", keepdims=True)
            if num_classes is not None:
                net = convolutions.conv2d(
                    net, num_classes, [1, 1], activation_fn=None, normalizer_fn=None, scope="logits"
                )
            end_points: EndPoints = convert_collection_to_dict(collection)
            if num_classes is not None:
                end_points["predictions"] = layers.softmax(net, scope="predictions")
            return net, end_points


def model_function(
    resnet: Callable[..., Any], unit_fn: Callable[..., Tensor], name: str, units: Sequence[int]
) -> Callable[..., tuple[Tensor, EndPoints]]:
    """Return the function that builds a model.

    Args:
        resnet: builds a model from blocks.
        unit_fn: builds a unit.
        name: name of the model.
        units: number of units in each of its four blocks.
    """

    def net(
        inputs: Tensor,
        num_classes: int | None = None,
        is_training: Any = True,
        global_pool: bool = True,
        output_stride: float | None = None,
        reuse: Any = None,
        scope: Any = name,
    ) -> tuple[Tensor, EndPoints]:
        """Build the model; see ``resnet_v1`` and ``resnet_v2``.

        Args:
            inputs: ``[batch, height, width, channels]``.
            num_classes: number of logits; None: return the features before them.
            is_training: whether to normalize batches by their own mean and variance.
            global_pool: whether to average over the whole image.
            output_stride: maximum reduction of the image size; None: that of the strides.
            reuse: whether to reuse the variables of the scope.
            scope: the variable scope.
        """
        sizes = zip((64, 128, 256, 512), units, (2, 2, 2, 1), strict=True)
        blocks = [block(unit_fn, f"block{number}", *size) for number, size in enumerate(sizes, 1)]
        return resnet(
            inputs, blocks, num_classes, is_training, global_pool, output_stride, reuse=reuse, scope=scope
        )

    net.__name__ = net.__qualname__ = name
    net.__module__ = resnet.__module__
    return net
