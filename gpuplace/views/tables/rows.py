"""Rows of a placement, of which frames and pages are made: nodes, devices, scopes, mapping of GPUs.

>>> from gpuplace.views.tables.placement_view import PlacementView
>>> view = PlacementView.of_columns(
...     [("a", "Const", "/cpu:0", "/device:CPU:0"), ("c", "Neg", "", "/device:GPU:0")]
... )
>>> [(row.node, row.device, row.is_met) for row in node_rows(view)]
[('a', 'CPU:0', True), ('c', 'GPU:0', None)]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from gpuplace.views.tables.palette import device_label
from gpuplace.views.tables.placement_view import CopyRow, view_of
from gpuplace.views.tables.scopes import scope_tree
from gpuplace.views.tables.text import sizes_text


class NodeRow(NamedTuple):
    """One node."""

    node: str
    type: str
    """Op type."""
    requested: str
    """As written, ``""`` where nothing was asked."""
    assigned: str
    """Full device name, ``""`` without a device."""
    device: str
    """Short name of `assigned`."""
    is_met: bool | None
    """Whether the device is what was asked for; None if nothing was asked or there is no device."""
    scope: str
    """Name scope that it lies in."""
    source: str
    """``file:line`` that made it, ``""`` where unknown."""
    rule: str
    """The rule that settled the device, ``""`` where nobody knows."""
    decided_by: str
    """The culprit: the node that the rule applies to, or that is followed."""


class DeviceRow(NamedTuple):
    """One device of the machine."""

    device: str
    """Full name."""
    type: str
    memory_limit: int | None
    """Bytes."""
    nodes: int
    """How many it was given."""
    copies_in: int
    """Tensors sent to it."""
    bytes_in: int
    """Bytes of those whose size is known."""
    size_in: str
    """Their size in words; ``""`` without copies."""
    description: str
    """What it is, ``""`` for a CPU."""


class ScopeRow(NamedTuple):
    """One name scope."""

    scope: str
    depth: int
    nodes: int
    """Nodes inside, at any depth."""
    devices: dict[str, int]
    """Short device name -> nodes."""


def node_rows(placement: Any, nodes: Iterable[int] | None = None) -> Iterator[NodeRow]:
    """Rows of all nodes, or of those at the positions given."""
    view = view_of(placement)
    unmet = view.is_unmet
    verdicts = None if view.verdicts is None else view.verdicts()
    for node in range(len(view)) if nodes is None else nodes:
        name, requested, assigned = view.names[node], view.request_of(node), view.device_of(node)
        yield NodeRow(
            name,
            view.op_type_of(node),
            requested,
            assigned,
            device_label(assigned) if assigned else "",
            not bool(unmet[node]) if requested and assigned else None,
            name.rpartition("/")[0],
            view.source_line(node) or "",
            "" if verdicts is None else verdicts.rule_of(node).value,
            "" if verdicts is None else view.names[verdicts.culprit[node]],
        )


def device_rows(placement: Any) -> list[DeviceRow]:
    """Rows of all devices of the machine; what is not known of them is left out."""
    view = view_of(placement)
    attributes = getattr(getattr(placement, "device_set", None), "by_name", {})
    received: dict[int, list[CopyRow]] = {}
    for copy in view.copies:
        received.setdefault(copy.target, []).append(copy)
    rows = []
    for position, name in enumerate(view.devices):
        known = attributes.get(name)
        copies = received.get(position, [])
        rows.append(
            DeviceRow(
                name,
                known.device_type if known else device_label(name).rpartition(" ")[2].partition(":")[0],
                known.memory_limit if known and known.physical_device_desc else None,
                view.counts[name],
                sum(copy.runs for copy in copies),
                sum((view.tensor_of(copy.node, copy.output).nbytes or 0) * copy.runs for copy in copies),
                sizes_text(view, copies) if copies else "",
                known.physical_device_desc if known else "",
            )
        )
    return rows


def scope_rows(placement: Any, depth: int = 1) -> list[ScopeRow]:
    """Rows of the name scopes down to a depth: how many nodes of each are on which device."""
    view = view_of(placement)
    tree = scope_tree(view)
    shares = tree.shares(view.device, len(view.devices))
    return [
        ScopeRow(
            tree.paths[scope],
            int(tree.depth[scope]),
            tree.size(scope),
            {view.labels[k]: int(n) for k, n in enumerate(shares[scope]) if n},
        )
        for scope in range(1, len(tree))
        if tree.depth[scope] <= depth
    ]


def mapping_cells(rows: Iterable[Any]) -> list[tuple[Any, ...]]:
    """`(GPU, name, PCI bus id, visible id, device, memory limit in bytes, reason)` of mapping rows, None if there
    is none."""
    return [
        (
            row.physical_id,
            row.name,
            row.pci_bus_id,
            row.visible_id,
            row.device,
            row.memory_limit if row.device else None,
            row.reason or None,
        )
        for row in rows
    ]
