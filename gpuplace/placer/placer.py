"""Places a graph: kernels, bindings, requests and the two passes put together.

::

    signatures ──facts──> device types with kernels ──┐
    device strings ──parsed──> requests ──────────────┼──> constraints ──> candidates ──┐
    edges, _class ──bindings──> groups ───────────────┘                                 ├──> two passes ──> Placement
    visiting order, generators, metadata ───────────────────────────────────────────────┘

`Placer` keeps what does not depend on the machine, so that the same graph is placed again quickly with other devices or
with soft placement switched.

>>> from gpuplace.device.device_set import DeviceAttributes, DeviceSet
>>> from gpuplace.kernels.registry import default_catalogue
>>> from gpuplace.placer.placement_graph import PlacementGraphBuilder
>>> builder = PlacementGraphBuilder()
>>> _ = builder.add_node("go", "NoOp", {}, device="/gpu:0")
>>> names = [f"/job:localhost/replica:0/task:0/device:{kind}:0" for kind in ("CPU", "GPU")]
>>> devices = DeviceSet([DeviceAttributes(name) for name in names])
>>> place_graph(builder.build(), devices, default_catalogue())["go"]
'/job:localhost/replica:0/task:0/device:GPU:0'

Source: tensorflow/core/common_runtime/placer.cc and colocation_graph.cc, releases 1.15 and 2.21.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np

from gpuplace.device.device_set import DeviceSet
from gpuplace.device.parsed_name import ANY, ParsedName, parse_name
from gpuplace.kernels.registry import Catalogue
from gpuplace.placer import faults
from gpuplace.placer.bindings import Bindings, Conflict, Groups, Inside, NodeMembers, form_groups
from gpuplace.placer.candidates import DeviceChooser
from gpuplace.placer.decide import NOWHERE, Decisions, decide
from gpuplace.placer.host_data import limit_to_host
from gpuplace.placer.kinds import kinds_of
from gpuplace.placer.log import EDGE_ORDERED_RELEASES, edge_order
from gpuplace.placer.messages import error_of
from gpuplace.placer.node_facts import NodeFacts, node_facts
from gpuplace.placer.outline import Outline, outline
from gpuplace.placer.placement import Placement
from gpuplace.placer.placement_graph import PlacementGraph
from gpuplace.placer.validate import attr_error, check_graph

_OUTLINES_KEPT = 4
"""How many outlines a `Placer` remembers: those of soft placement on and off, with and without GPUs."""


def place_graph(
    graph: PlacementGraph,
    device_set: DeviceSet,
    catalogue: Catalogue,
    *,
    soft: bool = False,
    rules: str = "1.15",
    assigned: Mapping[str, str] | None = None,
    default_local_device: str | None = None,
    on_error: str = "raise",
    release: str | None = None,
) -> Placement:
    """Says where TensorFlow would run every node of `graph`.

    Args:
        graph: the nodes and edges.
        device_set: the machine.
        catalogue: op definitions and kernels.
        soft: `allow_soft_placement`.
        rules: rule set, `"1.15"` or `"2.21"`.
        assigned: node name -> full name of the device that it already has.
        default_local_device: full name of the device to prefer where a node is free.
        on_error: `"raise"`, or `"keep"` to go on and keep what can be placed.
        release: whose error sentences to use; `rules` by default.

    Raises:
        InvalidArgumentError: a node cannot be placed, or the graph is not sound.
        NotFoundError: an op is not registered.
        FailedPreconditionError: the machine has no device.
        InternalError: a device of `assigned` cannot be.
    """
    placer = Placer(graph, catalogue, rules=rules, release=release)
    return placer.place(
        device_set, soft=soft, assigned=assigned, default_local_device=default_local_device, on_error=on_error
    )


class Placer:
    """A graph with what is known of it before any machine is.

    Args:
        graph: the nodes and edges.
        catalogue: op definitions and kernels.
        rules: rule set, `"1.15"` or `"2.21"`.
        release: whose error sentences to use; `rules` by default.
        bodies: placers of the functions that calls look into, shared by all graphs of one library.

    Raises:
        InvalidArgumentError: the graph is not sound: a cycle, a wrong input type, ...
        NotFoundError: an op is not registered.
    """

    def __init__(
        self,
        graph: PlacementGraph,
        catalogue: Catalogue,
        *,
        rules: str = "1.15",
        release: str | None = None,
        bodies: dict[PlacementGraph, Placer] | None = None,
    ) -> None:
        self.graph = graph
        self.catalogue = catalogue
        self.rules = rules
        self.release = release or rules
        self._facts: dict[tuple[str, ...], tuple[NodeFacts, ...]] = {}
        self._bodies = {} if bodies is None else bodies
        self.parsed: tuple[ParsedName | None, ...] = tuple(parse_name(device) for device in graph.devices)
        check_graph(graph, catalogue)
        self.bindings = Bindings(graph, self.facts(()), rules)
        self.kinds = kinds_of(graph, self.bindings.component, self.bindings.bound)
        self._outlines: deque[Outline] = deque(maxlen=_OUTLINES_KEPT)

    def facts(self, device_types: tuple[str, ...]) -> tuple[NodeFacts, ...]:
        """Facts of each signature for a machine with these device types."""
        found = self._facts.get(device_types)
        if found is None:
            found = self._facts[device_types] = tuple(
                node_facts(signature, self.catalogue, device_types, self.rules, self.graph.functions)
                for signature in self.graph.signatures
            )
        return found

    def inside(self, call: int) -> Placer:
        """The placer of the function that a call that returns resources calls."""
        body = self.graph.inspections[call]
        found = self._bodies.get(body)
        if found is None:
            found = self._bodies[body] = Placer(
                body, self.catalogue, rules=self.rules, release=self.release, bodies=self._bodies
            )
        return found

    def outline(self, groups: Groups, assigned: Collection[int]) -> Outline:
        """Which of the groups follows which; remembered, as most machines and settings make the same groups."""
        for known in self._outlines:
            if known.fits(groups, assigned):
                return known
        made = outline(
            self.graph,
            self.facts(()),
            groups,
            assigned,
            identity_follows_input=self.rules == "2.21",
        )
        self._outlines.appendleft(made)
        return made

    def place(
        self,
        device_set: DeviceSet,
        *,
        soft: bool = False,
        assigned: Mapping[str, str] | None = None,
        default_local_device: str | None = None,
        on_error: str = "raise",
    ) -> Placement:
        """Places the graph on one machine; see `place_graph`."""
        if on_error not in ("raise", "keep"):
            raise ValueError(f"on_error is 'raise' or 'keep', not {on_error!r}")
        run = _Run(
            self, device_set, soft, dict(assigned or {}), default_local_device, keep=on_error == "keep"
        )
        return run.result()


class _Run:
    """One placement in the making."""

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
        self.placer, self.graph, self.device_set, self.soft, self.keep = (
            placer,
            placer.graph,
            device_set,
            soft,
            keep,
        )
        self.default_local_device = default_local_device
        replaced = self.graph.replaced
        self.assigned = {
            self.graph.index[name]: device for name, device in assigned.items() if name not in replaced
        }
        self.faults: list[faults.Fault] = []
        self.looked_at: dict[Placer, Inside] = {}
        self.groups: Groups | None = None
        self.decisions: Decisions | None = None
        self.single: NodeMembers | None = None
        self.host_causes: tuple[int, ...] = ()
        types = tuple(kind for kind, _ in device_set.prioritized_types())
        self.facts = placer.facts(types)
        self._widen(types)
        self.chooser = DeviceChooser(
            device_set,
            soft=soft,
            local_first=placer.rules == "2.21",
            default_local_device=default_local_device,
        )

    def result(self) -> Placement:
        if not len(self.device_set):
            self._fault(faults.NoDevices())
            return self._placement()
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
        return self._placement()

    def _form_groups(self) -> dict[int, int]:
        """Forms the groups; gives node -> device position of the assigned ones."""
        positions = self._check_nodes()
        requests = tuple(name or ANY for name in self.placer.parsed)
        given = {node: self.device_set.devices[device].parsed for node, device in positions.items()}
        self.single = NodeMembers(self.graph, self.facts, requests, given)
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

    def _look_inside(self, call: int) -> Inside:
        """What the function of a call that returns resources says of the call's neighbours; once per function."""
        placer = self.placer.inside(call)
        found = self.looked_at.get(placer)
        if found is None:
            found = self.looked_at[placer] = self._inside(placer)
        return found

    def _inside(self, placer: Placer) -> Inside:
        run = _Run(placer, self.device_set, self.soft, {}, self.default_local_device, keep=False)
        run.looked_at = self.looked_at
        run._form_groups()
        groups, graph = run.groups, run.graph
        assert groups is not None
        numbers: dict[int, int] = {}

        def group_of(node: int) -> int:
            return numbers.setdefault(int(groups.root[node]), len(numbers))

        kinds = [graph.op_type(node) for node in range(len(graph))]
        arguments = tuple(group_of(node) for node, kind in enumerate(kinds) if kind == "_Arg")
        results = tuple(group_of(node) for node, kind in enumerate(kinds) if kind == "_Retval")
        return Inside(arguments, results, tuple(groups.constraints(root) for root in numbers))

    def _widen(self, types: tuple[str, ...]) -> None:
        """Lets nodes without any kernel here run elsewhere, if that is what they ask for.

        An op that this process does not know may have kernels in the process of another job, replica or task. Such
        nodes get a signature of their own.
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
            kinds = types if name is None or name.type is None else (name.type,)
            signature[both & (graph.signature == number) & (graph.device == device)] = len(facts)
            facts.append(replace(self.facts[number], supported=tuple((kind, 0) for kind in kinds)))
            signatures.append(signatures[number])
        self.graph = graph.changed(signature=signature, signatures=tuple(signatures))
        self.facts = tuple(facts)

    def _fault(self, fault: faults.Fault) -> None:
        self.faults.append(fault)
        if not self.keep:
            raise error_of(self._placement(), fault)

    def _check_nodes(self) -> dict[int, int]:
        """Faults of single nodes, in graph order; gives node -> device position of the assigned ones."""
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
        """Whether a node without kernel has an attribute that its op does not allow, which 2.x says before all else."""
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
        """Faults of nodes that no device is left for, in the order of the two passes."""
        failed = decisions.device == NOWHERE
        clashes = self._clashes(groups, decisions) if self.assigned else {}
        if not failed.any() and not clashes:
            return
        known = {
            fault.node for fault in self.faults if isinstance(fault, faults.NoKernel | faults.AmbiguousKernel)
        }
        turn = np.empty(len(self.graph), dtype=np.int64)
        by_edges = self.placer.release in EDGE_ORDERED_RELEASES
        turn[edge_order(self.graph) if by_edges else decisions.visiting_order(self.graph)] = np.arange(
            len(self.graph)
        )
        # The first node of each group that has no device: not the decider if that came with one, and in 1.0 and 1.4,
        # which visit every node alike, perhaps another one than in the two passes.
        nodes = np.flatnonzero(failed)
        nodes = nodes[np.argsort(turn[nodes], kind="stable")]
        found = nodes[np.sort(np.unique(groups.root[nodes], return_index=True)[1])].tolist()
        for node in sorted([*found, *clashes], key=lambda node: turn[node]):
            if node in clashes:
                self._fault(clashes[node])
            elif node not in known:
                decider = int(decisions.decider[groups.root[node]])
                requested = groups.constraints(node).requested
                if decider in self.assigned:
                    requested = self.device_set.devices[decisions.device[decider]].parsed
                self._fault(faults.Unsatisfiable(node, requested))

    def _clashes(self, groups: Groups, decisions: Decisions) -> dict[int, faults.AssignmentClash]:
        """Groups that got another device than the one that some of their nodes came with."""
        clashes = {}
        for root in {int(groups.root[node]) for node in self.assigned}:
            decider = int(decisions.decider[root])
            member, device = groups.constraints(root), int(decisions.device[decider])
            if device != NOWHERE and member.assigned != ANY:
                chosen = self.device_set.devices[device]
                if chosen.parsed != member.assigned:
                    clashes[decider] = faults.AssignmentClash(decider, member.assigned, chosen.name)
        return clashes

    def _placement(self) -> Placement:
        return Placement(
            graph=self.graph,
            device_set=self.device_set,
            soft=self.soft,
            placer=self.placer,
            facts=self.facts,
            chooser=self.chooser,
            assigned=self.assigned,
            partition=self.groups,
            decisions=self.decisions,
            single=self.single,
            host_causes=self.host_causes,
            faults=tuple(self.faults),
        )


def _address(device: str) -> tuple[str | None, int | None, int | None]:
    """Job, replica and task of a requested device; of a malformed one what stands before the mistake."""
    parts = device.split("/")
    for end in range(len(parts), 0, -1):
        parsed = parse_name("/".join(parts[:end]))
        if parsed is not None:
            job, replica, task = parsed[:3]
            wrong = parts[end] if end < len(parts) else ""
            return ("" if wrong.startswith("job:") else job), replica, task
    return None, None, None


__all__ = ["Conflict", "Placer", "place_graph"]
