"""VGG: models with five groups of small convolutions.

Source: tensorflow/contrib/slim/python/slim/nets/vgg.py, release 1.15; "Very Deep Convolutional Networks for
Large-Scale Image Recognition" (Simonyan and Zisserman 2014).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpuplace.graph.operation import Tensor
from gpuplace.ops.variables.init_ops import Zeros
from gpuplace.ops.variables.variable_scope import variable_scope
from gpuplace.tf1.contrib import convolutions, layers
from gpuplace.tf1.contrib.arg_scope import arg_scope
from gpuplace.tf1.contrib.nets.support import EndPoints, dense_top, model_outputs, plain_scope

__all__ = ["vgg_16", "vgg_19", "vgg_a", "vgg_arg_scope", "vgg_d", "vgg_e"]

_DEPTHS = (64, 128, 256, 512, 512)
"""Number of channels in each group."""


def vgg_arg_scope(weight_decay: float = 0.0005) -> Any:
    """Return the default arguments of the model's layers.

    Args:
        weight_decay: factor of the weights' L2 regularizer.
    """
    return plain_scope(weight_decay, Zeros(), conv2d="SAME")


def _vgg(
    name: str, repeats: tuple[int, ...], by_name_scope: bool = True
) -> Callable[..., tuple[Tensor, EndPoints]]:
    """Return the function that builds a VGG model, given the number of convolutions in each group."""

    def net(
        inputs: Tensor,
        num_classes: int = 1000,
        is_training: Any = True,
        dropout_keep_prob: float = 0.5,
        spatial_squeeze: bool = True,
        scope: Any = name,
    ) -> tuple[Tensor, EndPoints]:
        """Build the model.

        Args:
            inputs: ``[batch, 224, 224, 3]``.
            num_classes: number of logits.
            is_training: whether to use dropout.
            dropout_keep_prob: probability of keeping an element.
            spatial_squeeze: whether to remove the axes of height and width.
            scope: the variable scope.

        Returns:
            The logits, ``[batch, num_classes]``, and a dict from layer name to output.
        """
        with variable_scope(scope, name, [inputs]) as opened:
            collection = (opened.original_name_scope if by_name_scope else opened.name) + "_end_points"
            collected = [convolutions.conv2d, layers.fully_connected, convolutions.max_pool2d]
            with arg_scope(collected, outputs_collections=collection):
                images = inputs
                for group, (depth, count) in enumerate(zip(_DEPTHS, repeats, strict=True), 1):
                    images = layers.repeat(
                        images, count, convolutions.conv2d, depth, [3, 3], scope=f"conv{group}"
                    )
                    images = convolutions.max_pool2d(images, [2, 2], scope=f"pool{group}")
                logits = dense_top(
                    images, (4096, 4096), [7, 7], num_classes, dropout_keep_prob, is_training, {}
                )
                return model_outputs(logits, collection, opened, spatial_squeeze)

    net.__name__ = net.__qualname__ = name
    net.default_image_size = 224  # type: ignore[attr-defined]
    return net


vgg_a = _vgg("vgg_a", (1, 1, 2, 2, 2))
vgg_16 = vgg_d = _vgg("vgg_16", (2, 2, 3, 3, 3))
vgg_19 = vgg_e = _vgg("vgg_19", (2, 2, 4, 4, 4), by_name_scope=False)
