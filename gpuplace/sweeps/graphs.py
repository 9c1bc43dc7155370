"""Graphs of a sweep: their names, and their serialized form for workers.

Files are read in the sweep's process, when they are needed, and parsed on the worker, so that a worker needs neither
the file nor the program that built the graph.

>>> from gpuplace.graph.graph import Graph
>>> [graph.name for graph in named_graphs({"empty": Graph(), "lost": "lost.pb"})]
['empty', 'lost']
"""

from __future__ import annotations

import glob
import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from gpuplace.errors import NotFoundError
from gpuplace.graph.graph import Graph
from gpuplace.graphdef import messages
from gpuplace.graphdef.load import model_of_file, open_model, read_file
from gpuplace.graphdef.model import Model, PlacedPart
from gpuplace.placer.placement_graph import PlacementGraph

_TRAIN_OP = "train_op"


class SentGraph(NamedTuple):
    """Serialized graph."""

    data: bytes
    """Content of the file, or a message."""
    kind: str
    """Type of the message; ``""`` for a file."""
    file: tuple[str, str, str] = ("", "", "")
    """For a file: its name in lower case, its path, and the path given by the user."""
    part: tuple[tuple[str, Any], ...] = ()
    """Part of the model to place, as keyword arguments of `gpuplace.place`."""
    trains: str = ""
    """Name of the operation in the collection ``train_op``, which a message does not contain."""

    @property
    def digest(self) -> bytes:
        """Digest that identifies the graph."""
        header = repr((self.kind, self.file[0] if not self.kind else "", self.part, self.trains)).encode()
        return hashlib.sha256(header + b"\0" + self.data).digest()

    def model(self) -> Model:
        """Return the model.

        Raises:
            OpError: the content is not a graph.
        """
        if self.kind:
            return open_model(getattr(messages, self.kind).FromString(self.data))
        names, path, given_path = self.file
        return model_of_file(self.data, names, Path(path), given_path)


class NamedGraph(NamedTuple):
    """Graph of a sweep."""

    name: str
    """Name in the rows."""
    source: str | SentGraph
    """Path, or serialized graph."""

    def sent(self) -> SentGraph:
        """Return the serialized graph; a file is read now.

        Raises:
            OpError: the file cannot be read.
        """
        if isinstance(self.source, SentGraph):
            return self.source
        data, names, path = read_file(Path(self.source))
        return SentGraph(data, "", (names, str(path), self.source))


def named_graphs(graphs: Any) -> list[NamedGraph]:
    """Return the graphs of a sweep with their names.

    Args:
        graphs: one or several graphs as in `gpuplace.place`, or glob patterns of paths; or a dict from names to graphs.

    Raises:
        NotFoundError: no file matches a pattern.
        TypeError: a graph has the wrong type.
        DataLossError: a message of another message class cannot be copied.
    """
    if isinstance(graphs, Mapping):
        return [NamedGraph(str(name), _source_of(graph)) for name, graph in graphs.items()]
    if _is_single(graphs):
        graphs = [graphs]
    if not isinstance(graphs, Iterable):
        raise TypeError(
            f"graphs must be a graph, a path or glob pattern, or a list or dict of these; got {graphs!r}"
        )
    named: list[NamedGraph] = []
    for graph in graphs:
        if isinstance(graph, str | os.PathLike):
            named += [NamedGraph(path, path) for path in _paths(os.fspath(graph))]
        else:
            named.append(NamedGraph(f"graph {len(named)}", _source_of(graph)))
    return named


def _is_single(graphs: Any) -> bool:
    kinds = (str, os.PathLike, bytes, bytearray, memoryview, Graph, PlacementGraph, Model, messages.Message)
    return isinstance(graphs, kinds) or isinstance(getattr(graphs, "graph", None), Graph | PlacementGraph)


def _paths(pattern: str) -> Iterator[str]:
    """Yield the path itself, or the paths that the pattern matches, sorted."""
    if os.path.exists(pattern) or not glob.has_magic(pattern):
        yield pattern
        return
    matches = sorted(glob.glob(pattern, recursive=True))
    if not matches:
        raise NotFoundError.of(f"No file matches {pattern}", hint="use a pattern such as models/**/*.pb")
    yield from matches


def _source_of(graph: Graph) -> str | SentGraph:
    if isinstance(graph, str | os.PathLike):
        return os.fspath(graph)
    inner = getattr(graph, "graph", None)
    if not isinstance(graph, Graph | PlacementGraph) and isinstance(inner, Graph | PlacementGraph):
        graph = inner
    part: tuple[tuple[str, Any], ...] = ()
    if isinstance(graph, PlacementGraph):
        source = graph.source
        if isinstance(source, PlacedPart):
            graph, part = source.model, tuple(sorted(source.model.options(source.part).items()))
        elif isinstance(source, Graph):
            graph = source
    if isinstance(graph, Graph):
        data = graph.as_graph_def().SerializeToString(deterministic=True)
        train = [getattr(op, "name", str(op)) for op in graph.get_collection(_TRAIN_OP)[:1]]
        return SentGraph(data, "GraphDef", trains=train[0] if train else "")
    model = open_model(graph)
    return SentGraph(model.message.SerializeToString(deterministic=True), model.kind, part=part)
