"""The look of the explorer: open scopes, selection, highlighting and front tab.

Changing it never places the graph again.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from typing import Any

import numpy as np
import traitlets

from gpuplace.jupyter.explorer.details import box_of_name
from gpuplace.jupyter.explorer.explorer_views import LOOKS, Views
from gpuplace.jupyter.explorer.folding import unfolded
from gpuplace.jupyter.explorer.saved_settings import LOOK
from gpuplace.jupyter.explorer.tabs import TABS, TITLES
from gpuplace.jupyter.explorer.what_if import WhatIf
from gpuplace.views.picture.lighting import LIGHTS, Lit, lights_for, lit_boxes, lit_by
from gpuplace.views.picture.outline import outline
from gpuplace.views.tables.dependency_trace import TRACES
from gpuplace.views.tables.placement_view import PlacementView, view_of
from gpuplace.views.tables.scopes import scope_tree
from gpuplace.views.tables.text import searcher
from gpuplace.web.rules import words


class Looks(traitlets.HasTraits):
    """The part of the explorer that holds its look."""

    _what_if: WhatIf
    _views: Views
    _settling: bool
    _part: Any
    """The shown part of the graph."""
    _looks: dict[Any, tuple[Any, str, str]]
    """Part of the graph -> its open scopes, selection and colouring when it was last shown."""
    placement: Any
    colours: Any
    _show_fields: Any
    _lit: tuple[Any, Lit] | None = None

    selected = traitlets.Unicode("", help="Name of an op or a name scope; empty for none.")
    opened: Any = traitlets.Tuple(None, allow_none=True, help="Open name scopes; None for as many as fit.")
    colour = traitlets.Unicode("assigned", help="The colouring; one of `colours`.")
    view = traitlets.Enum(LOOKS, "graph", help="The mode of the picture: the graph, or one lane per device.")
    backward = traitlets.Bool(
        False, help="Whether to draw lines of gradients and updates between layers too."
    )
    tab = traitlets.Enum(
        TITLES,
        TITLES[0],
        help=f"The selected tab. {'. '.join(f'{tab.title}: {tab.help}' for tab in TABS)}.",
    )
    light = traitlets.Unicode("", help="The highlighted nodes; the rest is dimmed. One of `lights`.")
    lit_only = traitlets.Bool(
        False, help="Whether the tables of nodes and copies list only highlighted rows."
    )
    pattern = traitlets.Unicode("", read_only=True, help="The last search pattern.")
    lit_text = traitlets.Unicode("", read_only=True, help="A summary of the highlighted nodes.")
    reason = traitlets.Unicode("", read_only=True, help="The explanation of the selected op's device.")

    def find(self, pattern: str, back: bool = False) -> bool:
        """Select the next op whose name matches a regular expression; return whether there is one.

        Args:
            pattern: the pattern; an invalid regular expression is searched for as plain text.
            back: whether to search backwards.
        """
        if self.placement is None or not pattern:
            self._views.show_found("")
            return False
        self._searched(pattern)
        view = view_of(self.placement)
        search = searcher(pattern)
        matches = [node for node, name in enumerate(view.names) if search(name)]
        note = "" if is_expression(pattern) else f"; {words('wrong_pattern')}"
        if not matches:
            self._views.show_found(words("no_match", pattern=pattern) + note, is_none=True)
            return False
        here = view.index.get(self.selected, -1)
        at = bisect_left(matches, here) - 1 if back else bisect_right(matches, here) % len(matches)
        self._reveal(view.names[matches[at]])
        number = f"{at % len(matches) + 1:,}"
        self._views.show_found(words("found", number=number, total=f"{len(matches):,}") + note)
        return True

    def toggle(self, box_id: str) -> None:
        """Unfold a box (``s3``: scope 3), which only adds boxes, or fold an open scope (``c3``)."""
        drawing = self._views.drawing
        if drawing is None:
            return
        tree = outline(view_of(self.placement))
        if box_id.startswith("c"):
            folded = tree.is_below(int(box_id[1:]))
            self.opened = tuple(
                key for key in drawing.opened if key not in tree.index or not folded[tree.index[key]]
            )
            return
        name = self._name_of_box(box_id)
        is_op = name in view_of(self.placement).index
        if name and (not is_op or (name in tree.index and box_id.startswith("s"))):
            self.opened = unfolded(drawing, [name])

    def unfold(self) -> None:
        """Open the scopes that open by themselves; if these are all open, open the next level as far as it fits.

        No open scope is closed.
        """
        if self._views.drawing is not None:
            self.opened = unfolded(self._views.drawing)

    @traitlets.validate("opened")
    def _check_opened(self, proposal: Any) -> Any:
        if proposal.value is not None and self.placement is not None:
            tree = outline(view_of(self.placement))
            for path in proposal.value:
                if tree.position(path) is None and not _is_bundle(path):
                    raise ValueError(f"There is no name scope {path!r}")
        return proposal.value

    @traitlets.validate("colour")
    def _check_colour(self, proposal: Any) -> str:
        if proposal.value not in self.colours:
            raise ValueError(f"Unknown colouring {proposal.value!r}: choose one of {', '.join(self.colours)}")
        return str(proposal.value)

    @traitlets.validate("selected")
    def _check_selected(self, proposal: Any) -> str:
        name = str(proposal.value)
        if not name or self.placement is None or self._has(name) or _is_bundle(name):
            return name
        raise ValueError(f"There is no op and no name scope {name!r}")

    @traitlets.observe("opened", "colour", "view", "backward")
    def _look_changed(self, change: Any) -> None:
        if not self._settling:
            with self._what_if.lock:
                self._show_fields()
                self._show_look()

    @traitlets.observe("selected")
    def _selected_changed(self, change: Any) -> None:
        if not self._settling:
            with self._what_if.lock:
                self._show_selection()

    def _has(self, name: str) -> bool:
        """Return whether there is an op or a name scope of this name."""
        view = view_of(self.placement)
        return name in view.index or outline(view).position(name) is not None

    def _name_of_box(self, box_id: str) -> str:
        boxes = () if self._views.drawing is None else self._views.drawing.boxes
        return next((box.name for box in boxes if box.id == box_id), "")

    def _reveal(self, name: str) -> None:
        """Select an op and open the scopes around it."""
        with self._what_if.lock:
            drawing = self._views.drawing
            if self.placement is None or drawing is None:
                return
            view = view_of(self.placement)
            node = view.index.get(name)
            if node is not None and drawing.boxes[int(drawing.box_of[node])].kind != "op":
                tree = outline(view)
                path = tree.paths[tree.scope_of[node]]
                if path and path not in drawing.opened:
                    self.opened = unfolded(drawing, [path])
            self.selected = name

    def _set_look(self, look: dict[str, Any]) -> None:
        """Apply a saved look, as far as this graph contains its names."""
        scopes = {} if self.placement is None else outline(view_of(self.placement)).index
        opened = look.get("opened", self.opened)
        if opened is not None:
            opened = tuple(name for name in map(str, opened) if name in scopes or _is_bundle(name))
        self.opened = opened
        selected = look.get("selected", self.selected)
        if self.placement is not None and (not selected or self._has(selected)):
            self.selected = selected
        self.backward = look.get("backward", self.backward) is True
        for name, allowed in (
            ("colour", self.colours),
            ("light", self.lights),
            ("tab", TITLES),
            ("view", LOOKS),
        ):
            if look.get(name) in allowed:
                setattr(self, name, look[name])

    def _look(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in LOOK}

    def _restore_look(self) -> None:
        """Restore the open scopes and the selection of this part of the graph from when it was last shown."""
        part = None if self._what_if.last_good is None else self._what_if.last_good.part
        if part == self._part:
            return
        self._looks[self._part] = (self.opened, self.selected, self.colour)
        self._part = part
        opened, selected, colour = self._looks.get(part, (None, "", self.colour))
        self._settling = True  # the caller shows everything once
        try:
            self.opened, self.selected = opened, selected
            self.colour = "assigned" if colour == "time" else colour
        finally:
            self._settling = False

    def _show_all(self) -> None:
        """Show the picture, the tabs and the card of the current placement or comparison."""
        self._views.show_picture(self.opened, self.colour, self.view, self.backward)
        self._views.fill()
        self._views.show_note()
        self._views.show_tab()
        self._show_selection()

    def _show_look(self) -> None:
        """Show the same placement with the current look."""
        self._views.show_picture(self.opened, self.colour, self.view, self.backward)
        self._show_selection()

    def _show_selection(self) -> None:
        self.set_trait("reason", self._views.show_selection(self.selected))
        self._show_light()

    # ----------------------------------------------------------------------------------------------------------- lights

    @property
    def lights(self) -> tuple[str, ...]:
        """The available highlightings; ``"path by time"`` requires `run_metadata`."""
        if self._shown is None:
            return tuple(LIGHTS)
        return lights_for(self._shown, self._views.run_metadata)

    @property
    def lit(self) -> tuple[str, ...]:
        """Names of the highlighted nodes, in graph order."""
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
            choices = ", ".join(repr(what) for what in self.lights)
            raise ValueError(f"Cannot highlight {proposal.value!r}: choose one of {choices}")
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
        """Return the positions of the selected nodes: an op, or the nodes of a scope or bundle."""
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
        """Return the highlighting as options of `placement_picture`, for readers without a kernel."""
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
            highlighted = lit_by(
                view, self.light, self._starts(view), self.selected, pattern=self.pattern, run_metadata=step
            )
            self._lit = (key, highlighted)
        return self._lit[1]

    def _show_light(self) -> None:
        """Apply the highlighting to the current picture and the tables."""
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


def is_expression(pattern: str) -> bool:
    """Return whether a text is a valid regular expression."""
    try:
        re.compile(pattern)
    except re.error:
        return False
    return True


def _is_bundle(name: str) -> bool:
    """Return whether a name represents several scopes, or nodes of one device."""
    return "*" in name or "/:" in name
