"""Bytes placed on each device, compared with the device's memory limit.

Variables and constants stay for the whole session. Outputs of all other ops are summed as if each op ran once and no
output were freed, which is an upper bound for a step. An op that passes a reference through adds nothing. Tensors of
unknown shape are counted, not estimated.

>>> from gpuplace.views.tables.placement_view import PlacementView, TensorFact
>>> view = PlacementView.of_columns(
...     [("a", "Const", "", "/device:CPU:0"), ("n", "Neg", "", "/device:GPU:0")],
...     [("a", 0, "n", 0)],
...     {("a", 0): TensorFact("float32", (2, 2), 16)},
... )
>>> [(row.device, row.constants, row.unknown) for row in memory_rows(view)]
[('/device:CPU:0', 16, 0), ('/device:GPU:0', 0, 0)]
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from gpuplace.cost.memory.variables import held_bytes
from gpuplace.graph.op_sets import CONSTANT_OPS, VARIABLE_OPS
from gpuplace.progress import track
from gpuplace.typing import DTypeLike, PlacementLike
from gpuplace.views.tables.placement_view import PlacementView, view_of
from gpuplace.why.placement import Placement

_HOLDING_OPS = VARIABLE_OPS | {"TemporaryVariable"}
_VARIABLE, _CONSTANT, _OUTPUT = range(3)


class MemoryRow(NamedTuple):
    """The memory of one device."""

    device: str
    """Full device name."""
    nodes: int
    limit: int | None
    """Memory limit in bytes; None for a CPU, which has none."""
    grows: bool | None
    """Whether it allocates memory on demand (``allow_growth``); None if unknown."""
    variables: int
    """Bytes of variables."""
    constants: int
    """Bytes of constants."""
    outputs: int
    """Bytes of the outputs of all other ops, each counted once."""
    unknown: int
    """Number of tensors of unknown size."""
    stats: Any = None
    """Counters of its simulated allocator (`AllocatorStats`) if a session ran."""

    @property
    def known(self) -> int:
        """Total of all known sizes, in bytes."""
        return self.variables + self.constants + self.outputs


def tensor_bytes(placement: PlacementLike) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return ``(kind, bytes, unknown)`` of each node's outputs, [nodes] each.

    Kinds are 0 for a variable, 1 for a constant, 2 for anything else; ``unknown`` is the number of outputs of unknown
    size. The result is cached per graph.
    """
    view = view_of(placement)
    graph = getattr(placement, "graph", None)
    cache = graph.__dict__ if graph is not None and hasattr(graph, "__dict__") else view.__dict__
    columns = cache.get("_tensor_bytes")
    if columns is None:
        columns = cache["_tensor_bytes"] = _measure(placement, view)
    return columns


def variable_bytes(placement: PlacementLike) -> np.ndarray:
    """Return the bytes of each variable, [nodes]; 0 for other nodes and for unknown sizes."""
    kind, nbytes, _ = tensor_bytes(placement)
    sizes: np.ndarray = np.where(kind == _VARIABLE, nbytes, 0)
    return sizes


def _measure(placement: PlacementLike, view: PlacementView) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    nbytes = np.zeros(len(view), dtype=np.int64)
    unknown = np.zeros(len(view), dtype=np.int64)
    of_type = np.array(
        [
            _VARIABLE if name in _HOLDING_OPS else _CONSTANT if name in CONSTANT_OPS else _OUTPUT
            for name in view.op_types
        ]
        or [_OUTPUT]
    )
    kind = of_type[view.op_type] if len(view) else np.zeros(0, dtype=np.int64)
    items = list(enumerate(_outputs(placement, view)))
    for node, outputs in track(items, len(items), "adding up memory"):
        if kind[node] == _VARIABLE:
            outputs = outputs[:1]
        for output in outputs:
            size = _size(placement, view, node, output)
            if size is None:
                unknown[node] += 1
            else:
                nbytes[node] += size
    return kind, nbytes, unknown


def _outputs(placement: Any, view: PlacementView) -> list[tuple[int, ...]]:
    """Return each node's outputs that own memory; for a view without facts, the outputs that are read."""
    facts = getattr(placement, "facts", None)
    if facts is not None:
        of_fact = []
        for fact in facts:
            stateful = fact.signature.op_type in _HOLDING_OPS
            own = (i for i, dtype in enumerate(fact.output_types) if stateful or not _is_handle(dtype))
            of_fact.append(tuple(own))
        return [of_fact[signature] for signature in placement.graph.signature.tolist()]
    seen: list[dict[int, None]] = [{} for _ in range(len(view))]
    for node, output in zip(view.src.tolist(), view.src_output.tolist(), strict=True):
        if output >= 0:
            seen[node][output] = None
    return [tuple(outputs) for outputs in seen]


def _is_handle(dtype: DTypeLike) -> bool:
    name = getattr(dtype, "name", "")
    return name.endswith("_ref") or name in ("resource", "variant")


def _size(placement: PlacementLike, view: PlacementView, node: int, output: int) -> int | None:
    if view.op_type_of(node) in VARIABLE_OPS and isinstance(placement, Placement):
        return held_bytes(placement.graph, node, placement.placer.catalogue)
    return view.tensor(node, output).nbytes


def memory_rows(
    placement: PlacementLike, *, allow_growth: bool | None = None, stats: Mapping[str, Any] | None = None
) -> list[MemoryRow]:
    """Return a row per device.

    Args:
        placement: a `Placement` or a `PlacementView`.
        allow_growth: whether GPUs allocate memory on demand; None if unknown.
        stats: full device name -> counters of its allocator.
    """
    view = view_of(placement)
    kind, nbytes, unknown = tensor_bytes(placement)
    attributes = getattr(getattr(placement, "device_set", None), "by_name", {})
    count = len(view.devices)
    placed = view.device >= 0
    sums = np.zeros((3, count), dtype=np.int64)
    np.add.at(sums, (kind[placed], view.device[placed]), nbytes[placed])
    missing = np.zeros(count, dtype=np.int64)
    np.add.at(missing, view.device[placed], unknown[placed])
    rows = []
    for position, name in enumerate(view.devices):
        device = attributes.get(name)
        gpu = device if device is not None and device.physical_device_desc else None
        rows.append(
            MemoryRow(
                name,
                view.counts[name],
                None if gpu is None else gpu.memory_limit,
                None if gpu is None else allow_growth,
                int(sums[_VARIABLE, position]),
                int(sums[_CONSTANT, position]),
                int(sums[_OUTPUT, position]),
                int(missing[position]),
                (stats or {}).get(name),
            )
        )
    return rows
