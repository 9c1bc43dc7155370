"""Rows about a placement, from which frames and pages are built: nodes, devices, scopes, mapping of GPUs.

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
    """Requested device as written; ``""`` for none."""
    assigned: str
    """Full device name; ``""`` without a device."""
    device: str
    """Short name of `assigned`."""
    is_met: bool | None
    """Whether the device matches the request; None without a request or a device."""
    scope: str
    """Name scope of the node."""
    source: str
    """``file:line`` of the statement that created it; ``""`` if unknown."""
    rule: str
    """The rule that determined the device; ``""`` if unknown."""
    decided_by: str
    """The culprit: the node that the rule applies to, or the followed node."""


class DeviceRow(NamedTuple):
    """One device of the machine."""

    device: str
    """Full device name."""
    type: str
    memory_limit: int | None
    """Memory limit in bytes."""
    nodes: int
    """Number of nodes placed on it."""
    copies_in: int
    """Number of copies to it in a step."""
    bytes_in: int
    """Total known size of these copies in bytes."""
    size_in: str
    """Their size as text; ``""`` without copies."""
    description: str
    """Description of the physical device; ``""`` for a CPU."""


class ScopeRow(NamedTuple):
    """One name scope."""

    scope: str
    depth: int
    nodes: int
    """Number of nodes inside, at any depth."""
    devices: dict[str, int]
    """Short device name -> number of nodes."""


def node_rows(placement: Any, nodes: Iterable[int] | None = None) -> Iterator[NodeRow]:
    """Yield rows of all nodes, or of the nodes at the given positions."""
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
    """Return rows of all devices of the machine; unknown values are None or empty."""
    view = view_of(placement)
    attributes = getattr(getattr(placement, "device_set", None), "by_name", {})
    received: dict[int, list[CopyRow]] = {}
    for copy in view.copies:
        received.setdefault(copy.target, []).append(copy)
    rows = []
    for position, name in enumerate(view.devices):
        attributes_of_device = attributes.get(name)
        copies = received.get(position, [])
        rows.append(
            DeviceRow(
                name,
                attributes_of_device.device_type
                if attributes_of_device
                else device_label(name).rpartition(" ")[2].partition(":")[0],
                attributes_of_device.memory_limit
                if attributes_of_device and attributes_of_device.physical_device_desc
                else None,
                view.counts[name],
                sum(copy.runs for copy in copies),
                sum((view.tensor_of(copy.node, copy.output).nbytes or 0) * copy.runs for copy in copies),
                sizes_text(view, copies) if copies else "",
                attributes_of_device.physical_device_desc if attributes_of_device else "",
            )
        )
    return rows


def scope_rows(placement: Any, depth: int = 1) -> list[ScopeRow]:
    """Return rows of the name scopes down to a depth, with the number of nodes on each device."""
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
    """Return `(GPU, name, PCI bus id, visible id, device, memory limit in bytes, reason)` of mapping rows.

    A missing value is None.
    """
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
