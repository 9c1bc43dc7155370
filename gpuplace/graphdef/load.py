"""Graphs from files and messages: what ``gpuplace.place``, the command line and the explorer accept.

A path may be a ``.pb`` or ``.pbtxt`` GraphDef (also gzipped), a ``.meta`` MetaGraphDef, or a SavedModel folder.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from gpuplace.dtypes import DType
from gpuplace.errors import (
    DataLossError,
    InvalidArgumentError,
    NotFoundError,
    ResourceExhaustedError,
)
from gpuplace.graph.op_def import OpDef
from gpuplace.graphdef.attr_values import decode_attr, decode_op_def, readable_attrs
from gpuplace.graphdef.file_kinds import empty_text, folder_advice, kind_of
from gpuplace.graphdef.files import MAX_BYTES, decompressed, file_error, read_bytes, too_large
from gpuplace.graphdef.functions import function_bodies, functions_by_name
from gpuplace.graphdef.messages import (
    DecodeError,
    EncodeError,
    GraphDef,
    Message,
    MetaGraphDef,
    SavedModel,
    text_format,
)
from gpuplace.graphdef.saved_model import choose_meta_graph, signature_graph, without_devices
from gpuplace.kernels.registry import Catalogue, default_catalogue
from gpuplace.placer.lowering import lower
from gpuplace.placer.node_facts import declared_types
from gpuplace.placer.placement_graph import PlacementGraph, PlacementGraphBuilder, TensorInfo, known_bytes
from gpuplace.progress import track
from gpuplace.release import rules
from gpuplace.shapes import TensorShape

SAVED_MODEL_FILES = ("saved_model.pb", "saved_model.pbtxt")

_SHOWN = 500
"""Characters of a parser's complaint."""


def load_graph_def(
    source: Any,
    *,
    tags: str | Iterable[str] | None = None,
    signature: str | None = None,
    clear_devices: bool = False,
) -> Any:
    """The ``GraphDef`` in a message, bytes, file or SavedModel folder.

    Args:
        source: ``GraphDef``, ``MetaGraphDef`` or ``SavedModel`` message (TensorFlow's own too), serialised
            bytes, or a path.
        tags: which MetaGraphDef of a SavedModel, by all its tags; None: that of ``serve``.
        signature: key of a signature: only what it needs, its calls marked to be inlined; None: the whole graph.
        clear_devices: whether the nodes lose the devices that they ask for.

    Returns:
        A ``GraphDef``.

    Raises:
        NotFoundError: no such file, no such tags or signature, or a folder without a SavedModel.
        PermissionDeniedError, FailedPreconditionError: the file cannot be read.
        ResourceExhaustedError: more than a message can hold, or compressed out of all proportion.
        DataLossError: the content is no such message: truncated, corrupt, or something else.
        TypeError: ``source`` is nothing of the kind.
        ValueError: ``tags`` or ``signature`` for what has none.
    """
    try:
        return _chosen(_message(source), tags, signature, clear_devices=clear_devices)
    except MemoryError:
        raise ResourceExhaustedError.of(
            "Out of memory while reading a graph", hint="is it a graph at all?"
        ) from None


def _chosen(
    message: Any, tags: str | Iterable[str] | None, signature: str | None, *, clear_devices: bool
) -> Any:
    kind = message.DESCRIPTOR.name
    if kind == "SavedModel":
        message = choose_meta_graph(message, tags)
    elif tags is not None:
        raise ValueError(f"tags choose a MetaGraphDef of a SavedModel: this is a {kind}")
    if signature is None:
        graph_def = _graph_of(message)
    elif kind == "GraphDef":
        raise ValueError("signature chooses a part of a SavedModel or a MetaGraphDef: this is a GraphDef")
    else:
        graph_def = signature_graph(_own(message, MetaGraphDef), signature)
    return without_devices(graph_def) if clear_devices else graph_def


def _message(source: Any) -> Any:
    """The message that ``source`` is or holds."""
    if isinstance(source, Message):
        if source.DESCRIPTOR.name not in ("GraphDef", "MetaGraphDef", "SavedModel"):
            name = source.DESCRIPTOR.name
            raise TypeError(f"Expected a GraphDef, MetaGraphDef or SavedModel message, not {name}")
        return source
    if isinstance(source, (bytes, bytearray, memoryview)):
        return _parse(GraphDef, bytes(source), "the given bytes")
    if isinstance(source, (str, os.PathLike)):
        return _load_path(Path(source))
    raise TypeError(f"Expected a Graph, GraphDef, bytes or a path, not {type(source).__name__}")


def _graph_of(message: Any) -> Any:
    return _own(message.graph_def if message.DESCRIPTOR.name == "MetaGraphDef" else message, GraphDef)


def _own(message: Any, kind: Any) -> Any:
    """A message of somebody else's class as one of ours."""
    if isinstance(message, kind):
        return message
    try:
        return kind.FromString(message.SerializeToString())
    except (DecodeError, EncodeError) as error:
        raise DataLossError.of(
            f"Can't copy the given {kind.DESCRIPTOR.name}", facts={"because": str(error)}
        ) from None


