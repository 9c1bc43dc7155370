"""The copies of a step: one for each tensor and memory of another device that needs it. All views show these.

A tensor crosses once to a memory, for all nodes there that consume it; a GPU has its own memory and, for arguments that
its kernels want there, host memory. Feeds come from the client's device, and fetches go there. A control dependency
between devices is a signal, not a copy, and counts apart::

    a (CPU:0) ──┬──> MatMul (GPU:0)       1 copy of a, to GPU:0
                └──> Tanh   (GPU:0)
    MatMul ─ ─ ─ ─> NoOp    (CPU:0)       1 signal

Copies are those of the step as the graph states it, as a traced session runs it. An optimizer may remove some of them
before a step runs, such as copies of folded constants: an estimate says which, and they cost nothing there.

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
from gpuplace.dtypes import resource
from gpuplace.errors import OpError
from gpuplace.kernels.registry import Catalogue, HostMemory
from gpuplace.model.subject.step_part import StepPart, step_part
from gpuplace.placer.placement_graph import CONTROL, PlacementGraph
from gpuplace.why.placement import Placement

CLIENT = 0
"""Device, by position, that feeds come from and fetches go to."""


class StepCopy(NamedTuple):
    """A tensor that a step copies to another device."""

    node: int
    """Producing node, by position in the whole graph."""
    output: int
    """Its output."""
    source: int
    """Device that it comes from, by position in the device set."""
    target: int
    """Device that it goes to."""
    to_host: bool
    """Whether it goes to host memory, as always on a CPU."""
    runs: int
    """How often a step copies it: once for each iteration of the loops around it."""
    use: str
    """``"feed"``, ``"fetch"``, or ``""`` between nodes."""


class Edges(NamedTuple):
    """Edges of a step with the memories at their ends; the last ones lead to the client."""

    src: np.ndarray
    """[edges] producing node."""
    dst: np.ndarray
    """[edges] consuming node; from the number of nodes on, a fetch."""
    output: np.ndarray
    """[edges] output of the producing node, or `CONTROL`."""
    reads: np.ndarray
    """[edges] bool: whether they end in host memory even if the consuming node is on a GPU."""
    made: np.ndarray
    """[edges] bool: whether they begin in host memory even if the producing node is on a GPU."""

    @property
    def is_turned(self) -> np.ndarray:
        """[edges] bool: what goes from one memory of a GPU to the other if both nodes are there."""
        return (self.reads != self.made) & (self.output != CONTROL)


def crosses(
    sender: np.ndarray, receiver: np.ndarray, is_turned: np.ndarray, is_gpu: np.ndarray
) -> np.ndarray:
    """Return [edges] bool: whether something is carried from one memory to another.

    Args:
        sender, receiver: [edges] positions of devices.
        is_turned: [edges] as of `Edges`.
        is_gpu: [devices] bool.
    """
    return (sender != receiver) | (is_turned & is_gpu[sender])


def host_arguments(graph: PlacementGraph, catalogue: Catalogue, used: np.ndarray) -> list[HostMemory]:
    """Return [signatures] inputs and outputs in host memory for a node on a GPU.

    Args:
        graph: the nodes.
        catalogue: the kernels.
        used: the signatures of nodes on GPUs; others have none.
    """
    wanted = set(used.tolist())
    none: HostMemory = (frozenset(), frozenset())
    found = []
    for number, signature in enumerate(graph.signatures):
        op_def = catalogue.ops.get(signature.op_type)
        if op_def is None or number not in wanted:
            found.append(none)
            continue
        attrs = {**op_def.defaults, **dict(signature.attrs)}
        try:
            found.append(catalogue.kernels.host_memory(op_def, attrs, "GPU"))
        except (OpError, KeyError, TypeError):  # an invalid node, which the placement reports
            found.append(none)
    return found


def _are_in(sets: Sequence[Set[int]], which: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Return [positions] bool: whether each is in the set whose number `which` gives."""
    found = np.array([len(each) > 0 for each in sets], dtype=bool)[which]
    asked, of = np.unique(which[found].astype(np.int64) << 32 | positions[found], return_inverse=True)
    pairs = zip((asked >> 32).tolist(), (asked & 0xFFFFFFFF).tolist(), strict=True)
    found[found] = np.array([at in sets[number] for number, at in pairs], dtype=bool)[of]
    return found


