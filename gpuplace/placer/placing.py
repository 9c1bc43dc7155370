"""Place a graph: combine kernels, bindings, requests and the two passes.

::

    signatures ──facts──> device types with kernels ──┐
    device strings ──parsed──> requests ──────────────┼──> constraints ──> candidates ──┐
    edges, _class ──bindings──> groups ───────────────┘                                 ├──> two passes ──> Placed
    visiting order, generators, metadata ───────────────────────────────────────────────┘

>>> from gpuplace.device.device_set import DeviceAttributes, DeviceSet
>>> from gpuplace.kernels.registry import default_catalogue
>>> from gpuplace.placer.graph_builder import PlacementGraphBuilder
>>> builder = PlacementGraphBuilder()
>>> _ = builder.add_node("go", "NoOp", {}, device="/gpu:0")
>>> names = [f"/job:localhost/replica:0/task:0/device:{kind}:0" for kind in ("CPU", "GPU")]
>>> devices = DeviceSet([DeviceAttributes(name) for name in names])
>>> placed = place_nodes(Placer(builder.build(), default_catalogue()), devices)
>>> placed.device_of(0)
'/job:localhost/replica:0/task:0/device:GPU:0'

A node that cannot be placed is recorded as a *fault*. `gpuplace.why` turns faults into errors and explains all other
placements.

Source: tensorflow/core/common_runtime/placer.cc and colocation_graph.cc, releases 1.15 and 2.21.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypedDict, TypeVar

import numpy as np

from gpuplace.device.device_set import DeviceSet
from gpuplace.device.parsed_name import ANY, parse_name
from gpuplace.errors import OpError, ResourceExhaustedError
from gpuplace.placer import faults
from gpuplace.placer.bindings import Groups, NodeMembers, form_groups
from gpuplace.placer.calls import Inside
from gpuplace.placer.candidates import DeviceChooser
from gpuplace.placer.decide import NOWHERE, Decisions, decide
from gpuplace.placer.edge_order import EDGE_ORDERED_RELEASES, edge_order
from gpuplace.placer.host_data import limit_to_host
from gpuplace.placer.kinds import kinds_of
from gpuplace.placer.node_facts import NodeFacts
from gpuplace.placer.placed import AnyFault, InFunction, Placed
from gpuplace.placer.placer import Placer
from gpuplace.placer.validate import attr_error

P = TypeVar("P")

_MAX_DEPTH = 100
"""Maximum depth of calls to functions that return resources."""


class PlacingOptions(TypedDict, total=False):
    """Keyword arguments of `place_nodes` about how nodes are placed."""

    soft: bool
    assigned: Mapping[str, str] | None
    default_local_device: str | None


def place_nodes(
    placer: Placer,
    device_set: DeviceSet,
    *,
    soft: bool = False,
    assigned: Mapping[str, str] | None = None,
    default_local_device: str | None = None,
    keep: bool = False,
    into: Callable[..., P] = Placed,  # type: ignore[assignment]
) -> P:
    """Place a graph on one machine.

    Args:
        placer: the graph's placer.
        device_set: the machine's devices.
        soft: `allow_soft_placement`.
        assigned: node name -> full name of the device that it already has.
        default_local_device: full name of the device to prefer for unconstrained nodes.
        keep: whether to continue after a fault and keep the nodes that can be placed; TensorFlow stops at the first
            fault.
        into: called with the fields of `Placed` by name; its result is returned.

    Raises:
        KeyError: `assigned` names a node that is not in the graph.
    """
    run = _Run(placer, device_set, soft, dict(assigned or {}), default_local_device, keep=keep)
    return into(**run.result())


class _Stopped(Exception):
    """Raised when a fault ends the placement, as in TensorFlow."""


class _Run:
    """One placement in progress."""

    def __init__(
        self,
        placer: Placer,
        device_set: DeviceSet,
        soft: bool,
        assigned: dict[str, str],
        default_local_device: str | None,
        *,
        keep: bool,
    ) -> None:
        self.placer, self.graph = placer, placer.graph
        self.device_set, self.soft, self.keep = device_set, soft, keep
        self.default_local_device = default_local_device
        replaced = self.graph.replaced
        self.assigned = {
            self.graph.index[name]: device for name, device in assigned.items() if name not in replaced
        }
        self.faults: list[AnyFault] = []
        self.inspected: dict[Placer, Inside] = {}
        self.stack: tuple[faults.Frame, ...] = ()
        self.groups: Groups | None = None
        self.decisions: Decisions | None = None
        self.single: NodeMembers | None = None
        self.host_causes: tuple[int, ...] = ()
        types = tuple(device_type for device_type, _ in device_set.prioritized_types())
        self.facts = placer.facts(types)
        self._widen(types)
        self.chooser = DeviceChooser(
            device_set,
            soft=soft,
            local_first=placer.rules == "2.21",
            default_local_device=default_local_device,
        )

    def result(self) -> dict[str, Any]:
        """Place the graph and return the fields of the `Placed`."""
        with suppress(_Stopped):
            self._place()
        return self.fields()

    def fields(self) -> dict[str, Any]:
        """Return the fields of the `Placed`, as far as they are known."""
        return {
            "graph": self.graph,
            "device_set": self.device_set,
            "soft": self.soft,
            "placer": self.placer,
            "facts": self.facts,
            "chooser": self.chooser,
            "assigned": self.assigned,
            "partition": self.groups,
            "decisions": self.decisions,
            "single": self.single,
            "host_causes": self.host_causes,
            "faults": tuple(self.faults),
        }

    def _place(self) -> None:
        if not len(self.device_set):
            self._fault(faults.NoDevices())
            return
        positions = self._form_groups()
        assert self.groups is not None
        candidates = [self.chooser.candidates(member) for member in self.groups.members]
        self.decisions = decide(
            self.placer.outline(self.groups, positions),
            self.groups,
            candidates,
            positions,
            [device.device_type for device in self.device_set],
        )
        self._check_decisions(self.groups, self.decisions)

    def _form_groups(self) -> dict[int, int]:
        """Form the groups; return the device positions of the assigned nodes, by node."""
        positions = self._check_nodes()
        requests = tuple(name or ANY for name in self.placer.parsed)
        assigned_names = {node: self.device_set.devices[device].parsed for node, device in positions.items()}
        self.single = NodeMembers(self.graph, self.facts, requests, assigned_names)
        priority = self.device_set.type_priority
        kinds = self.placer.kinds
        if self.graph is not self.placer.graph:
            kinds = kinds_of(self.graph, self.placer.bindings.component, self.placer.bindings.bound)
        self.groups = form_groups(
            self.placer.bindings,
            kinds,
            self.single,
            priority,
            soft=self.soft,
            on_conflict=self._fault,
            look_inside=self._look_inside,
        )
        if self.placer.rules == "2.21":
            self.groups, self.host_causes = limit_to_host(self.graph, self.facts, self.groups)
        return positions

    def _look_inside(self, call: int) -> Inside | None:
        """Inspect the function of a call that returns resources; return None if that fails."""
        function = self.graph.inspections[call].function
        stack = (*self.stack, faults.Frame(self.graph.names[call], function))
        try:
            placer = self.placer.inside(call)
            if function not in {frame.function for frame in self.stack}:
                return self._inside(call, placer, stack)
        except OpError as error:
            self._fault(faults.FailedInside(call, error))
        else:
            self._fault(faults.Recursion(call, stack))
        return None

    def _inside(self, call: int, placer: Placer, stack: tuple[faults.Frame, ...]) -> Inside | None:
        """Inspect a function, once per function; `stack` is the chain of calls to it.

        Raises:
            ResourceExhaustedError: calls are nested too deeply.
        """
        *outer, (name, function) = stack
        if len(stack) > _MAX_DEPTH:
            raise ResourceExhaustedError.of(
                f"More than {_MAX_DEPTH} nested function calls return resources",
                facts={"reached at": f"{name}, which calls {function}"},
            )
        result = self.inspected.get(placer)
        if result is not None and result.functions.isdisjoint(frame.function for frame in outer):
            return result
        run = _Run(placer, self.device_set, self.soft, {}, self.default_local_device, keep=False)
        run.inspected, run.stack = self.inspected, stack
        try:
            run._form_groups()
        except _Stopped:
            self._fault(InFunction(call, Placed(**run.fields()), run.faults[-1]))
            return None
        self.inspected[placer] = run._outside(function)
        return self.inspected[placer]

    def _outside(self, function: str) -> Inside:
        """Return the constraints of this function's body, whose groups are formed, on the neighbors of its calls."""
        groups, graph = self.groups, self.graph
        assert groups is not None
        numbers: dict[int, int] = {}

        def group_of(node: int) -> int:
            return numbers.setdefault(int(groups.root[node]), len(numbers))

        op_types = [graph.op_type(node) for node in range(len(graph))]
        arguments = tuple(group_of(node) for node, op_type in enumerate(op_types) if op_type == "_Arg")
        results = tuple(group_of(node) for node, op_type in enumerate(op_types) if op_type == "_Retval")
        members = tuple(groups.constraints(root) for root in numbers)
        deeper = (inside.functions for inside in groups.inside.values())
        return Inside(arguments, results, members, frozenset({function}).union(*deeper))

    def _widen(self, types: tuple[str, ...]) -> None:
        """Allow nodes without any kernel in this process to run in another task, if they request one.

        An op that is unknown in this process may have kernels in the process of another job, replica or task. Such
        nodes get their own signature.
        """
        graph, client = self.graph, self.device_set.client_device
        unknown = [
            number
            for number, fact in enumerate(self.facts)
            if not fact.supported and not fact.has_attr_mismatch and fact.kernel_error is None
        ]
        if not unknown or client is None:
            return
        here = client.parsed[:3]
        remote = [
            number
            for number, text in enumerate(graph.devices)
            if any(None not in pair and pair[0] != pair[1] for pair in zip(here, _address(text), strict=True))
        ]
        both = np.isin(graph.signature, unknown) & np.isin(graph.device, remote)
        if not both.any():
            return
        signature, facts = graph.signature.copy(), list(self.facts)
        signatures = list(graph.signatures)
        for number, device in sorted(
            {(int(graph.signature[n]), int(graph.device[n])) for n in np.flatnonzero(both)}
        ):
            name = self.placer.parsed[device]
            device_types = types if name is None or name.type is None else (name.type,)
            signature[both & (graph.signature == number) & (graph.device == device)] = len(facts)
            facts.append(
                replace(self.facts[number], supported=tuple((device_type, 0) for device_type in device_types))
            )
            signatures.append(signatures[number])
        self.graph = graph.changed(signature=signature, signatures=tuple(signatures))
        self.facts = tuple(facts)

    def _fault(self, fault: AnyFault) -> None:
        self.faults.append(fault)
        if not self.keep:
            raise _Stopped

    def _check_nodes(self) -> dict[int, int]:
        """Record faults of single nodes, in graph order; return the device positions of the assigned nodes, by node."""
        graph = self.graph
        bad_signature = np.array(
            [not fact.supported or fact.kernel_error is not None for fact in self.facts], dtype=bool
        )
        bad_device = np.array([name is None for name in self.placer.parsed], dtype=bool)
        suspects: set[int] = set(self.assigned)
        if bad_signature.any():
            suspects.update(np.flatnonzero(bad_signature[graph.signature]).tolist())
        if bad_device.any():
            suspects.update(np.flatnonzero(bad_device[graph.device]).tolist())
        positions: dict[int, int] = {}
        rank = graph.rank
        for node in sorted(suspects, key=lambda node: rank[node]):
            fact = self.facts[graph.signature[node]]
            if fact.kernel_error is not None:
                self._fault(faults.AmbiguousKernel(node))
            elif node in self.assigned and not self._is_invalid(node, fact):
                self._check_assigned(node, fact, positions)
            elif not fact.supported:
                self._fault(faults.NoKernel(node))
            else:
                self._fault(faults.MalformedDevice(node))
        return positions

    def _is_invalid(self, node: int, fact: NodeFacts) -> bool:
        """Return whether a node without a kernel has an invalid attribute, which 2.x reports before all else."""
        op_def = self.placer.catalogue.ops.get(fact.signature.op_type)
        if fact.supported or op_def is None or self.placer.rules != "2.21":
            return False
        return (
            attr_error(op_def, {**fact.attrs, **self.graph.attrs(node)}, self.graph.names[node]) is not None
        )

    def _check_assigned(self, node: int, fact: NodeFacts, positions: dict[int, int]) -> None:
        name = self.assigned[node]
        parsed = parse_name(name)
        if parsed is None:
            self._fault(faults.BadAssignment(node, name, "malformed"))
            return
        device = self.device_set.by_name.get(parsed.to_string())
        if device is None:
            self._fault(faults.BadAssignment(node, name, "unknown"))
        elif device.device_type not in dict(fact.supported):
            self._fault(faults.BadAssignment(node, name, "kernel"))
        else:
            positions[node] = self.chooser.position[device.name]

    def _check_decisions(self, groups: Groups, decisions: Decisions) -> None:
        """Record faults of nodes for which no device is left, in the order of the two passes."""
        failed = decisions.device == NOWHERE
        clashes = self._clashes(groups, decisions) if self.assigned else {}
        if not failed.any() and not clashes:
            return
        reported = {
            fault.node for fault in self.faults if isinstance(fault, faults.NoKernel | faults.AmbiguousKernel)
        }
        order = np.empty(len(self.graph), dtype=np.int64)
        by_edges = self.placer.release in EDGE_ORDERED_RELEASES
        order[edge_order(self.graph) if by_edges else decisions.visiting_order(self.graph)] = np.arange(
            len(self.graph)
        )
        # The first visited node without a device of each group. It is not the decider if that node was assigned before
        # placing; 1.0 and 1.4 visit all nodes in one pass, so it may differ from the two-pass order.
        nodes = np.flatnonzero(failed)
        nodes = nodes[np.argsort(order[nodes], kind="stable")]
        group_heads = nodes[np.sort(np.unique(groups.root[nodes], return_index=True)[1])].tolist()
        for node in sorted([*group_heads, *clashes], key=lambda node: order[node]):
            if node in clashes:
                self._fault(clashes[node])
            elif node not in reported:
                decider = int(decisions.decider[groups.root[node]])
                requested = groups.constraints(node).requested
                if decider in self.assigned:
                    requested = self.device_set.devices[decisions.device[decider]].parsed
                self._fault(faults.Unsatisfiable(node, requested))

    def _clashes(self, groups: Groups, decisions: Decisions) -> dict[int, faults.AssignmentClash]:
        """Return the groups that did not get the device assigned to one of their nodes."""
        clashes = {}
        for root in {int(groups.root[node]) for node in self.assigned}:
            decider = int(decisions.decider[root])
            member, device = groups.constraints(root), int(decisions.device[decider])
            if device != NOWHERE and member.assigned != ANY:
                chosen = self.device_set.devices[device]
                if chosen.parsed != member.assigned:
                    clashes[decider] = faults.AssignmentClash(decider, member.assigned, chosen.name)
        return clashes


def _address(device: str) -> tuple[str | None, int | None, int | None]:
    """Return a requested device's job, replica and task; if it is malformed, those before the mistake."""
    parts = device.split("/")
    for end in range(len(parts), 0, -1):
        parsed = parse_name("/".join(parts[:end]))
        if parsed is not None:
            job, replica, task = parsed[:3]
            rest = parts[end] if end < len(parts) else ""
            return ("" if rest.startswith("job:") else job), replica, task
    return None, None, None
