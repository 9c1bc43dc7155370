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
from gpuplace.jupyter.explorer.explorer_views import Views
from gpuplace.jupyter.explorer.looks import Looks
from gpuplace.jupyter.explorer.messages import answer
from gpuplace.jupyter.explorer.remedies import remedies
from gpuplace.jupyter.explorer.saved_settings import parts_text, read_parts
from gpuplace.jupyter.explorer.saved_views import saved_views
from gpuplace.jupyter.explorer.setting_table import PRESETS, Context, colour_control, controls_of
from gpuplace.jupyter.explorer.switches import Switches
from gpuplace.jupyter.explorer.tabs import TABS, TITLES
from gpuplace.jupyter.explorer.views import ControlsView
from gpuplace.jupyter.explorer.what_if import WhatIf
from gpuplace.jupyter.frames.placement_frames import placement_frame
from gpuplace.jupyter.pictures import placement_picture
from gpuplace.views.tables import html
from gpuplace.views.tables.calls import calls_of
from gpuplace.views.tables.placement_view import view_of
from gpuplace.views.tables.text import counted, placement_text, summary_text
from gpuplace.writing import write_file

__all__ = ["PRESETS", "Explorer", "explore"]


class Explorer(Switches, Looks, ipywidgets.VBox):  # type: ignore[misc]
    """A graph on a machine, with everything that can be changed about it.

    Args:
        what_if: the graph and its settings.
    """

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
        self._comparison = Comparison(what_if)
        self._views = Views(what_if, self._comparison, TABS, self._heard, self._reveal)
        views = self._views
        super().__init__(
            children=[self._controls, views.note, views.status, views.graph, views.tabs], **options
        )
        self.add_class("gp")
        self.add_class("gp-explorer")
        self._controls.on_msg(self._heard)
        traitlets.link((views.tabs, "selected_index"), (self, "tab"), (TITLES.__getitem__, TITLES.index))
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
        self._show_arranged()

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
            self._change(requests=requests)

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
        return parts_text(self._what_if.settings, self._look())

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
            self._show_arranged()

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
            self._change(**({"function": function} if function in known else wanted))
        except (OpError, ValueError) as error:
            self._refused = {"part": (f"function {function}", error)}
            self._show_fields()

    def _change(self, **settings: Any) -> None:
        self._step(lambda: self._what_if.change(**settings))

    def _heard(self, widget: Any, content: dict[str, Any], _buffers: Any) -> None:
        with self._what_if.lock:
            answer(self, widget, content)

    # --------------------------------------------------------------------------------------------------- what is shown

    def _show_fields(self) -> None:
        state = self._what_if
        error = None if self._refused else state.error
        self._views.refused = self._refused
        with self._controls.hold_sync():
            self._controls.can_undo, self._controls.can_redo = state.can_undo, state.can_redo
            controls = []
            if not state.is_fixed:
                controls = controls_of(
                    Context(state.settings, state.mapping or (), state.parts),
                    refused=self._refused,
                    blamed={} if error is None else dict.fromkeys(state.blamed, error),
                )
            if len(self.colours) > 1:
                controls.append(colour_control(self.colours, self.colour))
            self._controls.fields = controls

    def _show_placement(self) -> None:
        state = self._what_if
        self.set_trait("error", "" if state.error is None else str(state.error))
        self.set_trait("stale", state.is_stale)
        self._show_fields()
        self._views.show_status(remedies(state))
        self._restore_look()
        if self.placement is not None and self.selected and not self._has(self.selected):
            self.selected = ""
        self._show_all()

    def _show_arranged(self) -> None:
        """Shows the same placement with other things to colour it by or to compare it with."""
        if self.colour not in self.colours:
            self.colour = "assigned"
        self._show_fields()
        self._show_all()


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
