"""Inception, version 1 (GoogLeNet).

Source: tensorflow/contrib/slim/python/slim/nets/inception_v1.py, release 1.15; "Going deeper with convolutions"
(Szegedy and others 2014).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpuplace.graph.operation import Tensor
from gpuplace.ops.array.reshaping import squeeze
from gpuplace.ops.variables.variable_scope import variable_scope
from gpuplace.tf1.contrib import convolutions, layers, normalization
from gpuplace.tf1.contrib.arg_scope import arg_scope
from gpuplace.tf1.contrib.nets.inception_modules import Module, add_layers, check_end
from gpuplace.tf1.contrib.nets.support import EndPoints, batch_norm_scope, moving_averages_in, normal_init

__all__ = ["inception_v1", "inception_v1_arg_scope", "inception_v1_base"]


def _mixed(scope: str, depths: tuple[int, ...], last: str = "Conv2d_0b_3x3") -> Module:
    """Return a module, given the channels of its convolutions."""
    one, before_two, two, before_three, three, four = depths
    return scope, (
        f"Conv2d_0a_1x1 {one}",
        f"Conv2d_0a_1x1 {before_two}, Conv2d_0b_3x3 {two}",
        f"Conv2d_0a_1x1 {before_three}, {last} {three}",
        f"MaxPool_0a_3x3, Conv2d_0b_1x1 {four}",
    )


_LAYERS: tuple[Module, ...] = (
    ("Conv2d_1a_7x7 64 /2", ()),
    ("MaxPool_2a_3x3 /2", ()),
    ("Conv2d_2b_1x1 64", ()),
    ("Conv2d_2c_3x3 192", ()),
    ("MaxPool_3a_3x3 /2", ()),
    _mixed("Mixed_3b", (64, 96, 128, 16, 32, 32)),
    _mixed("Mixed_3c", (128, 128, 192, 32, 96, 64)),
    ("MaxPool_4a_3x3 /2", ()),
    _mixed("Mixed_4b", (192, 96, 208, 16, 48, 64)),
    _mixed("Mixed_4c", (160, 112, 224, 24, 64, 64)),
    _mixed("Mixed_4d", (128, 128, 256, 24, 64, 64)),
    _mixed("Mixed_4e", (112, 144, 288, 32, 64, 64)),
    _mixed("Mixed_4f", (256, 160, 320, 32, 128, 128)),
    ("MaxPool_5a_2x2 /2", ()),
    _mixed("Mixed_5b", (256, 160, 320, 32, 128, 128), last="Conv2d_0a_3x3"),
    _mixed("Mixed_5c", (384, 192, 384, 48, 128, 128)),
)


def inception_v1_base(
    inputs: Tensor, final_endpoint: str = "Mixed_5c", scope: Any = "InceptionV1"
) -> tuple[Tensor, EndPoints]:
    """Build the model up to one of its layers.

    Args:
        inputs: ``[batch, height, width, 3]``.
        final_endpoint: the layer.
        scope: the variable scope.

    Returns:
        The layer's output, and a dict from layer name to output.

    Raises:
        ValueError: the layer does not exist.
    """
    end_points: EndPoints = {}
    with (
        variable_scope(scope, "InceptionV1", [inputs]),
        arg_scope([convolutions.conv2d, layers.fully_connected], weights_initializer=normal_init(0.01)),
        arg_scope([convolutions.conv2d, convolutions.max_pool2d], stride=1, padding="SAME"),
    ):
        net = add_layers(inputs, _LAYERS, int, end_points, final_endpoint)
    check_end(end_points, final_endpoint)
    return net, end_points


def inception_v1(
    inputs: Tensor,
    num_classes: int = 1000,
    is_training: Any = True,
    dropout_keep_prob: float = 0.8,
    prediction_fn: Callable[..., Tensor] = layers.softmax,
    spatial_squeeze: bool = True,
    reuse: Any = None,
    scope: Any = "InceptionV1",
) -> tuple[Tensor, EndPoints]:
    """Build the model.

    Args:
        inputs: ``[batch, 224, 224, 3]``.
        num_classes: number of logits.
        is_training: whether to use dropout, and normalize batches by their own mean and variance.
        dropout_keep_prob: probability of keeping an element.
        prediction_fn: converts logits to predictions.
        spatial_squeeze: whether to remove the axes of height and width.
        reuse: whether to reuse the variables of the scope.
        scope: the variable scope.

    Returns:
        The logits, ``[batch, num_classes]``, and a dict from layer name to output.
    """
    with (
        variable_scope(scope, "InceptionV1", [inputs, num_classes], reuse=reuse) as opened,
        arg_scope([normalization.batch_norm, layers.dropout], is_training=is_training),
    ):
        net, end_points = inception_v1_base(inputs, scope=opened)
        with variable_scope("Logits"):
            net = convolutions.avg_pool2d(net, [7, 7], stride=1, scope="MaxPool_0a_7x7")
            net = layers.dropout(net, dropout_keep_prob, scope="Dropout_0b")
            plain: dict[str, Any] = {"activation_fn": None, "normalizer_fn": None}
            logits = convolutions.conv2d(net, num_classes, [1, 1], scope="Conv2d_0c_1x1", **plain)
            if spatial_squeeze:
                logits = squeeze(logits, [1, 2], name="SpatialSqueeze")
            end_points["Logits"] = logits
            end_points["Predictions"] = prediction_fn(logits, scope="Predictions")
    return logits, end_points


inception_v1.default_image_size = 224  # type: ignore[attr-defined]


def inception_v1_arg_scope(
    weight_decay: float = 0.00004, use_batch_norm: bool = True, batch_norm_var_collection: str = "moving_vars"
) -> Any:
    """Return the default arguments of the model's layers.

    Args:
        weight_decay: factor of the weights' L2 regularizer.
        use_batch_norm: whether to use batch normalization.
        batch_norm_var_collection: collection of the moving averages.
    """
    if not use_batch_norm:
        return batch_norm_scope(weight_decay, None, {})
    return batch_norm_scope(
        weight_decay, normalization.batch_norm, moving_averages_in(batch_norm_var_collection)
    )
