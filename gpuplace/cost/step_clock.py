"""The clock of one step, for any devices of its nodes.

Interpreted, the clock works on lists; compiled, on arrays. An estimate times one placement, so it looks up times, bytes
and routes for that placement alone; a search times any placement.
"""

from __future__ import annotations

import math
from copy import copy
from typing import Any

import numpy as np

from gpuplace.cost import clock as clock_functions
from gpuplace.cost import step_graph
from gpuplace.cost.cost_model import CostModel
from gpuplace.cost.step_flow import COPY, ON_CPU, ON_GPU, CopyTable, StepFlow, UnplacedStep
from gpuplace.cost.step_graph import Clock, Costs, StepGraph, Times, Ways
from gpuplace.numerics.compiled.arrays import EventHeap, as_arrays, as_lists
from gpuplace.numerics.compiled.functions import can_compile, compiled_functions, is_ready
from gpuplace.placer.placement_graph import CONTROL


class StepClock:
    """The clock of one step.

    Args:
        step: the step.
        model: the cost model.
        threads: number of threads in the inter-op pool.
        device: ``[nodes]`` the devices to be timed; None for any.
    """

    def __init__(
        self, step: UnplacedStep, model: CostModel, threads: int, device: np.ndarray | None = None
    ) -> None:
        self.step, self.threads = step, threads
        graph = step.graph
        crosses_memory = np.ones(len(graph.after), dtype=bool)
        pairs = np.arange(graph.device_count**2)
        if device is not None:
            device_of_node = step.settled(device)
            crosses_memory = step.crossing(device_of_node)
            source = graph.node[step.edge_sources[crosses_memory]]
            pairs = np.unique(
                device_of_node[source] * graph.device_count
                + device_of_node[graph.node[graph.after[crosses_memory]]]
            )
        self.graph: StepGraph = graph._replace(nbytes=self._nbytes(np.unique(graph.tensor[crosses_memory])))
        """The step, as arrays."""
        ends = [divmod(pair, graph.device_count) for pair in pairs.tolist()]
        ways, self.way_names = step.machinery.ways(ends, bool(step.is_fed.any()))
        self._most_copies = int(crosses_memory.sum())
        self._functions: tuple[Any, Any] = step_graph, clock_functions
        self._graph, self._ways = as_lists(self.graph), as_lists(ways)
        self.ways: Ways = as_arrays(ways)
        self._settled, self._needed_costs = device, None
        self._renew()
        if device is not None:
            step_graph.settle(self._graph, device_of_node.tolist(), self._clock)
            self._needed_costs = set(self.clock.cost)
        self.costs: Costs = step.times.costs(model, self._needed_costs)
        self._costs = as_lists(self.costs)

    def _nbytes(self, tensors: np.ndarray) -> np.ndarray:
        """Return ``[tensors]`` float64: the bytes of the given tensors, 0 for others."""
        first, nbytes = self.step.graph.first_tensor, self.step.nbytes
        sizes = np.zeros(int(first[-1]))
        owners = np.searchsorted(first, tensors, side="right") - 1
        sizes[tensors] = [
            0.0 if output == CONTROL else nbytes(node, output)
            for node, output in zip(owners.tolist(), (tensors - first[owners] - 1).tolist(), strict=True)
        ]
        return sizes

    def new_clock(self) -> Clock:
        """Return an empty clock, as arrays."""
        return new_clock(self.graph, self.ways, self.threads, self._most_copies)

    def _renew(self) -> None:
        """Allocate a separate clock, after everything else was shared with another `StepClock`."""
        self.clock: Clock = as_lists(self.new_clock())
        """Result of the last run."""
        self._clock: Any = self.clock

    def timed(self, model: CostModel, threads: int) -> StepClock:
        """Return the clock with the times of another model.

        Args:
            model: the cost model.
            threads: number of threads in the inter-op pool.
        """
        other = copy(self)
        other.threads, other._settled = threads, None
        other.costs = self.step.times.costs(model, self._needed_costs)
        other._costs = as_lists(other.costs)
        other._renew()
        return other

    @staticmethod
    def is_compiled_at_once() -> bool:
        """Whether `compiled` returns immediately, because the functions have been compiled before."""
        functions: list[Any] = [step_graph.settle, clock_functions.run]
        return can_compile() and all(map(is_ready, functions))

    def compiled(self) -> StepClock:
        """Return the clock with compiled functions, or itself if they cannot be compiled."""
        if not can_compile():
            return self
        from gpuplace.numerics.compiled.record_types import Packed

        other = copy(self)
        other.clock, other._settled = other.new_clock(), None
        other._functions = compiled_functions(step_graph), compiled_functions(clock_functions)
        other._graph, other._costs = Packed(self.graph), Packed(as_arrays(self.costs))
        other._ways, other._clock = Packed(self.ways), Packed(other.clock)
        return other

    def seconds(self, device: np.ndarray) -> float:
        """Return the length of the step.

        Args:
            device: ``[nodes]`` positions in the device set.
        """
        clock, functions = self._clock, self._functions
        if self._settled is not device:
            device_of_node = self.step.settled(device)
            functions[0].settle(
                self._graph, device_of_node.tolist() if clock is self.clock else device_of_node, clock
            )
        self._settled = None
        total = functions[1].run(self._graph, self._costs, self._ways, clock, self.threads, math.inf)
        return float(total)

    def run(self, device: np.ndarray) -> tuple[StepFlow, Times]:
        """Return the items that run, and their times.

        Args:
            device: ``[nodes]`` positions in the device set.
        """
        for name in ("host_start", "host_end", "start", "end"):  # items that never become ready keep -1
            part = getattr(self.clock, name)
            part[:] = np.full(len(part), -1.0) if isinstance(part, np.ndarray) else [-1.0] * len(part)
        self.seconds(device)
        return self._flow(self.step.settled(device)), self._times()

    def _times(self) -> Times:
        count = self.graph.item_count + int(self.clock.copies[0])
        parts = (getattr(self.clock, name)[:count] for name in Times._fields)
        return Times(*(part.tolist() if isinstance(part, np.ndarray) else part for part in parts))

    def _flow(self, device: np.ndarray) -> StepFlow:
        step, graph, clock, costs = self.step, self.graph, self.clock, self.costs
        count = int(clock.copies[0])
        source, tensor, receiver, to_host, way = (
            np.array(part[:count], dtype=np.int64)
            for part in (clock.source, clock.carried, clock.receiver, clock.to_host, clock.way)
        )
        copies, number = self._copies(device, source, tensor, receiver, to_host, way)
        stream, cost, none = np.array(clock.stream), np.array(clock.cost), np.zeros(count)
        weight = np.concatenate((graph.weight, graph.weight[source]))
        nodes = len(step.is_fed)
        return StepFlow(
            step,
            kind=np.concatenate((np.where(stream >= 0, ON_GPU, ON_CPU), np.full(count, COPY))),
            host=np.concatenate((np.array(costs.host)[cost], np.full(count, costs.copy))) * weight,
            kernel=np.concatenate((np.array(costs.kernel)[cost], none)) * weight,
            held=np.concatenate((np.array(costs.held)[cost], none)) * weight,
            nbytes=np.concatenate((np.zeros(len(cost)), graph.nbytes[tensor])) * weight,
            way=np.concatenate((np.full(len(cost), -1), way)),
            stream=np.concatenate((stream, np.full(count, -1))),
            ways=self.ways,
            item_node=np.concatenate((graph.node, len(graph.row) + number)),
            item_weight=weight,
            copies=copies,
            device=np.concatenate((device[graph.node], receiver)),
            on_host=((graph.is_in_host == 1) & (graph.gpu[device] >= 0))[:nodes],
            computed_by=self._computed_by()[:nodes],
            first_copy=len(graph.row),
        )

    def _copies(
        self,
        device: np.ndarray,
        source: np.ndarray,
        tensor: np.ndarray,
        receiver: np.ndarray,
        to_host: np.ndarray,
        way: np.ndarray,
    ) -> tuple[CopyTable, np.ndarray]:
        """Return the copies of a step, and for each copy item its position among them: a loop repeats a copy.

        Args:
            device: ``[nodes and fetches]`` device of each.
            source, tensor, receiver, to_host, way: ``[copies]`` as in `Clock`.
        """
        graph = self.graph
        keys = (tensor * graph.device_count + receiver) * 2 + to_host
        _, first, number = np.unique(keys, return_index=True, return_inverse=True)
        node = graph.node[source[first]]
        output = tensor[first] - graph.first_tensor[node] - 1
        names = [
            "signal" if port == CONTROL else self.way_names[route]
            for port, route in zip(output.tolist(), way[first].tolist(), strict=True)
        ]
        copies = CopyTable(
            node.tolist(),
            output.tolist(),
            device[node].tolist(),
            receiver[first].tolist(),
            (to_host[first] == 1).tolist(),
            list(map(int, graph.nbytes[tensor[first]].tolist())),
            names,
        )
        return copies, number

    def _computed_by(self) -> np.ndarray:
        """Return ``[nodes and fetches]`` the node whose kernel computes each; -1 if it has its own kernel."""
        graph, row = self.graph, np.array(self.clock.row)
        computed_by = np.full(len(row), -1, dtype=np.int64)
        leader = np.repeat(graph.fused[graph.first_fused[:-1]], np.diff(graph.first_fused))
        joins = (graph.fused != leader) & (row[graph.fused] == graph.fused_row)
        computed_by[graph.fused[joins]] = leader[joins]
        return computed_by


