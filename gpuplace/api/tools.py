"""The tools beside TensorFlow's names: ``explore``, ``parse_log``, ``timeline``, IPython's extension.

Each loads what it needs when it is called: ``import gpuplace`` loads no notebook library.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from gpuplace.callers import OwnFramesHidden
from gpuplace.errors import OpError
from gpuplace.graph.convert import get_default_graph
from gpuplace.runtime.session.base_session import BaseSession
from gpuplace.runtime.session.place import place, signature_choice
from gpuplace.typing import (
    ConfigLike,
    Explorer,
    GraphLike,
    MachineLike,
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
    "load_ipython_extension",
    "parse_log",
    "timeline",
    "unload_ipython_extension",
]


def capture_log(*, quiet: bool = False) -> LogCapture:
    """Returns a ``with`` block that keeps what is written to standard output and error.

    It keeps what Python, C++ and child processes write to file descriptors 1 and 2, and prints it as well. A
    TensorFlow 2 that is imported logs placement within the block.

    Args:
        quiet: whether lines about placement are kept but not printed.

    Returns:
        A `gpuplace.views.logs.capture.LogCapture`. After the block ``.placement`` is what `parse_log` reads in it, and
        ``.stdout`` and ``.stderr`` are the texts. A notebook shows it as tables and a picture.

    Raises:
        UnimplementedError: the block begins on a system that is not a POSIX one.
    """
    from gpuplace.views.logs.capture import LogCapture

    return LogCapture(quiet=quiet)


def parse_log(log: Any) -> LoggedPlacement:
    """Returns the placement in what TensorFlow printed with ``log_device_placement``; see `gpuplace.views.logs.parser`.

    Args:
        log: text, bytes, path, open file, or what ``%%capture`` kept of a cell.
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
    """The interactive explorer of a graph, session, placement, GraphDef, file or log.

    Args:
        x: what to explore, a file of a graph or of a log and what `capture_log` gave among others; None: the default
            graph.
        machine: a ``Machine`` or its text; None: the current one.
        config: a ``ConfigProto`` with the settings to begin with.
        release: which TensorFlow to behave as, such as ``"1.15"``; None: the process's, else the release that wrote the
            file, see ``gpuplace.release``.
        soft_placement: whether soft placement is on to begin with; None: what ``config`` says, over which this goes.
        visible_devices: the GPUs of the machine that TensorFlow sees to begin with, as for ``place``: numbers such as
            ``[2, 0]``, or CUDA_VISIBLE_DEVICES, such as ``"2,0"``; None: as the machine has them.
        tags: which graph of a SavedModel to begin with, by all its tags; None: that of ``serve``.
        signature: which signature of a SavedModel or MetaGraphDef to begin with: the nodes that it needs, with the
            functions that they call inlined; ``""``: the whole graph; None: ``serving_default``, else the first by name
            (the explorer says which), and the whole graph of what has none.
        function: name of a function of the graph's library to begin with: its body alone.
        clear_devices: whether the nodes lose the devices that they ask for.
        whole_graph: whether the whole graph of a SavedModel is shown to begin with, as with ``signature=""``.

    Returns:
        A widget that a notebook shows.

    Raises:
        OpError: the file cannot be read, the machine's text is not understood, there are no such tags, signature or
            function, or a log is given switches: it is not placed again.
        TypeError: ``x``, ``machine``, ``soft_placement`` or ``visible_devices`` is nothing of the kind; of an object of
            TensorFlow's the sentence says how to get a graph.
        ValueError: ``tags`` or ``signature`` of a graph that has none, or ``visible_devices`` that the machine does not
            have.
    """
    given = locals()
    given["signature"] = signature_choice(signature, function, given.pop("whole_graph"))
    from gpuplace.jupyter.explorer.explorer import explore as make_explorer
    from gpuplace.views.logs.capture import LogCapture

    if x is None:
        given["x"] = get_default_graph()
    elif isinstance(x, LogCapture):
        given["x"] = x.placement
    elif isinstance(x, str | os.PathLike):
        from gpuplace.views.logs.graph_or_log import log_in_file

        with OwnFramesHidden(OpError):
            found = log_in_file(x)
        given["x"] = x if found is None else found
    return make_explorer(**given)


def timeline(step: RunMetadata | str | os.PathLike[str], of: GraphLike | None = None) -> StepTimeline:
    """The timeline of a measured step: lanes of devices, copies, critical path, and what to move.

    Args:
        step: ``RunMetadata`` or ``StepStats``, of TensorFlow or of a session here, or a file that holds one; a profile
            of TensorFlow 2 (``*.xplane.pb``, ``*.trace.json.gz``, or the log folder).
        of: the `Session`, `Placement` or `Graph` that ran, which hints on what to move need; a graph is placed on the
            current machine.

    Returns:
        A `gpuplace.views.timelines.step_timeline.StepTimeline`: a notebook shows it as a view to zoom; ``print`` as
        text; ``.frame(table)`` gives ``"events"``, ``"copies"``, ``"devices"``, ``"gaps"``, ``"path"`` and ``"hints"``,
        ``.svg(theme="light")`` a still picture.

    Raises:
        TypeError: `step` is neither.
        ValueError: nothing was measured.
        OpError: the file cannot be read, or holds no measured step.
    """
    from gpuplace.views.timelines.reader import step_timeline

    if isinstance(step, str | os.PathLike):
        from gpuplace.graphdef.measured.run_metadata import load_run_metadata

        step = load_run_metadata(step)
    if of is not None and not isinstance(of, Placement):
        of = of.placement if isinstance(of, BaseSession) else place(of)
    return step_timeline(step, of)


def load_ipython_extension(shell: Any) -> None:
    """``%load_ext gpuplace``: adds the magics ``%%placement``, ``%placement`` and ``%%watch_placement``.

    Args:
        shell: IPython's shell.
    """
    from gpuplace.jupyter.magics import load

    load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """``%unload_ext gpuplace``: takes the magics away.

    Args:
        shell: IPython's shell.
    """
    from gpuplace.jupyter.magics import unload

    unload(shell)
