"""Find copies of a layer that differ: towers or members of a series on other devices, or with other nodes.

>>> from gpuplace.views.tables.placement_view import PlacementView
>>> view = PlacementView.of_columns([("a/x", "Const", "", "/device:CPU:0")])
>>> differences(view)
{}
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import groupby

import numpy as np

from gpuplace.model.structure.scopes import ROOT, stem
from gpuplace.views.picture.outline import Outline, outline
from gpuplace.views.tables.placement_view import PlacementView
from gpuplace.web.rules import words


def differences(view: PlacementView) -> dict[int, str]:
    """Describe, for each scope that differs from more than half of its copies, how it differs.

    Towers are on different devices, so only nodes outside a tower's main device count. Layers that are divided among
    devices in the order of the flow do not differ. Gradients are ignored, because the first layer has fewer.

    Args:
        view: the placement.
    """
    texts: dict[int, str] | None = view.__dict__.get("_differences")
    if texts is None:
        texts = view.__dict__["_differences"] = _differences(view, outline(view))
    return texts


def _differences(view: PlacementView, tree: Outline) -> dict[int, str]:
    groups = _copies(view, tree)
    if not groups:
        return {}
    forward = np.zeros((len(tree), len(view.devices) + 1), dtype=np.int64)
    chosen = tree.strip == 0
    np.add.at(forward, (tree.scope_of[chosen], view.device[chosen]), 1)
    for scope in range(len(tree) - 1, 0, -1):
        forward[tree.parent[scope]] += forward[scope]
    texts: dict[int, str] = {}
    for scopes in groups:
        is_towers = scopes[0] in tree.towers
        devices = {scope: _devices(view, forward[scope], is_towers) for scope in scopes}
        nodes = {scope: int(forward[scope].sum()) for scope in scopes}
        usual, most_devices = Counter(devices.values()).most_common(1)[0]
        count, most_nodes = Counter(nodes.values()).most_common(1)[0]
        is_divided = not is_towers and _is_divided([devices[scope] for scope in scopes])
        for scope in scopes:
            parts = []
            if devices[scope] != usual and 2 * most_devices > len(scopes) and not is_divided:
                parts.append(_device_text(devices[scope], usual, is_towers))
            if nodes[scope] != count and 2 * most_nodes > len(scopes):
                parts.append(words("differs_nodes", number=f"{nodes[scope]:,}", others=f"{count:,}"))
            if parts:
                texts[scope] = "; ".join(parts)
    assert tree.model is not None
    for series, number in Counter(int(tree.parent[scope]) for scope in texts).items():
        part = tree.model.parts[series]
        if part.kind == "series":
            texts[series] = words("differ_inside", number=f"{number:,}", all=f"{part.times:,}")
    return texts


def _copies(view: PlacementView, tree: Outline) -> list[list[int]]:
    """Return groups of copies: towers of one scope, and layers with equal ops and names. Two copies are not a group."""
    if tree.model is None:
        return []
    groups: dict[tuple[int, str, int], list[int]] = {}
    towers = set(tree.towers)
    around = [ROOT] * len(tree)  # the tower that is or contains a scope
    for scope in range(1, len(tree)):
        around[scope] = scope if scope in towers else around[tree.parent[scope]]
        name = stem(tree.labels[scope])
        if scope in towers:
            groups.setdefault((int(tree.parent[scope]), name, 0), []).append(scope)
        elif tree.is_layer[scope] and tree.model.parts[scope].kind == "scope":
            alike = (around[scope], name, tree.structure(scope, view.op_type))
            groups.setdefault(alike, []).append(scope)
    return [group for group in groups.values() if len(group) > 2]


def _devices(view: PlacementView, counts: np.ndarray, is_tower: bool) -> tuple[str, ...]:
    """Return the devices of a scope's nodes; for a tower without its main device."""
    order = np.argsort(-counts, kind="stable")
    labels = [view.labels[device] for device in order.tolist() if counts[device]]
    return tuple(sorted(labels[1:] if is_tower else labels))


def _is_divided(devices: Sequence[tuple[str, ...]]) -> bool:
    """Return whether each device has only one run of consecutive layers, in the order of the flow.

    >>> _is_divided([("GPU:0",), ("GPU:0",), ("GPU:1",)]), _is_divided([("GPU:0",), ("GPU:1",), ("GPU:0",)])
    (True, False)
    """
    return sum(1 for _ in groupby(devices)) == len(set(devices))


def _device_text(devices: Sequence[str], usual: Sequence[str], is_tower: bool) -> str:
    """Describe the devices on which a copy differs from the others."""
    here, others = ", ".join(devices), ", ".join(usual)
    if not is_tower:
        return words("differs_devices", devices=here, others=others)
    return words("differs_tower", devices=here) if devices else words("differs_whole", others=others)
