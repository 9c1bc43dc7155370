"""What core classes show and write, attached from above.

A graph cannot import the package that writes GraphDefs, nor a placement the one that draws: imports point
downwards. So the methods that need a higher layer are attached here, the way the op library attaches operators
to ``Tensor``. Each imports its layer when it is called: ``import gpuplace`` loads neither protobuf nor a
notebook library.
"""

from __future__ import annotations

import os
from typing import Any

from gpuplace.device.machine import Machine
from gpuplace.errors import OpError
from gpuplace.graph.graph import Graph
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.memory.bfc_allocator import BFCAllocator
from gpuplace.session.base_session import BaseSession
from gpuplace.why.blame import Blame
from gpuplace.why.diff import PlacementDiff
from gpuplace.why.explanation import Explanation
from gpuplace.why.placement import Placement


def _as_graph_def(self: Graph, from_version: int | None = None, add_shapes: bool = False) -> Any:
    """Returns the graph as a ``GraphDef``.

    Args:
        from_version: leave out the operations that were there at this ``graph.version``; None: all are in.
        add_shapes: give every node an ``_output_shapes`` attribute.
    """
    from gpuplace.graphdef.export import as_graph_def

    return as_graph_def(self, from_version, add_shapes)


def _graph_def_versions(self: Graph) -> Any:
    """The graph's versions as a ``VersionDef``."""
    from gpuplace.graphdef.export import version_def

    return version_def(self)


def _node_def(self: Operation) -> Any:
    """The operation as a ``NodeDef``."""
    from gpuplace.graphdef.export import node_def

    return node_def(self)


def _operation_text(self: Operation) -> str:
    return str(_node_def(self))


def _mimebundle(self: Any, include: Any = None, exclude: Any = None) -> Any:
    """What a notebook shows for the object; see ``gpuplace.jupyter.reprs``."""
    from gpuplace.jupyter.reprs import mimebundle

    return mimebundle(self, include, exclude)


def _picture(self: Any, **options: Any) -> Any:
    """The graph in colours; see ``gpuplace.jupyter.pictures.placement_picture``.

    Args:
        **options: as for ``placement_picture``.

    Returns:
        What a notebook shows as a picture.
    """
    from gpuplace.jupyter.pictures import placement_picture

    return placement_picture(self, **options)


def _diff_picture(self: PlacementDiff, **options: Any) -> Any:
    """The later placement with what moved; see ``gpuplace.jupyter.pictures.placement_picture``.

    Args:
        **options: as for ``placement_picture``.

    Returns:
        What a notebook shows as a picture.

    Raises:
        ValueError: the difference does not say between which placements it is.
    """
    from gpuplace.jupyter.pictures import placement_picture

    if self.later is None:
        raise ValueError(
            "This difference does not say between which placements it is: take placement.diff(other)"
        )
    return placement_picture(self.later, against=self.earlier, **options)


def _frame(self: Placement, table: str = "nodes", **options: Any) -> Any:
    """A table of the placement as a pandas ``DataFrame``; see ``gpuplace.jupyter.frames.frames`` for the columns.

    Args:
        table: ``"nodes"``, ``"devices"``, ``"edges"``, ``"copies"``, ``"groups"``, ``"scopes"``, ``"kernels"``,
            ``"memory"`` or ``"errors"``.
        **options: ``depth=`` of ``"scopes"``.

    Raises:
        ValueError: there is no such table.
    """
    from gpuplace.jupyter.frames.frames import frame

    return frame(self, table, **options)


def _machine_frame(self: Machine, config: Any = None, **options: Any) -> Any:
    """The chain from physical GPUs to devices as a pandas ``DataFrame``, hidden ones and reasons included.

    Args:
        config: ``ConfigProto``; None for the defaults.
        **options: further arguments of ``Machine.mapping``, such as ``environ``.
    """
    from gpuplace.jupyter.frames.frames import mapping_frame

    return mapping_frame(self, config, **options)


def _session_frame(self: BaseSession, table: str = "nodes", **options: Any) -> Any:
    """Returns a table of the session's placement, or of what its GPUs' allocators hold now, as a pandas ``DataFrame``.

    Args:
        table: as of ``Placement.frame``; or ``"memory"`` or ``"chunks"``, of the allocators.
        **options: as of ``Placement.frame``.

    Raises:
        ValueError: there is no such table.
    """
    from gpuplace.jupyter.frames.frames import session_frame

    return session_frame(self, table, **options)


