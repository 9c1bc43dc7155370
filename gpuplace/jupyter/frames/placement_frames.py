"""Placements, edges and machines as pandas DataFrames with typed columns.

`placement_frame`, indexed by node name:

=============  ==================  =========================================================================
column         type                meaning
=============  ==================  =========================================================================
type           category            op type
requested      category            requested device, as written; missing without a request
assigned       category            full name of the device; missing if the node has none
device         category, ordered   short name, ``GPU:2``, in the machine's order
met            boolean             whether the device matches the request; missing without a request
rule           category            the rule that determined the device; missing for a log
decided_by     string              the culprit: the node that the rule applies to, or the followed node
scope          category            name scope
source         string              ``file:line`` that created the node; missing if unknown
=============  ==================  =========================================================================

Each table is a function here and a name for ``placement.frame(name)``: ``"nodes"`` (the table above), ``"edges"``,
``"copies"``, ``"devices"``, ``"scopes"``, ``"groups"``, ``"memory"``, ``"kernels"`` and ``"errors"``. Tables of
machines and of a session's memory are in `machine_frames`; explanations and moves are in `explanation_frames`.

`edges_frame`, one row per edge: ``src``, ``src_output`` (Int32, missing for control edges), ``dst``, ``dst_input``,
``src_device``, ``dst_device``, ``dtype``, ``shape``, ``bytes`` (Int64, missing if unknown), ``bytes_per_example``
(Int64, if the size is proportional to an unknown batch size), ``copy`` (bool: whether a step copies the tensor for this
edge) and ``control`` (bool). `copies_frame`, one row per tensor that a step copies to another device, with the columns
of an edge, where ``dst`` and ``dst_input`` are those of the first consumer (missing for a fetch), and ``consumers``
(int64), ``runs`` (int64: copies per step), ``use`` (category: ``feed``, ``fetch``, or empty between nodes).
`devices_frame`, one row per device.

`groups_frame`, one row per node that must share its device with others, indexed by its name: ``group`` (int64, counted
from 0), ``size`` (int64), ``assigned``, ``requested`` (category, the combined request of the group), ``decided_by``
(string, the culprit of the verdict on the first visited node). `memory_frame`, one row per device, indexed by
full name: ``memory_limit`` (Int64, bytes; missing for CPUs), ``tensors``, ``bytes``, ``unsized`` (int64: number of
tensors that its nodes create, their bytes as far as known, and the number of unknown sizes), ``copies_in``,
``bytes_in``. `errors_frame`, one row per error, the first being TensorFlow's: ``error`` (category, its class), ``node``
(string), ``message``, ``hint`` (string).
`kernels_frame`, one row per kernel, indexed by op: ``device_type`` (category), ``constraints``, ``host_memory``,
``label`` (string), ``priority`` (int32), ``computable`` (bool).

Missing values are displayed as empty cells (`Table`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from gpuplace.jupyter.frames.columns import category, coded, scope_category
from gpuplace.jupyter.frames.table import Table
from gpuplace.typing import PlacementLike
from gpuplace.views.tables.palette import device_label
from gpuplace.views.tables.placement_view import view_of
from gpuplace.views.tables.rows import device_rows, scope_rows
from gpuplace.why.rules import RULES


def placement_frame(placement: PlacementLike) -> pd.DataFrame:
    """Return one row per node, indexed by its name; see the module for the columns."""
    view = view_of(placement)
    device = np.asarray(view.device, dtype=np.int64)
    labels = list(dict.fromkeys(map(device_label, view.devices)))
    short = np.array([*(labels.index(device_label(name)) for name in view.devices), -1], dtype=np.int64)
    has_request = np.array([bool(request) for request in view.requests] or [False])[view.request] & (
        device >= 0
    )
    met = pd.arrays.BooleanArray(~view.is_unmet, ~has_request)
    sources = (view.source_line(node) or None for node in range(len(view)))
    columns = {
        "type": coded(np.asarray(view.op_type, dtype=np.int64), view.op_types),
        "requested": coded(np.asarray(view.request, dtype=np.int64), view.requests),
        "assigned": pd.Categorical.from_codes(device, categories=pd.Index(view.devices, dtype="str")),
        "device": pd.Categorical.from_codes(
            short[device], categories=pd.Index(labels, dtype="str"), ordered=True
        ),
        "met": met,
        **_verdict_columns(view),
        "scope": scope_category(view.names),
        "source": pd.array(list(sources), dtype="string"),
    }
    return Table(columns, index=pd.Index(list(view.names), name="node", dtype="str"))


def _verdict_columns(view: Any) -> dict[str, Any]:
    """Return the rule that determined each node's device, and the culprit; missing if unknown."""
    if view.verdicts is None:
        none = np.full(len(view), -1, dtype=np.int64)
        return {"rule": coded(none, []), "decided_by": pd.array([None] * len(view), dtype="string")}
    verdicts = view.verdicts()
    names = np.array(view.names, dtype=object)
    return {
        "rule": coded(verdicts.rule, [rule.value for rule in RULES]),
        "decided_by": pd.array(names[verdicts.culprit], dtype="string"),
    }


