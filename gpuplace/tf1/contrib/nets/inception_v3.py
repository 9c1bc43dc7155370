"""Inception, version 3: with factorized convolutions.

Source: tensorflow/contrib/slim/python/slim/nets/inception_v3.py, release 1.15; "Rethinking the Inception Architecture
for Computer Vision" (Szegedy and others 2015).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpuplace.graph.graph_keys import GraphKeys
from gpuplace.graph.operation import Tensor
from gpuplace.ops.array.reshaping import squeeze
from gpuplace.ops.variables.variable_scope import variable_scope
from gpuplace.tf1.contrib import convolutions, layers, normalization
from gpuplace.tf1.contrib.arg_scope import arg_scope
from gpuplace.tf1.contrib.nets.inception_modules import Depth, Module, add_layers, check_end, scale_depth
from gpuplace.tf1.contrib.nets.support import (
    EndPoints,
    batch_norm_scope,
    moving_averages_in,
    normal_init,
    reduced_kernel_size,
)

__all__ = ["inception_v3", "inception_v3_arg_scope", "inception_v3_base"]


def _fives(scope: str, last: int, second: str = "Conv2d_0a_1x1 48, Conv2d_0b_5x5 64") -> Module:
    """Return a module with a 5x5 window."""
    return scope, (
        "Conv2d_0a_1x1 64",
        second,
        "Conv2d_0a_1x1 64, Conv2d_0b_3x3 96, Conv2d_0c_3x3 96",
        f"AvgPool_0a_3x3, Conv2d_0b_1x1 {last}",
    )


def _sevens(scope: str, inner: int) -> Module:
    """Return a module with 1x7 and 7x1 windows."""
    third = (
        f"Conv2d_0b_7x1 {inner}",
        f"Conv2d_0c_1x7 {inner}",
        f"Conv2d_0d_7x1 {inner}",
        "Conv2d_0e_1x7 192",
    )
    return scope, (
        "Conv2d_0a_1x1 192",
        f"Conv2d_0a_1x1 {inner}, Conv2d_0b_1x7 {inner}, Conv2d_0c_7x1 192",
        ", ".join((f"Conv2d_0a_1x1 {inner}", *third)),
        "AvgPool_0a_3x3, Conv2d_0b_1x1 192",
    )


def _wide(scope: str, tall: str) -> Module:
    """Return a module whose branches end in parallel 1x3 and 3x1 convolutions."""
    return scope, (
        "Conv2d_0a_1x1 320",
        f"Conv2d_0a_1x1 384, Conv2d_0b_1x3 384 + {tall} 384",
        "Conv2d_0a_1x1 448, Conv2d_0b_3x3 384, Conv2d_0c_1x3 384 + Conv2d_0d_3x1 384",
        "AvgPool_0a_3x3, Conv2d_0b_1x1 192",
    )


_BEFORE: tuple[Module, ...] = (
    ("Conv2d_1a_3x3 32 /2", ()),
    ("Conv2d_2a_3x3 32", ()),
    ("Conv2d_2b_3x3 64 SAME", ()),
    ("MaxPool_3a_3x3 /2", ()),
    ("Conv2d_3b_1x1 80", ()),
    ("Conv2d_4a_3x3 192", ()),
    ("MaxPool_5a_3x3 /2", ()),
)
"""The first layers, without zero padding."""

_MODULES: tuple[Module, ...] = (
    _fives("Mixed_5b", 32),
    _fives("Mixed_5c", 64, "Conv2d_0b_1x1 48, Conv_1_0c_5x5 64"),
    _fives("Mixed_5d", 64),
    (
        "Mixed_6a",
        (
            "Conv2d_1a_1x1 384 3x3 /2 VALID",
            "Conv2d_0a_1x1 64, Conv2d_0b_3x3 96, Conv2d_1a_1x1 96 3x3 /2 VALID",
            "MaxPool_1a_3x3 /2 VALID",
        ),
    ),
    _sevens("Mixed_6b", 128),
    _sevens("Mixed_6c", 160),
    _sevens("Mixed_6d", 160),
    _sevens("Mixed_6e", 192),
    (
        "Mixed_7a",
        (
            "Conv2d_0a_1x1 192, Conv2d_1a_3x3 320 /2 VALID",
            "Conv2d_0a_1x1 192, Conv2d_0b_1x7 192, Conv2d_0c_7x1 192, Conv2d_1a_3x3 192 /2 VALID",
            "MaxPool_1a_3x3 /2 VALID",
        ),
    ),
    _wide("Mixed_7b", "Conv2d_0b_3x1"),
    _wide("Mixed_7c", "Conv2d_0c_3x1"),
)
_SCOPED = [convolutions.conv2d, convolutions.max_pool2d, convolutions.avg_pool2d]
_PLAIN: dict[str, Any] = {"activation_fn": None, "normalizer_fn": None}


def inception_v3_base(
    inputs: Tensor,
    final_endpoint: str = "Mixed_7c",
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
        scope: the variable scope; None: a unique scope from ``InceptionV3``.

    Returns:
        The layer's output, and a dict from layer name to output.

    Raises:
        ValueError: the layer does not exist, or ``depth_multiplier`` is not positive.
    """
    depth = scale_depth(depth_multiplier, min_depth)
    end_points: EndPoints = {}
    with variable_scope(scope, "InceptionV3", [inputs]):
        with arg_scope(_SCOPED, stride=1, padding="VALID"):
            net = add_layers(inputs, _BEFORE, depth, end_points, final_endpoint)
        with arg_scope(_SCOPED, stride=1, padding="SAME"):
            net = add_layers(net, _MODULES, depth, end_points, final_endpoint)
    check_end(end_points, final_endpoint)
    return net, end_points


