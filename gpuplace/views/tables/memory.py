"""What is placed on each device, in bytes, beside what the device may use.

Variables and constants stay for the whole session. Outputs of all other ops are added up as if none were freed and each
ran once, so that they bound a step from above; an op that passes on what it was given (a reference) adds nothing. Where
a shape is unknown the tensor is counted, not guessed.

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
from gpuplace.views.tables.placement_view import PlacementView, view_of
from gpuplace.why.placement import Placement

_HOLDING_OPS = VARIABLE_OPS | {"TemporaryVariable"}
_VARIABLE, _CONSTANT, _OUTPUT = range(3)


class MemoryRow(NamedTuple):
    """One device."""

    device: str
    """Full name."""
    nodes: int
    limit: int | None
    """Bytes that it may use; None for a CPU, which has no limit of its own."""
    grows: bool | None
    """Whether it takes memory as needed (``allow_growth``); None if that is not known."""
    variables: int
    """Bytes of variables."""
    constants: int
    """Bytes of constants."""
    outputs: int
    """Bytes of the outputs of all other ops, each once."""
    unknown: int
    """Tensors of unknown size."""
    stats: Any = None
    """Counters of its simulated allocator (`AllocatorStats`), where a session ran."""

    @property
    def known(self) -> int:
        """Bytes of everything whose size is known."""
        return self.variables + self.constants + self.outputs


def tensor_bytes(placement: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """``(kind, bytes, unknown)`` of each node, [nodes] each: what it makes, how much, and how many of unknown size.

    Kinds are 0 for a variable, 1 for a constant, 2 for anything else. Worked out once a graph.
    """
    view = view_of(placement)
    graph = getattr(placement, "graph", None)
    keeper = graph.__dict__ if graph is not None and hasattr(graph, "__dict__") else view.__dict__
    found = keeper.get("_tensor_bytes")
    if found is None:
        found = keeper["_tensor_bytes"] = _measure(placement, view)
    return found


def variable_bytes(placement: Any) -> np.ndarray:
    """Return the bytes of each variable, [nodes]; 0 for other nodes, and where the size is unknown."""
    kind, nbytes, _ = tensor_bytes(placement)
    found: np.ndarray = np.where(kind == _VARIABLE, nbytes, 0)
    return found


def _measure(placement: Any, view: PlacementView) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
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
    made = list(enumerate(_outputs(placement, view)))
    for node, outputs in track(made, len(made), "adding up memory"):
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
    """The outputs of each node that are memory of their own; of a mere view those that something reads."""
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


def _is_handle(dtype: Any) -> bool:
    name = getattr(dtype, "name", "")
    return name.endswith("_ref") or name in ("resource", "variant")


def _size(placement: Any, view: PlacementView, node: int, output: int) -> int | None:
    if view.op_type_of(node) in VARIABLE_OPS and isinstance(placement, Placement):
        return held_bytes(placement.graph, node, placement.placer.catalogue)
    return view.tensor(node, output).nbytes


def memory_rows(
    placement: Any, *, allow_growth: bool | None = None, stats: Mapping[str, Any] | None = None
) -> list[MemoryRow]:
    """A row a device.

    Args:
        placement: a `Placement` or a `PlacementView`.
        allow_growth: whether GPUs take memory as needed; None if unknown.
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
        known = attributes.get(name)
        gpu = known if known is not None and known.physical_device_desc else None
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
