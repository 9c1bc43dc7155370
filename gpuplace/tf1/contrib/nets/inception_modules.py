"""Inception models described by strings: a layer's scope, its channels, and its non-default settings.

    "Conv2d_0a_1x1 64 ~0.09"       a convolution with 64 channels and this standard deviation of the initial weights
    "Conv2d_1a_1x1 384 3x3 /2"     a window and a stride; by default the window is at the end of the scope
    "MaxPool_1a_3x3 /2 VALID"      pooling without zero padding
    "Conv2d_0b_1x3 384 + Conv2d_0c_3x1 384"    two convolutions of the same images, concatenated

A module is a list of branches. A branch is a string with one or more layers, separated by commas.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from gpuplace.graph.operation import Tensor
from gpuplace.ops.array.joining import concat
from gpuplace.ops.variables.variable_scope import variable_scope
from gpuplace.tf1.contrib import convolutions
from gpuplace.tf1.contrib.nets.support import normal_init

__all__ = ["Depth", "Module", "add_layers", "add_layer", "scale_depth"]

Depth = Callable[[int], int]
"""Number of channels in the full model -> number of channels in this one."""
Module = tuple[str, Sequence[str]]
"""Scope, and a string for each branch; or the string of one layer, and no branches."""

_WINDOW = re.compile(r"(\d+)x(\d+)$")


def scale_depth(depth_multiplier: float, min_depth: int) -> Depth:
    """Return the function that scales numbers of channels.

    Args:
        depth_multiplier: the factor.
        min_depth: minimum number of channels.

    Raises:
        ValueError: the factor is not positive.
    """
    if depth_multiplier <= 0:
        raise ValueError("depth_multiplier is not greater than zero.")
    return lambda full: max(int(full * depth_multiplier), min_depth)


def add_layer(images: Tensor, line: str, depth: Depth) -> Tensor:
    """Build one layer.

    Args:
        images: ``[batch, height, width, channels]``.
        line: description of the layer.
        depth: scales the numbers of channels.
    """
    if " + " in line:
        return concat([add_layer(images, part, depth) for part in line.split(" + ")], 3)
    scope, *words = line.split()
    settings: dict[str, Any] = {"scope": scope}
    window = _WINDOW.search(scope)
    channels = 0
    for word in words:
        if word.startswith("/"):
            settings["stride"] = int(word[1:])
        elif word.startswith("~"):
            settings["weights_initializer"] = normal_init(float(word[1:]))
        elif word in ("SAME", "VALID"):
            settings["padding"] = word
        elif word.isdecimal():
            channels = int(word)
        else:
            window = _WINDOW.match(word)
    assert window is not None, line
    kernel = [int(side) for side in window.groups()]
    if scope.startswith("MaxPool"):
        return convolutions.max_pool2d(images, kernel, **settings)
    if scope.startswith("AvgPool"):
        return convolutions.avg_pool2d(images, kernel, **settings)
    return convolutions.conv2d(images, depth(channels), kernel, **settings)


def _module(images: Tensor, scope: str, branches: Sequence[str], depth: Depth) -> Tensor:
    with variable_scope(scope):
        outputs = []
        for number, lines in enumerate(branches):
            with variable_scope(f"Branch_{number}"):
                end = images
                for line in lines.split(", "):
                    end = add_layer(end, line, depth)
            outputs.append(end)
        return concat(outputs, 3)


def add_layers(
    images: Tensor,
    modules: Iterable[Module],
    depth: Depth,
    end_points: dict[str, Tensor],
    final_endpoint: str,
) -> Tensor:
    """Add layers and modules up to an endpoint.

    Args:
        images: ``[batch, height, width, channels]``.
        modules: the layers and modules.
        depth: scales the numbers of channels.
        end_points: scope -> output, to be filled.
        final_endpoint: the scope of the last layer to add.
    """
    for line, branches in modules:
        if final_endpoint in end_points:
            break
        images = _module(images, line, branches, depth) if branches else add_layer(images, line, depth)
        end_points[line.partition(" ")[0]] = images
    return images


def check_end(end_points: dict[str, Tensor], final_endpoint: str) -> None:
    """Raise ValueError if a model does not have an endpoint.

    Args:
        end_points: the endpoints of the model.
        final_endpoint: the requested endpoint.

    Raises:
        ValueError: it does not exist.
    """
    if final_endpoint not in end_points:
        raise ValueError(f"Unknown final endpoint {final_endpoint}; there are {', '.join(end_points)}")
