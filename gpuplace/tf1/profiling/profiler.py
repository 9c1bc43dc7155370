"""``tf.profiler``: profiles of graphs and of measured steps.

>>> from gpuplace.graph.graph import Graph
>>> from gpuplace.tf1.profiling.option_builder import ProfileOptionBuilder
>>> options = ProfileOptionBuilder(ProfileOptionBuilder.float_operation()).with_empty_output().build()
>>> profile(Graph(), options=options).total_float_ops
Parsing Inputs...
0

Nodes are counted by a ``GraphProfile`` and arranged by a view, which gives its text and its messages::

    graph, op log, RunMetadata ──> GraphProfile ──> view (scope, graph, op, code) ──> text, messages

Source: tensorflow/python/profiler/model_analyzer.py, release 1.15 (names, arguments, defaults).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpuplace.errors import InvalidArgumentError
from gpuplace.files.file_io import write_string_to_file
from gpuplace.graph.convert import get_default_graph
from gpuplace.graph.graph import Graph
from gpuplace.tf1.profiling.advice import ALL_ADVICE, check
from gpuplace.tf1.profiling.graph_profile import GraphProfile
from gpuplace.tf1.profiling.op_log import merge_default_with_oplog
from gpuplace.tf1.profiling.option_builder import ProfileOptionBuilder
from gpuplace.tf1.profiling.report import VIEWS, report

__all__ = ["ALL_ADVICE", "Profiler", "advise", "profile"]

_DEFAULT = 0
"""What stands for the usual options."""


def profile(
    graph: Graph | None = None,
    run_meta: Any = None,
    op_log: Any = None,
    cmd: str = "scope",
    options: Mapping[str, Any] | int = _DEFAULT,
) -> Any:
    """Counts parameters, floating-point operations, times and bytes of a graph, and shows them.

    Args:
        graph: the graph; None: the default one.
        run_meta: the ``RunMetadata`` of a step traced in full, for times and bytes; None: there are none. Tensors of
            unknown sizes get the shapes that it saw.
        op_log: an ``OpLogProto`` with more types of nodes; None: there is none.
        cmd: ``"scope"`` for nodes by name scope, ``"graph"`` for nodes by what goes into them, ``"op"`` for op types,
            ``"code"`` for lines of Python.
        options: a dict as ``ProfileOptionBuilder`` makes it; 0: the parameters of trainable variables.

    Returns:
        A ``GraphNodeProto`` for scope and graph, a ``MultiGraphNodeProto`` for op and code.

    Raises:
        InvalidArgumentError: there is no such command.
        UnimplementedError: a profile for pprof is asked for, or a timeline that there is not.
    """
    if cmd not in VIEWS:
        raise InvalidArgumentError(None, None, f"unknown cmd: {cmd}\n")
    graph = graph or get_default_graph()
    given = options if isinstance(options, Mapping) else ProfileOptionBuilder.trainable_variables_parameter()
    log = merge_default_with_oplog(graph, op_log, run_meta, add_trace=cmd == "code")
    return report(GraphProfile(graph.as_graph_def(add_shapes=True), log, run_meta), cmd, given)


def advise(
    graph: Graph | None = None, run_meta: Any = None, options: Mapping[str, Any] | int = _DEFAULT
) -> Any:
    """Looks for what makes a step slow, and prints what it found.

    Args:
        graph: the graph; None: the default one.
        run_meta: the ``RunMetadata`` of a step traced in full; None: there is none.
        options: names of checks, as in ``ALL_ADVICE``; 0: all of them.

    Returns:
        An ``AdviceProto``.
    """
    graph = graph or get_default_graph()
    log = merge_default_with_oplog(graph, None, run_meta, add_trace=True)
    found = GraphProfile(graph.as_graph_def(add_shapes=True), log, run_meta)
    return check(found, options if isinstance(options, Mapping) else ALL_ADVICE)


class Profiler:
    """A profile of several steps.

    Args:
        graph: the graph; None: the default one.
        op_log: an ``OpLogProto`` with more types of nodes; None: there is none.
    """

    def __init__(self, graph: Graph | None = None, op_log: Any = None) -> None:
        self._graph = graph or get_default_graph()
        log = merge_default_with_oplog(self._graph, op_log=op_log)
        self._profile = GraphProfile(self._graph.as_graph_def(add_shapes=True), log)

    def add_step(self, step: int, run_meta: Any) -> None:
        """Adds what was measured.

        Args:
            step: the step's number, by which options ask for it.
            run_meta: its ``RunMetadata``.
        """
        log = merge_default_with_oplog(self._graph, run_meta=run_meta)
        self._profile.add_graph(self._graph.as_graph_def(add_shapes=True))
        self._profile.add_step(step, run_meta)
        self._profile.add_op_log(log)

    def profile_python(self, options: Mapping[str, Any]) -> Any:
        """Shows nodes by the lines of Python that made them.

        Args:
            options: a dict as ``ProfileOptionBuilder`` makes it.

        Returns:
            A ``MultiGraphNodeProto``.
        """
        return report(self._profile, "code", options)

    def profile_operations(self, options: Mapping[str, Any]) -> Any:
        """Shows nodes by their op types.

        Args:
            options: a dict as ``ProfileOptionBuilder`` makes it.

        Returns:
            A ``MultiGraphNodeProto``.
        """
        return report(self._profile, "op", options)

    def profile_name_scope(self, options: Mapping[str, Any]) -> Any:
        """Shows nodes by name scope.

        Args:
            options: a dict as ``ProfileOptionBuilder`` makes it.

        Returns:
            A ``GraphNodeProto``.
        """
        return report(self._profile, "scope", options)

    def profile_graph(self, options: Mapping[str, Any]) -> Any:
        """Shows nodes by what goes into them.

        Args:
            options: a dict as ``ProfileOptionBuilder`` makes it.

        Returns:
            A ``GraphNodeProto``.
        """
        return report(self._profile, "graph", options)

    def advise(self, options: Mapping[str, Any] | None) -> Any:
        """Looks for what makes a step slow, and prints what it found.

        Args:
            options: names of checks, as in ``ALL_ADVICE``; None: no check.

        Returns:
            An ``AdviceProto``.
        """
        return check(self._profile, options)

    def serialize_to_string(self) -> bytes:
        """All that is known, as a ``ProfileProto`` in bytes."""
        data: bytes = self._profile.proto().SerializeToString()
        return data

    def _write_profile(self, filename: str) -> None:
        write_string_to_file(filename, self.serialize_to_string())
