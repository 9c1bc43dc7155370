"""IPython's ``%load_ext gpuplace``: the cell magic ``%%placement`` and the line magic ``%placement``.

::

    %%placement --machine "2x Tesla K40c" --soft
    with tf.device("/gpu:1"):
        a = tf.constant([1.0, 2.0])

runs the cell in a fresh default graph, on that machine, and shows the placement: picture, table and log. Names that the
cell defines stay; the state of the process is restored. ``%placement x`` shows an existing graph, session, placement or
file in the same way. ``%%watch_placement`` is in `watch_magic`.
"""

from __future__ import annotations

import argparse
import os
import shlex
from types import SimpleNamespace
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments
from IPython.display import display

from gpuplace.device.gpu_models import GPU_MODELS
from gpuplace.device.machine import Machine
from gpuplace.device.visible import VISIBLE_DEVICES
from gpuplace.errors import InvalidArgumentError, OpError
from gpuplace.graph.convert import get_default_graph
from gpuplace.graphdef.model import Model
from gpuplace.jupyter.cell_run import run_body, with_traceback_of
from gpuplace.jupyter.placement_page import PlacementPage
from gpuplace.jupyter.watch_magic import WatchMagics
from gpuplace.release import RELEASES
from gpuplace.runtime.memory.process_state import current_machine
from gpuplace.runtime.session.fresh_process import fresh_process
from gpuplace.runtime.session.place import SOFT_OPTION, graph_or_model, place_for
from gpuplace.views.tables import html
from gpuplace.why.placement import Placement

_COUNTS = ("1x", "2x", "4x", "8x")
_FILES = (".pb", ".pbtxt")
_THEMES = ("auto", "light", "dark")
_PARTS = ("tags", "signature", "function", "clear_devices")
"""Options that select the part of a graph."""


