"""Graphs from files and messages: what ``gpuplace.place``, the command line and the explorer accept.

A path may be a ``.pb`` or ``.pbtxt`` GraphDef (also gzipped), a ``.meta`` MetaGraphDef, or a SavedModel folder.
"""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gpuplace.dtypes import DType
from gpuplace.errors import DataLossError, InvalidArgumentError, NotFoundError
from gpuplace.graph.op_def import OpDef
from gpuplace.graphdef.attr_values import decode_attr, decode_op_def, readable_attrs
from gpuplace.graphdef.functions import function_bodies
from gpuplace.graphdef.messages import (
    DecodeError,
    EncodeError,
    GraphDef,
    Message,
    MetaGraphDef,
    SavedModel,
    text_format,
)
from gpuplace.kernels.registry import Catalogue, default_catalogue
from gpuplace.placer.lowering import lower
from gpuplace.placer.placement_graph import PlacementGraph, PlacementGraphBuilder, TensorInfo
from gpuplace.progress import track
from gpuplace.release import rules
from gpuplace.shapes import TensorShape

SAVED_MODEL_FILES = ("saved_model.pb", "saved_model.pbtxt")


def load_graph_def(source: Any) -> Any:
    """The ``GraphDef`` in a message, bytes, file or SavedModel folder.

    Args:
        source: ``GraphDef``, ``MetaGraphDef`` or ``SavedModel`` message (TensorFlow's own too), serialised
        bytes, or a path.

    Raises:
        NotFoundError: no such file, or a folder without a SavedModel.
        DataLossError: the content is no such message: truncated, corrupt, or something else.
        TypeError: ``source`` is nothing of the kind.
    """
    if isinstance(source, Message):
        return _graph_of(source)
    if isinstance(source, (bytes, bytearray, memoryview)):
        return _parse(GraphDef, bytes(source), "the given bytes")
    if isinstance(source, (str, os.PathLike)):
        return _load_path(Path(source))
    raise TypeError(f"Expected a Graph, GraphDef, bytes or a path, not {type(source).__name__}")


def _graph_of(message: Any) -> Any:
    kind = message.DESCRIPTOR.name
    if kind == "GraphDef":
        return message if isinstance(message, GraphDef) else _copied(message)
    if kind == "MetaGraphDef":
        return _graph_of(message.graph_def)
    if kind == "SavedModel":
        if not message.meta_graphs:
            raise InvalidArgumentError(
                None, None, "The SavedModel holds no MetaGraphDef", hint="export it again"
            )
        return _graph_of(message.meta_graphs[0])
    raise TypeError(f"Expected a GraphDef, MetaGraphDef or SavedModel message, not {kind}")


def _copied(message: Any) -> Any:
    """A ``GraphDef`` of somebody else's class as one of ours."""
    try:
        return GraphDef.FromString(message.SerializeToString())
    except (DecodeError, EncodeError) as error:
        raise DataLossError(
            None, None, "Can't copy the given GraphDef", facts={"because": str(error)}
        ) from None


def _load_path(path: Path) -> Any:
    if path.is_dir():
        for name in SAVED_MODEL_FILES:
            if (path / name).exists():
                return _load_path(path / name)
        raise NotFoundError(
            None, None, f"SavedModel file does not exist at: {path}/{{{'|'.join(SAVED_MODEL_FILES)}}}"
        )
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise NotFoundError(None, None, f"{path}; No such file or directory", hint="check the path") from None
    names = path.name.lower()
    if names.endswith(".gz"):
        names = names[: -len(".gz")]
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            raise DataLossError(None, None, f"Can't decompress {path}: {error}") from error
    kind: Any = GraphDef
    if names in SAVED_MODEL_FILES:
        kind = SavedModel
    elif names.endswith(".meta"):
        kind = MetaGraphDef
    as_text = names.endswith((".pbtxt", ".txt", ".prototxt"))
    return _graph_of((_parse_text if as_text else _parse)(kind, data, str(path)))


def _parse(kind: Any, data: bytes, what: str) -> Any:
    message = kind()
    try:
        message.ParseFromString(data)
    except DecodeError as error:
        if kind is GraphDef and (text := _as_text(data)) is not None:
            return _parse_text(kind, text, what)
        raise DataLossError(
            None,
            None,
            f"Can't parse {what} as binary proto",
            facts={"because": str(error), "size": f"{len(data)} bytes"},
            hint="is the file complete? A text file has to end in .pbtxt",
        ) from None
    return message


