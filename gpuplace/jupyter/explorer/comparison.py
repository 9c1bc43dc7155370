"""Comparisons of the current placement with a pinned one, or with the placement for other settings.

>>> from gpuplace.graph.graph import Graph
>>> with Graph().as_default() as graph:
...     op = graph.create_op("NoOp", [], [], name="go")
>>> state = WhatIf(graph, machine="1x Tesla K40c")
>>> comparison = Comparison(state)
>>> comparison.use(machine="cpu")
>>> [(move.node, move.before[-5:], move.after[-5:]) for move in comparison.moves(state.placement).rows]
[('go', 'CPU:0', 'GPU:0')]
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gpuplace import release as releases
from gpuplace.graph.graph import Graph
from gpuplace.graphdef.load import open_model
from gpuplace.jupyter.explorer.setting_table import words_of
from gpuplace.jupyter.explorer.settings import Settings
from gpuplace.jupyter.explorer.what_if import WhatIf
from gpuplace.placer.placement_graph import PlacementGraph
from gpuplace.views.logs.logged_placement import LoggedPlacement
from gpuplace.views.tables.moves import Moves, moves_between
from gpuplace.views.tables.placement_view import PlacementView, view_of
from gpuplace.views.tables.text import summary_text
from gpuplace.why.placement import Placement


class Comparison:
    """The other side of a comparison.

    Args:
        what_if: the source of the current placement.

    Attributes:
        before: a `Placement` or a `PlacementView`; None if nothing is compared.
        label: a description of it.
        error: why the last choice cannot be placed, until it is shown.
    """

    def __init__(self, what_if: WhatIf) -> None:
        self.what_if = what_if
        self.before: Any = None
        self.label = ""
        self.error: BaseException | None = None
        self._moves: tuple[Any, Any, Moves] | None = None

    def pin(self) -> None:
        """Compare with the current placement from now on."""
        self._set(self.what_if.placement, f"pinned: {self._words(self.what_if.settings)}")

    def use(self, other: object = None, **settings: Any) -> None:
        """Compare with another placement, or with the placement of other settings; without arguments, stop comparing.

        Args:
            other: a `Placement`, a `LoggedPlacement`, a `PlacementView`, or anything that can be placed: a graph, a
                GraphDef, a path.
            settings: ``machine``, ``release``, ``soft_placement`` and so on, named like the explorer's traits.

        Raises:
            OpError: the other settings, or the other graph, cannot be placed.
        """
        if settings:
            self._with(self.what_if.changed(**settings))
        elif other is None:
            self._set(None, "")
        elif isinstance(other, LoggedPlacement):
            self._set(other, "a log")
        elif isinstance(other, PlacementView | Placement):
            self._set(other, "another placement")
        else:
            now = self.what_if.settings
            other, part = self._like_ours(other)
            state = WhatIf(other, machine=now.machine, config=now.config, **part)
            if state.placement is None:
                assert state.error is not None
                raise state.error
            self._set(state.placement, "another graph")

    def _like_ours(self, other: object) -> tuple[Any, dict[str, Any]]:
        """Return another model and its part that corresponds to the shown part, if there is one."""
        ours, settings = self.what_if.parts.model, self.what_if.settings
        is_graph = isinstance(other, Graph | PlacementGraph) or hasattr(other, "graph")
        if ours is None or ours.kind == "GraphDef" or is_graph:
            return other, {}
        model = open_model(other)
        part: dict[str, Any] = {"tags": settings.tags} if settings.tags in model.tag_sets else {}
        tags = model.part(**part).tags
        if not settings.signature or settings.signature in model.signatures(tags):
            part["signature"] = settings.signature
        if settings.function in model.functions(tags):
            part["function"] = settings.function
        return model, part

    def _with(self, settings: Settings) -> None:
        self._set(self.what_if.attempt(settings), self._words(settings))

    def _set(self, before: Any, label: str) -> None:
        self.before, self.label = before, label
        if before is not None:
            self.label = f"{label}: {summary_text(view_of(before))}"

    def _words(self, settings: Settings) -> str:
        parts = self.what_if.parts
        label = [parts.label(settings)] if len(parts.labels(settings)) > 1 else []
        return ", ".join([*label, *words_of(settings)])

    def moves(self, after: Any) -> Moves | None:
        """Return the differences with their causes; None if nothing is compared."""
        if self.before is None or after is None:
            return None
        if self._moves is None or self._moves[0] is not self.before or self._moves[1] is not after:
            self._moves = (self.before, after, moves_between(self.before, after))
        return self._moves[2]

    # ------------------------------------------------------------------------------------------- choices on the page

    def choices(self) -> list[tuple[str, str]]:
        """Return ``(label, action)`` of the comparisons that one click starts."""
        choices = [] if self.what_if.placement is None else [("Pin the current placement", "compare:pin")]
        if not self.what_if.is_fixed:
            settings = self.what_if.settings
            if self.what_if.can_undo:
                choices.append(("With the settings before the last change", "compare:last"))
            choices.append(
                (
                    "With soft placement off" if settings.soft_placement else "With soft placement",
                    "compare:soft",
                )
            )
            choices += [
                (f"With release {release}", f"compare:release:{release}")
                for release in releases.RELEASES
                if release != settings.release
            ]
        if self.before is not None:
            choices.append(("Stop comparing", "compare:stop"))
        return choices

    def act(self, action: str) -> None:
        """Run one of the `choices`, without its ``compare:``; raises OpError if it cannot be placed."""
        settings = self.what_if.settings
        match action.split(":"):
            case ["pin"]:
                self.pin()
            case ["stop"]:
                self.use(None)
            case ["last"] if self.what_if.can_undo:
                self._with(self.what_if.previous)
            case ["soft"]:
                self._with(replace(settings, soft_placement=not settings.soft_placement))
            case ["release", release]:
                self.use(release=release)
