"""The copies of a step: one for each tensor and memory of another device that needs it. All views show these.

A tensor is copied to a memory once, for all its consumers there. A GPU has its own memory and host memory, where its
kernels expect some arguments. Feeds come from the client's device, and fetches go there. A control dependency
between devices is a signal, not a copy, and is counted separately::

    a (CPU:0) ──┬──> MatMul (GPU:0)       1 copy of a, to GPU:0
                └──> Tanh   (GPU:0)
    MatMul ─ ─ ─ ─> NoOp    (CPU:0)       1 signal

The copies are those of the step as the graph states it, as a traced session runs it. An optimizer may remove some of
them before the step runs, such as copies of folded constants; an estimate marks these, and they cost nothing there.

Source: tensorflow/core/graph/graph_partition.cc (one ``_Recv`` for a tensor, device and memory), release 1.15.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from gpuplace.cost.shapes.branches import dead_nodes
from gpuplace.cost.shapes.step_shapes import StepShapes, step_shapes
from gpuplace.dtypes import DType, resource
from gpuplace.errors import OpError
from gpuplace.kernels.registry import Catalogue, HostMemory
from gpuplace.model.subject.step_part import StepPart, step_part
from gpuplace.placer.placement_graph import CONTROL, PlacementGraph
from gpuplace.why.placement import Placement

CLIENT = 0
"""Position of the device that feeds come from and fetches go to."""


class StepCopy(NamedTuple):
    """A tensor that a step copies to another device."""

    node: int
    """Producing node, by position in the whole graph."""
    output: int
    """Output of that node."""
    source: int
    """Sending device, by position in the device set."""
    target: int
    """Receiving device."""
    to_host: bool
    """Whether it goes to host memory; always true on a CPU."""
    runs: int
    """How often a step copies it: once for each iteration of the loops around it."""
    use: str
    """``"feed"``, ``"fetch"``, or ``""`` between nodes."""


class Edges(NamedTuple):
    """Edges of a step with the memories at both ends; the last edges lead to the client."""

    src: np.ndarray
    """[edges] producing node."""
    dst: np.ndarray
    """[edges] consuming node; numbers from the node count up stand for fetches."""
    output: np.ndarray
    """[edges] output of the producing node, or `CONTROL`."""
    reads: np.ndarray
    """[edges] bool: whether the consumer reads host memory even on a GPU."""
    writes: np.ndarray
    """[edges] bool: whether the producer writes host memory even on a GPU."""

    @property
    def changes_memory(self) -> np.ndarray:
        """[edges] bool: whether the tensor moves between GPU and host memory if both nodes are on one GPU."""
        return (self.reads != self.writes) & (self.output != CONTROL)


def crosses(
    sender: np.ndarray, receiver: np.ndarray, changes_memory: np.ndarray, is_gpu: np.ndarray
) -> np.ndarray:
    """Return [edges] bool: whether a tensor or signal moves from one memory to another.

    Args:
        sender, receiver: [edges] device positions.
        changes_memory: [edges] as in `Edges`.
        is_gpu: [devices] bool.
    """
    return (sender != receiver) | (changes_memory & is_gpu[sender])


def host_arguments(graph: PlacementGraph, catalogue: Catalogue, used: np.ndarray) -> list[HostMemory]:
    """Return [signatures] the inputs and outputs in host memory of a node on a GPU.

    Args:
        graph: the nodes.
        catalogue: the kernels.
        used: signatures of nodes on GPUs; the result is empty for others.
    """
    used_signatures = set(used.tolist())
    none: HostMemory = (frozenset(), frozenset())
    arguments = []
    for number, signature in enumerate(graph.signatures):
        op_def = catalogue.ops.get(signature.op_type)
        if op_def is None or number not in used_signatures:
            arguments.append(none)
            continue
        attrs = {**op_def.defaults, **dict(signature.attrs)}
        try:
            arguments.append(catalogue.kernels.host_memory(op_def, attrs, "GPU"))
        except (OpError, KeyError, TypeError):  # an invalid node, which the placement reports
            arguments.append(none)
    return arguments


def _are_in(sets: Sequence[Set[int]], which: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Return [positions] bool: whether each is in the set that `which` selects."""
    is_member = np.array([len(members) > 0 for members in sets], dtype=bool)[which]
    # Pack set number and position into one integer: many edges share few distinct pairs.
    pairs_to_test, pair_number = np.unique(
        which[is_member].astype(np.int64) << 32 | positions[is_member], return_inverse=True
    )
    pairs = zip((pairs_to_test >> 32).tolist(), (pairs_to_test & 0xFFFFFFFF).tolist(), strict=True)
    is_member[is_member] = np.array([at in sets[number] for number, at in pairs], dtype=bool)[pair_number]
    return is_member