def edges_with_memories(
    part: StepPart,
    catalogue: Catalogue,
    chosen: np.ndarray,
    on_gpu: np.ndarray,
    output: np.ndarray | None = None,
    is_run: np.ndarray | None = None,
) -> Edges:
    """Return edges of a step with the memories at their ends, those of the fetches last.

    Args:
        part: the step.
        catalogue: the kernels.
        chosen: [edges of the part] bool: which edges count.
        on_gpu: [nodes] bool: which nodes are, or may be, on GPUs.
        output: [edges of the part] what each edge carries, in place of what the graph says.
        is_run: [nodes] bool: what runs, so that it can be fetched; None: everything.
    """
    graph = part.graph
    count = len(graph)
    sets = host_arguments(graph, catalogue, np.unique(graph.signature[on_gpu]))
    src, dst = graph.src[chosen].astype(np.int64), graph.dst[chosen].astype(np.int64)
    port = (graph.src_output if output is None else output)[chosen].astype(np.int64)
    position = graph.dst_input[chosen].astype(np.int64)
    reads = _are_in([inputs for inputs, _ in sets], graph.signature[dst], position)
    made = _are_in([outputs for _, outputs in sets], graph.signature[src], port)
    fetched = [
        (node, port)
        for node, port in dict.fromkeys(part.fetches)
        if port >= 0 and (is_run is None or is_run[node])
    ]
    begins = [port in sets[int(graph.signature[node])][1] for node, port in fetched]
    nodes = np.array([node for node, _ in fetched], dtype=np.int64)
    ports = np.array([port for _, port in fetched], dtype=np.int64)
    return Edges(
        np.concatenate((src, nodes)),
        np.concatenate((dst, np.arange(count, count + len(fetched)))),
        np.concatenate((port, ports)),
        np.concatenate((reads, np.ones(len(fetched), dtype=bool))),
        np.concatenate((made, np.array(begins, dtype=bool))),
    )


@dataclass(frozen=True, eq=False)
class StepCopies:
    """The copies of one step of a placed graph."""

    part: StepPart
    """The step."""
    rows: tuple[StepCopy, ...]
    """The copies, in the order of their producing nodes."""
    of_edge: np.ndarray
    """[edges of the whole graph] int64: the row that brings an edge its tensor, -1 where nothing is copied."""
    signals: int
    """Control dependencies between devices, one for each node and device that waits for it."""

    @cached_property
    def count(self) -> int:
        """How many copies a step makes."""
        return sum(row.runs for row in self.rows)


def copies_of_part(placement: Placement, part: StepPart, shapes: StepShapes) -> StepCopies:
    """Return the copies of a step.

    Args:
        placement: the whole graph, placed.
        part: the step.
        shapes: of it.
    """
    is_gpu = np.array([device.device_type == "GPU" for device in placement.device_set], dtype=bool)
    graph = part.graph
    dead, _ = dead_nodes(graph, shapes.taken)
    device = np.where(part.is_fed, CLIENT, np.maximum(part.device, 0))
    has_device = (part.device >= 0) | part.is_fed  # of a graph that cannot be placed, as far as it is
    chosen = ~dead[graph.src] & ~dead[graph.dst] & has_device[graph.src] & has_device[graph.dst]
    catalogue = placement.placer.catalogue
    edges = edges_with_memories(part, catalogue, chosen, is_gpu[device], is_run=~dead & has_device)
    fetches = len(edges.src) - int(chosen.sum())
    ends = np.concatenate((device, np.full(fetches, CLIENT, dtype=np.int64)))
    sender, receiver = ends[edges.src], ends[edges.dst]
    crossing = np.flatnonzero(crosses(sender, receiver, edges.is_turned, is_gpu))
    is_control = edges.output == CONTROL
    to_host = edges.reads | ~is_gpu[receiver] | is_control
    # one for all that consume a tensor in a memory
    keys = np.stack((edges.src, edges.output, receiver, to_host), axis=1)[crossing].astype(np.int64)
    unique, of_crossing = np.unique(keys.reshape(-1, 4), axis=0, return_inverse=True)
    of_crossing = of_crossing.reshape(-1)
    is_fetch = np.ones(len(unique), dtype=bool)  # what no node needs
    is_fetch[of_crossing[edges.dst[crossing] < len(graph)]] = False
    row_of = np.full(len(unique) + 1, -1, dtype=np.int64)
    rows: list[StepCopy] = []
    signals = 0
    for number, (node, output, target, in_host) in enumerate(unique.tolist()):
        source = int(ends[node])
        if source != target and output == CONTROL:
            signals += 1
        elif source != target and shapes.dtypes(node)[output].base_dtype is not resource:
            # a handle is known everywhere on its host
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
    """[edges of the whole graph] bool: which are edges of the step's graph, where they are in the same order."""
    graph = part.subject.graph
    runs = part.subject.runs
    found = runs[graph.src] & runs[graph.dst]
    if part.subject.fed:
        found &= ~np.isin(graph.dst, np.array(sorted(node for node, _ in part.subject.fed)))
    return found


def step_copies(placement: Placement) -> StepCopies:
    """Return the copies of a placed graph's default step, worked out once for a placement.

    Args:
        placement: the whole graph, placed.

    Raises:
        InvalidArgumentError: the graph has no nodes, or its shapes do not fit.
    """
    found: StepCopies | None = placement.__dict__.get("_step_copies")
    if found is None:
        graph, catalogue = placement.graph, placement.placer.catalogue
        part = step_part(placement, placement.subject)
        shapes: StepShapes | None = graph.__dict__.get("_step_shapes")
        if shapes is None:
            shapes = graph.__dict__["_step_shapes"] = step_shapes(part.graph, catalogue=catalogue)
        found = placement.__dict__["_step_copies"] = copies_of_part(placement, part, shapes)
    return found