def edges_frame(placement: PlacementLike) -> pd.DataFrame:
    """Return one row per edge; see the module for the columns."""
    view = view_of(placement)
    is_control = view.is_control
    names = np.array(view.names, dtype=object)
    return Table(
        {
            "src": pd.array(names[view.src], dtype="str"),
            "src_output": pd.arrays.IntegerArray(view.src_output.astype(np.int32), is_control.copy()),
            "dst": pd.array(names[view.dst], dtype="str"),
            "dst_input": pd.arrays.IntegerArray(view.dst_input.astype(np.int32), is_control.copy()),
            "src_device": coded(view.device[view.src], view.devices),
            "dst_device": coded(view.device[view.dst], view.devices),
            **_tensor_columns(view, view.src, view.src_output),
            "copy": view.is_copy,
            "control": is_control,
        }
    )


def copies_frame(placement: PlacementLike, numbers: Sequence[int] | None = None) -> pd.DataFrame:
    """Return one row per copy; see the module for the columns.

    Args:
        placement: a `Placement`, or an object with a `PlacementView`.
        numbers: indices into the copies of the view; None for all.
    """
    view = view_of(placement)
    chosen = range(len(view.copies)) if numbers is None else numbers
    copies = [view.copies[number] for number in chosen]
    edges = np.flatnonzero(view.is_copy)
    first: dict[int, int] = {}
    consumers: dict[int, int] = {}
    for edge, number in zip(edges.tolist(), view.copy_of_edge[edges].tolist(), strict=True):
        first.setdefault(number, edge)
        consumers[number] = consumers.get(number, 0) + 1
    ends = [first.get(number, -1) for number in chosen]
    is_fetch = np.array([edge < 0 for edge in ends], dtype=bool)
    places = np.array([0 if edge < 0 else int(view.dst_input[edge]) for edge in ends], dtype=np.int32)
    nodes, outputs = [copy.node for copy in copies], [copy.output for copy in copies]
    return Table(
        {
            "src": pd.array([view.names[node] for node in nodes], dtype="str"),
            "src_output": pd.array(outputs, dtype="Int32"),
            "dst": pd.array([None if edge < 0 else view.names[view.dst[edge]] for edge in ends], dtype="str"),
            "dst_input": pd.arrays.IntegerArray(places, is_fetch),
            "src_device": coded(np.array([copy.source for copy in copies], dtype=np.int64), view.devices),
            "dst_device": coded(np.array([copy.target for copy in copies], dtype=np.int64), view.devices),
            **_tensor_columns(view, np.array(nodes, dtype=np.int64), np.array(outputs, dtype=np.int64)),
            "consumers": pd.array([consumers.get(number, 0) for number in chosen], dtype="int64"),
            "runs": pd.array([copy.runs for copy in copies], dtype="int64"),
            "use": category(copy.use for copy in copies),
        }
    )


