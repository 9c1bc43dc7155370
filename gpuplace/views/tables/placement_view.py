"""A placement as flat columns, one row per node and one per edge: the only input of pictures and tables.

Placements, logs and any other source that is converted to a `PlacementView` are displayed in the same way.

>>> view = PlacementView.of_columns(
...     [("a", "Const", "/cpu:0", "/device:CPU:0"), ("c", "Neg", "", "/device:GPU:0")], [("a", 0, "c", 0)]
... )
>>> view.is_copy.tolist(), view.device_of(1)
([True], '/device:GPU:0')
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gpuplace.device.parsed_name import parse_name
from gpuplace.errors import OpError
from gpuplace.progress import track
from gpuplace.views.tables.palette import device_label
from gpuplace.views.tables.size_text import bytes_text
from gpuplace.web.rules import words
from gpuplace.why.messages import error_of
from gpuplace.why.verdict import Verdicts, verdicts_of

if TYPE_CHECKING:  # shapes and copies load all ops, and a list of nodes needs neither
    from gpuplace.cost.shapes.graph_shapes import GraphShapes
    from gpuplace.cost.step_copies import StepCopies

CONTROL = -1
"""The value of `src_output` for a control edge."""
_ERRORS = 3
"""Number of errors whose messages are written; a large graph can have thousands."""
NOWHERE = -1
"""The value of `device` for a node without a device."""


@dataclass(frozen=True, slots=True)
class TensorFact:
    """A tensor carried by an edge."""

    dtype: str
    """``float32``; ``""`` if unknown."""
    shape: tuple[int | None, ...] | None
    """The dimensions, None for an unknown one; None for an unknown rank."""
    nbytes: int | None
    """Size in bytes; None if unknown."""
    example_bytes: int | None = None
    """Bytes per example, if the size is proportional to an unknown batch size."""

    @property
    def size_text(self) -> str:
        """The size as text: ``3.1 MiB``, ``3.1 MiB per example``, ``unknown size``."""
        if self.nbytes is None and self.example_bytes is not None:
            return words("per_example", size=bytes_text(self.example_bytes))
        return bytes_text(self.nbytes)

    @property
    def shape_text(self) -> str:
        """The shape as text: ``2×3``, ``?`` if unknown, ``""`` for a scalar."""
        return "?" if self.shape is None else "×".join("?" if n is None else str(n) for n in self.shape)

    def __str__(self) -> str:
        return " ".join(part for part in (self.shape_text or "scalar", self.dtype) if part)


UNKNOWN = TensorFact("", None, None)
"""A tensor without any known property."""


class CopyRow(NamedTuple):
    """A tensor that is copied to another device in one step."""

    node: int
    """Producing node."""
    output: int
    """Output index of the producing node."""
    source: int
    """Source device, an index into ``devices``."""
    target: int
    """Destination device, an index into ``devices``."""
    runs: int = 1
    """Number of times that a step makes this copy."""
    use: str = ""
    """``"feed"``, ``"fetch"``, or ``""`` between nodes."""


@dataclass(frozen=True, eq=False)
class PlacementView:
    """A placed graph as columns."""

    names: Sequence[str]
    """Node names."""
    op_types: Sequence[str]
    """The distinct op types."""
    op_type: np.ndarray
    """[nodes] index into `op_types`."""
    requests: Sequence[str]
    """The distinct requested devices as written."""
    request: np.ndarray
    """[nodes] index into `requests`."""
    devices: Sequence[str]
    """Full names of the machine's devices."""
    device: np.ndarray
    """[nodes] index into `devices`, or -1."""
    src: np.ndarray
    """[edges] producing node."""
    src_output: np.ndarray
    """[edges] output index of the producing node, or -1 for a control edge."""
    dst: np.ndarray
    """[edges] consuming node."""
    dst_input: np.ndarray
    """[edges] input index of the consuming node, or -1 for a control edge."""
    tensor: Callable[[int, int], TensorFact] = lambda node, output: UNKNOWN
    """Returns the known properties of output ``(node, output)``."""
    source_line: Callable[[int], str | None] = lambda node: None
    """Returns ``file:line`` of the statement that created a node."""
    guilty: frozenset[int] = frozenset()
    """Nodes that could not be placed and are named in an error."""
    errors: Sequence[Exception] = ()
    """The errors, as far as their messages are written."""
    release: str = "1.15"
    """The TensorFlow release of the placement."""
    output_counts: np.ndarray | None = None
    """[nodes] number of outputs of each node; None if only the edges are known."""
    verdicts: Callable[[], Verdicts] | None = None
    """Returns the rule that determined each device, and the culprit; None if unknown."""
    groups: Callable[[], np.ndarray] | None = None
    """Returns [nodes] a number that is equal for nodes that must share a device; None if unknown."""
    knows_edges: bool = True
    """False for a log, which only lists nodes."""
    part: str = ""
    """A description of the part of a model that this is; ``""`` for a complete graph."""
    step: Callable[[], Any] | None = None
    """Returns the `StepCopies` of the graph's step, or None if there is no step; None for columns without a graph."""
    outside: Callable[[], str] = lambda: ""
    """Returns a sentence about the nodes outside the step; ``""`` if there are none."""
    _tensors: dict[tuple[int, int], TensorFact] = field(default_factory=dict, repr=False)
    attached: dict[str, Any] = field(default_factory=dict, repr=False)
    """Data of other modules about names, op types and edges, by their own keys; shared by all placements of a graph."""

    @classmethod
    def of_columns(
        cls,
        nodes: Iterable[tuple[str, str, str, str]],
        edges: Iterable[tuple[str, int, str, int]] = (),
        tensors: Mapping[tuple[str, int], TensorFact] | None = None,
        devices: Sequence[str] = (),
    ) -> PlacementView:
        """Build a view from rows ``(name, op type, requested, assigned)`` and ``(src, output, dst, input)``."""
        rows, links = list(nodes), list(edges)
        index = {row[0]: i for i, row in enumerate(rows)}
        types = list(dict.fromkeys(row[1] for row in rows))
        requests = list(dict.fromkeys(row[2] for row in rows))
        all_devices = list(dict.fromkeys([*devices, *sorted({row[3] for row in rows if row[3]})]))
        facts = {(index[name], output): fact for (name, output), fact in (tensors or {}).items()}
        return cls(
            names=[row[0] for row in rows],
            op_types=types,
            op_type=np.array([types.index(row[1]) for row in rows], dtype=np.int64),
            requests=requests,
            request=np.array([requests.index(row[2]) for row in rows], dtype=np.int64),
            devices=all_devices,
            device=np.array(
                [all_devices.index(row[3]) if row[3] else NOWHERE for row in rows], dtype=np.int64
            ),
            src=np.array([index[link[0]] for link in links], dtype=np.int64),
            src_output=np.array([link[1] for link in links], dtype=np.int64),
            dst=np.array([index[link[2]] for link in links], dtype=np.int64),
            dst_input=np.array([link[3] for link in links], dtype=np.int64),
            tensor=lambda node, output: facts.get((node, output), UNKNOWN),
        )

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def index(self) -> dict[str, int]:
        """Node name -> position."""
        return {name: i for i, name in enumerate(self.names)}

    @cached_property
    def labels(self) -> list[str]:
        """Short names of `devices`; the label for no device is at position -1."""
        return [*map(device_label, self.devices), device_label("")]

    def device_of(self, node: int) -> str:
        """Return the full name of a node's device; ``""`` without one."""
        device = int(self.device[node])
        return self.devices[device] if device >= 0 else ""

    def op_type_of(self, node: int) -> str:
        """Return the op type of a node."""
        return self.op_types[self.op_type[node]]

    def request_of(self, node: int) -> str:
        """Return the requested device, as written."""
        return self.requests[self.request[node]]

    @cached_property
    def is_control(self) -> np.ndarray:
        """[edges] bool: whether it is a control edge."""
        return self.src_output == CONTROL

    @cached_property
    def _copies(self) -> tuple[list[CopyRow], np.ndarray]:
        """The copies of a step, and [edges] the copy that brings an edge its tensor, -1 for none."""
        step_copies = None if self.step is None else self.step()
        if step_copies is not None:
            rows = [
                CopyRow(copy.node, copy.output, copy.source, copy.target, copy.runs, copy.use)
                for copy in step_copies.rows
            ]
            return rows, step_copies.of_edge
        here, there = self.device[self.src], self.device[self.dst]
        crossing = np.flatnonzero((here != there) & (here >= 0) & (there >= 0) & ~self.is_control)
        keys = zip(
            *(column[crossing].tolist() for column in (self.src, self.src_output, here, there)), strict=True
        )
        numbers: dict[CopyRow, int] = {}
        of_edge = np.full(len(self.src), -1, dtype=np.int64)
        of_edge[crossing] = [numbers.setdefault(CopyRow(*key), len(numbers)) for key in keys]
        return list(numbers), of_edge

    @property
    def copies(self) -> list[CopyRow]:
        """Each tensor that a step copies to another device, once for all its consumers there.

        For a placement these are the copies of its step (`gpuplace.cost.step_copies`); for columns without a graph, one
        copy per tensor and device along the edges between devices.
        """
        return self._copies[0]

    @property
    def copy_of_edge(self) -> np.ndarray:
        """[edges] index into ``copies`` of the copy that brings an edge its tensor; -1 for none."""
        return self._copies[1]

    @cached_property
    def is_copy(self) -> np.ndarray:
        """[edges] bool: whether a step copies the tensor from one device to another."""
        return self.copy_of_edge >= 0

    @cached_property
    def is_unmet(self) -> np.ndarray:
        """[nodes] bool: whether the node's request was overridden: it got a device that does not match."""
        matches = np.ones((len(self.requests), len(self.devices) + 1), dtype=bool)
        for i, request in enumerate(self.requests):
            requested = parse_name(request) if request else None
            for k, device in enumerate(self.devices):
                assigned = parse_name(device)
                if requested is not None and assigned is not None:
                    matches[i, k] = requested.is_specification(assigned)
        return ~matches[self.request, self.device] & (self.device >= 0)

    def tensor_of(self, node: int, output: int) -> TensorFact:
        """Return the known properties of a tensor; the source is queried once."""
        key = (node, output)
        fact = self._tensors.get(key)
        if fact is None:
            fact = self._tensors[key] = self.tensor(node, output)
        return fact

    def tensors_of(self, tensors: Sequence[tuple[int, int]]) -> list[TensorFact]:
        """Return the known properties of several ``(node, output)``."""
        shown = track(tensors, len(tensors), "reading tensors", " tensors")
        return [self.tensor_of(node, output) for node, output in shown]

    def copies_along(self, edges: np.ndarray) -> list[CopyRow]:
        """Return the copies that bring some edges their tensors.

        Args:
            edges: [edges] bool, or positions of edges.
        """
        numbers = self.copy_of_edge[edges]
        return [self.copies[number] for number in np.unique(numbers[numbers >= 0]).tolist()]

    @cached_property
    def outputs(self) -> np.ndarray:
        """[nodes] number of outputs of each node; a lower bound if only the edges are known."""
        if self.output_counts is not None:
            return self.output_counts
        numbers = np.zeros(len(self), dtype=np.int64)
        np.maximum.at(numbers, self.src, self.src_output + 1)
        return numbers

    @cached_property
    def counts(self) -> dict[str, int]:
        """Full device name -> number of nodes, in the machine's order; ``""`` counts nodes without a device."""
        totals = np.bincount(self.device + 1, minlength=len(self.devices) + 1).tolist()
        counts = dict(zip(self.devices, totals[1:], strict=True))
        if totals[0]:
            counts[""] = totals[0]
        return counts


