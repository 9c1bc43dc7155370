"""Inception, version 2: with batch normalization.

Source: tensorflow/contrib/slim/python/slim/nets/inception_v2.py, release 1.15; "Batch Normalization" (Ioffe and
Szegedy 2015).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpuplace.graph.operation import Tensor
from gpuplace.ops.array.reshaping import squeeze
from gpuplace.ops.variables.variable_scope import variable_scope
from gpuplace.tf1.contrib import convolutions, layers, normalization
from gpuplace.tf1.contrib.arg_scope import arg_scope
from gpuplace.tf1.contrib.nets.inception_modules import Module, add_layers, check_end, scale_depth
from gpuplace.tf1.contrib.nets.support import (
    EndPoints,
    batch_norm_scope,
    moving_averages_in,
    normal_init,
    reduced_kernel_size,
)

__all__ = ["inception_v2", "inception_v2_arg_scope", "inception_v2_base"]


def _mixed(scope: str, depths: tuple[int, ...], pool: str = "AvgPool") -> Module:
    """Return a module, given the channels of its convolutions."""
    one, before_two, two, before_three, three, four = depths
    return scope, (
        f"Conv2d_0a_1x1 {one}",
        f"Conv2d_0a_1x1 {before_two} ~0.09, Conv2d_0b_3x3 {two}",
        f"Conv2d_0a_1x1 {before_three} ~0.09, Conv2d_0b_3x3 {three}, Conv2d_0c_3x3 {three}",
        f"{pool}_0a_3x3, Conv2d_0b_1x1 {four} ~0.1",
    )


def _halving(scope: str, before_one: int, one: int, before_two: int, two: int) -> Module:
    """Return a module that halves the image size."""
    return scope, (
        f"Conv2d_0a_1x1 {before_one} ~0.09, Conv2d_1a_3x3 {one} /2",
        f"Conv2d_0a_1x1 {before_two} ~0.09, Conv2d_0b_3x3 {two}, Conv2d_1a_3x3 {two} /2",
        "MaxPool_1a_3x3 /2",
    )


_LAYERS: tuple[Module, ...] = (
    ("MaxPool_2a_3x3 /2", ()),
    ("Conv2d_2b_1x1 64 ~0.1", ()),
    ("Conv2d_2c_3x3 192", ()),
    ("MaxPool_3a_3x3 /2", ()),
    _mixed("Mixed_3b", (64, 64, 64, 64, 96, 32)),
    _mixed("Mixed_3c", (64, 64, 96, 64, 96, 64)),
    _halving("Mixed_4a", 128, 160, 64, 96),
    _mixed("Mixed_4b", (224, 64, 96, 96, 128, 128)),
    _mixed("Mixed_4c", (192, 96, 128, 96, 128, 128)),
    _mixed("Mixed_4d", (160, 128, 160, 128, 160, 96)),
    _mixed("Mixed_4e", (96, 128, 192, 160, 192, 96)),
    _halving("Mixed_5a", 128, 192, 192, 256),
    _mixed("Mixed_5b", (352, 192, 320, 160, 224, 128)),
    _mixed("Mixed_5c", (352, 192, 320, 192, 224, 128), pool="MaxPool"),
)
"""The layers after the first one."""
_FIRST = "Conv2d_1a_7x7"


def inception_v2_base(
    inputs: Tensor,
    final_endpoint: str = "Mixed_5c",
    min_depth: int = 16,
    depth_multiplier: float = 1.0,
    scope: Any = None,
) -> tuple[Tensor, EndPoints]:
    """Build the model up to one of its layers.

    Args:
        inputs: ``[batch, height, width, 3]``.
        final_endpoint: the layer.
        min_depth: minimum number of channels of a layer.
        depth_multiplier: factor of the number of channels.
        scope: the variable scope; None: a unique scope from ``InceptionV2``.

    Returns:
        The layer's output, and a dict from layer name to output.

    Raises:
        ValueError: the layer does not exist, or ``depth_multiplier`` is not positive.
    """
    depth = scale_depth(depth_multiplier, min_depth)
    end_points: EndPoints = {}
    pools_and_convolutions = [
        convolutions.conv2d,
        convolutions.max_pool2d,
        convolutions.avg_pool2d,
        convolutions.separable_conv2d,
    ]
    with (
        variable_scope(scope, "InceptionV2", [inputs]),
        arg_scope(pools_and_convolutions, stride=1, padding="SAME"),
    ):
        net = end_points[_FIRST] = convolutions.separable_conv2d(
            inputs,
            depth(64),
            [7, 7],
            depth_multiplier=min(int(depth(64) / 3), 8),
            stride=2,
            weights_initializer=normal_init(1.0),
            scope=_FIRST,
        )
        net = add_layers(net, _LAYERS, depth, end_points, final_endpoint)
    check_end(end_points, final_endpoint)
    return net, end_points


def inception_v2(
    inputs: Tensor,
    num_classes: int = 1000,
    is_training: Any = True,
    dropout_keep_prob: float = 0.8,
    min_depth: int = 16,
    depth_multiplier: float = 1.0,
    prediction_fn: Callable[..., Tensor] = layers.softmax,
    spatial_squeeze: bool = True,
    reuse: Any = None,
    scope: Any = "InceptionV2",
) -> tuple[Tensor, EndPoints]:
    """Build the model.

    Args:
        inputs: ``[batch, 224, 224, 3]``.
        num_classes: number of logits.
        is_training: whether to use dropout, and normalize batches by their own mean and variance.
        dropout_keep_prob: probability of keeping an element.
        min_depth: minimum number of channels of a layer.
        depth_multiplier: factor of the number of channels.
        prediction_fn: converts logits to predictions.
        spatial_squeeze: whether to remove the axes of height and width.
        reuse: whether to reuse the variables of the scope.
        scope: the variable scope.

    Returns:
        The logits, ``[batch, num_classes]``, and a dict from layer name to output.

    Raises:
        ValueError: ``depth_multiplier`` is not positive.
    """
    scale_depth(depth_multiplier, min_depth)
    with (
        variable_scope(scope, "InceptionV2", [inputs, num_classes], reuse=reuse) as opened,
        arg_scope([normalization.batch_norm, layers.dropout], is_training=is_training),
    ):
        net, end_points = inception_v2_base(
            inputs, scope=opened, min_depth=min_depth, depth_multiplier=depth_multiplier
        )
        with variable_scope("Logits"):
            kernel = reduced_kernel_size(net, [7, 7])
            net = convolutions.avg_pool2d(
                net, kernel, padding="VALID", scope=f"AvgPool_1a_{kernel[0]}x{kernel[1]}"
            )
            net = layers.dropout(net, keep_prob=dropout_keep_prob, scope="Dropout_1b")
            plain: dict[str, Any] = {"activation_fn": None, "normalizer_fn": None}
            logits = convolutions.conv2d(net, num_classes, [1, 1], scope="Conv2d_1c_1x1", **plain)
            if spatial_squeeze:
                logits = squeeze(logits, [1, 2], name="SpatialSqueeze")
        end_points["Logits"] = logits
        end_points["Predictions"] = prediction_fn(logits, scope="Predictions")
    return logits, end_points


inception_v2.default_image_size = 224  # type: ignore[attr-defined]


def inception_v2_arg_scope(
    weight_decay: float = 0.00004, batch_norm_var_collection: str = "moving_vars"
) -> Any:
    """Return the default arguments of the model's layers.

    Args:
        weight_decay: factor of the weights' L2 regularizer.
        batch_norm_var_collection: collection of the moving averages.
    """
    return batch_norm_scope(
        weight_decay, normalization.batch_norm, moving_averages_in(batch_norm_var_collection)
    )
