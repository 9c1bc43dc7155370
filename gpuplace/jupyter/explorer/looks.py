"""How the explorer shows a placement: what is open, selected and in front, as traits that place nothing anew."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from typing import Any

import traitlets

from gpuplace.jupyter.explorer.explorer_views import LOOKS, Views
from gpuplace.jupyter.explorer.folding import unfolded
from gpuplace.jupyter.explorer.saved_settings import LOOK
from gpuplace.jupyter.explorer.tabs import TABS, TITLES
from gpuplace.jupyter.explorer.what_if import WhatIf
from gpuplace.picture.outline import outline
from gpuplace.tables.placement_view import view_of
from gpuplace.tables.text import searcher
from gpuplace.web.rules import words


class Looks(traitlets.HasTraits):
    """The part of the explorer that holds its look."""

    _what_if: WhatIf
    _views: Views
    _settling: bool
    _part: Any
    """Which part of the graph is shown."""
    _looks: dict[Any, tuple[Any, str, str]]
    """Part of the graph -> what was open and selected, and the colouring, when it was last shown."""
    placement: Any
    lights: Any
    colours: Any
    _searched: Any
    _show_fields: Any
    _show_light: Any

    selected = traitlets.Unicode("", help="Name of an op or a name scope; empty for none.")
    opened: Any = traitlets.Tuple(None, allow_none=True, help="Open name scopes; None for as many as fit.")
    colour = traitlets.Unicode("assigned", help="What colours mean; see `colours`.")
    view = traitlets.Enum(LOOKS, "graph", help="The picture: the graph, or a lane for each of the devices.")
    backward = traitlets.Bool(
        False, help="Whether lines of gradients and updates are drawn between layers too."
    )
    tab = traitlets.Enum(
        TITLES,
        TITLES[0],
        help=f"The tab in front. {'. '.join(f'{tab.title}: {tab.help}' for tab in TABS)}.",
    )
    reason = traitlets.Unicode("", read_only=True, help="Why the selected op is where it is.")

    def find(self, pattern: str, back: bool = False) -> bool:
        """Selects the next op whose name has a match for a regular expression; says whether there is one.

        Args:
            pattern: what is not a regular expression is searched for as it is.
            back: whether it is the one before that is wanted.
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
        """Unfolds a box (``s3``: scope 3), which only adds boxes, or folds an open scope (``c3``)."""
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
        """Opens the scopes that open by themselves; where all of them are, the next level as far as it fits.

        Nothing that is open is closed.
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
        """Whether there is an op or a name scope of this name."""
        view = view_of(self.placement)
        return name in view.index or outline(view).position(name) is not None

    def _name_of_box(self, box_id: str) -> str:
        boxes = () if self._views.drawing is None else self._views.drawing.boxes
        return next((box.name for box in boxes if box.id == box_id), "")

    def _reveal(self, name: str) -> None:
        """Selects an op and opens the scopes around it."""
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
        """Sets what there is of a saved look in this graph."""
        scopes = {} if self.placement is None else outline(view_of(self.placement)).index
        opened = look.get("opened", self.opened)
        if opened is not None:
            opened = tuple(name for name in map(str, opened) if name in scopes or _is_bundle(name))
        self.opened = opened
        selected = look.get("selected", self.selected)
        if self.placement is not None and (not selected or self._has(selected)):
            self.selected = selected
        self.backward = look.get("backward", self.backward) is True
        for name, known in (
            ("colour", self.colours),
            ("light", self.lights),
            ("tab", TITLES),
            ("view", LOOKS),
        ):
            if look.get(name) in known:
                setattr(self, name, look[name])

    def _look(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in LOOK}

    def _restore_look(self) -> None:
        """Of another part of the graph: what was open and selected when it was last shown."""
        part = None if self._what_if.last_good is None else self._what_if.last_good.part
        if part == self._part:
            return
        self._looks[self._part] = (self.opened, self.selected, self.colour)
        self._part = part
        opened, selected, colour = self._looks.get(part, (None, "", self.colour))
        self._settling = True  # all is shown once, and by whoever asked for this part
        try:
            self.opened, self.selected = opened, selected
            self.colour = "assigned" if colour == "time" else colour
        finally:
            self._settling = False

    def _show_all(self) -> None:
        """Shows the picture, the tabs and the card of what is placed or compared now."""
        self._views.show_picture(self.opened, self.colour, self.view, self.backward)
        self._views.fill()
        self._views.show_note()
        self._views.show_tab()
        self._show_selection()

    def _show_look(self) -> None:
        """Shows the same placement as it is to look now."""
        self._views.show_picture(self.opened, self.colour, self.view, self.backward)
        self._show_selection()

    def _show_selection(self) -> None:
        self.set_trait("reason", self._views.show_selection(self.selected))
        self._show_light()


def is_expression(pattern: str) -> bool:
    """Whether a text is a regular expression."""
    try:
        re.compile(pattern)
    except re.error:
        return False
    return True


def _is_bundle(name: str) -> bool:
    """Whether a name stands for several scopes or for nodes of one device."""
    return "*" in name or "/:" in name
