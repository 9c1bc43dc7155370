"""Properties of the nodes of a step, as arrays, for the detectors.

They are derived from the graph: a node that depends on a variable belongs to the model, a node that depends on the
model's kernels on several GPUs combines towers, and the gradient of an op is in the scope that ``tf.gradients`` names
after the op. In a graph without variables, such as a frozen one, the model begins at its products and convolutions.
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
from gpuplace.placer.placement_graph import CONTROL
from gpuplace.why.rules import FOLLOWING, RULES, Rule

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Reals = NDArray[np.float64]

WORTH_TRYING = 0.01
"""Minimal share of the step time of a cause for which a change is tried."""
_GRADIENT = "_grad"
_TAPE = "gradient_tape"
"""Scope of gradients that TensorFlow 2 records."""
_SOURCE = re.compile(
    r".*(Dequeue|IteratorGetNext|ReaderRead|Unstage|DecodeJpeg|DecodePng|ParseExample).*|_Arg"
)
"""Op types that bring input into a step, besides placeholders."""
_PRODUCTS = ("product", "convolution")
"""Work models of kernels that use weights."""


class CopyRow(NamedTuple):
    """Tensor that a step copies to another device."""

    node: int
    """Node that produces the tensor."""
    sender: int
    """Device that sends the tensor."""
    receiver: int
    """Device that receives the tensor."""
    seconds: float
    """Time of all its copies."""
    nbytes: float
    """Bytes of all its copies."""


class Copied(NamedTuple):
    """Sums over some copies of a step."""

    tensors: int
    """Number of tensors; a tensor that is copied to two devices counts twice."""
    nbytes: float
    """Bytes."""
    seconds: float
    """Total time of the copies; concurrent copies are added up."""


class StepFacts:
    """Properties of a step; `[nodes]` marks arrays over its nodes, in the order of ``step.part.graph``.

    Args:
        step: an estimate of the step.
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
        """[nodes] Whether the op type passes a test.

        Args:
            test: predicate on op types.
        """
        return self.graph.of_types(test)

    @cached_property
    def runs(self) -> Bools:
        """[nodes] Whether the node is computed: neither folded, nor dead, nor removed."""
        unplaced = self.step.flow.step
        runs: Bools = np.isfinite(self.step.node_times["start"]) & ~unplaced.folded & ~unplaced.dead
        return runs

    @cached_property
    def on_gpu(self) -> Bools:
        """[nodes] Whether the results are in GPU memory; those of kernels that work in host memory are not."""
        on_gpu: Bools = self.is_gpu[self.device] & ~self.step.flow.on_host
        return on_gpu

    @cached_property
    def kernel_seconds(self) -> Reals:
        """[nodes] Time of the kernels on GPUs, in seconds."""
        flow, count = self.step.flow, len(self.graph)
        chosen = (flow.item_node < count) & (flow.kind == ON_GPU)
        return np.bincount(flow.item_node[chosen], flow.kernel[chosen], count).astype(np.float64)

    @cached_property
    def busy(self) -> Reals:
        """[devices] Time of the kernels of each GPU, in seconds; 0 for a CPU."""
        return np.bincount(self.device, self.kernel_seconds, len(self.labels)).astype(np.float64)

    @cached_property
    def rule(self) -> Ints:
        """[nodes] The rule that determined the device, as a position in `RULES`."""
        rules: Ints = self.placement.verdicts.rule[self.step.part.nodes]
        return rules

    def has_rule(self, *rules: Rule) -> Bools:
        """[nodes] Whether one of some rules determined the device.

        Args:
            rules: the rules.
        """
        return np.isin(self.rule, [RULES.index(rule) for rule in rules])

    @cached_property
    def follows(self) -> Bools:
        """[nodes] Whether the node follows a neighbor to its device."""
        return self.has_rule(*FOLLOWING)

    @cached_property
    def root(self) -> Ints:
        """[nodes] Number of the colocation group."""
        partition = self.placement.partition
        nodes = self.step.part.nodes
        roots: Ints = nodes if partition is None else partition.root[nodes]
        return roots

    @cached_property
    def is_variable(self) -> Bools:
        """[nodes] Whether the node is a variable or its handle."""
        return self.of_types(lambda name: name in VARIABLE_OPS)

    @cached_property
    def is_constant(self) -> Bools:
        """[nodes] Whether the node is a constant."""
        return self.of_types(lambda name: name in CONSTANT_OPS)

    @cached_property
    def is_update(self) -> Bools:
        """[nodes] Whether the node assigns a new value to a variable."""
        return self.of_types(lambda name: name.startswith(UPDATES_OF_VARIABLES) or name.startswith("Assign"))

    @cached_property
    def is_trained(self) -> bool:
        """Whether the step assigns new values to variables."""
        return bool((self.is_update & self.runs).any())

    @cached_property
    def keeps_variable(self) -> Bools:
        """[nodes] Whether the colocation group contains a variable."""
        return np.isin(self.root, np.unique(self.root[self.is_variable]))

    # Edges

    @cached_property
    def data(self) -> tuple[Ints, Ints, Ints]:
        """Edges that carry tensors: [edges] producer, output number, consumer."""
        graph = self.graph
        chosen = graph.src_output != CONTROL
        return (
            graph.src[chosen].astype(np.int64),
            graph.src_output[chosen].astype(np.int64),
            graph.dst[chosen].astype(np.int64),
        )

    @cached_property
    def inputs(self) -> list[list[int]]:
        """[nodes] Producers of the data inputs."""
        producers: list[list[int]] = [[] for _ in range(len(self.graph))]
        for source, _, target in zip(*(part.tolist() for part in self.data), strict=True):
            producers[target].append(source)
        return producers

    @cached_property
    def consumers(self) -> list[list[int]]:
        """[nodes] Consumers of the outputs."""
        consumers: list[list[int]] = [[] for _ in range(len(self.graph))]
        for source, _, target in zip(*(part.tolist() for part in self.data), strict=True):
            consumers[source].append(target)
        return consumers

    @cached_property
    def order(self) -> list[int]:
        """Nodes in topological order, ignoring the back edges of loops."""
        order: list[int] = self.graph.order.tolist()
        return order

    def reached(self, starts: Bools) -> Bools:
        """[nodes] Whether the node depends on the value of one of some nodes; nodes that only read its shape do not.

        Args:
            starts: [nodes] whether the node is one of these.
        """
        seen = starts.tolist()
        reads_shape = self.of_types(lambda name: name in METADATA_OPS or name == "ShapeN").tolist()
        pending = np.flatnonzero(starts).tolist()
        consumers = self.consumers
        while pending:
            for after in consumers[pending.pop()]:
                if not seen[after] and not reads_shape[after]:
                    seen[after] = True
                    pending.append(after)
        return np.array(seen, dtype=bool)

    # Model, gradients and towers

    @cached_property
    def takes_weights(self) -> Bools:
        """[nodes] Whether the node depends on a variable.

        In a graph without variables: on a product or a convolution.
        """
        starts = self.is_variable
        if not starts.any():
            starts = np.array([work.model in _PRODUCTS for work in self.step.works] or [False], dtype=bool)
        return self.reached(starts)

    @cached_property
    def is_model(self) -> Bools:
        """[nodes] Whether the node depends on weights or gradients."""
        return self.takes_weights | self.reached(self.is_gradient)

    @cached_property
    def is_input(self) -> Bools:
        """[nodes] Whether the node depends on a feed, queue, data set or reader, and not on the model."""
        sources = self.step.part.is_fed | self.of_types(
            lambda name: name in PLACEHOLDERS or _SOURCE.fullmatch(name) is not None
        )
        return self.reached(sources) & ~self.is_model & ~self.is_variable

    @cached_property
    def op_of(self) -> Ints:
        """[nodes] The op whose gradient the node computes, as a position in the whole graph; -1 for others."""
        index, scopes = self.placement.graph.index, {}
        op_of = np.full(len(self.graph), -1, dtype=np.int64)
        for node, name in enumerate(self.names):
            scope = _gradient_scope(name)
            if scope:
                if scope not in scopes:
                    scopes[scope] = _forward_op(scope, index)
                op_of[node] = scopes[scope]
        self._join_sums(op_of)
        return op_of

    @cached_property
    def is_gradient(self) -> Bools:
        """[nodes] Whether the node computes the gradient of an op."""
        is_gradient: Bools = self.op_of >= 0
        return is_gradient

    @cached_property
    def forward(self) -> Ints:
        """[nodes] The op whose gradient the node computes, as a position in the step; -1 for others.

        An op is not in the step if only its gradient is needed.
        """
        position = np.full(len(self.placement.graph) + 1, -1, dtype=np.int64)
        position[self.step.part.nodes] = np.arange(len(self.graph))
        forward: Ints = position[self.op_of]
        return forward

    @cached_property
    def device_of_op(self) -> Ints:
        """[nodes] Device of the op whose gradient the node computes; -1 for others."""
        devices: Ints = np.append(self.placement.devices, -1)[self.op_of]
        return devices

    @cached_property
    def gradients_apart(self) -> Bools:
        """[nodes] Whether the node is a gradient that runs on another device than its op."""
        is_apart = (self.device_of_op >= 0) & (self.device != self.device_of_op)
        apart: Bools = is_apart & ~self.keeps_variable & self.runs
        return apart

    def _join_sums(self, op_of: Ints) -> None:
        """Assign each sum of the gradients of several consumers to the op, as TensorFlow colocates them."""
        inputs = self.inputs
        is_gradient = (op_of >= 0).tolist()
        for node in np.flatnonzero(self.of_types(lambda name: name == "AddN") & (op_of < 0)).tolist():
            ops = {int(op_of[after]) for after in self.consumers[node] if is_gradient[after]}
            if len(ops) == 1 and all(is_gradient[before] for before in inputs[node]):
                op_of[node] = ops.pop()

    @cached_property
    def variable_of(self) -> Ints:
        """[nodes] The variable that the node is or only reads; -1 for others."""
        variable_of = np.where(self.is_variable, np.arange(len(self.graph)), -1).tolist()
        passing = self.of_types(lambda name: name in IDENTITY_OPS or name == "ReadVariableOp").tolist()
        for node in self.order:
            if passing[node] and self.inputs[node]:
                variable_of[node] = variable_of[self.inputs[node][0]]
        return np.array(variable_of, dtype=np.int64)

    @cached_property
    def reads(self) -> Bools:
        """[nodes] Whether the node is a variable or only reads one."""
        reads: Bools = self.variable_of >= 0
        return reads

    @cached_property
    def gpus_of(self) -> Ints:
        """[nodes] GPUs whose kernels of the model the node depends on, as a bit mask; 0 for variables."""
        own = np.where(self.is_model & self.on_gpu & (self.kernel_seconds > 0), self.device, -1).tolist()
        masks, is_read = [0] * len(own), self.reads.tolist()
        inputs = self.inputs
        for node in self.order:
            if is_read[node]:
                continue
            mask = 0 if own[node] < 0 else 1 << own[node]
            for before in inputs[node]:
                mask |= masks[before]
            masks[node] = mask
        return (
            np.array(masks, dtype=np.int64) if len(self.labels) < 63 else np.zeros(len(own), dtype=np.int64)
        )

    @cached_property
    def tower_gpus(self) -> list[int]:
        """GPUs whose kernels mostly depend on no other GPU; empty if there are fewer than two."""
        gpus = []
        for device in np.flatnonzero(self.is_gpu).tolist():
            independent = float(
                self.kernel_seconds[(self.device == device) & (self.gpus_of == 1 << device)].sum()
            )
            if self.busy[device] > 0 and independent >= 0.5 * self.busy[device]:
                gpus.append(device)
        return gpus if len(gpus) > 1 else []

    @cached_property
    def combines(self) -> Bools:
        """[nodes] Whether the node combines results of several towers.

        Nodes that only prepare results for such a node on the same device count too.
        """
        if not self.tower_gpus or not self.is_trained:
            return np.zeros(len(self.graph), dtype=bool)
        several = (self.gpus_of & (self.gpus_of - 1)) != 0
        is_open = ~self.keeps_variable & self.runs & ~self.is_gradient & self.is_model
        combines = (several & is_open).tolist()
        may_join, device = is_open.tolist(), self.device.tolist()
        for node in reversed(self.order):
            if may_join[node] and not combines[node] and (consumers := self.consumers[node]):
                combines[node] = all(combines[other] and device[other] == device[node] for other in consumers)
        return np.array(combines, dtype=bool)

    # Copies

    @cached_property
    def path(self) -> dict[str, float]:
        """Time on the critical path in seconds, by cause."""
        return waits(self.step)

    @cached_property
    def memory_edges(self) -> tuple[Bools, Bools]:
        """For each edge in `data`, whether the tensor is produced in GPU memory, and whether it is consumed there."""
        step, data = self.step, self.graph.src_output != CONTROL
        on_gpu, count = self.is_gpu[self.device], int(data.sum())
        edges = edges_with_memories(step.part, self.placement.placer.catalogue, data, on_gpu)
        produced: Bools = on_gpu[edges.src[:count]] & ~edges.writes[:count]
        consumed: Bools = on_gpu[edges.dst[:count]] & ~edges.reads[:count]
        return produced, consumed

    def copied(self, sources: Bools | None = None, targets: Bools | None = None) -> Copied:
        """Return the sums over the copies from some nodes to some nodes.

        Args:
            sources: [nodes] whether the node's results count; None: all.
            targets: [nodes] whether the copies for this node count; None: all.
        """
        consumed = None
        if targets is not None:
            src, _, dst = self.data
            crosses = targets[dst] & (self.device[src] != self.device[dst])
            consumed = set(zip(src[crosses].tolist(), self.device[dst[crosses]].tolist(), strict=True))
        count, nbytes, seconds = 0, 0.0, 0.0
        for row in self.copy_rows:
            if sources is not None and not sources[row.node]:
                continue
            if consumed is not None and (row.node, row.receiver) not in consumed:
                continue
            count, nbytes, seconds = count + 1, nbytes + row.nbytes, seconds + row.seconds
        return Copied(count, nbytes, seconds)

    @cached_property
    def copy_rows(self) -> list[CopyRow]:
        """Copies that take time; the copies of all iterations of a loop are added up."""
        flow, times = self.step.flow, self.step.times
        table, first = flow.copies, flow.first_copy
        sums_of_row: dict[int, list[float]] = {}
        for item in np.flatnonzero(flow.kind == COPY).tolist():
            row = int(flow.item_node[item]) - first
            if times.host_start[item] >= 0 and table.output[row] != CONTROL:
                sums = sums_of_row.setdefault(row, [0.0, 0.0])
                sums[0] += times.end[item] - times.start[item]
                sums[1] += float(flow.nbytes[item])
        return [
            CopyRow(table.source[row], table.sender[row], table.receiver[row], seconds, nbytes)
            for row, (seconds, nbytes) in sums_of_row.items()
        ]

    # Changes

    def with_company(self, homes: Mapping[int, int]) -> dict[int, int]:
        """Return the devices of some nodes and of the nodes that have to move with them.

        These are NoOps that only wait for nodes of one device, and constants and other nodes that depend neither on
        variables nor on input and whose consumers are all on one device.

        Args:
            homes: device by node, both as positions.
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
            devices = {device_of.get(other, -1) for other in consumers[node]}
            if len(devices) == 1 and -1 not in devices:
                device_of[node] = devices.pop()
        return device_of

    # Words

    def whole(self, nodes: Iterable[int]) -> list[int]:
        """Return positions in the whole graph.

        Args:
            nodes: positions in the step.
        """
        return self.step.part.nodes[np.fromiter(nodes, np.int64)].tolist()

    def where(self, nodes: Any) -> str:
        """Return the scopes of some nodes, weighted by their time; gradients count for the scopes of their ops.

        Args:
            nodes: [nodes] bool, or positions.
        """
        chosen = _positions(nodes)
        ops = np.where(self.op_of[chosen] >= 0, self.op_of[chosen], self.step.part.nodes[chosen])
        weights = self.seconds[chosen] + 1e-9  # nodes without a time count too
        names = self.placement.graph.names
        return scopes([names[op] for op in ops.tolist()], weights.tolist())

    def names_of(self, nodes: Any) -> tuple[str, ...]:
        """Return the names of some nodes.

        Args:
            nodes: [nodes] bool, or positions.
        """
        return tuple(self.names[node] for node in _positions(nodes).tolist())


def _positions(nodes: Any) -> Ints:
    """Return positions for a mask or an array of positions."""
    array = np.asarray(nodes)
    chosen: Ints = np.flatnonzero(array) if array.dtype == bool else array.astype(np.int64)
    return chosen


def _gradient_scope(name: str) -> str:
    """Return the scope that contains the gradients of an op; ``""`` for other nodes.

    >>> _gradient_scope("gradients/fc/MatMul_grad/tuple/group_deps"), _gradient_scope("gradients/AddN_3")
    ('gradients/fc/MatMul_grad', '')
    """
    at = name.rfind(_GRADIENT + "/")
    if at >= 0:
        return name[: at + len(_GRADIENT)]
    return name if name.startswith(_TAPE) or f"/{_TAPE}/" in name else ""


def _forward_op(scope: str, index: dict[str, int]) -> int:
    """Return the op whose gradients are in a scope, by removing the prefix that ``tf.gradients`` adds; -1 if unknown.

    >>> _forward_op("tower_1/gradients/tower_1/fc/MatMul_grad", {"tower_1/fc/MatMul": 3})
    3
    """
    path = scope.removesuffix(_GRADIENT).split("/")
    for length in range(1, len(path)):
        for at in range(len(path) - length):
            rest = path[:at] + path[at + length :]
            node = index.get("/".join(rest))
            if node is not None:
                return node
    # gradient_tape/model/dense/MatMul/MatMul_1: the op's name, then the name within its gradient
    if _TAPE in path:
        rest = path[:]
        rest.remove(_TAPE)
        while rest:
            node = index.get("/".join(rest))
            if node is not None:
                return node
            rest.pop()
    return -1
