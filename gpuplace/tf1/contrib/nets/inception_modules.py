"""Inception nets written down as lines: a layer's scope, its channels, and what is not as usual.

    "Conv2d_0a_1x1 64 ~0.09"       a convolution of 64 channels, whose weights begin with that standard deviation
    "Conv2d_1a_1x1 384 3x3 /2"     a window and a stride; the window is else the one that the scope ends with
    "MaxPool_1a_3x3 /2 VALID"      pooling, without zeros around
    "Conv2d_0b_1x3 384 + Conv2d_0c_3x1 384"    two convolutions of the same images, side by side

A module is a list of branches, and a branch the lines after each other, separated by commas.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from gpuplace.graph.operation import Tensor
from gpuplace.ops.array.joining import concat
from gpuplace.ops.variables.variable_scope import variable_scope
from gpuplace.tf1.contrib import convolutions
from gpuplace.tf1.contrib.nets.support import around_zero

__all__ = ["Depth", "Module", "add_layers", "depths_of", "layer_of"]

Depth = Callable[[int], int]
"""Channels of the full net to those of this one."""
Module = tuple[str, Sequence[str]]
"""Scope, and a line for each branch; or the line of one layer, and none."""

_WINDOW = re.compile(r"(\d+)x(\d+)$")


def depths_of(depth_multiplier: float, min_depth: int) -> Depth:
    """How many channels a net of another depth has.

    Args:
        depth_multiplier: the factor.
        min_depth: how many at least.

    Raises:
        ValueError: the factor is not positive.
    """
    if depth_multiplier <= 0:
        raise ValueError("depth_multiplier is not greater than zero.")
    return lambda full: max(int(full * depth_multiplier), min_depth)


def layer_of(images: Tensor, line: str, depth: Depth) -> Tensor:
    """One layer.

    Args:
        images: ``[batch, height, width, channels]``.
        line: what it is.
        depth: from the channels of the line to those of the net.
    """
    if " + " in line:
        return concat([layer_of(images, part, depth) for part in line.split(" + ")], 3)
    scope, *words = line.split()
    settings: dict[str, Any] = {"scope": scope}
    window = _WINDOW.search(scope)
    channels = 0
    for word in words:
        if word.startswith("/"):
            settings["stride"] = int(word[1:])
        elif word.startswith("~"):
            settings["weights_initializer"] = around_zero(float(word[1:]))
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
        ends = []
        for number, lines in enumerate(branches):
            with variable_scope(f"Branch_{number}"):
                end = images
                for line in lines.split(", "):
                    end = layer_of(end, line, depth)
            ends.append(end)
        return concat(ends, 3)


def add_layers(
    images: Tensor,
    modules: Iterable[Module],
    depth: Depth,
    end_points: dict[str, Tensor],
    final_endpoint: str,
) -> Tensor:
    """Layers and modules after each other, up to the last that is wanted.

    Args:
        images: ``[batch, height, width, channels]``.
        modules: what there is.
        depth: from the channels of the lines to those of the net.
        end_points: scope to output, to be filled.
        final_endpoint: the scope to end at.
    """
    for line, branches in modules:
        if final_endpoint in end_points:
            break
        images = _module(images, line, branches, depth) if branches else layer_of(images, line, depth)
        end_points[line.partition(" ")[0]] = images
    return images


def require_end(end_points: dict[str, Tensor], final_endpoint: str) -> None:
    """Raises where a net has no such layer.

    Args:
        end_points: those it has.
        final_endpoint: the one that was wanted.

    Raises:
        ValueError: it is not among them.
    """
    if final_endpoint not in end_points:
        raise ValueError(f"Unknown final endpoint {final_endpoint}; there are {', '.join(end_points)}")
