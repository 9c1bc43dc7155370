"""Placement of a session's graph, which may grow.

The whole graph is placed at the first step and again after each change; stateful nodes keep their devices. With
``place_pruned_graph``, as in an ``InteractiveSession``, each signature places only the nodes that it needs, with
additional nodes for its feeds and fetches::

    x (fed) ──> MatMul ──> fetch        _arg_x_0_0 ──> MatMul ──> _retval_MatMul_0_0

The placed and executed graph is the lowered one, in which calls and control flow are inlined: *locating* a signature
maps its tensors and operations to that graph.

Source: tensorflow/core/common_runtime/graph_execution_state.cc, core/graph/subgraph.cc, releases 1.15 and 2.21.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from gpuplace import release as releases
from gpuplace.display import safe_text
from gpuplace.errors import OpError
from gpuplace.graph.graph import Graph
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.kernels.registry import Catalogue
from gpuplace.placer.from_graph import placement_graph_of
from gpuplace.placer.graph_builder import PlacementGraphBuilder
from gpuplace.placer.placement_graph import PlacementGraph
from gpuplace.runtime.memory.process_state import SessionDevices
from gpuplace.runtime.plan.compile import Signature
from gpuplace.runtime.plan.lowered_graph import LoweredGraph
from gpuplace.runtime.plan.schedule.partition import retval_name
from gpuplace.runtime.plan.schedule.pruning import arg_name, pruned_operations
from gpuplace.runtime.plan.step_errors import error_with_lines
from gpuplace.runtime.session.place import inlines_all, lowered_nodes, place_for
from gpuplace.typing import ConfigProto
from gpuplace.why.messages import SOFT_FIELD
from gpuplace.why.placement import Placement
from gpuplace.why.placement_log import device_mapping, placement_lines
from gpuplace.why.yielded_requests import yielded_request_notes

_logger = logging.getLogger(__name__)


class Located(NamedTuple):
    """Signature in the executed graph."""

    signature: Signature
    """Fetches, targets and feeds of the executed graph."""
    device_of: Callable[[Operation], str]
    """Returns the device of each needed operation."""


class SessionPlacement:
    """Placement of a session's graph; callers hold the session's lock.

    Args:
        graph: the session's graph.
        devices: the session's devices.
        config: the session's ``ConfigProto``.
        catalogue: ops and kernels of the release.
        release: the release.
        place_pruned: whether to place each signature separately; None: per the config.
        lowers: whether to inline calls and control flow; on a cluster each such node runs on one task.
    """

    def __init__(
        self,
        graph: Graph,
        devices: SessionDevices,
        config: ConfigProto,
        catalogue: Catalogue,
        release: str,
        place_pruned: bool | None = None,
        *,
        lowers: bool = True,
    ) -> None:
        self._graph = graph
        self._devices = devices
        self._config = config
        self._catalogue = catalogue
        self._release = release
        self._stateful: dict[str, str] = {}
        self._inlines_all = inlines_all(config)
        self._lowers = lowers
        self._placement: Placement | None = None
        self._lowered: LoweredGraph | None = None
        """Lowered graph of the last placement; None if the graph itself runs."""
        self._device_list: list[str] = []
        self._logs = bool(getattr(config, "log_device_placement", False))
        options = getattr(config, "graph_options", None)
        self.place_pruned = (
            bool(getattr(options, "place_pruned_graph", False)) if place_pruned is None else place_pruned
        )
        self.version = -1
        """``modification_count`` of the graph at the last placement."""
        if self._logs:
            _print(device_mapping(devices, release))

    def current(self) -> Placement:
        """Return the placement of the current graph.

        Raises:
            InvalidArgumentError: the graph cannot be placed.
        """
        if self._placement is None or self.version != self._graph.modification_count:
            self._update()
        assert self._placement is not None
        return self._placement

    def _update(self) -> None:
        with self._graph.lock:
            version = self._graph.modification_count
            nodes = placement_graph_of(self._graph, self._catalogue)
            lowered = self._lower(nodes)
            running = None if lowered is nodes else LoweredGraph(self._graph, lowered, self._catalogue)
            operations = self._graph.get_operations() if running is None else running.get_operations()
        placement = self._place(lowered, self._stateful)
        names = self._devices.names
        devices = [names[position] for position in placement.devices.tolist()]
        if running is not None:
            devices = [devices[lowered.index[op.name]] for op in operations]
        self._keep_stateful(operations, devices)
        self._placement, self._lowered, self._device_list = placement, running, devices
        self.version = version
        if not self.place_pruned:
            self._log(placement)

    def _lower(self, nodes: PlacementGraph) -> PlacementGraph:
        if not self._lowers:
            return nodes
        rules = releases.rules(self._release)
        with self._graph.lock:
            try:
                return lowered_nodes(nodes, self._graph, self._catalogue, rules, inline_all=self._inlines_all)
            except OpError as error:
                raise error_with_lines(error, self._graph, self._release) from error.__cause__

    def located(self, signature: Signature) -> Located:
        """Return a signature in the executed graph, with the devices of its operations.

        Args:
            signature: fetches, targets and feeds of the program's graph.

        Raises:
            InvalidArgumentError: the graph, or the pruned graph, cannot be placed.
        """
        return self._located_alone(*signature) if self.place_pruned else self.located_in_whole(signature)

    def located_in_whole(self, signature: Signature) -> Located:
        """Return a signature in the whole executed graph, even if the session places pruned graphs.

        Args:
            signature: fetches, targets and feeds of the program's graph.

        Raises:
            InvalidArgumentError: the graph cannot be placed.
        """
        self.current()
        devices, lowered = self._device_list, self._lowered
        if lowered is not None:
            fetches, targets, feeds = signature
            signature = (
                tuple(map(lowered.tensor, fetches)),
                tuple(map(lowered.operation, targets)),
                tuple(map(lowered.tensor, feeds)),
            )
        return Located(signature, lambda op: devices[op.index])

    def _located_alone(
        self, fetches: Sequence[Tensor], targets: Sequence[Operation], feeds: Sequence[Tensor]
    ) -> Located:
        operations = pruned_operations(fetches, targets, set(feeds))
        args = {arg_name(tensor, number): tensor for number, tensor in enumerate(_by_name(feeds))}
        retvals = {tensor: retval_name(tensor, number) for number, tensor in enumerate(_by_name(fetches))}
        graph, device_of_added = self._pruned_graph(operations, args, retvals)
        lowered = self._lower(graph)
        stateful = {name: device for name, device in self._stateful.items() if name in lowered.index}
        signature = tuple(fetches), tuple(targets), tuple(feeds)
        if lowered is not graph:
            running = LoweredGraph(self._graph, lowered, self._catalogue, args, set(retvals.values()))
            operations = running.get_operations()
            signature = (
                tuple(running.fetched(retvals[tensor]) for tensor in fetches),
                tuple(dict.fromkeys([*map(running.operation, targets), *_ends(operations)])),
                tuple(map(running.tensor, feeds)),
            )
        placement = self._place(lowered, {**stateful, **device_of_added})
        device_of = {op: placement[op.name] for op in operations}
        self._keep_stateful(operations, list(device_of.values()))
        self._log(placement)
        return Located(signature, device_of.__getitem__)

    def _place(self, graph: PlacementGraph, assigned: Mapping[str, str]) -> Placement:
        try:
            return place_for(
                SOFT_FIELD,
                graph,
                self._devices,
                self._config,
                release=self._release,
                catalogue=self._catalogue,
                assigned=assigned,
            )
        except OpError as error:
            raise error_with_lines(error, self._graph, self._release) from error.__cause__

    def _keep_stateful(self, operations: Sequence[Operation], devices: Sequence[str]) -> None:
        """Store the devices of the program's stateful operations; inlined operations are placed again each time."""
        for op, device in zip(operations, devices, strict=False):
            if op.op_def is not None and op.op_def.is_stateful and op.name in self._graph.by_name:
                self._stateful[op.name] = device

    def _log(self, placement: Placement) -> None:
        if self._logs:
            for note in yielded_request_notes(placement, self._release):
                _logger.info("%s", note)
            _print(placement_lines(placement, self._release))

    def _pruned_graph(
        self, operations: Sequence[Operation], feeds: Mapping[str, Tensor], fetches: Mapping[Tensor, str]
    ) -> tuple[PlacementGraph, dict[str, str]]:
        """Return the pruned graph, with a named node for each feed and fetch, and the devices of these nodes."""
        client = self._devices.devices[0].name
        builder = PlacementGraphBuilder(self._catalogue)
        positions = {op: position for position, op in enumerate(operations)}
        args = {tensor: len(operations) + number for number, tensor in enumerate(feeds.values())}

        def source(tensor: Tensor) -> tuple[int, int]:
            return (args[tensor], 0) if tensor in args else (positions[tensor.op], tensor.value_index)

        attrs: list[Mapping[str, Any]] = [op.attrs for op in operations]
        for op in operations:
            controls = [positions[control] for control in op.control_inputs]
            builder.add_node(op.name, op.type, op.attrs, map(source, op.inputs), controls, op.device)
        device_of_added = {}
        for number, (name, tensor) in enumerate(feeds.items()):
            attrs.append({"T": tensor.dtype.base_dtype, "index": number})
            device_of_added[name] = client
            builder.add_node(name, "_Arg", attrs[-1])
        for number, (tensor, name) in enumerate(fetches.items()):
            attrs.append({"T": tensor.dtype.base_dtype, "index": number})
            device_of_added[name] = client
            builder.add_node(name, "_Retval", attrs[-1], [source(tensor)])

        def source_line(node: int) -> str | None:
            return operations[node].source if node < len(operations) else None

        graph = builder.build(
            functions=self._graph.function_op_defs,
            node_attrs=attrs.__getitem__,
            source_line=source_line,
            source=self._graph,
        )
        vars(graph)["order"] = np.arange(len(graph))  # the added nodes come last, even those that feed others
        return graph, device_of_added


def _by_name(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Return feeds or fetches in the order in which TensorFlow numbers them."""
    return sorted(tensors, key=lambda tensor: tensor.name)


def _ends(operations: Sequence[Operation]) -> list[Operation]:
    """Return the operations without successors, as targets that make all operations of a lowered graph run."""
    predecessors = {tensor.op for op in operations for tensor in op.inputs}
    predecessors.update(control for op in operations for control in op.control_inputs)
    return [op for op in operations if op not in predecessors]


def _print(text: str) -> None:
    sys.stdout.write(safe_text(text))
    sys.stdout.flush()
