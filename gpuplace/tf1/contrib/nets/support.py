"""Common parts of the models: stacks of convolutions and pooling, last layers, and default arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpuplace.graph.graph_keys import GraphKeys
from gpuplace.graph.operation import Tensor
from gpuplace.ops.array.reshaping import squeeze
from gpuplace.ops.nn.activation import relu
from gpuplace.ops.variables.init_ops import TruncatedNormal
from gpuplace.tf1.contrib import convolutions, layers
from gpuplace.tf1.contrib.arg_scope import arg_scope
from gpuplace.tf1.contrib.regularizers import l2_regularizer, variance_scaling_initializer
from gpuplace.tf1.contrib.utils import convert_collection_to_dict

__all__ = ["EndPoints", "normal_init", "batch_norm_scope", "dense_top", "plain_scope", "reduced_kernel_size"]

EndPoints = dict[str, Tensor]
"""Layer name -> output."""


def normal_init(stddev: float) -> TruncatedNormal:
    """Return an initializer with a truncated normal distribution around zero.

    Args:
        stddev: its standard deviation.
    """
    return TruncatedNormal(0.0, stddev)


def plain_scope(weight_decay: float, biases_initializer: Any, **paddings: Any) -> Any:
    """Return the default arguments of a model without batch normalization.

    Args:
        weight_decay: factor of the weights' L2 regularizer.
        biases_initializer: initializer of the biases.
        **paddings: paddings of ``conv2d`` and ``max_pool2d``.
    """
    with arg_scope(
        [convolutions.conv2d, layers.fully_connected],
        activation_fn=relu,
        weights_regularizer=l2_regularizer(weight_decay),
        biases_initializer=biases_initializer,
    ) as defaults:
        for name, padding in paddings.items():
            with arg_scope(defaults), arg_scope([getattr(convolutions, name)], padding=padding) as defaults:
                pass
    return defaults


def batch_norm_scope(weight_decay: float, normalizer_fn: Any, normalizer_params: Mapping[str, Any]) -> Any:
    """Return the default arguments of an Inception model.

    Args:
        weight_decay: factor of the weights' L2 regularizer.
        normalizer_fn: the normalization, in place of biases.
        normalizer_params: its arguments.
    """
    regularizer = l2_regularizer(weight_decay)
    with (
        arg_scope([convolutions.conv2d, layers.fully_connected], weights_regularizer=regularizer),
        arg_scope(
            [convolutions.conv2d],
            weights_initializer=variance_scaling_initializer(),
            activation_fn=relu,
            normalizer_fn=normalizer_fn,
            normalizer_params=normalizer_params,
        ) as defaults,
    ):
        return defaults


def moving_averages_in(collection: str, **params: Any) -> dict[str, Any]:
    """Return arguments of ``batch_norm`` that add moving averages to a collection.

    Args:
        collection: the collection.
        **params: further arguments.
    """
    moving = {"beta": None, "gamma": None, "moving_mean": [collection], "moving_variance": [collection]}
    defaults = {"decay": 0.9997, "epsilon": 0.001, "updates_collections": GraphKeys.UPDATE_OPS}
    return {**defaults, **params, "variables_collections": moving}


def dense_top(
    net: Tensor,
    sizes: Sequence[int],
    kernel: Sequence[int],
    num_classes: int,
    keep_prob: float,
    is_training: Any,
    last: Mapping[str, Any],
) -> Tensor:
    """Build the dense layers ``fc6`` to ``fc8``, as convolutions over the whole image.

    Args:
        net: images.
        sizes: channels of ``fc6`` and ``fc7``.
        kernel: window of ``fc6``.
        num_classes: channels of ``fc8``.
        keep_prob: probability of keeping an element in the dropout after ``fc6`` and ``fc7``.
        is_training: whether to use dropout.
        last: further arguments of ``fc8``.
    """
    net = convolutions.conv2d(net, sizes[0], kernel, padding="VALID", scope="fc6")
    net = layers.dropout(net, keep_prob, is_training=is_training, scope="dropout6")
    net = convolutions.conv2d(net, sizes[1], [1, 1], scope="fc7")
    net = layers.dropout(net, keep_prob, is_training=is_training, scope="dropout7")
    return convolutions.conv2d(
        net, num_classes, [1, 1], activation_fn=None, normalizer_fn=None, scope="fc8", **last
    )


def model_outputs(
    net: Tensor, collection: str, scope: Any, spatial_squeeze: bool
) -> tuple[Tensor, EndPoints]:
    """Return the logits of a model, and the outputs of its layers.

    Args:
        net: the output of ``fc8``.
        collection: the collection of the outputs.
        scope: the model's variable scope.
        spatial_squeeze: whether to remove the axes of height and width.
    """
    end_points: EndPoints = convert_collection_to_dict(collection)
    if spatial_squeeze:
        net = squeeze(net, [1, 2], name="fc8/squeezed")
        end_points[scope.name + "/fc8"] = net
    return net, end_points


def reduced_kernel_size(images: Tensor, kernel: Sequence[int]) -> list[int]:
    """Return a window size, limited to the size of the images.

    Args:
        images: ``[batch, height, width, channels]``.
        kernel: height and width of the window for large images.
    """
    sides = images.shape.as_list()[1:3]
    static_sides = [side for side in sides if side is not None]
    return list(map(min, static_sides, kernel)) if len(static_sides) == len(sides) else list(kernel)