def edges_with_memories(
    part: StepPart,
    catalogue: Catalogue,
    chosen: np.ndarray,
    on_gpu: np.ndarray,
    output: np.ndarray | None = None,
    is_run: np.ndarray | None = None,
) -> Edges:
    """Return edges of a step with the memories at both ends, those of the fetches last.

    Args:
        part: the step.
        catalogue: the kernels.
        chosen: [edges of the part] bool: edges to include.
        on_gpu: [nodes] bool: nodes that are, or may be, on GPUs.
        output: [edges of the part] output that each edge carries; None: as in the graph.
        is_run: [nodes] bool: nodes that run, and can be fetched; None for all.
    """
    graph = part.graph
    count = len(graph)
    sets = host_arguments(graph, catalogue, np.unique(graph.signature[on_gpu]))
    src, dst = graph.src[chosen].astype(np.int64), graph.dst[chosen].astype(np.int64)
    port = (graph.src_output if output is None else output)[chosen].astype(np.int64)
    position = graph.dst_input[chosen].astype(np.int64)
    reads = _are_in([inputs for inputs, _ in sets], graph.signature[dst], position)
    writes = _are_in([outputs for _, outputs in sets], graph.signature[src], port)
    fetched = [
        (node, port)
        for node, port in dict.fromkeys(part.fetches)
        if port >= 0 and (is_run is None or is_run[node])
    ]
    fetched_in_host = [port in sets[int(graph.signature[node])][1] for node, port in fetched]
    nodes = np.array([node for node, _ in fetched], dtype=np.int64)
    ports = np.array([port for _, port in fetched], dtype=np.int64)
    return Edges(
        np.concatenate((src, nodes)),
        np.concatenate((dst, np.arange(count, count + len(fetched)))),
        np.concatenate((port, ports)),
        np.concatenate((reads, np.ones(len(fetched), dtype=bool))),
        np.concatenate((writes, np.array(fetched_in_host, dtype=bool))),
    )


@dataclass(frozen=True, eq=False)
class StepCopies:
    """The copies of one step of a placed graph."""

    part: StepPart
    """The step."""
    rows: tuple[StepCopy, ...]
    """The copies, in the order of their producing nodes."""
    of_edge: np.ndarray
    """[edges of the whole graph] int64: row of the copy that the edge reads, -1 without a copy."""
    signals: int
    """Control dependencies between devices, one for each node and waiting device."""

    @cached_property
    def count(self) -> int:
        """Number of copies in a step, loop iterations included."""
        return sum(row.runs for row in self.rows)