def new_clock(graph: StepGraph, ways: Ways, threads: int, copies: int) -> Clock:
    """Return an empty clock, as arrays.

    Args:
        graph: the step that it will run.
        ways: routes of the copies.
        threads: number of threads in the inter-op pool.
        copies: maximum number of copies.
    """
    items, nodes = graph.item_count, len(graph.row)
    items_and_copies = items + copies
    streams = int(max(ways.stream.max(initial=-1), graph.gpu.max(initial=-1))) + 1
    links, pools = int(ways.link.max(initial=-1)) + 1, int(graph.pool.max(initial=-1)) + 1
    per_node = int(np.diff(graph.first_tensor).max(initial=1))

    def integers(size: int) -> np.ndarray:
        return np.zeros(size, dtype=np.int64)

    return Clock(
        **{name: np.full(items_and_copies, -1.0) for name in ("host_start", "host_end", "start", "end")},
        **{name: integers(items_and_copies) - 1 for name in ("host_cause", "cause")},
        copies=integers(1),
        **{
            name: integers(copies)
            for name in ("source", "carried", "receiver", "to_host", "way", "only_edge", "kept")
        },
        row=integers(nodes),
        column=integers(graph.device_count),
        board_busy=integers(len(graph.board_gpus)),
        **{name: integers(items) for name in ("device", "cost", "stream", "pending")},
        following=integers(items_and_copies),
        **{name: integers(threads + 1) for name in ("head", "tail")},
        idle=integers(threads),
        awake=integers(2),
        looks_until=np.zeros(1),
        is_sent=integers(per_node * graph.device_count * 2) - 1,
        free=np.zeros(streams),
        **{name: integers(streams) for name in ("last", "is_due", "queue_head", "queue_tail", "gpu_busy")},
        link_free=np.zeros(links),
        link_last=integers(links),
        pool_free=np.zeros(pools),
        pool_last=integers(pools),
        events=EventHeap.for_events(2 * threads + copies + 4),
    )