def _load_path(path: Path) -> Any:
    data, names, path = read_file(path)
    other = kind_of(path, data)
    if other is not None:
        raise DataLossError.of(f"{path} is {other.what}, not a graph", hint=other.advice)
    if (nothing := empty_text(data)) is not None:
        raise DataLossError.of(
            f"{path} {nothing}: there is no graph in it", hint="was the program that wrote it stopped?"
        )
    kind: Any = GraphDef
    if names in SAVED_MODEL_FILES:
        kind = SavedModel
    elif names.endswith(".meta"):
        kind = MetaGraphDef
    as_text = names.endswith((".pbtxt", ".txt", ".prototxt"))
    return (_parse_text if as_text else _parse)(kind, data, str(path))


def read_file(path: Path) -> tuple[bytes, str, Path]:
    """A file's content, decompressed, its name in small letters without .gz, and its path; a folder's SavedModel.

    Raises:
        NotFoundError, PermissionDeniedError, FailedPreconditionError: it cannot be read.
        DataLossError, ResourceExhaustedError: it cannot be decompressed, or is too large.
    """
    try:
        if path.is_dir():
            found = [path / name for name in SAVED_MODEL_FILES if (path / name).exists()]
            if not found:
                raise NotFoundError.of(
                    f"SavedModel file does not exist at: {path}/{{{'|'.join(SAVED_MODEL_FILES)}}}",
                    hint=f"{path} is a folder: {folder_advice(path)}",
                )
            path = found[0]
        data = read_bytes(path)
    except (OSError, ValueError) as error:
        raise file_error(path, error) from None
    names = path.name.lower()
    if names.endswith(".gz"):
        names = names[: -len(".gz")]
        data = decompressed(data, str(path))
    return data, names, path


def _parse(kind: Any, data: bytes, what: str) -> Any:
    if len(data) > MAX_BYTES:
        raise too_large(what, f"{len(data)} bytes")
    message = kind()
    try:
        message.ParseFromString(data)
    except DecodeError as error:
        if kind is GraphDef and (text := _as_text(data)) is not None:
            return _parse_text(kind, text, what)
        raise DataLossError.of(
            f"Can't parse {what} as binary proto",
            facts={"because": str(error), "size": f"{len(data)} bytes"},
            hint="is the file complete? A graph as text has to end in .pbtxt; gpuplace.parse_log reads logs",
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
        raise DataLossError.of(
            f"Can't parse {what} as text proto",
            facts={"because": str(error)[:_SHOWN]},
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
    source: Any,
    catalogue: Catalogue | None = None,
    release: str | None = None,
    *,
    tags: str | Iterable[str] | None = None,
    signature: str | None = None,
    clear_devices: bool = False,
    inline_all: bool = False,
) -> PlacementGraph:
    """The placer's view of a graph that need not be runnable here, with functional control flow inlined.

    Args:
        source: as for ``load_graph_def``.
        catalogue: where signatures are looked up; that of ``release`` if None.
        release: see ``gpuplace.release``.
        tags, signature, clear_devices: as for ``load_graph_def``.
        inline_all: whether all calls are inlined, as ``do_function_inlining`` wants it.

    Raises:
        InvalidArgumentError: the graph is invalid: a name twice, an unknown input, an attribute of no known type.
        Other errors: as for ``load_graph_def``.
    """
    graph_def = load_graph_def(source, tags=tags, signature=signature, clear_devices=clear_devices)
    catalogue = catalogue or default_catalogue(release)
    library = functions_by_name(graph_def.library.function, catalogue.ops)
    functions = {name: decode_op_def(function.signature) for name, function in library.items()}
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
    return lower(graph, function_bodies(library), catalogue, rules(release), inline_all=inline_all)


class _TensorInfos:
    """What a ``GraphDef`` tells of a node's outputs: types from the signature, shapes from ``_output_shapes``."""

    def __init__(self, nodes: Any, catalogue: Catalogue, functions: Mapping[str, OpDef]) -> None:
        self.nodes = nodes
        self.catalogue = catalogue
        self.functions = functions
        self.types: dict[tuple[Any, ...], Sequence[DType]] = {}
        self.last: tuple[int, Sequence[DType]] = (-1, ())

    def __call__(self, index: int, output: int) -> TensorInfo:
        node = self.nodes[index]
        attrs = node.attr
        if self.last[0] != index:
            self.last = index, self._types(node)
        types = self.last[1]
        dtype = types[output] if output < len(types) else None
        sizes = None
        if node.op == "Const" and "value" in attrs:
            sizes = TensorShape(attrs["value"].tensor.tensor_shape).sizes
        elif "_output_shapes" in attrs:
            shapes = attrs["_output_shapes"].list.shape
            sizes = TensorShape(shapes[output]).sizes if output < len(shapes) else None
        return TensorInfo(dtype, sizes, known_bytes(dtype, sizes))

    def _types(self, node: Any) -> Sequence[DType]:
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
                types = declared_types(op_def, {**op_def.defaults, **deciding})[1]
            except (KeyError, TypeError, InvalidArgumentError):  # an invalid node: its types are not known
                types = ()
            self.types[key] = types
        return types
