"""gpuplace's own tools: ``explore``, ``parse_log``, ``timeline``, the IPython extension.

Each function imports its implementation when it is called: ``import gpuplace`` loads no notebook library.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from gpuplace.callers import OwnFramesHidden
from gpuplace.dtypes import DType
from gpuplace.errors import OpError
from gpuplace.graph.convert import get_default_graph
from gpuplace.runtime.session.base_session import BaseSession
from gpuplace.runtime.session.place import place, signature_choice
from gpuplace.typing import (
    ConfigLike,
    Explorer,
    GraphLike,
    MachineLike,
    OperationLike,
    RuleExplorer,
    RunMetadata,
    StepTimeline,
    VisibleDevices,
)
from gpuplace.why.placement import Placement

if TYPE_CHECKING:
    from gpuplace.views.logs.capture import LogCapture
    from gpuplace.views.logs.logged_placement import LoggedPlacement

__all__ = [
    "capture_log",
    "explore",
    "explore_rules",
    "load_ipython_extension",
    "parse_log",
    "timeline",
    "unload_ipython_extension",
]


def capture_log(*, quiet: bool = False) -> LogCapture:
    """Return a ``with`` block that captures standard output and error.

    It captures what Python, C++ and child processes write to file descriptors 1 and 2, and prints it as well. If
    TensorFlow 2 is imported, it logs placements within the block.

    Args:
        quiet: whether placement lines are captured but not printed.

    Returns:
        A `gpuplace.views.logs.capture.LogCapture`. After the block, ``.placement`` is the result of `parse_log`, and
        ``.stdout`` and ``.stderr`` are the texts. A notebook shows it as tables and a picture.

    Raises:
        UnimplementedError: the system is not POSIX.
    """
    from gpuplace.views.logs.capture import LogCapture

    return LogCapture(quiet=quiet)


def parse_log(log: Any) -> LoggedPlacement:
    """Return the placement in the output of ``log_device_placement``; see `gpuplace.views.logs.parser`.

    Args:
        log: text, bytes, path, open file, or the output of a cell that ``%%capture`` kept.
    """
    from gpuplace.views.logs.parser import parse_log as parse

    return parse(log)


def explore(
    x: GraphLike | LoggedPlacement | LogCapture | None = None,
    machine: MachineLike | None = None,
    config: ConfigLike | None = None,
    release: str | None = None,
    *,
    soft_placement: bool | None = None,
    visible_devices: VisibleDevices | None = None,
    tags: str | Iterable[str] | None = None,
    signature: str | None = None,
    function: str | None = None,
    clear_devices: bool = False,
    whole_graph: bool = False,
) -> Explorer:
    """Return the interactive explorer of a graph, session, placement, GraphDef, file or log.

    Args:
        x: object to explore, which may also be a graph file, a log file, or the result of `capture_log`; None: the
            default graph.
        machine: a ``Machine`` or its text form; None: the current machine.
        config: a ``ConfigProto`` with the initial settings.
        release: TensorFlow release to reproduce, such as ``"1.15"``; None: the process's, or the release that wrote the
            file; see ``gpuplace.release``.
        soft_placement: whether soft placement is on initially; overrides ``config``. None: as in ``config``.
        visible_devices: the GPUs that TensorFlow sees initially, as for ``place``: numbers such as ``[2, 0]``, or
            CUDA_VISIBLE_DEVICES, such as ``"2,0"``; None: those of the machine.
        tags: all tags of the SavedModel graph to show initially; None: the graph tagged ``serve``.
        signature: signature of a SavedModel or MetaGraphDef to show initially: the nodes that it needs, with called
            functions inlined; ``""``: the whole graph; None: ``serving_default``, or the first by name (which the
            explorer names), or the whole graph without signatures.
        function: name of a library function to show initially: its body only.
        clear_devices: whether to remove the device requests of the nodes.
        whole_graph: whether to show the whole graph of a SavedModel initially, like ``signature=""``.

    Returns:
        A notebook widget.

    Raises:
        OpError: the file cannot be read, the machine's text is not understood, the tags, signature or function do not
            exist, or switches are passed for a log, which is not placed again.
        TypeError: ``x``, ``machine``, ``soft_placement`` or ``visible_devices`` has the wrong type; for a TensorFlow
            object, the message says how to get a graph.
        ValueError: ``tags`` or ``signature`` for a graph without them, or ``visible_devices`` that the machine does not
            have.
    """
    arguments = locals()
    arguments["signature"] = signature_choice(signature, function, arguments.pop("whole_graph"))
    from gpuplace.jupyter.explorer.explorer import explore as make_explorer
    from gpuplace.views.logs.capture import LogCapture

    if x is None:
        arguments["x"] = get_default_graph()
    elif isinstance(x, LogCapture):
        arguments["x"] = x.placement
    elif isinstance(x, str | os.PathLike):
        from gpuplace.views.logs.graph_or_log import log_in_file

        with OwnFramesHidden(OpError):
            log = log_in_file(x)
        arguments["x"] = x if log is None else log
    return make_explorer(**arguments)


def explore_rules(
    program: Callable[[DType], OperationLike],
    dtypes: Iterable[str] = ("float32", "int32"),
    machine: MachineLike | None = None,
) -> RuleExplorer:
    """Return a widget that shows rule by rule which devices remain for an operation.

    Its controls set the request of a ``tf.device`` block around the program, the dtype, the release and soft placement.

    Args:
        program: function of a dtype that builds a graph and returns the tensor or operation to explain.
        dtypes: names of the dtypes to choose from.
        machine: a ``Machine`` or its text form; None: the current machine.

    Returns:
        A notebook widget.
    """
    from gpuplace.jupyter.rule_explorer import RuleExplorer

    return RuleExplorer(program, tuple(dtypes), machine)


def timeline(step: RunMetadata | str | os.PathLike[str], of: GraphLike | None = None) -> StepTimeline:
    """Return the timeline of a measured step: device lanes, copies, critical path, and recommended moves.

    Args:
        step: ``RunMetadata`` or ``StepStats``, of TensorFlow or of a gpuplace session, or a file that contains one; a
            profile of TensorFlow 2 (``*.xplane.pb``, ``*.trace.json.gz``, or the log folder).
        of: the `Session`, `Placement` or `Graph` that ran, needed to recommend moves; a graph is placed on the current
            machine.

    Returns:
        A `gpuplace.views.timelines.step_timeline.StepTimeline`: a notebook shows it as a view to zoom, and ``print`` as
        text; ``.frame(table)`` returns ``"events"``, ``"copies"``, ``"devices"``, ``"gaps"``, ``"path"`` and
        ``"hints"``, ``.svg(theme="light")`` a still picture.

    Raises:
        TypeError: `step` is neither.
        ValueError: the step contains no measurements.
        OpError: the file cannot be read, or contains no measured step.
    """
    from gpuplace.views.timelines.reader import step_timeline

    if isinstance(step, str | os.PathLike):
        from gpuplace.graphdef.measured.run_metadata import load_run_metadata

        step = load_run_metadata(step)
    if of is not None and not isinstance(of, Placement):
        of = of.placement if isinstance(of, BaseSession) else place(of)
    return step_timeline(step, of)


def load_ipython_extension(shell: Any) -> None:
    """Implement ``%load_ext gpuplace``: add the magics ``%%placement``, ``%placement`` and ``%%watch_placement``.

    Args:
        shell: IPython's shell.
    """
    from gpuplace.jupyter.magics import load

    load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """Implement ``%unload_ext gpuplace``: remove the magics.

    Args:
        shell: IPython's shell.
    """
    from gpuplace.jupyter.magics import unload

    unload(shell)
