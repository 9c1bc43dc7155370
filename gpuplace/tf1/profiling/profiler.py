"""``tf.profiler``: profiles of graphs and of measured steps.

>>> from gpuplace.graph.graph import Graph
>>> from gpuplace.tf1.profiling.option_builder import ProfileOptionBuilder
>>> options = ProfileOptionBuilder(ProfileOptionBuilder.float_operation()).with_empty_output().build()
>>> profile(Graph(), options=options).total_float_ops
Parsing Inputs...
0

A ``GraphProfile`` counts nodes, and a view arranges them and creates its text and its messages::

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
"""Stands for the default options."""


def profile(
    graph: Graph | None = None,
    run_meta: Any = None,
    op_log: Any = None,
    cmd: str = "scope",
    options: Mapping[str, Any] | int = _DEFAULT,
) -> Any:
    """Count parameters, floating-point operations, times and bytes of a graph, and show them.

    Args:
        graph: the graph; None for the default one.
        run_meta: the ``RunMetadata`` of a step with a full trace, for times and bytes, or None. Tensors of
            unknown sizes get its shapes.
        op_log: an ``OpLogProto`` with additional types of nodes, or None.
        cmd: ``"scope"`` for nodes by name scope, ``"graph"`` for nodes by their inputs, ``"op"`` for op
            types, ``"code"`` for Python lines.
        options: a dict from ``ProfileOptionBuilder``; 0 for the parameters of trainable variables.

    Returns:
        A ``GraphNodeProto`` for scope and graph, a ``MultiGraphNodeProto`` for op and code.

    Raises:
        InvalidArgumentError: there is no such command.
        UnimplementedError: the output is for pprof, or a timeline that the view does not have.
    """
    if cmd not in VIEWS:
        raise InvalidArgumentError(None, None, f"unknown cmd: {cmd}\n")
    graph = graph or get_default_graph()
    chosen = options if isinstance(options, Mapping) else ProfileOptionBuilder.trainable_variables_parameter()
    log = merge_default_with_oplog(graph, op_log, run_meta, add_trace=cmd == "code")
    return report(GraphProfile(graph.as_graph_def(add_shapes=True), log, run_meta), cmd, chosen)


def advise(
    graph: Graph | None = None, run_meta: Any = None, options: Mapping[str, Any] | int = _DEFAULT
) -> Any:
    """Find out what makes a step slow, and print the results.

    Args:
        graph: the graph; None for the default one.
        run_meta: the ``RunMetadata`` of a step with a full trace, or None.
        options: names of checks, as in ``ALL_ADVICE``; 0 for all of them.

    Returns:
        An ``AdviceProto``.
    """
    graph = graph or get_default_graph()
    log = merge_default_with_oplog(graph, None, run_meta, add_trace=True)
    node_profile = GraphProfile(graph.as_graph_def(add_shapes=True), log, run_meta)
    return check(node_profile, options if isinstance(options, Mapping) else ALL_ADVICE)


class Profiler:
    """A profile of several steps.

    Args:
        graph: the graph; None for the default one.
        op_log: an ``OpLogProto`` with additional types of nodes, or None.
    """

    def __init__(self, graph: Graph | None = None, op_log: Any = None) -> None:
        self._graph = graph or get_default_graph()
        log = merge_default_with_oplog(self._graph, op_log=op_log)
        self._profile = GraphProfile(self._graph.as_graph_def(add_shapes=True), log)

    def add_step(self, step: int, run_meta: Any) -> None:
        """Add the measurements of a step.

        Args:
            step: the step's number, which options refer to.
            run_meta: its ``RunMetadata``.
        """
        log = merge_default_with_oplog(self._graph, run_meta=run_meta)
        self._profile.add_graph(self._graph.as_graph_def(add_shapes=True))
        self._profile.add_step(step, run_meta)
        self._profile.add_op_log(log)

    def profile_python(self, options: Mapping[str, Any]) -> Any:
        """Show nodes by the Python lines that created them.

        Args:
            options: a dict from ``ProfileOptionBuilder``.

        Returns:
            A ``MultiGraphNodeProto``.
        """
        return report(self._profile, "code", options)

    def profile_operations(self, options: Mapping[str, Any]) -> Any:
        """Show nodes by their op types.

        Args:
            options: a dict from ``ProfileOptionBuilder``.

        Returns:
            A ``MultiGraphNodeProto``.
        """
        return report(self._profile, "op", options)

    def profile_name_scope(self, options: Mapping[str, Any]) -> Any:
        """Show nodes by name scope.

        Args:
            options: a dict from ``ProfileOptionBuilder``.

        Returns:
            A ``GraphNodeProto``.
        """
        return report(self._profile, "scope", options)

    def profile_graph(self, options: Mapping[str, Any]) -> Any:
        """Show nodes by their inputs.

        Args:
            options: a dict from ``ProfileOptionBuilder``.

        Returns:
            A ``GraphNodeProto``.
        """
        return report(self._profile, "graph", options)

    def advise(self, options: Mapping[str, Any] | None) -> Any:
        """Find out what makes a step slow, and print the results.

        Args:
            options: names of checks, as in ``ALL_ADVICE``; None for no check.

        Returns:
            An ``AdviceProto``.
        """
        return check(self._profile, options)

    def serialize_to_string(self) -> bytes:
        """Return the profile as the bytes of a ``ProfileProto``."""
        data: bytes = self._profile.proto().SerializeToString()
        return data

    def _write_profile(self, filename: str) -> None:
        write_string_to_file(filename, self.serialize_to_string())
