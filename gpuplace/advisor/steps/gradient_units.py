"""Units of the kernels that compute an op's gradients: each may run elsewhere than the op, and than the others.

Most ops have a gradient for each of their inputs, and what makes one does not need what makes another. So the weights'
gradient of a layer can be computed while another GPU goes on to the layer below. What takes no time goes with the
kernel that it serves::

    gradients/fc/MatMul_grad/MatMul           a unit, with tuple/control_dependency, which hands its result on
    gradients/fc/MatMul_grad/MatMul_1         another, with tuple/control_dependency_1
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gpuplace.placer.placement_graph import CONTROL, PlacementGraph

Ints = NDArray[np.int64]
_GRADIENT = "_grad"


def gradient_scope(name: str) -> str:
    """The scope that `gradients` made for an op; ``""`` for nodes of no such scope.

    >>> gradient_scope("gradients/fc/MatMul_grad/tuple/group_deps"), gradient_scope("gradients/AddN_3")
    ('gradients/fc/MatMul_grad', '')
    """
    parts = name.split("/")
    for at, part in enumerate(parts[:-1]):
        if part.endswith(_GRADIENT):
            return "/".join(parts[: at + 1])
    return ""


def gradient_units(
    graph: PlacementGraph, group: Ints, seconds: Sequence[float], keeps: list[bool]
) -> dict[int, str]:
    """Group -> the kernel that it is of, by name, for groups of gradients' scopes; the rest is of its op.

    A kernel that takes what only one other of its scope makes, as the sum after a product, goes with that.

    Args:
        graph: the nodes of the step.
        group: [nodes].
        seconds: [nodes].
        keeps: [groups] whether a variable is in it.
    """
    of = group.tolist()
    scope: dict[int, str] = {}
    heaviest: dict[int, int] = {}
    for node, own in enumerate(of):
        here = "" if keeps[own] else gradient_scope(graph.names[node])
        if scope.setdefault(own, here) != here:
            scope[own] = ""
        if seconds[node] > seconds[heaviest.setdefault(own, node)]:
            heaviest[own] = node
    takes: dict[int, set[int]] = {}
    gives: dict[int, list[int]] = {}
    carries = (graph.src_output != CONTROL).tolist()
    for source, reader, is_data in zip(graph.src.tolist(), graph.dst.tolist(), carries, strict=True):
        one, other = of[source], of[reader]
        if one != other and scope.get(one) and scope.get(one) == scope.get(other):
            if is_data:
                takes.setdefault(other, set()).add(one)
            gives.setdefault(one, []).append(other)
    found: dict[int, str] = {}
    order = list(dict.fromkeys(of[node] for node in graph.order.tolist()))
    for own in order:
        if not scope.get(own):
            continue
        before = {found[other] for other in takes.get(own, ()) if other in found}
        if len(before) == 1:
            found[own] = before.pop()
        elif seconds[heaviest[own]] > 0:
            found[own] = graph.names[heaviest[own]]
    for own in reversed(order):
        after = [found[other] for other in gives.get(own, ()) if other in found]
        if scope.get(own) and own not in found and after:
            found[own] = after[0]
    return found