@magics_class
class PlacementMagics(Magics):
    """The magics of gpuplace."""

    shell: Any

    @line_cell_magic
    @magic_arguments()
    @argument(
        "--machine",
        "-m",
        metavar="TEXT",
        help='such as "4x Tesla K20m", "2 CPU, 1x V100 + 2x K40c" or cpu; the process\'s machine by default',
    )
    @argument("--release", "-r", choices=RELEASES, help="the TensorFlow release to behave as")
    @argument("--tags", metavar="TAGS", help="tags of the graph in a SavedModel, such as serve,gpu")
    @argument(
        "--signature",
        metavar="KEY",
        help="place only the nodes of this signature of a model; default: serving_default, otherwise the first by "
        "name; '' for the whole graph",
    )
    @argument(
        "--function", metavar="NAME", help="place only the body of this function of the graph's library"
    )
    @argument("--clear-devices", action="store_true", help="ignore the devices that the nodes request")
    @argument("--soft", "-s", action="store_true", help="allow soft placement (allow_soft_placement)")
    @argument(
        "--visible-devices", metavar="IDS", help="CUDA_VISIBLE_DEVICES while the cell runs, such as 2,0"
    )
    @argument("--open", metavar="SCOPE", action="append", help="a name scope to unfold; may be repeated")
    @argument("--theme", choices=_THEMES, default="auto", help="theme of the picture; default: auto")
    @argument(
        "--rows", type=int, default=30, metavar="N", help="maximum number of rows in the table; default: 30"
    )
    @argument("--no-picture", action="store_true", help="omit the picture")
    @argument("--no-table", action="store_true", help="omit the table")
    @argument("--no-log", action="store_true", help="omit the log")
    @argument("--explore", "-e", action="store_true", help="show the explorer instead")
    @argument("--into", metavar="NAME", help="the variable to store the placement in")
    @argument("expression", nargs="*", help="%%placement alone: a graph, session, placement or path")
    def placement(self, line: str, cell: str | None = None) -> None:
        """Show the device on which every op is placed.

        As a cell magic, run the cell in a fresh default graph and place the graph that it builds; the machine, the
        release and the outer default graph are not changed. As a line magic, place the value of the expression, or the
        default graph if there is none.

        Examples::

            %%placement --machine "2x Tesla K40c"
            %%placement -m "4x Tesla K20m" --visible-devices 2,3 --soft
            %placement sess.graph --machine cpu --soft
            %placement model.pb --no-picture
        """
        __tracebackhide__ = True
        options = _parse(line)
        if cell is None:
            self._of_expression(options)
            return
        if options.expression:
            raise UsageError(
                f"%%placement takes no expression, got {' '.join(options.expression)!r}; {_QUOTES}"
            )
        error = self._of_cell(options, line, cell)
        if error is not None:
            raise with_traceback_of(self.shell, error)

    def _of_cell(self, options: argparse.Namespace, line: str, cell: str) -> Exception | None:
        """Run the cell, show its graph, and return its error."""
        environ = {} if options.visible_devices is None else {VISIBLE_DEVICES: options.visible_devices}
        with fresh_process(_machine(options), options.release, environ):
            error = run_body(self.shell, cell, f"%%placement {line}".rstrip())
            graph = get_default_graph()
            if error is None or graph.get_operations():
                self._show(graph, options, error)
        return error

    def _of_expression(self, options: argparse.Namespace) -> None:
        text = " ".join(options.expression)
        source = self._value_of(text) if text else get_default_graph()
        if (environ := options.visible_devices) is None and options.machine is None:
            self._show(source, options)
            return
        variables = {} if environ is None else {VISIBLE_DEVICES: environ}
        with fresh_process(_machine(options), options.release, variables):
            self._show(source, options)

    def _value_of(self, text: str) -> Any:
        """Return a path unchanged, otherwise the expression's value."""
        if os.path.exists(text):
            return text
        try:
            code = compile(text, "<%placement>", "eval")
        except SyntaxError as error:
            raise UsageError(f"{text!r} is neither a file nor an expression ({error.msg})") from None
        try:
            return eval(code, self.shell.user_global_ns, self.shell.user_ns)
        except (NameError, AttributeError, TypeError) as error:
            if text.endswith(_FILES) or "/" in text:
                raise UsageError(f"{text!r} is neither a file nor a valid expression: {error}") from None
            raise

    def _show(self, source: Any, options: argparse.Namespace, failed: Exception | None = None) -> None:
        """Place and display; an error of the graph is displayed, and raised if there is no other error."""
        settings = _config_of(source, options)
        try:
            if isinstance(source, Placement) and _says_nothing(options):
                placement = source
            else:
                source, part = _part_of(source, options)
                placement = place_for(
                    SOFT_OPTION, source, config=settings, release=options.release, on_error="keep", **part
                )
        except OpError as error:
            if failed is not None:
                display({"text/html": html.error_html(error), "text/plain": str(error)}, raw=True)
                return
            raise
        if options.into:
            self.shell.user_ns[options.into] = placement
        if options.explore:
            from gpuplace.jupyter.explorer.explorer import explore

            display(explore(placement, config=settings, release=options.release))
            return
        soft = ", with soft placement" if placement.soft else ""
        before = "The graph when the cell failed, placed on" if failed is not None else "Placed on"
        where = f"{before} {_machine_text(placement)} as TensorFlow {placement.release}{soft}"
        try:
            page = PlacementPage(
                placement,
                where,
                rows=max(0, options.rows),
                picture=not options.no_picture,
                table=not options.no_table,
                log=not options.no_log,
                open=options.open,
                theme=options.theme,
            )
        except ValueError as error:
            raise UsageError(str(error)) from None
        display(page)


_QUOTES = 'put text with spaces in quotes: --machine "4x Tesla K20m"'


def _parser() -> Any:
    magic: Any = PlacementMagics.placement
    return magic.parser


def _parse(line: str) -> argparse.Namespace:
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise UsageError(f"{error}: {line}") from None
    options: argparse.Namespace = _parser().parse_args(words)
    if options.into is not None and not options.into.isidentifier():
        raise UsageError(f"--into: {options.into!r} is not the name of a variable")
    return options


