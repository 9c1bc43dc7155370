"""What the explorer lights up: set from Python or by the page, and followed by picture and tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import traitlets

from gpuplace.jupyter.explorer.details import box_of_name
from gpuplace.jupyter.explorer.explorer_views import Views
from gpuplace.jupyter.explorer.what_if import WhatIf
from gpuplace.picture.lighting import LIGHTS, Lit, lights_for, lit_boxes, lit_by
from gpuplace.picture.outline import outline
from gpuplace.tables.dependency_trace import TRACES
from gpuplace.tables.placement_view import PlacementView, view_of
from gpuplace.tables.scopes import scope_tree


class Lights(traitlets.HasTraits):
    """The part of the explorer that says what is lit."""

    _what_if: WhatIf
    _views: Views
    selected: Any

    light = traitlets.Unicode("", help="What is lit while the rest is dimmed; see `lights`.")
    lit_only = traitlets.Bool(False, help="Whether the tables of nodes and copies list only what is lit.")
    pattern = traitlets.Unicode("", read_only=True, help="What was searched for last.")
    lit_text = traitlets.Unicode("", read_only=True, help="How much is lit, in words.")
    _lit: tuple[Any, Lit] | None = None

    @property
    def lights(self) -> tuple[str, ...]:
        """What can be lit: ``"path by time"`` once there is `run_metadata`."""
        if self._shown is None:
            return tuple(LIGHTS)
        return lights_for(self._shown, self._views.run_metadata)

    @property
    def lit(self) -> tuple[str, ...]:
        """Names of the nodes that are lit, in graph order."""
        if self._shown is None:
            return ()
        nodes = self._lit_now(self._shown).nodes
        return (
            () if nodes is None else tuple(self._shown.names[node] for node in np.flatnonzero(nodes).tolist())
        )

    @property
    def _shown(self) -> PlacementView | None:
        placement = getattr(self, "placement", None)
        return None if placement is None else view_of(placement)

    @traitlets.validate("light")
    def _check_light(self, proposal: Any) -> str:
        if proposal.value not in self.lights:
            known = ", ".join(repr(what) for what in self.lights)
            raise ValueError(f"Cannot light {proposal.value!r}: choose one of {known}")
        return str(proposal.value)

    @traitlets.observe("light", "lit_only")
    def _light_changed(self, change: Any) -> None:
        with self._what_if.lock:
            self._show_light()

    def _searched(self, pattern: str) -> None:
        with self._what_if.lock:
            self.set_trait("pattern", pattern)
            if self.light == "matches":
                self._show_light()

    def _starts(self, view: PlacementView) -> np.ndarray:
        """Positions of the nodes that are selected: an op, those of a scope, or those of a bundle."""
        name = self.selected
        node = view.index.get(name)
        if node is not None:
            return np.array([node], dtype=np.int64)
        tree = outline(view)
        if name and (scope := tree.position(name)) is not None:
            return np.flatnonzero(tree.is_inside(scope))
        drawing = self._views.drawing
        if not name or drawing is None or (box := box_of_name(drawing, view, name)) is None:
            return np.zeros(0, dtype=np.int64)
        return np.flatnonzero(drawing.box_of == drawing.boxes.index(box))

    def _as_marks(self) -> dict[str, Any]:
        """What is lit as options of `placement_picture`, for readers without a kernel."""
        view = self._shown
        if view is None or not self.light:
            return {}
        if self.light in TRACES:
            is_named = self.selected in view.index or self.selected in scope_tree(view).index
            return {"trace": self.light, "of": self.selected} if self.selected and is_named else {}
        if self.light == "matches":
            return {"find": self.pattern} if self.pattern else {}
        return {"critical_path": self.light.removeprefix("path by ")}

    def _lit_now(self, view: PlacementView) -> Lit:
        step = self._views.run_metadata
        key = (view, self.light, self.selected, self.pattern, step)
        if self._lit is None or any(a is not b and a != b for a, b in zip(key, self._lit[0], strict=True)):
            found = lit_by(
                view, self.light, self._starts(view), self.selected, pattern=self.pattern, run_metadata=step
            )
            self._lit = (key, found)
        return self._lit[1]

    def _show_light(self) -> None:
        """Lights what is chosen, in the picture as it is drawn now and in the tables."""
        view, drawing, views = self._shown, self._views.drawn, self._views
        if view is None or drawing is None:
            views.show_light({}, [], False)
            self.set_trait("lit_text", "")
            return
        if self.light not in self.lights:
            self.light = ""
        lit = self._lit_now(view)
        views.show_light(
            lit_boxes(drawing, lit),
            [[what, LIGHTS[what]] for what in self.lights],
            self.lit_only,
            lit,
        )
        self.set_trait("lit_text", lit.text)