def copies_of_part(placement: Placement, part: StepPart, shapes: StepShapes) -> StepCopies:
    """Return the copies of a step.

    Args:
        placement: the placed whole graph.
        part: the step.
        shapes: shapes of the step.
    """
    is_gpu = np.array([device.device_type == "GPU" for device in placement.device_set], dtype=bool)
    graph = part.graph
    dead, _ = dead_nodes(graph, shapes.taken)
    device = np.where(part.is_fed, CLIENT, np.maximum(part.device, 0))
    has_device = (part.device >= 0) | part.is_fed  # a graph that cannot be placed may be placed in part
    chosen = ~dead[graph.src] & ~dead[graph.dst] & has_device[graph.src] & has_device[graph.dst]
    catalogue = placement.placer.catalogue
    edges = edges_with_memories(part, catalogue, chosen, is_gpu[device], is_run=~dead & has_device)
    fetches = len(edges.src) - int(chosen.sum())
    ends = np.concatenate((device, np.full(fetches, CLIENT, dtype=np.int64)))
    sender, receiver = ends[edges.src], ends[edges.dst]
    crossing = np.flatnonzero(crosses(sender, receiver, edges.changes_memory, is_gpu))
    is_control = edges.output == CONTROL
    to_host = edges.reads | ~is_gpu[receiver] | is_control
    # One copy serves all consumers of a tensor in one memory.
    keys = np.stack((edges.src, edges.output, receiver, to_host), axis=1)[crossing].astype(np.int64)
    unique, of_crossing = np.unique(keys.reshape(-1, 4), axis=0, return_inverse=True)
    of_crossing = of_crossing.reshape(-1)
    is_fetch = np.ones(len(unique), dtype=bool)  # copies that no node reads
    is_fetch[of_crossing[edges.dst[crossing] < len(graph)]] = False
    row_of = np.full(len(unique) + 1, -1, dtype=np.int64)
    rows: list[StepCopy] = []
    signals = 0

    def dtype_of(node: int, output: int) -> DType:
        # As declared: nodes of very many tensors have no inferred shapes and types.
        return placement.facts_of(int(part.nodes[node])).output_types[output].base_dtype

    for number, (node, output, target, in_host) in enumerate(unique.tolist()):
        source = int(ends[node])
        if source != target and output == CONTROL:
            signals += 1
        elif source != target and dtype_of(node, output) is not resource:
            # Resource handles are not copied: they are valid on every device of their host.
            use = "fetch" if is_fetch[number] else "feed" if part.is_fed[node] else ""
            runs = max(round(shapes.runs(node)), 0)
            row_of[number] = len(rows)
            rows.append(StepCopy(int(part.nodes[node]), output, source, target, bool(in_host), runs, use))
    of_edge = np.full(placement.graph.num_edges, -1, dtype=np.int64)
    whole = np.flatnonzero(_edges_of_part(part))[np.flatnonzero(chosen)]
    is_in_graph = crossing < len(whole)
    of_edge[whole[crossing[is_in_graph]]] = row_of[of_crossing[is_in_graph]]
    return StepCopies(part, tuple(rows), of_edge, signals)


def _edges_of_part(part: StepPart) -> np.ndarray:
    """Return [edges of the whole graph] bool: edges of the step's graph, which has them in the same order."""
    graph = part.subject.graph
    runs = part.subject.runs
    is_in_part = runs[graph.src] & runs[graph.dst]
    if part.subject.fed:
        is_in_part &= ~np.isin(graph.dst, np.array(sorted(node for node, _ in part.subject.fed)))
    return is_in_part


def step_copies(placement: Placement) -> StepCopies:
    """Return the copies of a placed graph's default step, cached in the placement.

    Args:
        placement: the placed whole graph.

    Raises:
        InvalidArgumentError: The graph has no nodes, or its shapes do not match.
    """
    copies: StepCopies | None = placement.__dict__.get("_step_copies")
    if copies is None:
        graph, catalogue = placement.graph, placement.placer.catalogue
        part = step_part(placement, placement.subject)
        shapes: StepShapes | None = graph.__dict__.get("_step_shapes")
        if shapes is None:
            shapes = graph.__dict__["_step_shapes"] = step_shapes(part.graph, catalogue=catalogue)
        copies = placement.__dict__["_step_copies"] = copies_of_part(placement, part, shapes)
    return copies