def _tensor_columns(view: Any, nodes: np.ndarray, outputs: np.ndarray) -> dict[str, Any]:
    """Return dtype, shape and bytes of tensors; missing for control edges and unknown values."""
    keys, tensor = np.unique(np.stack((nodes, outputs), axis=1), axis=0, return_inverse=True)
    tensor = tensor.reshape(-1)
    data_facts = iter(view.tensors_of(keys[keys[:, 1] >= 0].tolist()))
    facts = [next(data_facts) if port >= 0 else None for port in keys[:, 1].tolist()]
    dtypes = category("" if fact is None else fact.dtype for fact in facts)
    shapes = pd.array([None if fact is None else fact.shape_text or None for fact in facts], dtype="string")
    sizes = pd.array([None if fact is None else fact.nbytes for fact in facts], dtype="Int64")
    of_examples = pd.array([None if fact is None else fact.example_bytes for fact in facts], dtype="Int64")
    return {
        "dtype": pd.Categorical.from_codes(dtypes.codes[tensor], categories=dtypes.categories),
        "shape": shapes.take(tensor),
        "bytes": sizes.take(tensor),
        "bytes_per_example": of_examples.take(tensor),
    }


def trace_frame(trace: Any, table: str = "nodes") -> pd.DataFrame:
    """Return the rows of `placement_frame` or `edges_frame` that belong to a `Trace`.

    Args:
        trace: the result of ``placement.trace("name")``.
        table: ``"nodes"``, ``"edges"`` (the traversed ones) or ``"copies"``.

    Raises:
        ValueError: there is no such table.
    """
    if table == "nodes":
        return placement_frame(trace.view)[trace.nodes]
    if table == "edges":
        return edges_frame(trace.view)[trace.edges].reset_index(drop=True)
    if table == "copies":
        numbers = trace.view.copy_of_edge[trace.edges]
        return copies_frame(trace.view, np.unique(numbers[numbers >= 0]).tolist())
    raise ValueError(f"A trace has no table {table!r}: choose one of nodes, edges, copies")


def devices_frame(placement: PlacementLike) -> pd.DataFrame:
    """Return one row per device, indexed by full name: its nodes, and the copies to it."""
    rows = device_rows(placement)
    return Table(
        {
            "type": category(row.type for row in rows),
            "nodes": pd.array([row.nodes for row in rows], dtype="int64"),
            "copies_in": pd.array([row.copies_in for row in rows], dtype="int64"),
            "bytes_in": pd.array([row.bytes_in for row in rows], dtype="int64"),
            "memory_limit": pd.array([row.memory_limit for row in rows], dtype="Int64"),
            "description": pd.array([row.description or None for row in rows], dtype="string"),
        },
        index=pd.Index([row.device for row in rows], name="device", dtype="str"),
    )


def scopes_frame(placement: PlacementLike, depth: int = 1) -> pd.DataFrame:
    """Return one row per name scope down to a depth, with a column per device for the number of nodes."""
    rows = scope_rows(placement, depth)
    view = view_of(placement)
    labels = [label for label in dict.fromkeys(view.labels) if any(label in row.devices for row in rows)]
    columns = {"nodes": [row.nodes for row in rows]}
    columns |= {label: [row.devices.get(label, 0) for row in rows] for label in labels}
    return Table(
        columns, index=pd.Index([row.scope for row in rows], name="scope", dtype="str"), dtype="int64"
    )


def kernels_frame(op: str, release: str | None = None) -> pd.DataFrame:
    """Return the kernels registered for an op type: device type, attribute values, host memory.

    Raises:
        NotFoundError: there is no such op.
    """
    from gpuplace.kernels.listing import kernel_rows

    rows = kernel_rows(op, release)
    return Table(
        {
            "device_type": category(row.device_type for row in rows),
            "constraints": pd.array([row.constraints or None for row in rows], dtype="string"),
            "host_memory": pd.array([row.host_memory or None for row in rows], dtype="string"),
            "priority": pd.array([row.priority for row in rows], dtype="int32"),
            "label": pd.array([row.label or None for row in rows], dtype="string"),
            "computable": np.array([row.is_computable for row in rows], dtype=bool),
        },
        index=pd.Index([row.op for row in rows], name="op", dtype="str"),
    )


