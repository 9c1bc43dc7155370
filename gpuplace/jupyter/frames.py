"""Placements, edges and machines as pandas DataFrames with typed columns.

`placement_frame`, indexed by node name:

=============  ==================  =========================================================================
column         type                meaning
=============  ==================  =========================================================================
type           category            op type
requested      category            device asked for, as written; missing where nothing was asked
assigned       category            full name of the device; missing where the node has none
device         category, ordered   short name, ``GPU:2``, in the machine's order
met            boolean             whether the device is what was asked for; missing where nothing was asked
scope          category            name scope
source         string              ``file:line`` that made the node; missing where unknown
=============  ==================  =========================================================================

`edges_frame`, one row an edge: ``src``, ``src_output`` (Int32, missing for control edges), ``dst``, ``dst_input``,
``src_device``, ``dst_device``, ``dtype``, ``shape``, ``bytes`` (Int64, missing where unknown), ``copy`` and ``control``
(bool). `devices_frame`, one row a device. `mapping_frame`, one row a GPU or a device on it: ``gpu``, ``name``,
``pci_bus_id``, ``visible`` (Int32), ``device``, ``memory_limit`` (Int64, bytes), ``reason``.

`explanation_frame`, one row a rule that acted, in order:

=============  ==================  =========================================================================
column         type                meaning
=============  ==================  =========================================================================
rule           category            the rule
before         string              short names of the devices left before it, with spaces between
after          string              short names of the devices left after it
cause          string              the other node that made the rule apply; missing where it is none
note           string              what happened, in words
=============  ==================  =========================================================================

`diff_frame`, one row a node that moves, indexed by its name: ``before`` and ``after`` (category, full device names,
missing without a device), ``cause`` (category, the rule), ``note`` (string, missing where the rule says it all).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from gpuplace.report.palette import device_label
from gpuplace.report.placement_view import view_of
from gpuplace.report.tables import device_rows, edge_rows, mapping_cells, scope_rows

__all__ = [
    "blame_frame",
    "devices_frame",
    "diff_frame",
    "edges_frame",
    "explanation_frame",
    "kernels_frame",
    "mapping_frame",
    "placement_frame",
    "scopes_frame",
]


def _codes(codes: np.ndarray, categories: Sequence[str]) -> pd.Categorical:
    """A column whose empty text is missing."""
    kept = [i for i, name in enumerate(categories) if name]
    place = np.full(len(categories) + 1, -1, dtype=np.int64)
    place[kept] = np.arange(len(kept))
    return pd.Categorical.from_codes(
        place[codes], categories=pd.Index([categories[i] for i in kept], dtype="str")
    )


def _category(values: Iterable[str]) -> pd.Categorical:
    """A column of a few texts, the empty one missing."""
    return pd.Categorical([value or None for value in values])


def placement_frame(placement: Any) -> pd.DataFrame:
    """One row a node, indexed by its name; see the module for the columns."""
    view = view_of(placement)
    device = np.asarray(view.device, dtype=np.int64)
    labels = list(dict.fromkeys(map(device_label, view.devices)))
    short = np.array([*(labels.index(device_label(name)) for name in view.devices), -1], dtype=np.int64)
    asked = np.array([bool(request) for request in view.requests] or [False])[view.request] & (device >= 0)
    met = pd.arrays.BooleanArray(~view.is_unmet, ~asked)
    sources = (view.source_line(node) or None for node in range(len(view)))
    columns = {
        "type": _codes(np.asarray(view.op_type, dtype=np.int64), view.op_types),
        "requested": _codes(np.asarray(view.request, dtype=np.int64), view.requests),
        "assigned": pd.Categorical.from_codes(device, categories=pd.Index(view.devices, dtype="str")),
        "device": pd.Categorical.from_codes(
            short[device], categories=pd.Index(labels, dtype="str"), ordered=True
        ),
        "met": met,
        "scope": _category(name.rpartition("/")[0] for name in view.names),
        "source": pd.array(list(sources), dtype="string"),
    }
    return pd.DataFrame(columns, index=pd.Index(list(view.names), name="node", dtype="str"))


def edges_frame(placement: Any, *, copies_only: bool = False) -> pd.DataFrame:
    """One row an edge, or only those along which a tensor is copied between devices; see the module for the columns."""
    rows = list(edge_rows(placement, copies_only=copies_only))
    src, src_output, dst, dst_input, src_device, dst_device, dtype, shape, nbytes, is_copy, is_control = (
        zip(*rows, strict=True) if rows else ((),) * 11
    )
    return pd.DataFrame(
        {
            "src": pd.array(src, dtype="str"),
            "src_output": pd.array(src_output, dtype="Int32"),
            "dst": pd.array(dst, dtype="str"),
            "dst_input": pd.array(dst_input, dtype="Int32"),
            "src_device": _category(src_device),
            "dst_device": _category(dst_device),
            "dtype": _category(dtype),
            "shape": pd.array([text or None for text in shape], dtype="string"),
            "bytes": pd.array(nbytes, dtype="Int64"),
            "copy": np.array(is_copy, dtype=bool),
            "control": np.array(is_control, dtype=bool),
        }
    )


def devices_frame(placement: Any) -> pd.DataFrame:
    """One row a device of the machine, indexed by full name: what it was given and what is copied to it."""
    rows = device_rows(placement)
    return pd.DataFrame(
        {
            "type": _category(row.type for row in rows),
            "nodes": pd.array([row.nodes for row in rows], dtype="int64"),
            "copies_in": pd.array([row.copies_in for row in rows], dtype="int64"),
            "bytes_in": pd.array([row.bytes_in for row in rows], dtype="int64"),
            "memory_limit": pd.array([row.memory_limit for row in rows], dtype="Int64"),
            "description": pd.array([row.description or None for row in rows], dtype="string"),
        },
        index=pd.Index([row.device for row in rows], name="device", dtype="str"),
    )


def scopes_frame(placement: Any, depth: int = 1) -> pd.DataFrame:
    """One row a name scope down to a depth, one column a device: how many nodes of the scope are there."""
    rows = scope_rows(placement, depth)
    view = view_of(placement)
    labels = [label for label in dict.fromkeys(view.labels) if any(label in row.devices for row in rows)]
    columns = {"nodes": [row.nodes for row in rows]}
    columns |= {label: [row.devices.get(label, 0) for row in rows] for label in labels}
    return pd.DataFrame(
        columns, index=pd.Index([row.scope for row in rows], name="scope", dtype="str"), dtype="int64"
    )


def mapping_frame(machine: Any, config: Any = None, **options: Any) -> pd.DataFrame:
    """The chain physical GPU -> visible GPU -> device of a machine, hidden GPUs and reasons included.

    Args:
        machine: a `Machine`, its text, or rows that it gave.
        config: ``ConfigProto`` or None.
        options: further arguments of `Machine.mapping`, such as ``environ``.
    """
    from gpuplace.device.machine import Machine

    if isinstance(machine, str):
        machine = Machine.parse(machine)
    rows = machine.mapping(config, **options) if isinstance(machine, Machine) else machine
    cells = mapping_cells(rows)
    gpu, name, bus, visible, device, limit, reason = zip(*cells, strict=True) if cells else ((),) * 7
    return pd.DataFrame(
        {
            "gpu": pd.array(gpu, dtype="int32"),
            "name": _category(name),
            "pci_bus_id": pd.array(bus, dtype="str"),
            "visible": pd.array(visible, dtype="Int32"),
            "device": pd.array(device, dtype="string"),
            "memory_limit": pd.array(limit, dtype="Int64"),
            "reason": pd.array(reason, dtype="string"),
        }
    )


def blame_frame(blame: Any) -> pd.DataFrame:
    """One row a cause that keeps nodes off a device type, that of most nodes first.

    Args:
        blame: what ``placement.blame()`` gave.
    """
    rows = tuple(blame)
    numbers = ("nodes", "itself", "bound", "followers", "nbytes", "unsized")
    return pd.DataFrame(
        {
            "rule": _category(row.rule.value for row in rows),
            "cause": pd.array([row.cause for row in rows], dtype="string"),
            **{name: pd.array([getattr(row, name) for row in rows], dtype="int64") for name in numbers},
            "op_types": pd.array([", ".join(row.op_types) for row in rows], dtype="string"),
            "dtypes": pd.array([", ".join(row.dtypes) for row in rows], dtype="string"),
            "decided_by": pd.array([row.decided_by for row in rows], dtype="string"),
            "example": pd.array([row.example for row in rows], dtype="string"),
            "remedy": pd.array([row.remedy for row in rows], dtype="string"),
        }
    )


def explanation_frame(explanation: Any) -> pd.DataFrame:
    """One row a rule that acted on a node, in order; see the module for the columns.

    Args:
        explanation: what ``placement.explain(node)`` gave.
    """
    steps = explanation.steps
    return pd.DataFrame(
        {
            "rule": _category(step.rule.value for step in steps),
            "before": pd.array([" ".join(step.before) for step in steps], dtype="string"),
            "after": pd.array([" ".join(step.after) for step in steps], dtype="string"),
            "cause": pd.array([step.cause for step in steps], dtype="string"),
            "note": pd.array([step.note for step in steps], dtype="string"),
        }
    )


def diff_frame(diff: Any) -> pd.DataFrame:
    """One row a node that has another device in the other placement; see the module for the columns.

    Args:
        diff: what ``placement.diff(other)`` gave.
    """
    moves = tuple(diff)
    return pd.DataFrame(
        {
            "before": _category(move.before for move in moves),
            "after": _category(move.after for move in moves),
            "cause": _category(move.cause.value for move in moves),
            "note": pd.array([move.note or None for move in moves], dtype="string"),
        },
        index=pd.Index([move.node for move in moves], name="node", dtype="str"),
    )


def kernels_frame(op: str, release: str | None = None) -> pd.DataFrame:
    """The kernels registered for an op type: device type, attribute values, host memory.

    Raises:
        NotFoundError: there is no such op.
    """
    from gpuplace.kernels.listing import kernel_rows

    rows = kernel_rows(op, release)
    return pd.DataFrame(
        {
            "device_type": _category(row.device_type for row in rows),
            "constraints": pd.array([row.constraints or None for row in rows], dtype="string"),
            "host_memory": pd.array([row.host_memory or None for row in rows], dtype="string"),
            "priority": pd.array([row.priority for row in rows], dtype="int32"),
            "label": pd.array([row.label or None for row in rows], dtype="string"),
            "computable": np.array([row.is_computable for row in rows], dtype=bool),
        },
        index=pd.Index([row.op for row in rows], name="op", dtype="str"),
    )
