"""Convert the nodes of a step to the graph that the executor runs: folded, partitioned, with unrolled loops.

A tensor that is needed in another memory is copied there once, for all its consumers; a node that only waits for a
node on another device gets a signal. Before partitioning, the default rewrites of Grappler are applied: see
``constant_folding``, ``dependency_rewrites`` and ``fused_kernels``. A loop is unrolled to its trip
count. In a long loop only the first iterations are unrolled, and their times are scaled up.

Source: tensorflow/core/graph/graph_partition.cc, common_runtime/memory_types.cc (copies within a GPU), executor.cc
(which kernels are expensive), release 1.15.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from gpuplace.cost.grappler.dependency_rewrites import (
    RELEASES_WITHOUT,
    bypassed,
    constants,
    divided_by_constants,
    without_consumers,
)
from gpuplace.cost.grappler.fused_kernels import fused_kernels
from gpuplace.cost.item_times import CPU, HOST_OF_GPU, NO_ROW, ItemTimes, Row
from gpuplace.cost.shapes.branches import dead_nodes
from gpuplace.cost.shapes.step_shapes import StepShapes
from gpuplace.cost.step_copies import edges_with_memories, host_arguments
from gpuplace.cost.step_flow import Machinery, UnplacedStep
from gpuplace.cost.step_graph import StepGraph
from gpuplace.cost.unrolling import Unrolling
from gpuplace.graph.op_sets import (
    CONSTANT_OPS,
    FUSED_OPS,
    INLINE_OPS,
)
from gpuplace.kernels.work.record import Work
from gpuplace.model.subject.step_part import StepPart
from gpuplace.placer.placement_graph import CONTROL, PlacementGraph
from gpuplace.runtime.plan.schedule.constant_folding import FoldingOptions
from gpuplace.why.placement import Placement

MOST_ITEMS = 300_000
"""Number of items up to which loops are unrolled."""


def unplaced_step(
    placement: Placement,
    part: StepPart,
    shapes: StepShapes,
    works: Sequence[Work],
    machinery: Machinery,
    rewrites: Rewrites,
) -> UnplacedStep:
    """Build the step of a graph, for any devices of its nodes.

    Args:
        placement: placement of the whole graph.
        part: the nodes that run.
        shapes: shapes of these nodes.
        works: work of these nodes.
        machinery: the machine.
        rewrites: Grappler's rewrites.
    """
    return _Builder(placement, part, shapes, works, machinery, rewrites).build()


class Rewrites(NamedTuple):
    """Grappler's rewrites of a step before it runs."""

    folding: FoldingOptions
    """Which constants are folded."""
    empties: bool
    """Whether nodes with unused results, and nodes that only pass tensors through, are removed."""
    fuses: bool
    """Whether kernels are fused with the ops that follow; gpuplace's own runtime does not do that."""


