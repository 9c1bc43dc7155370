"""The explorer: a placement with switches. Flip one and see what moves; click an op and read why it is there.

`Explorer` is an ordinary widget whose state can be read and set from Python::

    explorer = gpuplace.explore(graph, machine="4x Tesla K20m")
    explorer.soft_placement = True
    explorer.visible_devices = (0, 1)            # or explorer.cuda_visible_devices = "1,0"
    explorer.device_count = {"GPU": 1}
    explorer.undo()
    explorer.selected = "MatMul"
    print(explorer.reason)
    explorer.light = "inputs"                    # all that it depends on; explorer.lit names it
    explorer.view = "devices"                    # a lane for each device
    explorer.backward = True                     # lines of gradients and updates too
    explorer.compare(release="2.21")
    explorer.signature = ""                      # of a SavedModel: the whole graph, not what a signature needs
    explorer.feeds = {"images": (64, 224, 224, 3)}; explorer.estimate  # what a step costs; also fetches
    explorer.function = "__inference_call_12"    # the body of a function alone; explorer.open_call("node") opens one
    explorer.advise(seconds=5); explorer.apply_advice()                # a better placement; also some of its moves
    explorer.requests = {"MatMul": "/gpu:1"}                           # as if the program asked for it
    explorer.frame
    print(explorer.as_python())
    explorer.save_settings("four.json")          # explorer.open_settings("four.json")

A placement that fails shows TensorFlow's error with its facts, marks the nodes in the picture, offers what fixes it as
buttons, and leaves every switch usable. Settings with which there are no devices at all leave the last placement in
sight, marked as stale. In a saved notebook the explorer is a still picture and a table.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import ipywidgets
import traitlets

from gpuplace.advisor.steps.advice import Advice
from gpuplace.advisor.steps.advise import check_question
from gpuplace.advisor.steps.moves import Move
from gpuplace.callers import OwnFramesHidden
from gpuplace.cost.step_estimate import StepEstimate
from gpuplace.errors import OpError
from gpuplace.jupyter.explorer.as_python import placement_code, settings_code
from gpuplace.jupyter.explorer.comparison import Comparison
from gpuplace.jupyter.explorer.controls import PRESETS, fields_of
from gpuplace.jupyter.explorer.explorer_views import LOOKS, TABS, Views
from gpuplace.jupyter.explorer.folding import unfolded
from gpuplace.jupyter.explorer.lights import Lights
from gpuplace.jupyter.explorer.remedies import remedies
from gpuplace.jupyter.explorer.saved_settings import LOOK, parsed, parts_text, read_parts
from gpuplace.jupyter.explorer.saved_views import saved_views
from gpuplace.jupyter.explorer.switches import Switches
from gpuplace.jupyter.explorer.views import ControlsView
from gpuplace.jupyter.explorer.what_if import WhatIf
from gpuplace.jupyter.frames.placement_frames import placement_frame
from gpuplace.jupyter.pictures import placement_picture
from gpuplace.picture.outline import outline
from gpuplace.tables import html
from gpuplace.tables.calls import calls_of
from gpuplace.tables.placement_view import view_of
from gpuplace.tables.text import counted, placement_text, searcher, summary_text
from gpuplace.web.rules import words
from gpuplace.writing import write_file

__all__ = ["PRESETS", "Explorer", "explore"]

_CONTROLS = {"device_count": "device_count:CPU", "signature": "part", "functions": "part"}
"""Setting -> the control beside which its error is said, where that has another name."""


def is_expression(pattern: str) -> bool:
    """Whether a text is a regular expression."""
    try:
        re.compile(pattern)
    except re.error:
        return False
    return True


class Explorer(Switches, Lights, ipywidgets.VBox):  # type: ignore[misc]
    """A graph on a machine, with everything that can be changed about it.

    Args:
        what_if: the graph and its settings.
    """

    selected = traitlets.Unicode("", help="Name of an op or a name scope; empty for none.")
    opened: Any = traitlets.Tuple(None, allow_none=True, help="Open name scopes; None for as many as fit.")
    colour = traitlets.Unicode("assigned", help="What colours mean; see `colours`.")
    view = traitlets.Enum(LOOKS, "graph", help="The picture: the graph, or a lane for each of the devices.")
    backward = traitlets.Bool(
        False, help="Whether lines of gradients and updates are drawn between layers too."
    )
    tab = traitlets.Enum(TABS, "Table", help="The view in front.")
    reason = traitlets.Unicode("", read_only=True, help="Why the selected op is where it is.")
    error = traitlets.Unicode(
        "", read_only=True, help="What is wrong with these settings; empty if nothing is."
    )
    stale = traitlets.Bool(
        False, read_only=True, help="Whether what is shown is the placement of earlier settings."
    )

    def __init__(self, what_if: WhatIf, **options: Any) -> None:
        self._what_if = what_if
        self._settling = True
        self._refused: dict[str, tuple[Any, BaseException]] = {}
        self._part = None if what_if.last_good is None else what_if.last_good.part
        self._looks: dict[Any, tuple[Any, str, str]] = {}
        self._controls = ControlsView(is_fixed=what_if.is_fixed)
        self._controls.page = self._controls.model_id[:8]
        self._comparison = Comparison(what_if)
        self._views = Views(what_if, self._comparison, self._heard, self._reveal)
        views = self._views
        super().__init__(
            children=[self._controls, views.note, views.status, views.graph, views.tabs], **options
        )
        self.add_class("gp")
        self.add_class("gp-explorer")
        self._controls.on_msg(self._heard)
        traitlets.link((views.tabs, "selected_index"), (self, "tab"), (TABS.__getitem__, TABS.index))
        self._show_settings()
        self._settling = False
        self._show_placement()

    # ------------------------------------------------------------------------------------------------ what Python reads

    @property
    def placement(self) -> Any:
        """The `Placement` that is shown.

        It is partial where nodes cannot be placed; the last good one where `stale`; None if there never was one.
        """
        return self._what_if.placement

    @property
    def config(self) -> Any:
        """The current settings as a ``ConfigProto``."""
        return self._what_if.settings.config

    @property
    def environ(self) -> dict[str, str]:
        """The current settings of CUDA's environment variables; what is not set is not in it."""
        return self._what_if.settings.environ

    @property
    def frame(self) -> Any:
        """The placement that is shown as a DataFrame.

        Raises:
            OpError: nothing could be placed.
        """
        if self.placement is None:
            assert self._what_if.error is not None
            raise self._what_if.error
        return placement_frame(self.placement)

    @property
    def log(self) -> str:
        """What ``log_device_placement`` prints; empty where there is an `error`."""
        return self._what_if.log()

    @property
    def svg(self) -> str:
        """The picture as it is shown."""
        return self._views.graph.svg

    @property
    def tag_sets(self) -> tuple[str, ...]:
        """What `tags` can be: one text for each graph of a SavedModel; none for what is no SavedModel."""
        return self._what_if.parts.tag_sets

    @property
    def signatures(self) -> tuple[str, ...]:
        """What `signature` can be beside the whole graph; those that the model has for itself come last."""
        return self._what_if.parts.signatures(self.tags)

    @property
    def functions(self) -> tuple[str, ...]:
        """What `function` can be: the functions of the graph's library."""
        return self._what_if.parts.functions(self.tags)

    @property
    def colours(self) -> tuple[str, ...]:
        """What the picture can be coloured by: `time` once there is `run_metadata`, `moved` while comparing."""
        return self._views.colours()

    @property
    def run_metadata(self) -> Any:
        """``RunMetadata`` of a step run with ``FULL_TRACE``, for colours by time; None without one."""
        return self._views.run_metadata

    @run_metadata.setter
    def run_metadata(self, value: Any) -> None:
        self._views.run_metadata = value
        self._views.show_tab()
        if self.colour not in self.colours:
            self.colour = "assigned"
        self._views.show_picture(self.opened, self.colour, self.view, self.backward)
        self._show_fields()
        self._show_light()

    @property
    def estimate(self) -> StepEstimate:
        """What a step costs under the current settings; `fetches` and `feeds` say which step.

        Raises:
            OpError: the graph cannot be placed, or a fetch or feed is not one of it.
        """
        return self._views.costs.estimate()

    @property
    def advice(self) -> Advice | None:
        """What `advise` found last; None before, and while a search goes on."""
        return self._views.advising.advice

    @property
    def remedies(self) -> tuple[str, ...]:
        """What the buttons beside an error do, in words; `apply_remedy` does it."""
        return tuple(remedy.label for remedy in self._views.remedies)

    @property
    def moves(self) -> Any:
        """What differs from the placement that is compared with; None if nothing is compared."""
        return self._comparison.moves(self.placement)

    def as_python(self, *, devices: bool = True) -> str:
        """The settings as a program; with a device function that asks for the current placement, if ``devices``."""
        if self._what_if.is_fixed:
            return f"{placement_code(self.placement)}\n"
        code = settings_code(self._what_if.settings, self._what_if.parts, self._what_if.pins())
        if devices and self.placement is not None:
            code += f"\n\n{placement_code(self.placement)}"
        return f"{code}\n"

    def __repr__(self) -> str:
        told = self.error.splitlines()[0] if self.error else summary_text(self.placement)
        where = "" if self._what_if.is_fixed else f" on {self.machine!r}"
        part = "" if self._what_if.is_fixed else self._what_if.parts.text(self._what_if.settings)
        return f"<Explorer of {f'{part}: ' if part else ''}{told}{where}>"

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        """The live widget, and for readers without a kernel a still picture, a table and text."""
        bundle: dict[str, Any] = super()._repr_mimebundle_(**kwargs)
        error = "" if self._what_if.error is None else html.error_html(self._what_if.error)
        if self.placement is None:
            return {**bundle, "text/html": error, "text/plain": repr(self)}
        colour, stats = self._views.colouring(self.colour)
        drawn = placement_picture(
            self.placement,
            open=self.opened,
            colour=colour,
            against=self._comparison.before,
            run_metadata=stats,
            backward=self.backward,
            **self._as_marks(),
        )
        picture = drawn._repr_mimebundle_()
        still = f"<p>{html.escape(repr(self))}</p>{error}{picture['text/html']}"
        return {
            **bundle,
            **saved_views(self.placement, still, self._shown_with(), self.run_metadata),
            "text/plain": f"{self!r}\n{placement_text(self.placement)}",
        }

    def _shown_with(self) -> list[tuple[str, str]]:
        """The settings of what is shown, in words."""
        settings = self._what_if.last_good
        if self._what_if.is_fixed or settings is None:
            return []
        told = [("machine", str(settings.machine)), ("TensorFlow", settings.release)]
        return [*told, ("placed", "softly")] if settings.soft_placement else told

    # ------------------------------------------------------------------------------------------------ what Python does

    def apply_remedy(self, number: int = 0) -> None:
        """Makes the change of settings that a button beside the error offers.

        Raises:
            IndexError: there is no such remedy.
        """
        settings = self._views.remedies[number].settings
        self._step(lambda: self._what_if.go_to(settings))

    def advise(
        self,
        objective: str = "step_time",
        seconds: float = 5,
        keep: Any = None,
        *,
        seed: int = 0,
        steps: int | None = None,
        wait: bool = True,
    ) -> Advice | None:
        """Searches for a better placement of the step that `fetches` and `feeds` name, and shows what it finds.

        Args:
            objective, seconds, keep, seed, steps: as of `gpuplace.advise`.
            wait: whether to return when the search is over; else it goes on beside what the kernel does, and `advice`
                is None until it is over.

        Returns:
            The advice; None if it is not waited for, or was stopped before anything was found.

        Raises:
            InvalidArgumentError: the objective or a number is wrong; if waited for, as of `gpuplace.advise`.
            FailedPreconditionError: a search goes on already, or a log is explored.
        """
        check_question(objective, seconds, steps, seed)
        advising = self._views.advising
        advising.objective, advising.seconds = objective, float(seconds)
        self.tab = "Advice"
        advising.run(wait=wait, seed=seed, steps=steps, keep=keep)
        self._views.show_advice()
        return advising.advice

    def stop_advising(self, timeout: float | None = 10) -> Advice | None:
        """Ends a search that goes on; the best so far is the `advice`, which is returned.

        Args:
            timeout: seconds to wait for its end; None: as long as it takes.
        """
        self._views.advising.stop()
        self._views.advising.join(timeout)
        return self.advice

    def apply_advice(self, moves: Iterable[Move | str] | None = None) -> None:
        """Has nodes ask for what is advised, as one change: the graph is placed anew, and `undo` takes it back.

        Args:
            moves: of `advice.moves`, or their scopes; None for all.

        Raises:
            FailedPreconditionError: there is no advice, or it is for other settings.
            InvalidArgumentError: there is no such move.
        """
        scopes = None if moves is None else [move if isinstance(move, str) else move.scope for move in moves]
        with self._what_if.lock:
            requests = self._views.advising.apply(scopes)
            self._step(lambda: self._what_if.change(requests=requests))

    def close(self) -> None:
        """Closes the explorer and all of its widgets, whose memory ipywidgets keeps until then; ends a search."""
        if self.comm is None:
            return
        self._views.advising.stop()
        for widget in _with_parts(self):
            ipywidgets.Widget.close(widget)

    def save_settings(self, path: Any) -> Path:
        """Writes the settings and the look (scopes, colour, light, selection, tab) as JSON; returns the path.

        Args:
            path: the file.
        """
        return Path(write_file(path, self._saved()))

    def open_settings(self, source: Any) -> None:
        """Sets what `save_settings` wrote, as one change; what is left out stays, and so do names of another graph.

        Args:
            source: the path of the file, or the value of its JSON.

        Raises:
            ValueError: it is nothing that was saved, or has settings that there are not.
            OpError: the machine's text is not understood, or a log is explored, which has no settings.
            OSError: there is no such file.
        """
        parts = read_parts(source)
        with self._what_if.lock:
            if parts.settings and not self._what_if.is_fixed:
                asked = parts.settings
                if asked.get("requests") and self.placement is not None:
                    known = view_of(self.placement).index
                    asked["requests"] = {name: to for name, to in asked["requests"].items() if name in known}
                settings = self._what_if.changed(**asked)
                self._step(lambda: self._what_if.go_to(settings))
            self._set_look(parts.look)

    def _saved(self) -> str:
        return parts_text(self._what_if.settings, {name: getattr(self, name) for name in LOOK})

    def _set_look(self, look: dict[str, Any]) -> None:
        """Sets what there is of a look in this graph."""
        view = None if self.placement is None else view_of(self.placement)
        scopes = {} if view is None else outline(view).index
        opened = look.get("opened", self.opened)
        if opened is not None:
            opened = tuple(name for name in map(str, opened) if name in scopes or "*" in name or "/:" in name)
        self.opened = opened
        selected = look.get("selected", self.selected)
        if view is not None and (selected in view.index or selected in scopes or not selected):
            self.selected = selected
        self.backward = look.get("backward", self.backward) is True
        for name, known in (("colour", self.colours), ("light", self.lights), ("tab", TABS), ("view", LOOKS)):
            if look.get(name) in known:
                setattr(self, name, look[name])

    def pin(self) -> None:
        """Compares what comes with the placement that is shown now."""
        self._compare(self._comparison.pin)

    def compare(self, other: Any = None, **settings: Any) -> None:
        """Compares with another placement, or with what other settings lead to; with nothing where neither is given.

        Args:
            other: a `Placement`, a parsed log, or what can be placed: a graph, a GraphDef, a path.
            settings: for example ``release="2.21"`` or ``machine="cpu"``; other settings stay as they are now.

        Raises:
            OpError: the other settings, or what was given, cannot be placed.
        """
        self._compare(lambda: self._comparison.use(other, **settings))

    def _compare(self, change: Any) -> None:
        with self._what_if.lock:
            change()
            if self.colour not in self.colours:
                self.colour = "assigned"
            self._show_fields()
            self._views.show_picture(self.opened, self.colour, self.view, self.backward)
            self._views.fill()
            self._views.show_tab()
            self._show_selection()

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

    def open_call(self, node: str, number: int = 0) -> None:
        """Shows the body of a function that a node calls, as a graph of its own; `function` says which it is.

        A function that placement copies into its caller is there already: unfold the name scope of the call.

        Args:
            node: name of the node.
            number: which of its functions, counted from 0: a loop's body comes before its condition.

        Raises:
            ValueError: there is no such node, or it calls no such function.
        """
        calls = []
        if self.placement is not None and node in view_of(self.placement).index:
            calls = calls_of(self.placement, view_of(self.placement).index[node])
        if not 0 <= number < len(calls):
            raise ValueError(f"{node!r} calls {counted(len(calls), 'function')} that can be opened")
        self._open(calls[number].function, node)

    def _open(self, function: str, node: str) -> None:
        """Opens a function's body from where we are; what cannot be opened is said beside the picker."""
        known, calls = self._what_if.settings.functions, self._what_if.settings.calls
        wanted: dict[str, Any] = {"functions": (*known, function), "calls": (*calls, node)}
        try:
            self._step(
                lambda: self._what_if.change(**({"function": function} if function in known else wanted))
            )
        except (OpError, ValueError) as error:
            self._refused = {"part": (f"function {function}", error)}
            self._show_fields()

    # --------------------------------------------------------------------------------------------------- what is set

    @traitlets.validate("opened")
    def _check_opened(self, proposal: Any) -> Any:
        if proposal.value is not None and self.placement is not None:
            tree = outline(view_of(self.placement))
            for path in proposal.value:
                if tree.position(path) is None and "*" not in path and "/:" not in path:
                    raise ValueError(f"There is no name scope {path!r}")
        return proposal.value

    @traitlets.validate("colour")
    def _check_colour(self, proposal: Any) -> str:
        if proposal.value not in self.colours:
            raise ValueError(f"Unknown colouring {proposal.value!r}: choose one of {', '.join(self.colours)}")
        return proposal.value

    @traitlets.observe("opened", "colour", "view", "backward")
    def _look_changed(self, change: Any) -> None:
        if self._settling:
            return
        with self._what_if.lock:
            self._show_fields()
            self._views.show_picture(self.opened, self.colour, self.view, self.backward)
            self._show_selection()

    @traitlets.validate("selected")
    def _check_selected(self, proposal: Any) -> str:
        name = proposal.value
        if not name or self.placement is None:
            return name
        view = view_of(self.placement)
        if name in view.index or outline(view).position(name) is not None or "*" in name or "/:" in name:
            return name
        raise ValueError(f"There is no op and no name scope {name!r}")

    @traitlets.observe("selected")
    def _selected_changed(self, change: Any) -> None:
        if self._settling:
            return
        with self._what_if.lock:
            self._show_selection()

    # ----------------------------------------------------------------------------------------------- what the page says

    def _heard(self, widget: Any, content: dict[str, Any], _buffers: Any) -> None:
        with self._what_if.lock:
            match content:
                case {"type": "select", "id": str(box)}:
                    self.selected = self._name_of_box(box)
                case {"type": "select", "name": str(name)}:
                    self._reveal(name)
                case {"type": "toggle", "id": str(box)}:
                    self.toggle(box)
                case {"type": "open", "function": str(function)}:
                    self._open(function, self.selected)
                case {"type": "open", "id": str(box)}:
                    name = self._name_of_box(box)
                    node = view_of(self.placement).index.get(name) if name else None
                    calls = [] if node is None else calls_of(self.placement, node)
                    if calls:
                        self._open(calls[0].function, name)
                case {"type": "view", "name": str(name)} if name in LOOKS:
                    self.view = name
                case {"type": "backward", "on": bool(on)}:
                    self.backward = on
                case {"type": "tab", "name": str(name)} if name in TABS:
                    self.tab = name
                case {"type": "fold", "how": "all"}:
                    self.opened = ()
                case {"type": "fold", "how": "auto"}:
                    self.unfold()
                case {"type": "find", "text": str(text)}:
                    self.find(text, back=content.get("back") is True)
                case {"type": "light"}:
                    self._light_heard(content)
                case {"type": "set", "name": "cost_machines" | "cost_batches" as name, "value": str(value)}:
                    setattr(self._views.costs, name.removeprefix("cost_"), value)
                    self._views.show_cost(is_compared=True)
                case {"type": "set", "name": str(name), "value": str(value)} if name.startswith("advise_"):
                    self._views.advising.set(name.removeprefix("advise_"), value)
                    self._views.show_advice()
                case {"type": "advise"}:
                    self._advise_heard("start")
                case {"type": "set", "name": str(name), "value": value}:
                    self._set(name, value)
                    if name in ("fetches", "feeds"):
                        self._views.refused = self._refused
                        self._views.show_tab()
                case {"type": "undo"}:
                    self.undo()
                case {"type": "redo"}:
                    self.redo()
                case {"type": "act", "action": str(action)}:
                    self._act(action)
                case {"type": "save"}:
                    widget.send({"type": "saved", "text": self._saved()})
                case {"type": "open", "text": str(text)}:
                    try:
                        self.open_settings(parsed(text))
                        widget.send({"type": "opened", "error": ""})
                    except (OpError, ValueError, TypeError, OSError) as error:
                        widget.send({"type": "opened", "error": getattr(error, "message", str(error))})
                case {"type": "code"}:
                    widget.send({"type": "code", "text": self.as_python()})
                case {"type": "canvas", "width": int(width), "height": int(height)}:
                    self._canvas_heard(width, height)
                case {"type": "ping", "number": number}:
                    widget.send({"type": "pong", "number": number})

    def _canvas_heard(self, width: int, height: int) -> None:
        """Fits the picture to a page that says how large it is."""
        canvas = (float(min(max(width, 300), 4000)), float(min(max(height, 300), 4000)))
        if canvas != self._views.canvas:
            self._views.canvas = canvas
            self._views.show_picture(self.opened, self.colour, self.view, self.backward)
            self._show_selection()

    def _act(self, action: str) -> None:
        """Does what a button says."""
        kind, _, rest = action.partition(":")
        if kind == "remedy" and rest.isdigit() and int(rest) < len(self._views.remedies):
            self.apply_remedy(int(rest))
        elif kind == "trail" and rest.isdigit():
            functions = self._what_if.settings.functions[: int(rest)]
            self._step(lambda: self._what_if.change(functions=functions))
        elif action == "cost:grid":
            self._views.show_cost(is_compared=True)
        elif action == "cost:beside":
            self._views.is_beside = not self._views.is_beside
            self._views.show_tab()
        elif kind == "advise":
            self._advise_heard(rest)
        elif kind == "compare":
            try:
                self._compare(lambda: self._comparison.act(action))
            except OpError as error:
                self._views.compare_failed(error)

    def _advise_heard(self, what: str) -> None:
        """Does what a button or a tick of the advice says; what cannot be done is said beside it."""
        advising = self._views.advising
        how, _, number = what.partition(":")
        if advising.advice is not None:
            advising.error = None
        try:
            match how:
                case "start" if not advising.is_running and not advising.refused:
                    advising.run(wait=False)
                case "start" if advising.refused:
                    self.tab = "Advice"  # where it is said
                case "stop":
                    advising.stop()
                case "show":
                    self.tab = "Advice"
                case "close":
                    advising.is_noted = False
                case "choose" if advising.advice is not None and int(number) < len(advising.advice.moves):
                    advising.chosen ^= {advising.advice.moves[int(number)].scope}
                case "all":
                    self.apply_advice()
                case "some" if advising.advice is not None:
                    moves = advising.advice.moves
                    self.apply_advice([move for move in moves if move.scope in advising.chosen])
                case "back":
                    self._step(lambda: self._what_if.change(requests={}))
        except OpError as error:
            advising.error = error
        self._views.show_advice()

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

    # --------------------------------------------------------------------------------------------------- what is shown

    def _show_fields(self) -> None:
        state = self._what_if
        errors: dict[str, BaseException] = {name: error for name, (_, error) in self._refused.items()}
        if state.error is not None and not errors:
            for name in state.blamed:
                errors[_CONTROLS.get(name, name)] = state.error
        with self._controls.hold_sync():
            self._controls.can_undo, self._controls.can_redo = state.can_undo, state.can_redo
            fields = fields_of(
                state.settings,
                self.visible_devices,
                state.mapping or (),
                self.colours,
                self.colour,
                errors=errors,
                typed={name: value for name, (value, _) in self._refused.items() if name != "part"},
                parts=state.parts,
            )
            if state.is_fixed:
                fields = [field for field in fields if field["name"] == "colour"]
            self._controls.fields = fields

    def _show_placement(self) -> None:
        state = self._what_if
        self.set_trait("error", "" if state.error is None else str(state.error))
        self.set_trait("stale", state.is_stale)
        self._show_fields()
        self._views.show_status(remedies(state))
        self._restore_look()
        if self.placement is not None and self.selected:
            view = view_of(self.placement)
            if self.selected not in view.index and outline(view).position(self.selected) is None:
                self.selected = ""
        self._views.show_picture(self.opened, self.colour, self.view, self.backward)
        self._views.fill()
        self._views.show_tab()
        self._show_selection()

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

    def _show_selection(self) -> None:
        self.set_trait("reason", self._views.show_selection(self.selected))
        self._show_light()


def _with_parts(widget: ipywidgets.Widget) -> list[ipywidgets.Widget]:
    """A widget and those that it consists of: its children, their layouts and styles, and so on."""
    found: dict[ipywidgets.Widget, None] = {}
    waiting: list[Any] = [widget]
    while waiting:
        value = waiting.pop()
        if isinstance(value, ipywidgets.Widget):
            if value not in found:
                found[value] = None
                waiting += value._trait_values.values()
        elif isinstance(value, list | tuple):
            waiting += value
    return list(found)


def explore(
    x: Any, machine: Any = None, config: Any = None, release: str | None = None, **switches: Any
) -> Explorer:
    """The explorer of a graph, session, placement, GraphDef, file or parsed log.

    Args:
        x: what to explore.
        machine: a `Machine` or its text; the session's, or the current one, if None.
        config: ``ConfigProto`` with the settings to begin with.
        release: which TensorFlow; the process's if None.
        **switches: soft placement, visible devices, the part of a model to begin with; as for `gpuplace.explore`.
    """
    with OwnFramesHidden(OpError):
        return Explorer(WhatIf(x, machine, config, release, **switches))
