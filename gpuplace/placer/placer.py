"""A graph with what the placer knows of it before any machine is.

Checks, facts, bindings and the order of decisions do not depend on the machine, so that the same graph is placed again
quickly with other devices or with soft placement switched; `gpuplace.placer.placing` does that.

Source: tensorflow/core/common_runtime/placer.cc and colocation_graph.cc, releases 1.15 and 2.21.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection

from gpuplace.device.parsed_name import ParsedName, parse_name
from gpuplace.kernels.registry import Catalogue
from gpuplace.placer.bindings import Bindings, Groups
from gpuplace.placer.kinds import kinds_of
from gpuplace.placer.node_facts import NodeFacts, node_facts
from gpuplace.placer.outline import Outline, outline
from gpuplace.placer.placement_graph import PlacementGraph
from gpuplace.placer.validate import check_graph

_OUTLINES_KEPT = 4
"""How many outlines a `Placer` remembers: those of soft placement on and off, with and without GPUs."""


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
        """The placer of the function that a call that gives back resources calls.

        Raises:
            OpError: the function is not sound.
        """
        body = self.graph.inspections[call].body()
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