def _trace(self: Placement, of: Any, direction: str = "inputs") -> Any:
    """All that an op depends on, as a `Trace`: ``names``, ``counts``, ``copies``, ``.frame()``.

    Args:
        of: an `Operation`, a `Tensor`, or the name of an op or a name scope.
        direction: ``"inputs"``, ``"consumers"`` (all that depends on it) or ``"both"``.

    Returns:
        The `Trace`.

    Raises:
        KeyError: there is no such op; says which names are like it.
        ValueError: an unknown direction.
    """
    from gpuplace.tables.dependency_trace import Trace, trace_of

    _attach(Trace, frame=_trace_frame)
    return trace_of(self, of, direction)


def _trace_frame(self: Any, table: str = "nodes") -> Any:
    """The rows of a trace of ``"nodes"``, ``"edges"`` or ``"copies"``; see ``gpuplace.jupyter.frames.frames``."""
    from gpuplace.jupyter.frames.frames import trace_frame

    return trace_frame(self, table)


def _logged_frame(self: Any, table: str = "nodes") -> Any:
    """A table of the log as a ``DataFrame``; see ``gpuplace.jupyter.frames.log_frames`` for tables and columns."""
    from gpuplace.jupyter.frames.log_frames import logged_frame

    return logged_frame(self, table)


def _log_diff_frame(self: Any) -> Any:
    """A row a node that differs as a ``DataFrame``; see ``gpuplace.jupyter.frames.log_frames.log_diff_frame``."""
    from gpuplace.jupyter.frames.log_frames import log_diff_frame

    return log_diff_frame(self)


def _blame_frame(self: Blame) -> Any:
    """A row a cause as a pandas ``DataFrame``; see ``gpuplace.jupyter.frames.frames.blame_frame``."""
    from gpuplace.jupyter.frames.frames import blame_frame

    return blame_frame(self)


def _explanation_frame(self: Explanation) -> Any:
    """A row a rule that acted as a pandas ``DataFrame``; see ``gpuplace.jupyter.frames.frames.explanation_frame``."""
    from gpuplace.jupyter.frames.frames import explanation_frame

    return explanation_frame(self)


def _diff_frame(self: PlacementDiff) -> Any:
    """A row a node that moves as a pandas ``DataFrame``; see ``gpuplace.jupyter.frames.frames.diff_frame``."""
    from gpuplace.jupyter.frames.frames import diff_frame

    return diff_frame(self)


def parse_log(log: Any) -> Any:
    """Returns the placement in what TensorFlow printed with ``log_device_placement``; see ``gpuplace.logs.parser``.

    Args:
        log: text, bytes, path, open file, or what ``%%capture`` kept of a cell.
    """
    from gpuplace.logs.parser import parse_log as parse

    _attach_to_logs()
    return parse(log)


def _attach_to_logs() -> None:
    """Attaches methods to what `import gpuplace` does not load."""
    from gpuplace.logs.log_diff import LogDiff
    from gpuplace.logs.logged_placement import LoggedPlacement

    _attach(LoggedPlacement, picture=_picture, frame=_logged_frame, _repr_mimebundle_=_mimebundle)
    _attach(LogDiff, frame=_log_diff_frame)


def explore(x: Any = None, machine: Any = None, config: Any = None, release: str | None = None) -> Any:
    """The interactive explorer of a graph, session, placement, GraphDef, file or log.

    Args:
        x: what to explore, a file of a graph or of a log among others; None: the default graph.
        machine: a ``Machine`` or its text; None: the current one.
        config: a ``ConfigProto`` with the settings to begin with.
        release: which TensorFlow to behave as, such as ``"1.15"``; None: the process's, see ``gpuplace.release``.

    Returns:
        A widget that a notebook shows.

    Raises:
        OpError: the file cannot be read, or the machine's text is not understood.
    """
    from gpuplace.graph.convert import get_default_graph
    from gpuplace.jupyter.explorer.explorer import explore as make_explorer

    if isinstance(x, str | os.PathLike):
        from gpuplace.logs.graph_or_log import log_in_file

        found = log_in_file(x)
        if found is not None:
            _attach_to_logs()
            x = found
    return make_explorer(
        get_default_graph() if x is None else x, machine=machine, config=config, release=release
    )


