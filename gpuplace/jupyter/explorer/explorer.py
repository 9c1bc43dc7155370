"""The explorer: change a setting and see which nodes move; click an op and read why it has its device.

`Explorer` is an ordinary widget whose state can be read and set from Python::

    explorer = gpuplace.explore(graph, machine="4x Tesla K20m")
    explorer.soft_placement = True
    explorer.visible_devices = (0, 1)            # or explorer.cuda_visible_devices = "1,0"
    explorer.device_count = {"GPU": 1}
    explorer.undo()
    explorer.selected = "MatMul"
    print(explorer.reason)
    explorer.light = "inputs"                    # highlight all that it depends on, listed in explorer.lit
    explorer.view = "devices"                    # one lane per device
    explorer.backward = True                     # also draw the lines of gradients and updates
    explorer.compare(release="2.21")
    explorer.signature = ""                      # for a SavedModel: the whole graph instead of a signature
    explorer.feeds = {"images": (64, 224, 224, 3)}; explorer.estimate  # the cost of a step; fetches select it
    explorer.function = "__inference_call_12"    # only the body of a function; or explorer.open_call("node")
    explorer.advise(seconds=5); explorer.apply_advice()                # apply a recommendation, or some of its moves
    explorer.requests = {"MatMul": "/gpu:1"}                           # override requests of the program
    explorer.frame
    print(explorer.as_python())
    explorer.save_settings("four.json")          # explorer.open_settings("four.json")

A placement that fails shows TensorFlow's error with its facts, marks the nodes in the picture, and offers remedies as
buttons; all settings remain usable. If the settings allow no devices at all, the last placement stays visible and is
marked as stale. In a saved notebook the explorer is a static picture and a table.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import ipywidgets
import traitlets

from gpuplace.advisor.steps.advice import Advice
from gpuplace.advisor.steps.advise import check_request
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
from gpuplace.typing import ConfigProto
from gpuplace.views.tables import html
from gpuplace.views.tables.calls import calls_of
from gpuplace.views.tables.placement_view import view_of
from gpuplace.views.tables.text import counted, placement_text, summary_text
from gpuplace.writing import write_file

__all__ = ["PRESETS", "Explorer", "explore"]


class Explorer(Switches, Looks, ipywidgets.VBox):  # type: ignore[misc]
    """A graph on a machine, with all settings that can be changed.

    Args:
        what_if: the graph and its settings.
    """

    error = traitlets.Unicode("", read_only=True, help="The error of these settings; empty if there is none.")
    stale = traitlets.Bool(
        False, read_only=True, help="Whether the shown placement belongs to earlier settings."
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

    # ------------------------------------------------------------------------------------------------ state for Python

    @property
    def placement(self) -> Any:
        """The shown `Placement`.

        It is partial if some nodes cannot be placed, the last good one if `stale`, and None if there never was one.
        """
        return self._what_if.placement

    @property
    def config(self) -> Any:
        """The current settings as a ``ConfigProto``."""
        return self._what_if.settings.config

    @property
    def environ(self) -> dict[str, str]:
        """The current values of CUDA's environment variables; unset variables are left out."""
        return self._what_if.settings.environ

    @property
    def frame(self) -> Any:
        """The shown placement as a DataFrame.

        Raises:
            OpError: no node could be placed.
        """
        if self.placement is None:
            assert self._what_if.error is not None
            raise self._what_if.error
        return placement_frame(self.placement)

    @property
    def log(self) -> str:
        """The output of ``log_device_placement``; empty if there is an `error`."""
        return self._what_if.log()

    @property
    def svg(self) -> str:
        """The boxes and lines of the shown picture as SVG, laid out by Graphviz; empty for the picture by device.

        Raises:
            LayoutTimeout: the layout took too long; fold some scopes.
            NoLayoutProgram: neither ``dot`` nor ``graphviz-pure`` is installed.
        """
        return self._views.svg()

    @property
    def tag_sets(self) -> tuple[str, ...]:
        """The allowed values of `tags`, one text for each graph of a SavedModel; empty for other sources."""
        return self._what_if.parts.tag_sets

    @property
    def signatures(self) -> tuple[str, ...]:
        """The allowed values of `signature`, besides ``""`` for the whole graph; internal ones come last."""
        return self._what_if.parts.signatures(self.tags)

    @property
    def functions(self) -> tuple[str, ...]:
        """The allowed values of `function`: the functions of the graph's library."""
        return self._what_if.parts.functions(self.tags)

    @property
    def colours(self) -> tuple[str, ...]:
        """The available colourings: `time` requires `run_metadata`, `moved` requires a comparison."""
        return self._views.colours()

    @property
    def run_metadata(self) -> Any:
        """The ``RunMetadata`` of a step run with ``FULL_TRACE``, for colours by time; None without one."""
        return self._views.run_metadata

    @run_metadata.setter
    def run_metadata(self, value: object) -> None:
        self._views.run_metadata = value
        self._show_arranged()

    @property
    def estimate(self) -> StepEstimate:
        """The predicted cost of a step under the current settings; `fetches` and `feeds` select the step.

        Raises:
            OpError: the graph cannot be placed, or it does not contain a fetch or feed.
        """
        return self._views.costs.estimate()

    @property
    def advice(self) -> Advice | None:
        """The result of the last `advise`; None before the first, and while a search is running."""
        return self._views.advising.advice

    @property
    def remedies(self) -> tuple[str, ...]:
        """Labels of the remedies offered with an error; `apply_remedy` applies one."""
        return tuple(remedy.label for remedy in self._views.remedies)

    @property
    def moves(self) -> Any:
        """The differences from the compared placement; None if nothing is compared."""
        return self._comparison.moves(self.placement)

    def as_python(self, *, devices: bool = True) -> str:
        """Return the settings as a program; with ``devices``, also a device function for the current placement."""
        if self._what_if.is_fixed:
            return f"{placement_code(self.placement)}\n"
        code = settings_code(self._what_if.settings, self._what_if.parts, self._what_if.pins())
        if devices and self.placement is not None:
            code += f"\n\n{placement_code(self.placement)}"
        return f"{code}\n"

    def __repr__(self) -> str:
        summary = self.error.splitlines()[0] if self.error else summary_text(self.placement)
        where = "" if self._what_if.is_fixed else f" on {self.machine!r}"
        part = "" if self._what_if.is_fixed else self._what_if.parts.text(self._what_if.settings)
        return f"<Explorer of {f'{part}: ' if part else ''}{summary}{where}>"

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        """Return the live widget and, for readers without a kernel, a static picture, a table and text."""
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
        """Return the settings of the shown placement, as label and text."""
        settings = self._what_if.last_good
        if self._what_if.is_fixed or settings is None:
            return []
        rows = [("machine", str(settings.machine)), ("TensorFlow", settings.release)]
        return [*rows, ("soft placement", "on")] if settings.soft_placement else rows

    # ------------------------------------------------------------------------------------------------ actions

    def apply_remedy(self, number: int = 0) -> None:
        """Apply a remedy offered with the error.

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
        """Search for a better placement of the step that `fetches` and `feeds` select, and show the result.

        Args:
            objective, seconds, keep, seed, steps: as for `gpuplace.advise`.
            wait: whether to return when the search is over; otherwise it runs in the background, and `advice` is None
                until it ends.

        Returns:
            The recommendation; None without ``wait``, or if the search was stopped before it found one.

        Raises:
            InvalidArgumentError: the objective or a number is wrong; with ``wait``, as for `gpuplace.advise`.
            FailedPreconditionError: a search is already running, or a log is explored.
        """
        check_request(objective, seconds, steps, seed)
        advising = self._views.advising
        advising.objective, advising.seconds = objective, float(seconds)
        self.tab = "Advice"
        advising.run(wait=wait, seed=seed, steps=steps, keep=keep)
        self._views.show_advice()
        return advising.advice

    def stop_advising(self, timeout: float | None = 10) -> Advice | None:
        """Stop a running search and return its best result so far, which becomes the `advice`.

        Args:
            timeout: maximum time to wait in seconds; None for no limit.
        """
        self._views.advising.stop()
        self._views.advising.join(timeout)
        return self.advice

    def apply_advice(self, moves: Iterable[Move | str] | None = None) -> None:
        """Apply the recommended device requests as one change: the graph is placed again, and `undo` reverts it.

        Args:
            moves: items of `advice.moves`, or their scopes; None for all.

        Raises:
            FailedPreconditionError: there is no recommendation, or it is for other settings.
            InvalidArgumentError: there is no such move.
        """
        scopes = None if moves is None else [move if isinstance(move, str) else move.scope for move in moves]
        with self._what_if.lock:
            self._change(requests=self._views.advising.apply(scopes))

    def close(self) -> None:
        """Close the explorer and its widgets, which ipywidgets otherwise keeps in memory; stop a running search."""
        if self.comm is None:
            return
        self._views.advising.stop()
        for widget in _with_parts(self):
            ipywidgets.Widget.close(widget)

    def save_settings(self, path: Any) -> Path:
        """Write the settings and the look (scopes, colours, highlighting, selection, tab) as JSON, and return the path.

        Args:
            path: the file.
        """
        return Path(write_file(path, self._saved()))

    def open_settings(self, source: Any) -> None:
        """Apply settings written by `save_settings`, as one change.

        Missing settings are not changed, and names of other graphs are ignored.

        Args:
            source: the path of the file, or its JSON value.

        Raises:
            ValueError: it was not written by `save_settings`, or contains unknown settings.
            OpError: the machine's description is invalid, or a log is explored, which has no settings.
            OSError: there is no such file.
        """
        parts = read_parts(source)
        with self._what_if.lock:
            if parts.settings and not self._what_if.is_fixed:
                saved = parts.settings
                if saved.get("requests") and self.placement is not None:
                    index = view_of(self.placement).index
                    saved["requests"] = {name: to for name, to in saved["requests"].items() if name in index}
                settings = self._what_if.changed(**saved)
                self._step(lambda: self._what_if.go_to(settings))
            self._set_look(parts.look)

    def _saved(self) -> str:
        return parts_text(self._what_if.settings, self._look())

    def pin(self) -> None:
        """Compare future placements with the shown one."""
        self._compare(self._comparison.pin)

    def compare(self, other: Any = None, **settings: Any) -> None:
        """Compare with another placement, or with the placement of other settings; without arguments, stop comparing.

        Args:
            other: a `Placement`, a parsed log, or anything that can be placed: a graph, a GraphDef, a path.
            settings: for example ``release="2.21"`` or ``machine="cpu"``; other settings stay as they are.

        Raises:
            OpError: the other settings, or the other graph, cannot be placed.
        """
        self._compare(lambda: self._comparison.use(other, **settings))

    def _compare(self, change: Any) -> None:
        with self._what_if.lock:
            change()
            self._show_arranged()

    def open_call(self, node: str, number: int = 0) -> None:
        """Show the body of a function that a node calls as a separate graph; `function` then names it.

        The body of an inlined function is already part of the graph: unfold the name scope of the call.

        Args:
            node: name of the node.
            number: index of the function among those that the node calls, from 0; a loop's body comes before its
                condition.

        Raises:
            ValueError: there is no such node, or it calls no such function.
        """
        calls = []
        if self.placement is not None and node in view_of(self.placement).index:
            calls = calls_of(self.placement, view_of(self.placement).index[node])
        if not 0 <= number < len(calls):
            raise ValueError(
                f"{node!r} calls {counted(len(calls), 'function')} that can be opened, numbered from 0; got "
                f"{number}"
            )
        self._open(calls[number].function, node)

    def _open(self, function: str, node: str) -> None:
        """Open a function's body from the current graph; errors are shown next to the picker."""
        opened, calls = self._what_if.settings.functions, self._what_if.settings.calls
        nested: dict[str, Any] = {"functions": (*opened, function), "calls": (*calls, node)}
        try:
            self._change(**({"function": function} if function in opened else nested))
        except (OpError, ValueError) as error:
            self._refused = {"part": (f"function {function}", error)}
            self._show_fields()

    def _change(self, **settings: Any) -> None:
        self._step(lambda: self._what_if.change(**settings))

    def _heard(self, widget: Any, content: dict[str, Any], _buffers: Any) -> None:
        with self._what_if.lock:
            answer(self, widget, content)

    # --------------------------------------------------------------------------------------------------- display

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
        """Show the same placement with other colourings or comparisons available."""
        if self.colour not in self.colours:
            self.colour = "assigned"
        self._show_fields()
        self._show_all()


def _with_parts(widget: ipywidgets.Widget) -> list[ipywidgets.Widget]:
    """Return a widget and all widgets that it contains: children, layouts, styles, and so on."""
    widgets: dict[ipywidgets.Widget, None] = {}
    waiting: list[Any] = [widget]
    while waiting:
        value = waiting.pop()
        if isinstance(value, ipywidgets.Widget):
            if value not in widgets:
                widgets[value] = None
                waiting += value._trait_values.values()
        elif isinstance(value, list | tuple):
            waiting += value
    return list(widgets)


def explore(
    x: Any,
    machine: Any = None,
    config: ConfigProto | None = None,
    release: str | None = None,
    **switches: Any,
) -> Explorer:
    """Create the explorer of a graph, session, placement, GraphDef, file or parsed log.

    Args:
        x: the object to explore.
        machine: a `Machine` or its text; the session's or the current one if None.
        config: a ``ConfigProto`` with the initial settings.
        release: the TensorFlow release; the process's if None.
        **switches: soft placement, visible devices, the initial part of a model; as for `gpuplace.explore`.
    """
    with OwnFramesHidden(OpError):
        return Explorer(WhatIf(x, machine, config, release, **switches))
