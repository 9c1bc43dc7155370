"""Unrolled loops: every node of a frame, repeated as often as the trip count states.

The nodes before a loop's condition run once more than its body::

    Enter ──> Merge ──> Switch ──> body ──> NextIteration          trips = 2:
                ^                               |                  Enter, Merge 0, Switch 0, body 0, Next 0,
                +-------------------------------+                         Merge 1, Switch 1, body 1, Next 1,
                                                                          Merge 2, Switch 2, Exit

The items of a node in a frame are numbered by the run of the loop, then by its iteration. If there would be too many
items, fewer iterations are unrolled, and each stands for several executions.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gpuplace.cost.shapes.step_shapes import StepShapes
from gpuplace.graph.op_sets import ENTERS, EXITS, MERGES, NEXT_ITERATIONS, SWITCHES
from gpuplace.placer.placement_graph import PlacementGraph

FEWEST = 4
"""Iterations that are always unrolled, if a loop has as many."""


class Unrolling:
    """The items of a step with loops.

    Args:
        graph: the nodes that run.
        shapes: their shapes, frames and trip counts.
        total: number of nodes, including those of fetches, which come after the graph's own.
        most: maximum number of items.
    """

    def __init__(
        self,
        graph: PlacementGraph,
        shapes: StepShapes,
        total: int,
        most: int,
    ) -> None:
        self.graph, self.shapes = graph, shapes
        self.assumed: list[str] = []
        is_enter, is_exit, is_next = map(graph.of_types, (ENTERS, EXITS, NEXT_ITERATIONS))
        outer = shapes.outer_frames
        self.frames = ["", *sorted({*shapes.frames, *outer} - {""})]
        number = {name: place for place, name in enumerate(self.frames)}
        value = np.array([number[name] for name in shapes.frames], dtype=np.int64)
        self.parent = np.array([number.get(outer.get(name, ""), 0) for name in self.frames], dtype=np.int64)
        # An Enter and an Exit run outside of the frame that they lead to or come from.
        runs_in = value.copy()
        self.entering = np.zeros(len(self.frames), dtype=np.int64)
        for node in np.flatnonzero(is_enter).tolist():
            name = graph.attrs(node).get("frame_name", b"")
            into = number.get(name.decode() if isinstance(name, bytes) else str(name))
            runs_in[node] = self.parent[value[node] if into is None else into]
            if into is not None:
                self.entering[into] = node
        inside = value.copy()
        leaving = is_exit[graph.dst]
        inside[graph.dst[leaving]] = value[graph.src[leaving]]
        runs_in[is_exit] = self.parent[inside[is_exit]]
        self.is_body = self._bodies(runs_in, is_next.tolist())

        def padded(of_nodes: np.ndarray) -> np.ndarray:
            return np.concatenate((of_nodes, np.zeros(total - len(graph), dtype=of_nodes.dtype)))

        self.frame, self.body = padded(runs_in), padded(self.is_body)
        self.is_enter, self.is_next, self.is_merge = map(padded, (is_enter, is_next, graph.of_types(MERGES)))
        self.trips, self.factor = self._trips(most, np.bincount(runs_in, minlength=len(self.frames)))

    def _bodies(self, runs_in: np.ndarray, is_next: list[bool]) -> np.ndarray:
        """Return [nodes] bool: nodes that run only after the loop's condition was true.

        Args:
            runs_in: [nodes] frame.
            is_next: [nodes] whether it is a NextIteration.
        """
        graph = self.graph
        order, first, dst = graph.out_order.tolist(), graph.out_start.tolist(), graph.dst.tolist()
        port, src, start = graph.src_output.tolist(), graph.src.tolist(), graph.in_start.tolist()
        body = np.zeros(len(graph), dtype=bool)
        frame_of, decides = runs_in.tolist(), graph.of_types({"LoopCond"})
        stack = []
        for node in np.flatnonzero(graph.of_types(SWITCHES)).tolist():
            if start[node + 1] - start[node] > 1 and decides[src[start[node] + 1]]:
                stack += [dst[edge] for edge in order[first[node] : first[node + 1]] if port[edge] == 1]
        pending = [(node, frame_of[node]) for node in stack]
        seen = set(pending)
        while pending:
            node, frame = pending.pop()
            if frame_of[node] == frame:
                body[node] = True
                if is_next[node]:
                    continue
            elif frame and frame not in self._around(frame_of[node]):
                continue
            for edge in order[first[node] : first[node + 1]]:
                pair = dst[edge], frame
                if pair not in seen:
                    seen.add(pair)
                    pending.append(pair)
        return body

    def _around(self, frame: int) -> list[int]:
        """Return the loops around a loop, the innermost first."""
        outer_frames = []
        while frame := int(self.parent[frame]):
            outer_frames.append(frame)
        return outer_frames

    def _trips(self, most: int, nodes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the unrolled iterations of each frame, and the number of executions that each stands for."""
        trips = np.array([max(float(self.shapes.trips.get(name, 1.0)), 0.0) for name in self.frames])
        trips[0] = 1.0
        unrolled = np.ceil(trips - 1e-9).astype(np.int64)
        # Halve the iterations of all loops until the items are few enough.
        for _ in range(64):
            total = 0.0
            for frame in range(1, len(self.frames)):
                around = math.prod(unrolled[self._around(frame)].astype(float).tolist())
                total += (float(unrolled[frame]) + 1) * around * nodes[frame]
            if total <= most or (unrolled[1:] <= FEWEST).all():
                break
            unrolled[1:] = np.where(
                unrolled[1:] > FEWEST, np.maximum(unrolled[1:] // 2, FEWEST), unrolled[1:]
            )
        factor = np.where(unrolled > 0, trips / np.maximum(unrolled, 1), 1.0)
        for frame in np.flatnonzero(factor > 1.01).tolist():
            self.assumed.append(
                f"Loop {self.frames[frame]!r}: {unrolled[frame]} iterations represent all {trips[frame]:g}."
            )
        return unrolled, factor

    def items(
        self, present: np.ndarray, src: np.ndarray, dst: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, tuple[np.ndarray, np.ndarray]]:
        """Return each item's node, each item's number of executions, and the item edges: graph edge, from, to.

        Args:
            present: [nodes] bool: nodes that run.
            src: [edges] source nodes.
            dst: [edges] target nodes.
        """
        frames = len(self.frames)
        runs = np.ones(frames, dtype=np.int64)  # how often each frame is entered
        weight = np.ones(frames)
        for frame in sorted(range(1, frames), key=lambda frame: len(self._around(frame))):
            around = int(self.parent[frame])
            if around:
                in_body = bool(self.is_body[self.entering[frame]])
                runs[frame] = runs[around] * (self.trips[around] + (0 if in_body else 1))
            weight[frame] = weight[around] * self.factor[frame]
        trips = self.trips
        per_run = np.where(self.frame == 0, 1, np.where(self.body, trips[self.frame], trips[self.frame] + 1))
        counts = np.where(present, runs[self.frame] * per_run, 0)
        first = np.concatenate(([0], np.cumsum(counts)))
        sources = np.repeat(np.arange(len(counts)), counts)
        item_src, item_dst, graph_edge = [], [], []
        # Edges between nodes outside of loops are handled at once; only the others need a Python loop.
        simple = (counts[src] == 1) & (counts[dst] == 1) & (self.frame[src] == 0) & (self.frame[dst] == 0)
        item_src.append(first[src[simple]])
        item_dst.append(first[dst[simple]])
        graph_edge.append(np.flatnonzero(simple))
        for edge in np.flatnonzero(~simple).tolist():
            before, after = self._pairs(int(src[edge]), int(dst[edge]), counts, per_run)
            if len(before):
                item_src.append(first[src[edge]] + before)
                item_dst.append(first[dst[edge]] + after)
                graph_edge.append(np.full(len(before), edge))
        weights = weight[self.frame[sources]]
        edges = np.concatenate(item_src), np.concatenate(item_dst)
        return sources, weights, np.concatenate(graph_edge), edges

    def _pairs(self, src: int, dst: int, counts: np.ndarray, per_run: np.ndarray) -> Any:
        """Return the item indices of two nodes that an edge connects."""
        to = int(counts[dst])
        after = np.arange(to)
        if not to or not counts[src]:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        of, into = int(self.frame[src]), int(self.frame[dst])
        if of == into and not (self.is_enter[src] and self.is_merge[dst]):
            run, iteration = np.divmod(after, per_run[dst])
            if self.is_next[src] and self.is_merge[dst]:
                chosen = iteration > 0
                return run[chosen] * per_run[src] + iteration[chosen] - 1, after[chosen]
            chosen = iteration < per_run[src]
            return run[chosen] * per_run[src] + iteration[chosen], after[chosen]
        if of == int(self.parent[into]) and into:  # into a loop: only its first iteration reads the value
            run, iteration = np.divmod(after, per_run[dst])
            if self.is_merge[dst]:
                run, after = run[iteration == 0], after[iteration == 0]
            chosen = run < counts[src]
            return run[chosen], after[chosen]
        if into == int(self.parent[of]) and of:  # out of a loop: after its last condition
            return np.minimum((after + 1) * per_run[src] - 1, counts[src] - 1), after
        return after * int(counts[src]) // to, after