def groups_frame(placement: Any) -> pd.DataFrame:
    """Return one row per node that must share its device with other nodes; see the module for the columns."""
    groups = tuple(placement.groups())
    sizes = [len(group.nodes) for group in groups]

    def spread(values: list[Any]) -> np.ndarray:
        return np.repeat(np.array(values, dtype=object), sizes)

    return Table(
        {
            "group": np.repeat(np.arange(len(groups), dtype=np.int64), sizes),
            "size": np.repeat(np.array(sizes, dtype=np.int64), sizes),
            "assigned": category(spread([group.device for group in groups]).tolist()),
            "requested": category(spread([group.requested for group in groups]).tolist()),
            "decided_by": pd.array(spread([group.decided_by for group in groups]), dtype="string"),
        },
        index=pd.Index([name for group in groups for name in group.nodes], name="node", dtype="str"),
    )


def memory_frame(placement: PlacementLike) -> pd.DataFrame:
    """Return one row per device: its memory limit and the tensors of its nodes; see the module for the columns."""
    view = view_of(placement)
    devices = devices_frame(placement)
    tensors = np.zeros((len(view.devices) + 1, 3), dtype=np.int64)
    used = ~view.is_control
    outputs = np.unique(np.stack((view.src[used], view.src_output[used]), axis=1), axis=0)
    for node, output in outputs.tolist():
        nbytes = view.tensor_of(node, output).nbytes
        tensors[view.device[node]] += (1, nbytes or 0, nbytes is None)
    tensor_columns = Table(tensors[:-1], index=devices.index, columns=["tensors", "bytes", "unsized"])
    return pd.concat([devices[["memory_limit"]], tensor_columns, devices[["copies_in", "bytes_in"]]], axis=1)


def errors_frame(placement: Any) -> pd.DataFrame:
    """Return one row per error of a partial placement; see the module for the columns."""
    errors = placement.errors
    names = placement.graph.names
    guilty = [getattr(fault, "node", getattr(fault, "first", None)) for fault in placement.faults]
    return Table(
        {
            "error": category(type(error).__name__ for error in errors),
            "node": pd.array([None if node is None else names[int(node)] for node in guilty], dtype="string"),
            "message": pd.array([error.message for error in errors], dtype="string"),
            "hint": pd.array([error.hint for error in errors], dtype="string"),
        }
    )


def _kernels_of_graph(placement: Any) -> pd.DataFrame:
    """Return the kernels of every op type of a graph; functions of the graph have none."""
    op_types = dict.fromkeys(fact.signature.op_type for fact in placement.facts if not fact.is_function)
    frames = [kernels_frame(op, placement.release) for op in sorted(op_types)]
    if not frames:
        return kernels_frame("NoOp", placement.release).iloc[:0]
    kernels = pd.concat(frames)
    return kernels.assign(device_type=category(kernels["device_type"].tolist()))


_TABLES: dict[str, Callable[..., pd.DataFrame]] = {
    "nodes": placement_frame,
    "devices": devices_frame,
    "edges": edges_frame,
    "copies": copies_frame,
    "groups": groups_frame,
    "scopes": scopes_frame,
    "kernels": _kernels_of_graph,
    "memory": memory_frame,
    "errors": errors_frame,
}


def frame(placement: PlacementLike, table: str = "nodes", *, depth: int | None = None) -> pd.DataFrame:
    """Return a table of a placement by its name; see the module for names and columns.

    Args:
        placement: a `Placement` or `PlacementView`.
        table: name of the table.
        depth: the number of levels; for ``"scopes"`` only.

    Raises:
        ValueError: there is no such table.
    """
    if table not in _TABLES:
        raise ValueError(f"A placement has no table {table!r}: choose one of {', '.join(_TABLES)}")
    return _TABLES[table](placement) if depth is None else _TABLES[table](placement, depth=depth)