def timeline(step: Any, of: Any = None) -> Any:
    """The timeline of a measured step: lanes of devices, copies, critical path, and what to move.

    Args:
        step: ``RunMetadata`` or ``StepStats``, of TensorFlow or of a session here, or a file that holds one.
        of: the `Session`, `Placement` or `Graph` that ran, which hints on what to move need; a graph is placed on the
            current machine.

    Returns:
        A `gpuplace.timelines.step_timeline.StepTimeline`: a notebook shows it as a view to zoom; ``print`` as text;
        ``.frame(table)`` gives ``"events"``, ``"copies"``, ``"devices"``, ``"gaps"``, ``"path"`` and ``"hints"``,
        ``.svg(theme="light")`` a still picture.

    Raises:
        TypeError: `step` is neither.
        ValueError: nothing was measured.
        OpError: the file cannot be read, or holds no measured step.
    """
    from gpuplace.session.place import place
    from gpuplace.timelines.reader import step_timeline
    from gpuplace.timelines.step_timeline import StepTimeline

    if isinstance(step, str | os.PathLike):
        from gpuplace.graphdef.run_metadata import load_run_metadata

        step = load_run_metadata(step)
    if of is not None and not isinstance(of, Placement):
        of = of.placement if isinstance(of, BaseSession) else place(of)
    _attach(StepTimeline, frame=_timeline_frame, svg=_timeline_svg, _repr_mimebundle_=_timeline_bundle)
    return step_timeline(step, of)


def _timeline_frame(self: Any, table: str = "events") -> Any:
    """A table of the timeline as a ``DataFrame``; see ``timeline_frame`` for its columns."""
    from gpuplace.jupyter.frames.timeline_frames import timeline_frame

    return timeline_frame(self, table)


def _timeline_svg(self: Any, theme: str = "light", width: int = 960) -> str:
    """The timeline as a still picture; see ``gpuplace.timelines.svg``."""
    from gpuplace.timelines.svg import timeline_svg

    return timeline_svg(self, theme, width)


def _timeline_bundle(self: Any, **kwargs: Any) -> Any:
    """The view to zoom, a still picture and text; see ``gpuplace.jupyter.timeline_view``."""
    from gpuplace.jupyter.timeline_view import timeline_bundle

    return timeline_bundle(self, **kwargs)


def _session_timeline(self: BaseSession, fetches: Any, feed_dict: Any = None) -> Any:
    """Runs `fetches` once with ``FULL_TRACE`` and gives the `timeline` of that step.

    Args:
        fetches: as for ``run``.
        feed_dict: as for ``run``.

    Returns:
        A `gpuplace.timelines.step_timeline.StepTimeline`.

    Raises:
        OpError: as for ``run``.
    """
    from gpuplace.graphdef.messages import RunMetadata, RunOptions

    metadata = RunMetadata()
    options = RunOptions(trace_level=RunOptions.FULL_TRACE, output_partition_graphs=True)
    self.run(fetches, feed_dict, options, metadata)
    return timeline(metadata, self)


def load_ipython_extension(shell: Any) -> None:
    """``%load_ext gpuplace``: adds the magics ``%%placement`` and ``%placement``; see ``gpuplace.jupyter.magics``.

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


def _attach(cls: type, **methods: Any) -> None:
    for name, method in methods.items():
        setattr(cls, name, method)


def attach() -> None:
    """Attaches the methods; done once, by ``import gpuplace``."""
    _attach(
        Graph,
        as_graph_def=_as_graph_def,
        graph_def_versions=property(_graph_def_versions),
        _repr_mimebundle_=_mimebundle,
    )
    _attach(Operation, node_def=property(_node_def), __str__=_operation_text)
    _attach(Placement, picture=_picture, frame=_frame, trace=_trace, _repr_mimebundle_=_mimebundle)
    _attach(Machine, frame=_machine_frame)
    _attach(BaseSession, frame=_session_frame, timeline=_session_timeline)
    _attach(Blame, frame=_blame_frame)
    _attach(Explanation, frame=_explanation_frame)
    _attach(PlacementDiff, frame=_diff_frame, picture=_diff_picture)
    for cls in (
        BaseSession,
        BFCAllocator,
        Machine,
        Tensor,
        Operation,
        OpError,
        Explanation,
        Blame,
        PlacementDiff,
    ):
        _attach(cls, _repr_mimebundle_=_mimebundle)


MESSAGES = (
    "AttrValue",
    "ConfigProto",
    "Event",
    "GPUOptions",
    "GraphDef",
    "GraphOptions",
    "HistogramProto",
    "MetaGraphDef",
    "NameAttrList",
    "NodeDef",
    "OptimizerOptions",
    "RunMetadata",
    "RunOptions",
    "Summary",
    "TensorProto",
    "VersionDef",
)
"""Public names that load protobuf, and so are not there before they are used."""

NAMESPACES = frozenset({"app", "flags"})
"""Those that load absl's flags."""