def _machine(options: argparse.Namespace) -> Machine | None:
    if options.machine is None:
        return None
    try:
        return Machine.parse(options.machine)
    except InvalidArgumentError as error:
        raise UsageError(f"--machine: {error}\n{_QUOTES}") from None


def _machine_text(placement: Placement) -> str:
    gpus = [device for device in placement.device_set if device.device_type == "GPU"]
    seen = "" if len(gpus) == 1 else "s"
    return f"{current_machine()} ({len(gpus)} GPU device{seen})"


def _part_of(source: Any, options: argparse.Namespace) -> tuple[Any, dict[str, Any]]:
    """Return the model to place and its part as keyword arguments; by default the model's default signature."""
    part_options = {name: getattr(options, name) for name in _PARTS}
    try:
        model = graph_or_model(source)
        if isinstance(model, Model):
            return model, model.options(model.part(**part_options))
    except ValueError as error:
        raise UsageError(str(error)) from None
    if options.tags is not None or options.signature:
        raise UsageError(
            f"--tags and --signature select a part of a SavedModel, but this is a {type(source).__name__}"
        )
    return source, part_options


def _config_of(source: Any, options: argparse.Namespace) -> Any:
    """Return the session options that placement reads, with ``--soft`` applied."""
    config = getattr(source, "_config", None)
    if not options.soft:
        return config
    names = ("gpu_options", "device_count", "log_device_placement")
    kept = {name: getattr(config, name) for name in names if hasattr(config, name)}
    return SimpleNamespace(allow_soft_placement=True, **kept)


def _says_nothing(options: argparse.Namespace) -> bool:
    return not (
        options.machine
        or options.release
        or options.soft
        or options.visible_devices is not None
        or any(getattr(options, name) for name in _PARTS)
    )


def complete(shell: Any, event: Any) -> list[str]:
    """Return possible next words on the magic's line: options, machines, releases, variable names.

    Args:
        shell: IPython's shell.
        event: IPython's completion event, with ``line`` and ``symbol``, the word being typed.
    """
    line, symbol = event.line, event.symbol
    if line.count('"') % 2:
        begun = line.rpartition('"')[2]
        return [f'{name[len(begun) - len(symbol) :]}"' for name in _machines() if name.startswith(begun)]
    before = line[: len(line) - len(symbol)].split()[-1]
    flags = {flag: action for action in _parser()._actions for flag in action.option_strings}
    action = flags.get(before)
    if action is not None and action.dest == "machine":
        words = [f'"{name}"' if " " in name else name for name in _machines()]
    elif action is not None and action.nargs != 0:
        words = list(action.choices or ())
    elif symbol.startswith("-") or line.startswith("%%"):
        words = [flag for flag in flags if flag.startswith("--")]
    else:
        words = [name for name in shell.user_ns if not name.startswith("_")]
    return [word for word in words if word.startswith(symbol)]


def _machines() -> list[str]:
    return ["cpu", "local", *(f"{count} {model.name}" for count in _COUNTS for model in GPU_MODELS)]


def load(shell: Any) -> None:
    """Load the extension (``%load_ext gpuplace``)."""
    shell.register_magics(PlacementMagics, WatchMagics)
    for name in ("%placement", "%%placement"):
        shell.set_hook("complete_command", complete, str_key=name)


def unload(shell: Any) -> None:
    """Unload the extension (``%unload_ext gpuplace``)."""
    for kind, name in (("line", "placement"), ("cell", "placement"), ("cell", "watch_placement")):
        shell.magics_manager.magics[kind].pop(name, None)
    for name in ("PlacementMagics", "WatchMagics"):
        shell.magics_manager.registry.pop(name, None)
    for name in ("%placement", "%%placement"):
        shell.strdispatchers["complete_command"].strs.pop(name, None)