def _auxiliary(images: Tensor, num_classes: int, depth: Depth, spatial_squeeze: bool) -> Tensor:
    """Return the auxiliary logits, from the middle of the model, for a second loss."""
    with variable_scope("AuxLogits"):
        net = convolutions.avg_pool2d(images, [5, 5], stride=3, padding="VALID", scope="AvgPool_1a_5x5")
        net = convolutions.conv2d(net, depth(128), [1, 1], scope="Conv2d_1b_1x1")
        kernel = reduced_kernel_size(net, [5, 5])
        net = convolutions.conv2d(
            net,
            depth(768),
            kernel,
            weights_initializer=normal_init(0.01),
            padding="VALID",
            scope=f"Conv2d_2a_{kernel[0]}x{kernel[1]}",
        )
        weights = normal_init(0.001)
        net = convolutions.conv2d(
            net, num_classes, [1, 1], weights_initializer=weights, scope="Conv2d_2b_1x1", **_PLAIN
        )
        return squeeze(net, [1, 2], name="SpatialSqueeze") if spatial_squeeze else net


def inception_v3(
    inputs: Tensor,
    num_classes: int = 1000,
    is_training: Any = True,
    dropout_keep_prob: float = 0.8,
    min_depth: int = 16,
    depth_multiplier: float = 1.0,
    prediction_fn: Callable[..., Tensor] = layers.softmax,
    spatial_squeeze: bool = True,
    reuse: Any = None,
    scope: Any = "InceptionV3",
) -> tuple[Tensor, EndPoints]:
    """Build the model.

    Args:
        inputs: ``[batch, 299, 299, 3]``.
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
        The logits, ``[batch, num_classes]``, and a dict from layer name to output; those named ``AuxLogits`` are from
        the middle of the model.

    Raises:
        ValueError: ``depth_multiplier`` is not positive.
    """
    depth = scale_depth(depth_multiplier, min_depth)
    with (
        variable_scope(scope, "InceptionV3", [inputs, num_classes], reuse=reuse) as opened,
        arg_scope([normalization.batch_norm, layers.dropout], is_training=is_training),
    ):
        net, end_points = inception_v3_base(
            inputs, scope=opened, min_depth=min_depth, depth_multiplier=depth_multiplier
        )
        with arg_scope(_SCOPED, stride=1, padding="SAME"):
            middle = end_points["Mixed_6e"]
            end_points["AuxLogits"] = _auxiliary(middle, num_classes, depth, spatial_squeeze)
        with variable_scope("Logits"):
            kernel = reduced_kernel_size(net, [8, 8])
            net = convolutions.avg_pool2d(
                net, kernel, padding="VALID", scope=f"AvgPool_1a_{kernel[0]}x{kernel[1]}"
            )
            net = layers.dropout(net, keep_prob=dropout_keep_prob, scope="Dropout_1b")
            end_points["PreLogits"] = net
            logits = convolutions.conv2d(net, num_classes, [1, 1], scope="Conv2d_1c_1x1", **_PLAIN)
            if spatial_squeeze:
                logits = squeeze(logits, [1, 2], name="SpatialSqueeze")
        end_points["Logits"] = logits
        end_points["Predictions"] = prediction_fn(logits, scope="Predictions")
    return logits, end_points


inception_v3.default_image_size = 299  # type: ignore[attr-defined]


def inception_v3_arg_scope(
    weight_decay: float = 0.00004,
    batch_norm_var_collection: str = "moving_vars",
    batch_norm_decay: float = 0.9997,
    batch_norm_epsilon: float = 0.001,
    updates_collections: Any = GraphKeys.UPDATE_OPS,
    use_fused_batchnorm: bool = True,
) -> Any:
    """Return the default arguments of the model's layers.

    Args:
        weight_decay: factor of the weights' L2 regularizer.
        batch_norm_var_collection: collection of the moving averages.
        batch_norm_decay: decay of the moving averages.
        batch_norm_epsilon: a small number added to variances.
        updates_collections: collection of the ops that update them.
        use_fused_batchnorm: whether to use the fused op.
    """
    params = {"decay": batch_norm_decay, "epsilon": batch_norm_epsilon}
    params |= {"updates_collections": updates_collections, "fused": use_fused_batchnorm}
    normalized = moving_averages_in(batch_norm_var_collection, **params)
    return batch_norm_scope(weight_decay, normalization.batch_norm, normalized)