@dataclass
class _Builder:
    placement: Placement
    part: StepPart
    shapes: StepShapes
    works: Sequence[Work]
    machinery: Machinery
    rewrites: Rewrites
    assumed: list[str] = field(default_factory=list)

    @property
    def graph(self) -> PlacementGraph:
        """The nodes that run."""
        return self.part.graph

    @cached_property
    def node_masks(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """``[nodes]`` masks of dead nodes, folded nodes, nodes that run, and those of them that are not computed."""
        dead = self.dead()
        catalogue = self.placement.placer.catalogue
        folded = np.zeros(len(self.graph), dtype=bool)
        if self.rewrites.folding.is_on:
            folded = constants(self.graph, self.shapes, self.rewrites.folding, self.part.is_fed) & ~dead
        runs = self.running(dead, folded)
        emptied = np.zeros(len(self.graph), dtype=bool)
        if self.rewrites.empties:
            emptied = without_consumers(self.graph, catalogue, runs, folded, self.fetched_nodes)
            if emptied.any():
                self.assumed.append(
                    f"Dependency optimization is on by default: {int(emptied.sum())} nodes with unused results "
                    "are not computed."
                )
        return dead, folded, runs, emptied

    @property
    def fetched_nodes(self) -> list[int]:
        """Nodes that are fetched or run as targets."""
        return [node for node, _ in self.part.fetches]

    def build(self) -> UnplacedStep:
        graph = self.graph
        count = len(graph)
        dead, folded, runs, emptied = self.node_masks
        has_gpus = bool(self.machinery.is_gpu.any())
        chosen = runs[graph.src] & runs[graph.dst] & ~folded[graph.dst]
        output = np.where(emptied[graph.dst], CONTROL, graph.src_output)
        catalogue = self.placement.placer.catalogue
        edges = edges_with_memories(self.part, catalogue, chosen, np.full(count, has_gpus), output, runs)
        src, dst, output, reads, writes = edges
        # Fetches are extra nodes after the graph's own; they carry tensors to the client.
        nodes = count + len(src) - int(chosen.sum())
        slots = np.zeros(nodes, dtype=np.int64)
        # Tensor numbers of a node start with its control signal, so slot 0 exists even without outputs.
        np.maximum.at(slots, src, output + 2)
        first_tensor = np.concatenate(([0], np.cumsum(np.maximum(slots, 1))))
        tensor = first_tensor[src] + output + 1
        writes_in_host = np.zeros(int(first_tensor[-1]), dtype=np.int64)
        writes_in_host[tensor[writes]] = 1
        none = np.zeros(nodes - count, dtype=bool)
        present = np.concatenate((runs, ~none))
        item_node, weight, item_edges, (before, after) = self.items(present, src, dst)
        order = np.argsort(before, kind="stable")
        of_items = item_edges[order]
        rows, row, fused = self.rows(nodes, dead | ~runs | emptied)
        in_host = self.in_host() if has_gpus else np.zeros(count, dtype=bool)
        graph_of_step = StepGraph(
            **self.devices(),
            **self.idle(),
            **fused,
            row=row,
            computes=np.flatnonzero(
                ~(in_host | dead | folded) & np.array([work.launches > 0 for work in self.works], dtype=bool)
            ),
            is_in_host=np.concatenate((in_host, none)).astype(np.int64),
            is_fed=np.concatenate((self.part.is_fed, none)).astype(np.int64),
            item_count=len(item_node),
            node=item_node,
            weight=weight,
            waits=np.bincount(after, minlength=len(item_node)),
            first=np.concatenate(([0], np.cumsum(np.bincount(before, minlength=len(item_node))))),
            after=after[order],
            tensor=tensor[of_items],
            reads_in_host=reads[of_items].astype(np.int64),
            changes_memory=edges.changes_memory[of_items].astype(np.int64),
            first_tensor=first_tensor,
            nbytes=np.zeros(0),
            is_made_in_host=writes_in_host,
        )
        return UnplacedStep(
            graph_of_step,
            ItemTimes(rows, self.columns, int(self.part.is_fed.sum())),
            self.machinery,
            self.part.is_fed,
            len(none),
            self.shapes.nbytes,
            folded,
            dead | ~runs,
            tuple(self.assumed),
        )

    # Nodes that do not run

    def dead(self) -> np.ndarray:
        """Return ``[nodes]`` bool: nodes in branches that are not taken."""
        dead, unknown = dead_nodes(self.graph, self.shapes.taken)
        if unknown[True]:
            self.assumed.append(
                f"The predicates of {unknown[True]} Switch nodes are unknown: the branch for True is assumed to run."
            )
        if unknown[False]:
            self.assumed.append(
                f"The indices of {unknown[False]} _SwitchN nodes are unknown: the first branch is assumed to run."
            )
        return dead

    def running(self, dead: np.ndarray, folded: np.ndarray) -> np.ndarray:
        """Return ``[nodes]`` bool: nodes that the fetches need, without the inputs of folded nodes."""
        if not folded.any() and not dead.any():
            return np.ones(len(self.graph), dtype=bool)
        start, src = self.graph.in_start.tolist(), self.graph.src.tolist()
        seen = [False] * len(self.graph)
        is_dead, is_folded = dead.tolist(), folded.tolist()
        stack = []
        for node, _ in self.part.fetches:
            if not seen[node] and not is_dead[node]:
                seen[node] = True
                stack.append(node)
        while stack:
            node = stack.pop()
            if is_folded[node]:
                continue
            for predecessor in src[start[node] : start[node + 1]]:
                if not seen[predecessor] and not is_dead[predecessor]:
                    seen[predecessor] = True
                    stack.append(predecessor)
        return np.array(seen, dtype=bool)

    def in_host(self) -> np.ndarray:
        """Return ``[nodes]`` bool: nodes whose kernels work in host memory, with all outputs there, even on GPUs."""
        signature = self.graph.signature
        used, firsts = np.unique(signature, return_index=True)
        sets = host_arguments(self.graph, self.placement.placer.catalogue, used)
        is_in_host = np.zeros(len(self.graph.signatures), dtype=bool)
        for number, first in zip(used.tolist(), firsts.tolist(), strict=True):
            outputs = sets[number][1]
            is_in_host[number] = bool(outputs) and len(outputs) == len(self.shapes.dtypes(first))
        return is_in_host[signature]

    # Loops

    def items(
        self, present: np.ndarray, src: np.ndarray, dst: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, tuple[np.ndarray, np.ndarray]]:
        """Return each item's node, each item's number of executions, and the item edges: graph edge, from, to."""
        if not any(self.shapes.frames):
            number = np.cumsum(present) - 1
            nodes = np.flatnonzero(present)
            return nodes, np.ones(len(nodes)), np.arange(len(src)), (number[src], number[dst])
        unrolling = Unrolling(self.graph, self.shapes, len(present), MOST_ITEMS)
        self.assumed += unrolling.assumed
        return unrolling.items(present, src, dst)

    # Costs

    def devices(self) -> dict[str, Any]:
        """Return the device fields of the `StepGraph`."""
        machinery = self.machinery
        memories, models, boards = machinery.memories, machinery.models, machinery.links.board
        gpu = [
            place if is_gpu else -1 for place, is_gpu in zip(machinery.physical, machinery.is_gpu.tolist())
        ]
        shares = [model is not None and bool(model.board_clock_hz) for model in models]
        board_gpus = [0] * (max(boards, default=-1) + 1 if any(shares) else 0)
        board = [-1] * len(models)
        for device, model in enumerate(models):
            if shares[device]:
                board[device] = boards[gpu[device]]
                board_gpus[board[device]] = model.per_board
        self.columns: list[Any] = [None, None]
        place = {None: CPU}
        for model in models:
            if model is not None:
                for variant in (model, model.on_busy_board):
                    if variant not in place:
                        place[variant] = len(self.columns)
                        self.columns.append(variant)

        def integers(values: Iterable[int]) -> np.ndarray:
            return np.array(list(values), dtype=np.int64)

        return {
            "device_count": len(models),
            "column_count": len(self.columns),
            "memory_count": len(memories),
            "host_column": HOST_OF_GPU,
            "gpu": integers(gpu),
            "memory": integers(memories[memory] for memory in machinery.physical),
            "host_memory": integers(memories[memory] for memory in machinery.hosts),
            "pool": integers(-1 - host if machinery.pools > 1 else 0 for host in machinery.hosts),
            "column": integers(place[model] for model in models),
            "busy_column": integers(
                place[None if model is None else model.on_busy_board] for model in models
            ),
            "board": integers(board),
            "board_gpus": integers(board_gpus),
        }

    def idle(self) -> dict[str, Any]:
        """Return the idle-node fields of the `StepGraph`: nodes that only pass through or wait, and their neighbors."""
        graph = self.graph
        _, _, runs, _ = self.node_masks
        is_idle = np.zeros(len(graph), dtype=bool)
        if self.rewrites.empties:
            is_idle = bypassed(graph, runs, self.fetched_nodes)
        both_run = runs[graph.src] & runs[graph.dst]
        nodes = np.concatenate((graph.src[both_run], graph.dst[both_run])).astype(np.int64)
        others = np.concatenate((graph.dst[both_run], graph.src[both_run])).astype(np.int64)
        others, nodes = others[is_idle[nodes]], nodes[is_idle[nodes]]
        idle = np.flatnonzero(is_idle)
        counts = np.bincount(nodes, minlength=len(graph))[idle]
        return {
            "idle": idle,
            "first_neighbor": np.concatenate(([0], np.cumsum(counts))),
            "neighbor": others[np.argsort(nodes, kind="stable")],
        }

    def rows(self, count: int, does_not_run: np.ndarray) -> tuple[list[Row], np.ndarray, dict[str, Any]]:
        """Return the cost rows, each node's row, and the fields of fusible kernels (see `step_graph.settle`)."""
        graph, works, types = self.graph, self.works, self.graph.op_types
        _, folded, runs, emptied = self.node_masks
        signature = graph.signature
        has_kernel = ~(folded | self.part.is_fed | graph.of_types(CONSTANT_OPS))
        _, work = np.unique(np.fromiter(map(id, works), np.int64, len(works)), return_inverse=True)
        number = {name: place for place, name in enumerate(dict.fromkeys(types))}
        of_type = np.array([number[name] for name in types] or [0])[signature]
        live = np.flatnonzero(~does_not_run)
        key = ((of_type * (len(works) + 1) + work) * 2 + has_kernel)[live]
        _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
        row = np.zeros(count, dtype=np.int64)
        row[live] = inverse + 1
        rows = [NO_ROW]
        for node in live[first].tolist():
            name = types[signature[node]]
            rows.append(Row(name, name, works[node], bool(has_kernel[node]), name not in INLINE_OPS))
        rewritten_rows: dict[tuple[int, str | None], int] = {}

        def rewritten(node: int, op_type: str | None) -> int:
            key = int(row[node]), op_type
            if key not in rewritten_rows:
                rewritten_rows[key] = len(rows)
                rows.append(rows[key[0]]._replace(rewritten=op_type))
            return rewritten_rows[key]

        if self.rewrites.folding.grappler and self.placement.release not in RELEASES_WITHOUT:
            for node in divided_by_constants(graph, self.shapes, folded, self.part.is_fed):
                if row[node]:
                    row[node] = rewritten(node, "Mul")
        kernels: list[tuple[bool, list[int]]] = []
        if self.rewrites.fuses:
            kernels = fused_kernels(
                *(graph, self.shapes, self.placement.release, runs & ~emptied, folded, self.fetched_nodes)
            )
        ends = [len(nodes) for _, nodes in kernels]
        flat = [
            (node, rewritten(node, None if at else FUSED_OPS[graph.op_type(node)]))
            for _, nodes in kernels
            for at, node in enumerate(nodes)
        ]
        table = np.array(flat, dtype=np.int64).reshape(-1, 2)
        return (
            rows,
            row,
            {
                "first_fused": np.cumsum([0, *ends]),
                "fused": table[:, 0].copy(),
                "fused_row": table[:, 1].copy(),
                "fuses_on_gpu": np.array([on_gpu for on_gpu, _ in kernels], dtype=np.int64),
            },
        )
