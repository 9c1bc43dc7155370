"""A step in the form that detectors need: arrays over its nodes and over the tensors between them.

Towers, gradients and averages of gradients are those of the model's structure (`gpuplace.model.structure`). A node that
depends on a variable belongs to the model. In a graph without variables, such as a frozen graph, the model begins at
its products and convolutions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpuplace.cost.sentences import waits
from gpuplace.cost.step_copies import edges_with_memories
from gpuplace.cost.step_estimate import StepEstimate
from gpuplace.cost.step_flow import COPY, ON_GPU
from gpuplace.findings.words import scopes
from gpuplace.graph.op_sets import (
    CONSTANT_OPS,
    IDENTITY_OPS,
    METADATA_OPS,
    PLACEHOLDERS,
    UPDATES_OF_VARIABLES,
    VARIABLE_OPS,
)
from gpuplace.model.structure.roles import AVERAGING
from gpuplace.model.structure.structure import GraphModel, Structure, structure_of
from gpuplace.placer.placement_graph import CONTROL
from gpuplace.why.rules import FOLLOWING, RULES, Rule

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Reals = NDArray[np.float64]

WORTH_TRYING = 0.01
"""Smallest fraction of the step that a cause must take for a change to be tried."""
_SOURCE = re.compile(
    r".*(Dequeue|IteratorGetNext|ReaderRead|Unstage|DecodeJpeg|DecodePng|ParseExample).*|_Arg"
)
"""Op types that bring input into a step, besides placeholders."""
_PRODUCTS = ("product", "convolution")
"""Work models of kernels with weights."""


class CopyRow(NamedTuple):
    """A tensor that a step copies."""

    node: int
    """The producing node."""
    sender: int
    """Source device."""
    receiver: int
    """Target device."""
    seconds: float
    """Total time of its copies in seconds."""
    nbytes: float
    """Total size of its copies in bytes."""


class Copied(NamedTuple):
    """Totals over some copies of a step."""

    tensors: int
    """Number of copied tensors; a tensor copied to two devices counts twice."""
    nbytes: float
    """Bytes."""
    seconds: float
    """Sum of the copy times in seconds, also for copies that overlap."""


class StepFacts:
    """Arrays of one step; `[nodes]` are the nodes of the step, by their positions in ``step.part.graph``.

    Args:
        step: estimate of the step.
    """

    def __init__(self, step: StepEstimate) -> None:
        self.step, self.placement, self.graph = step, step.placement, step.part.graph
        self.labels = step.machinery.labels
        self.is_gpu: Bools = step.machinery.is_gpu
        self.types = self.graph.op_types
        self.device: Ints = np.where(step.part.is_fed, 0, np.maximum(step.part.device, 0))
        self.seconds: Reals = step.node_times["time"]
        self.names = self.graph.names

    @cached_property
    def is_cluster(self) -> bool:
        """Whether the devices belong to several tasks."""
        return len(set(self.step.machinery.hosts)) > 1

    # Nodes

    def of_types(self, test: Callable[[str], bool]) -> Bools:
        """[nodes] whether the op type passes a test.

        Args:
            test: predicate on an op type.
        """
        return self.graph.of_types(test)

    @cached_property
    def runs(self) -> Bools:
        """[nodes] whether a node runs: it is not folded, dead or removed."""
        unplaced = self.step.flow.step
        runs: Bools = np.isfinite(self.step.node_times["start"]) & ~unplaced.folded & ~unplaced.dead
        return runs

    @cached_property
    def on_gpu(self) -> Bools:
        """[nodes] whether the results are in GPU memory; kernels on GPUs that work in host memory do not count."""
        on_gpu: Bools = self.is_gpu[self.device] & ~self.step.flow.on_host
        return on_gpu

    @cached_property
    def kernel_seconds(self) -> Reals:
        """[nodes] GPU kernel time in seconds."""
        flow, count = self.step.flow, len(self.graph)
        chosen = (flow.item_node < count) & (flow.kind == ON_GPU)
        return np.bincount(flow.item_node[chosen], flow.kernel[chosen], count).astype(np.float64)

    @cached_property
    def busy(self) -> Reals:
        """[devices] total GPU kernel time in seconds; 0 for a CPU."""
        return np.bincount(self.device, self.kernel_seconds, len(self.labels)).astype(np.float64)

    @cached_property
    def rule(self) -> Ints:
        """[nodes] the rule that settled each device, as a position in `RULES`."""
        rule: Ints = self.placement.verdicts.rule[self.step.part.nodes]
        return rule

    def has_rule(self, *rules: Rule) -> Bools:
        """[nodes] whether one of the rules settled the device.

        Args:
            rules: rules to look for.
        """
        return np.isin(self.rule, [RULES.index(rule) for rule in rules])

    @cached_property
    def follows(self) -> Bools:
        """[nodes] whether the device was chosen to match that of a neighbor."""
        return self.has_rule(*FOLLOWING)

    @cached_property
    def root(self) -> Ints:
        """[nodes] number of each node's group, whose nodes share a device."""
        partition = self.placement.partition
        nodes = self.step.part.nodes
        root: Ints = nodes if partition is None else partition.root[nodes]
        return root

    @cached_property
    def is_variable(self) -> Bools:
        """[nodes] variables and their handles."""
        return self.of_types(lambda name: name in VARIABLE_OPS)

    @cached_property
    def is_constant(self) -> Bools:
        """[nodes] constants."""
        return self.of_types(lambda name: name in CONSTANT_OPS)

    @cached_property
    def is_update(self) -> Bools:
        """[nodes] whether a node assigns a new value to a variable."""
        return self.of_types(lambda name: name.startswith(UPDATES_OF_VARIABLES) or name.startswith("Assign"))

    @cached_property
    def is_trained(self) -> bool:
        """Whether the step updates variables."""
        return bool((self.is_update & self.runs).any())

    @cached_property
    def keeps_variable(self) -> Bools:
        """[nodes] whether the colocation group of a node contains a variable."""
        return np.isin(self.root, np.unique(self.root[self.is_variable]))

    # Edges

    @cached_property
    def data(self) -> tuple[Ints, Ints, Ints]:
        """Edges that carry tensors: [edges] producing node, its output, consuming node."""
        graph = self.graph
        chosen = graph.src_output != CONTROL
        return (
            graph.src[chosen].astype(np.int64),
            graph.src_output[chosen].astype(np.int64),
            graph.dst[chosen].astype(np.int64),
        )

    @cached_property
    def inputs(self) -> list[list[int]]:
        """Return [nodes] producing nodes of each node's data inputs."""
        inputs: list[list[int]] = [[] for _ in range(len(self.graph))]
        for source, _, target in zip(*(part.tolist() for part in self.data), strict=True):
            inputs[target].append(source)
        return inputs

    @cached_property
    def consumers(self) -> list[list[int]]:
        """Return [nodes] consumers of each node's outputs."""
        consumers: list[list[int]] = [[] for _ in range(len(self.graph))]
        for source, _, target in zip(*(part.tolist() for part in self.data), strict=True):
            consumers[source].append(target)
        return consumers

    @cached_property
    def order(self) -> list[int]:
        """The nodes in topological order, ignoring the back edges of loops."""
        order: list[int] = self.graph.order.tolist()
        return order

    def reached(self, starts: Bools) -> Bools:
        """[nodes] whether a node is a start or depends on one through data; ops that only read a shape do not.

        Args:
            starts: [nodes] bool.
        """
        seen = starts.tolist()
        blind = self.of_types(lambda name: name in METADATA_OPS or name == "ShapeN").tolist()
        waiting = np.flatnonzero(starts).tolist()
        consumers = self.consumers
        while waiting:
            for after in consumers[waiting.pop()]:
                if not seen[after] and not blind[after]:
                    seen[after] = True
                    waiting.append(after)
        return np.array(seen, dtype=bool)

    # Membership

    @cached_property
    def takes_weights(self) -> Bools:
        """[nodes] whether a node depends on a variable; in a graph without variables, on a product or a convolution."""
        starts = self.is_variable
        if not starts.any():
            starts = np.array([work.model in _PRODUCTS for work in self.step.works] or [False], dtype=bool)
        return self.reached(starts)

    @cached_property
    def is_model(self) -> Bools:
        """[nodes] whether a node depends on weights or gradients."""
        return self.takes_weights | self.reached(self.is_gradient)

    @cached_property
    def is_input(self) -> Bools:
        """[nodes] whether a node reads data from the client, a queue, a data set or a file, or prepares it."""
        sources = self.step.part.is_fed | self.of_types(
            lambda name: name in PLACEHOLDERS or _SOURCE.fullmatch(name) is not None
        )
        return self.reached(sources) & ~self.is_model & ~self.is_variable

    @cached_property
    def structure(self) -> Structure:
        """The structure of the whole graph's model."""
        return structure_of(GraphModel(self.placement.graph))

    @cached_property
    def op_of(self) -> Ints:
        """[nodes] the op whose gradient each node computes, by its position in the whole graph; -1 for others."""
        op_of: Ints = self.structure.differentiated[self.step.part.nodes]
        self._join_sums(op_of)
        return op_of

    @cached_property
    def is_gradient(self) -> Bools:
        """[nodes] whether a node computes the gradient of an op."""
        is_gradient: Bools = self.op_of >= 0
        return is_gradient

    @cached_property
    def forward(self) -> Ints:
        """[nodes] the op whose gradient each node computes, by its position in the step; -1 for others.

        A step that needs only a gradient does not run the op.
        """
        position = np.full(len(self.placement.graph) + 1, -1, dtype=np.int64)
        position[self.step.part.nodes] = np.arange(len(self.graph))
        forward: Ints = position[self.op_of]
        return forward

    @cached_property
    def device_of_op(self) -> Ints:
        """[nodes] device of the op whose gradient each node computes; -1 for others."""
        device_of_op: Ints = np.append(self.placement.devices, -1)[self.op_of]
        return device_of_op

    @cached_property
    def gradients_apart(self) -> Bools:
        """[nodes] whether a node is a gradient that runs on another device than its op."""
        is_apart = (self.device_of_op >= 0) & (self.device != self.device_of_op)
        apart: Bools = is_apart & ~self.keeps_variable & self.runs
        return apart

    @cached_property
    def device_of_layer(self) -> Ints:
        """[nodes] device of each node; for a gradient that runs apart from its op, the device of the op."""
        device: Ints = np.where(self.gradients_apart, self.device_of_op, self.device)
        return device

    def _join_sums(self, op_of: Ints) -> None:
        """Assign each `AddN` that sums the gradients of one op's consumers to that op, as TensorFlow colocates them."""
        inputs = self.inputs
        is_gradient = (op_of >= 0).tolist()
        for node in np.flatnonzero(self.of_types(lambda name: name == "AddN") & (op_of < 0)).tolist():
            takers = {int(op_of[after]) for after in self.consumers[node] if is_gradient[after]}
            if len(takers) == 1 and all(is_gradient[before] for before in inputs[node]):
                op_of[node] = takers.pop()

    @cached_property
    def variable_of(self) -> Ints:
        """[nodes] the variable that a node is or reads; -1 for other nodes."""
        variable_of = np.where(self.is_variable, np.arange(len(self.graph)), -1).tolist()
        passing = self.of_types(lambda name: name in IDENTITY_OPS or name == "ReadVariableOp").tolist()
        for node in self.order:
            if passing[node] and self.inputs[node]:
                variable_of[node] = variable_of[self.inputs[node][0]]
        return np.array(variable_of, dtype=np.int64)

    @cached_property
    def reads(self) -> Bools:
        """[nodes] whether a node is a variable or only reads one."""
        reads: Bools = self.variable_of >= 0
        return reads

    @cached_property
    def tower_of(self) -> Ints:
        """[nodes] the tower that contains each node, by its position among the parts; -1 for others."""
        tower_of: Ints = self.structure.tower_of[self.step.part.nodes]
        return tower_of

    @cached_property
    def seconds_of_towers(self) -> Reals:
        """[towers, devices] GPU kernel time in seconds of each tower; gradients count on the device of their op."""
        towers = np.unique(self.tower_of[self.tower_of >= 0])
        inside = self.tower_of >= 0
        number = np.searchsorted(towers, self.tower_of[inside])
        cell = number * len(self.labels) + self.device_of_layer[inside]
        seconds = np.bincount(cell, self.kernel_seconds[inside], len(towers) * len(self.labels))
        return seconds.astype(np.float64).reshape(len(towers), len(self.labels))

    @cached_property
    def tower_gpus(self) -> list[int]:
        """The busiest GPU of each tower, by position; empty if there are no towers, or if all are on one GPU."""
        gpus = {int(row.argmax()) for row in self.seconds_of_towers if row.max() > 0}
        return sorted(gpus) if len(gpus) > 1 else []

    @cached_property
    def combines(self) -> Bools:
        """[nodes] whether a node averages or clips the gradients of towers."""
        if not self.tower_gpus:
            return np.zeros(len(self.graph), dtype=bool)
        averages = self.structure.role[self.step.part.nodes] == AVERAGING
        combines: Bools = averages & ~self.keeps_variable & self.runs & self.is_model
        return combines

    # Copies

    @cached_property
    def path(self) -> dict[str, float]:
        """Cause of waiting -> seconds on the critical path."""
        return waits(self.step)

    @cached_property
    def memory_edges(self) -> tuple[Bools, Bools]:
        """[edges] of `data`: whether the producer writes to GPU memory, and whether the consumer reads from it."""
        step, data = self.step, self.graph.src_output != CONTROL
        on_gpu, count = self.is_gpu[self.device], int(data.sum())
        edges = edges_with_memories(step.part, self.placement.placer.catalogue, data, on_gpu)
        leaves_gpu: Bools = on_gpu[edges.src[:count]] & ~edges.writes[:count]
        enters_gpu: Bools = on_gpu[edges.dst[:count]] & ~edges.reads[:count]
        return leaves_gpu, enters_gpu

    def copied(self, sources: Bools | None = None, targets: Bools | None = None) -> Copied:
        """Return the totals of the copies from some nodes to some nodes.

        Args:
            sources: [nodes] producing nodes; None: any.
            targets: [nodes] consumers of the copies; None: any.
        """
        taken = None
        if targets is not None:
            src, _, dst = self.data
            crosses = targets[dst] & (self.device[src] != self.device[dst])
            taken = set(zip(src[crosses].tolist(), self.device[dst[crosses]].tolist(), strict=True))
        count, nbytes, seconds = 0, 0.0, 0.0
        for row in self.copy_rows:
            if sources is not None and not sources[row.node]:
                continue
            if taken is not None and (row.node, row.receiver) not in taken:
                continue
            count, nbytes, seconds = count + 1, nbytes + row.nbytes, seconds + row.seconds
        return Copied(count, nbytes, seconds)

    @cached_property
    def copy_rows(self) -> list[CopyRow]:
        """Copies that take time; the copies of all iterations of a loop are one row."""
        flow, times = self.step.flow, self.step.times
        table, first = flow.copies, flow.first_copy
        sums_of: dict[int, list[float]] = {}
        for item in np.flatnonzero(flow.kind == COPY).tolist():
            row = int(flow.item_node[item]) - first
            if times.host_start[item] >= 0 and table.output[row] != CONTROL:
                sums = sums_of.setdefault(row, [0.0, 0.0])
                sums[0] += times.end[item] - times.start[item]
                sums[1] += float(flow.nbytes[item])
        return [
            CopyRow(table.source[row], table.sender[row], table.receiver[row], seconds, nbytes)
            for row, (seconds, nbytes) in sums_of.items()
        ]

    # Changes

    def with_company(self, homes: Mapping[int, int]) -> dict[int, int]:
        """Return the new devices of some nodes, and of the nodes that move with them.

        A node without data inputs that waits for nodes of one device moves there. Constants, and ops that depend on
        neither variables nor input, move if only nodes of one device use them.

        Args:
            homes: node -> device, by position.
        """
        device_of = dict(homes)
        graph = self.graph
        start, src = graph.in_start.tolist(), graph.src.tolist()
        stays = (self.is_model | self.is_variable | self.is_input).tolist()
        inputs, consumers = self.inputs, self.consumers
        for node in self.order:
            if node in device_of or inputs[node] or start[node] == start[node + 1]:
                continue
            waits = {device_of.get(other, -1) for other in src[start[node] : start[node + 1]]}
            if len(waits) == 1 and -1 not in waits:
                device_of[node] = waits.pop()
        for node in reversed(self.order):
            if node in device_of or stays[node] or not consumers[node]:
                continue
            takers = {device_of.get(other, -1) for other in consumers[node]}
            if len(takers) == 1 and -1 not in takers:
                device_of[node] = takers.pop()
        return device_of

    # Texts

    def whole(self, nodes: Iterable[int]) -> list[int]:
        """Return the positions in the whole graph.

        Args:
            nodes: positions in the step.
        """
        return self.step.part.nodes[np.fromiter(nodes, np.int64)].tolist()

    def where(self, nodes: Any) -> str:
        """Return the scopes of nodes, gradients with their ops, ordered by time.

        Args:
            nodes: [nodes] bool, or positions.
        """
        chosen = _positions(nodes)
        ops = np.where(self.op_of[chosen] >= 0, self.op_of[chosen], self.step.part.nodes[chosen])
        weights = self.seconds[chosen] + 1e-9  # nodes that take no time count, too
        names = self.placement.graph.names
        return scopes([names[op] for op in ops.tolist()], weights.tolist())

    def names_of(self, nodes: Any) -> tuple[str, ...]:
        """Return the names of nodes.

        Args:
            nodes: [nodes] bool, or positions.
        """
        return tuple(self.names[node] for node in _positions(nodes).tolist())


def _positions(nodes: Any) -> Ints:
    """Return the positions of nodes, from booleans or positions."""
    array = np.asarray(nodes)
    chosen: Ints = np.flatnonzero(array) if array.dtype == bool else array.astype(np.int64)
    return chosen