def lazy_attribute(name: str) -> Any:
    """A message class or a namespace that ``gpuplace`` offers, loaded when it is first asked for.

    Args:
        name: one of ``MESSAGES`` or ``NAMESPACES``.

    Returns:
        The class, or the module.

    Raises:
        AttributeError: another name.
    """
    if name in NAMESPACES:
        from gpuplace.api import app, flags

        return app if name == "app" else flags
    if name not in MESSAGES:
        raise AttributeError(f"module 'gpuplace' has no attribute {name!r}")
    from gpuplace.graphdef import messages

    if not hasattr(messages.RunMetadata, "_repr_mimebundle_"):
        _attach(messages.RunMetadata, _repr_mimebundle_=_mimebundle)
    return getattr(messages, name)


def import_graph_def(
    graph_def: Any,
    input_map: Any = None,
    return_elements: Any = None,
    name: str | None = None,
    op_dict: Any = None,
    producer_op_list: Any = None,
) -> list[Any] | None:
    """Adds the nodes of a ``GraphDef`` to the default graph.

    Args:
        graph_def: a ``GraphDef``.
        input_map: ``"node:output"``, ``"node"`` or ``"^node"`` to the tensor (or operation) to use in its place.
        return_elements: a list of names of nodes (``"a"``) and tensors (``"a:0"``) to return; None: none.
        name: prefix for the names; ``"import"`` where None, none where empty.
        op_dict: ignored, as in TensorFlow; deprecated.
        producer_op_list: ignored: which attributes newer releases added with which defaults is known.

    Returns:
        The operations and tensors named by ``return_elements``, or None.

    Raises:
        TypeError: an argument is of the wrong type.
        ValueError: the graph is invalid (a cycle, a name twice, an unknown input, types that do not fit, ...).
        NotFoundError: an op type is not registered.

    Source: tensorflow/python/framework/importer.py, release 1.15.
    """
    from gpuplace.graphdef.importer import import_graph_def as run

    return run(graph_def, input_map, return_elements, name, op_dict, producer_op_list)


def make_tensor_proto(values: Any, dtype: Any = None, shape: Any = None, verify_shape: bool = False) -> Any:
    """Returns a Python value or array as a ``TensorProto``.

    Args:
        values: a scalar, nested lists, or an array.
        dtype: its type; None: what the value suggests, as for ``tf.constant``.
        shape: its shape; the last element fills what the value leaves. None: the value's.
        verify_shape: refuse a value of another shape.

    Raises:
        TypeError: the value does not fit the type, or, with ``verify_shape``, the shape.
        ValueError: the value is ragged or has too many elements.

    Source: tensorflow/python/framework/tensor_util.py, release 1.15.
    """
    from gpuplace.graphdef.tensor_proto import make_tensor_proto as run

    return run(values, dtype, shape, verify_shape)


def make_ndarray(tensor: Any) -> Any:
    """Returns the elements of a ``TensorProto`` as a writable NumPy array.

    Args:
        tensor: a ``TensorProto``.

    Source: tensorflow/python/framework/tensor_util.py, release 1.15.
    """
    from gpuplace.graphdef.tensor_proto import make_ndarray as run

    return run(tensor)


def write_graph(graph_or_graph_def: Any, logdir: Any, name: str, as_text: bool = True) -> str:
    """Writes a graph to the file ``logdir/name``.

    Args:
        graph_or_graph_def: a ``Graph`` or ``GraphDef``.
        logdir: its folder, made where it is missing.
        name: its name.
        as_text: protobuf's text format, else binary.

    Returns:
        The file's path.

    Source: tensorflow/python/framework/graph_io.py, release 1.15.
    """
    from gpuplace.graphdef.export import write_graph as run

    return run(graph_or_graph_def, logdir, name, as_text)


def kernels(op: str, release: str | None = None) -> Any:
    """Returns the kernels of an op type as a pandas ``DataFrame``: device type, attribute values, host memory.

    Args:
        op: an op type, such as ``"MatMul"``.
        release: whose catalogue; None: the process's release.

    Raises:
        NotFoundError: there is no such op.
    """
    from gpuplace.jupyter.frames.frames import kernels_frame

    return kernels_frame(op, release)