def view_of(placement: Any) -> PlacementView:
    """Return the view of a `Placement`, or of an object with a `placement_view`; a view is returned unchanged.

    The same placement always returns the same object.
    """
    if isinstance(placement, PlacementView):
        return placement
    view = getattr(placement, "placement_view", None)
    if view is None:
        view = placement.__dict__.get("_report_view")
    if view is None:
        view = placement.__dict__["_report_view"] = _view_of_placement(placement)
    return view


def _view_of_placement(placement: Any) -> PlacementView:
    graph = placement.graph
    types = list(dict.fromkeys(signature.op_type for signature in graph.signatures))
    position = {op_type: i for i, op_type in enumerate(types)}
    of_signature = np.array([position[signature.op_type] for signature in graph.signatures], dtype=np.int64)
    guilty: set[int] = set()
    for fault in placement.faults:
        for part in ("node", "first", "second"):
            if (node := getattr(fault, part, None)) is not None:
                guilty.add(int(node))

    outputs = np.array([len(fact.output_types) for fact in placement.facts], dtype=np.int64)
    partition = placement.partition

    @cache
    def shapes() -> GraphShapes:
        from gpuplace.cost.shapes.graph_shapes import graph_shapes

        return graph_shapes(graph, placement.placer.catalogue)

    def tensor(node: int, output: int) -> TensorFact:
        dtype = placement.facts_of(node).output_types[output].name
        fact = shapes().tensor(node, output)
        return TensorFact(dtype, fact.sizes, fact.nbytes, fact.example_bytes)

    def step() -> StepCopies | None:
        from gpuplace.cost.step_copies import step_copies

        try:
            return step_copies(placement)
        except OpError:  # an empty or invalid graph has no step
            return None

    def outside() -> str:
        return placement.subject.outside_text if len(graph) else ""

    return PlacementView(
        names=graph.names,
        op_types=types,
        op_type=of_signature[graph.signature] if len(graph) else np.zeros(0, dtype=np.int64),
        requests=graph.devices,
        request=graph.device,
        devices=tuple(placement.device_set.names),
        device=placement.devices,
        src=graph.src,
        src_output=graph.src_output,
        dst=graph.dst,
        dst_input=graph.dst_input,
        tensor=tensor,
        source_line=graph.source_line or (lambda node: None),
        guilty=frozenset(guilty),
        errors=tuple(error_of(placement, fault) for fault in placement.faults[:_ERRORS]),
        release=placement.release,
        part=graph.part,
        step=step,
        outside=outside,
        output_counts=outputs[graph.signature] if len(graph) else np.zeros(0, dtype=np.int64),
        verdicts=lambda: verdicts_of(placement),
        groups=(lambda: partition.root) if partition is not None else None,
        # Tensors do not depend on the placement, so all placements of a graph share them.
        _tensors=graph.__dict__.setdefault("_tensor_facts", {}),
        attached=graph.__dict__.setdefault("_attached", {}),
    )