def _as_text(data: bytes) -> bytes | None:
    """The data if they look like protobuf's text format."""
    start = data[:64].lstrip()
    return data if start.startswith((b"node", b"versions", b"library", b"#")) else None


def _parse_text(kind: Any, data: bytes, what: str) -> Any:
    try:
        return text_format.Parse(data.decode(), kind())
    except (text_format.ParseError, UnicodeDecodeError, RecursionError) as error:
        raise DataLossError(
            None,
            None,
            f"Can't parse {what} as text proto",
            facts={"because": str(error)},
            hint="is the file complete?",
        ) from None


class _LazyAttrs(Mapping[str, Any]):
    """A node's attributes, each decoded when it is looked at."""

    __slots__ = ("proto",)

    def __init__(self, proto: Any) -> None:
        self.proto = proto

    def __getitem__(self, name: str) -> Any:
        if name not in self.proto:
            raise KeyError(name)
        return decode_attr(self.proto[name])

    def get(self, name: str, default: Any = None) -> Any:
        return decode_attr(self.proto[name]) if name in self.proto else default

    def __contains__(self, name: object) -> bool:
        return name in self.proto

    def __iter__(self) -> Any:
        return iter(self.proto)

    def __len__(self) -> int:
        return len(self.proto)


def load_placement_graph(
    source: Any, catalogue: Catalogue | None = None, release: str | None = None
) -> PlacementGraph:
    """The placer's view of a graph that need not be runnable here, with functional control flow written out.

    Args:
        source: as for ``load_graph_def``.
        catalogue: where signatures are looked up; that of ``release`` where None.
        release: see ``gpuplace.release``.

    Raises:
        InvalidArgumentError: the graph is invalid: a name twice, an unknown input, an attribute of no known type.
        Other errors: as for ``load_graph_def``.
    """
    graph_def = load_graph_def(source)
    catalogue = catalogue or default_catalogue(release)
    functions = {f.signature.name: decode_op_def(f.signature) for f in graph_def.library.function}
    builder = PlacementGraphBuilder(catalogue)
    nodes = graph_def.node
    add_node = builder.add_node
    for node in track(nodes, len(nodes), "reading nodes"):
        add_node(node.name, node.op, _LazyAttrs(node.attr), node.input, (), node.device)
    graph = builder.build(
        functions=functions,
        node_attrs=lambda index: readable_attrs(nodes[index].attr),
        tensor_info=_TensorInfos(nodes, catalogue, functions),
    )
    return lower(graph, function_bodies(graph_def.library.function), catalogue, rules(release))


class _TensorInfos:
    """What a ``GraphDef`` tells of a node's outputs: types from the signature, shapes from ``_output_shapes``."""

    def __init__(self, nodes: Any, catalogue: Catalogue, functions: Mapping[str, OpDef]) -> None:
        self.nodes = nodes
        self.catalogue = catalogue
        self.functions = functions

        self.types: dict[tuple[Any, ...], tuple[DType, ...]] = {}

    def __call__(self, index: int, output: int) -> TensorInfo:
        node = self.nodes[index]
        attrs = node.attr
        types = self._types(node)
        dtype = types[output] if output < len(types) else None
        sizes = None
        if node.op == "Const" and "value" in attrs:
            sizes = TensorShape(attrs["value"].tensor.tensor_shape).sizes
        elif "_output_shapes" in attrs:
            shapes = attrs["_output_shapes"].list.shape
            sizes = TensorShape(shapes[output]).sizes if output < len(shapes) else None
        nbytes = None
        if dtype is not None and sizes is not None and None not in sizes:
            nbytes = dtype.size
            for size in sizes:
                nbytes *= size or 0
        return TensorInfo(dtype, sizes, nbytes)

    def _types(self, node: Any) -> tuple[DType, ...]:
        """Types of a node's outputs, worked out once for nodes whose deciding attributes are alike."""
        op_def = self.functions.get(node.op) or self.catalogue.ops.get(node.op)
        if op_def is None:
            return ()
        deciding = {
            name: decode_attr(node.attr[name])
            for arg in op_def.outputs
            for name in (arg.type_attr, arg.number_attr, arg.type_list_attr)
            if name and name in node.attr
        }
        key = (node.op, *deciding.items())
        types = self.types.get(key)
        if types is None:
            try:
                types = tuple(op_def.output_types({**op_def.defaults, **deciding}))
            except (KeyError, TypeError):  # an invalid node: its types are not known
                types = ()
            self.types[key] = types
        return types
