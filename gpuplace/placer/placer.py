"""A graph with everything that the placer computes before the machine is known.

Checks, facts, bindings and the order of decisions do not depend on the machine, so the same graph can be placed again
quickly with other devices or another soft placement setting; see `gpuplace.placer.placing`.

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
"""Number of outlines that a `Placer` caches: soft placement on and off, with and without GPUs."""


class Placer:
    """A graph with everything that the placer computes before the machine is known.

    Args:
        graph: the nodes and edges.
        catalogue: op definitions and kernels.
        rules: the rule set, `"1.15"` or `"2.21"`.
        release: the release whose error messages are used; `rules` by default.
        bodies: placers of inspected functions, shared by all graphs of one library.

    Raises:
        InvalidArgumentError: the graph is invalid: a cycle, a wrong input type, ...
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
        """Return the facts of each signature for a machine with these device types."""
        facts = self._facts.get(device_types)
        if facts is None:
            facts = self._facts[device_types] = tuple(
                node_facts(signature, self.catalogue, device_types, self.rules, self.graph.functions)
                for signature in self.graph.signatures
            )
        return facts

    def inside(self, call: int) -> Placer:
        """Return the placer of the function of a call that returns resources.

        Raises:
            OpError: the function is invalid.
        """
        body = self.graph.inspections[call].body()
        placer = self._bodies.get(body)
        if placer is None:
            placer = self._bodies[body] = Placer(
                body, self.catalogue, rules=self.rules, release=self.release, bodies=self._bodies
            )
        return placer

    def outline(self, groups: Groups, assigned: Collection[int]) -> Outline:
        """Return which group follows which; cached, because most machines and settings lead to the same groups."""
        for cached in self._outlines:
            if cached.fits(groups, assigned):
                return cached
        computed = outline(
            self.graph,
            self.facts(()),
            groups,
            assigned,
            identity_follows_input=self.rules == "2.21",
        )
        self._outlines.appendleft(computed)
        return computed
