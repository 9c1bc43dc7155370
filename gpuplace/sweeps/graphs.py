"""The graphs of a sweep: what each is called, and the bytes in which it travels to a worker.

Files are read where the sweep is asked for, when their turn comes, and parsed where they are placed, so that a worker
needs neither the file nor the program that built the graph.

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
    """A graph as it travels."""

    data: bytes
    """The file's content, or a message."""
    kind: str
    """The message that it is; ``""`` for a file."""
    file: tuple[str, str, str] = ("", "", "")
    """Of a file: its name in small letters, its path, and what the user called it."""
    part: tuple[tuple[str, Any], ...] = ()
    """What of the model is placed, as keyword arguments of `gpuplace.place`."""
    trains: str = ""
    """The operation in the collection ``train_op``, which a message does not keep."""

    @property
    def digest(self) -> bytes:
        """What tells it from other graphs."""
        about = repr((self.kind, self.file[0] if not self.kind else "", self.part, self.trains)).encode()
        return hashlib.sha256(about + b"\0" + self.data).digest()

    def model(self) -> Model:
        """The model.

        Raises:
            OpError: the content is no graph.
        """
        if self.kind:
            return open_model(getattr(messages, self.kind).FromString(self.data))
        names, path, given = self.file
        return model_of_file(self.data, names, Path(path), given)


class NamedGraph(NamedTuple):
    """A graph of a sweep."""

    name: str
    """What the rows call it."""
    given: str | SentGraph
    """A path, or the graph."""

    def sent(self) -> SentGraph:
        """It as it travels; a file is read now.

        Raises:
            OpError: the file cannot be read.
        """
        if isinstance(self.given, SentGraph):
            return self.given
        data, names, path = read_file(Path(self.given))
        return SentGraph(data, "", (names, str(path), self.given))


def named_graphs(graphs: Any) -> list[NamedGraph]:
    """The graphs of a sweep with their names.

    Args:
        graphs: one or several of what `gpuplace.place` takes, or glob patterns of paths; or names to such.

    Raises:
        NotFoundError: no file matches a pattern.
        TypeError: it is nothing of the kind.
        DataLossError: a message of somebody else's class cannot be copied.
    """
    if isinstance(graphs, Mapping):
        return [NamedGraph(str(name), _given(graph)) for name, graph in graphs.items()]
    if _is_one(graphs):
        graphs = [graphs]
    if not isinstance(graphs, Iterable):
        raise TypeError(f"graphs: a graph, a path or glob pattern, several, or names to such; got {graphs!r}")
    found: list[NamedGraph] = []
    for graph in graphs:
        if isinstance(graph, str | os.PathLike):
            found += [NamedGraph(path, path) for path in _paths(os.fspath(graph))]
        else:
            found.append(NamedGraph(f"graph {len(found)}", _given(graph)))
    return found


def _is_one(graphs: Any) -> bool:
    kinds = (str, os.PathLike, bytes, bytearray, memoryview, Graph, PlacementGraph, Model, messages.Message)
    return isinstance(graphs, kinds) or isinstance(getattr(graphs, "graph", None), Graph | PlacementGraph)


def _paths(pattern: str) -> Iterator[str]:
    """The path itself, or those that it matches, sorted."""
    if os.path.exists(pattern) or not glob.has_magic(pattern):
        yield pattern
        return
    found = sorted(glob.glob(pattern, recursive=True))
    if not found:
        raise NotFoundError.of(f"No file matches {pattern}", hint="a pattern such as models/**/*.pb")
    yield from found


def _given(graph: Any) -> str | SentGraph:
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
