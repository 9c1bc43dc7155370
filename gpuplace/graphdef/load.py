"""Loading of graphs from files and messages, for ``gpuplace.place``, the command line and the explorer.

A path may be a ``.pb`` or ``.pbtxt`` GraphDef (also gzipped), a ``.meta`` MetaGraphDef, a SavedModel folder, or a
TensorBoard event file that contains a graph.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from gpuplace.dtypes import DType
from gpuplace.errors import DataLossError, InvalidArgumentError, NotFoundError, ResourceExhaustedError
from gpuplace.files.file_system import with_op_errors
from gpuplace.graph.bulk import without_garbage_collection
from gpuplace.graph.op_def import OpDef
from gpuplace.graphdef.attr_values import decode_attr, decode_op_def, readable_attrs
from gpuplace.graphdef.event_file import graph_in_events, is_event_file
from gpuplace.graphdef.file_kinds import empty_text, folder_advice, kind_of
from gpuplace.graphdef.files import MAX_BYTES, decompressed, read_message, too_large
from gpuplace.graphdef.functions import function_bodies, functions_by_name
from gpuplace.graphdef.messages import DecodeError, GraphDef, Message, MetaGraphDef, SavedModel, text_format
from gpuplace.graphdef.model import Model, Part, PlacedPart
from gpuplace.graphdef.node_columns import read_columns
from gpuplace.graphdef.objects.tensorflow_objects import saved_object
from gpuplace.kernels.registry import Catalogue, default_catalogue
from gpuplace.placer.graph_builder import PlacementGraphBuilder
from gpuplace.placer.lowering import lower
from gpuplace.placer.node_facts import declared_types
from gpuplace.placer.placement_graph import PlacementGraph, TensorInfo, known_bytes
from gpuplace.progress import track
from gpuplace.release import resolve, rules
from gpuplace.shapes import TensorShape

SAVED_MODEL_FILES = ("saved_model.pb", "saved_model.pbtxt")

_SAVED_MODEL = b"\x08\x01\x12"
"""First bytes of a SavedModel: its schema version, 1, and a MetaGraphDef."""

_GRAPH_DEF = (b"\x0a", b"\x22", b"node", b"versions")
"""First bytes of a GraphDef in a file that is named like a SavedModel."""

_SAMPLE = 100
"""Number of nodes to check for whether a message is a GraphDef."""

_MAX_NEARBY = 5
"""Maximum number of folders to list."""

_MANY = 2000
"""Number of nodes from which it pays off to serialize a message for reading by columns."""

_SHOWN = 500
"""Maximum length of a quoted parser error, in characters."""

_KEPT_ATTRS = 1 << 14
"""Number of nodes whose decoded attributes are kept; an estimate and a page read them several times."""


def open_model(source: Any) -> Model:
    """Return the content of a message, bytes, file or SavedModel folder, with all its parts.

    Args:
        source: ``GraphDef``, ``MetaGraphDef`` or ``SavedModel`` message (TensorFlow's own too), serialized bytes, a
            path,
            or an object of TensorFlow's as `tensorflow_objects` lists them; a `Model` is returned unchanged.

    Raises:
        NotFoundError: the file does not exist, or the folder contains no SavedModel.
        PermissionDeniedError, FailedPreconditionError: the file cannot be read.
        ResourceExhaustedError: the file exceeds the size of a message, or is compressed excessively.
        DataLossError: the content is not a message of this type: it is truncated, corrupt, or something else.
        InvalidArgumentError: an object of TensorFlow's has no graph, or TensorFlow cannot save it.
        TypeError: ``source`` has another type.
    """
    try:
        return _opened(source)
    except MemoryError:
        raise _out_of_memory() from None


def load_graph_def(
    source: Any,
    *,
    tags: str | Iterable[str] | None = None,
    signature: str | None = None,
    function: str | None = None,
    clear_devices: bool = False,
    catalogue: Catalogue | None = None,
) -> Any:
    """Return the ``GraphDef`` of a message, bytes, file or SavedModel folder.

    Args:
        source: as for ``open_model``.
        tags: all tags of a SavedModel's MetaGraphDef; None: the graph tagged ``serve``.
        signature: signature key: only the nodes that it needs, with calls marked for inlining; ``""``: the whole graph;
            None: the serving signature, or the whole graph of a model without signatures.
        function: name of a library function: only its body, between ``_Arg`` and ``_Retval`` nodes, with calls marked
            for
            inlining; None or ``""``: no function.
        clear_devices: whether to remove the device requests of the nodes.
        catalogue: op catalogue, needed for ``function``; None: that of the current release.

    Returns:
        A ``GraphDef``.

    Raises:
        NotFoundError: the file, tags, signature or function do not exist, or the folder contains no SavedModel.
        InvalidArgumentError: the signature or the function is invalid.
        ValueError: ``tags`` or ``signature`` for a source without them.
        Other errors: as for ``open_model``.
    """
    model = open_model(source)
    return _graph_def(
        model,
        model.part(tags, signature, function, clear_devices=clear_devices),
        catalogue or default_catalogue(),
    )


def _graph_def(model: Model, part: Part, catalogue: Catalogue) -> GraphDef:
    try:
        return model.graph_def(part, catalogue)
    except MemoryError:
        raise _out_of_memory() from None


def _out_of_memory() -> ResourceExhaustedError:
    return ResourceExhaustedError.of(
        "Out of memory while reading a graph", hint="check that the file is a graph"
    )


def _opened(source: Any) -> Model:
    """Return the model that ``source`` is or contains."""
    if isinstance(source, Model):
        return source
    if isinstance(source, Message) and source.DESCRIPTOR.name != "RunMetadata":
        if source.DESCRIPTOR.name not in ("GraphDef", "MetaGraphDef", "SavedModel"):
            name = source.DESCRIPTOR.name
            raise TypeError(f"Expected a GraphDef, MetaGraphDef or SavedModel message, not {name}")
        return Model(source)
    if isinstance(source, (bytes, bytearray, memoryview)):
        data = bytes(source)
        return Model(_parse(_binary_kind(data, GraphDef), data, "the given bytes"), data=data)
    if isinstance(source, (str, os.PathLike)):
        return _load_path(Path(source))
    saved = saved_object(source, lambda folder: _load_path(Path(folder)))
    if saved is not None:
        return Model(*saved)
    raise TypeError(f"Expected a Graph, GraphDef, bytes or a path, not {type(source).__name__}")


def _load_path(given: Path) -> Model:
    return model_of_file(*read_file(given), str(given))


def model_of_file(data: bytes, names: str, path: Path, given: str) -> Model:
    """Return the model of a file that has been read, possibly on another machine.

    Args:
        data, names, path: results of `read_file`.
        given: path of the file or folder as passed by the user.

    Raises:
        DataLossError, ResourceExhaustedError: as for ``open_model``.
    """
    _refuse_others(path, data, str(path))
    if (nothing := empty_text(data)) is not None:
        raise DataLossError.of(
            f"{path} {nothing}, so it contains no graph",
            hint="check whether the program that wrote it was interrupted",
        )
    if is_event_file(data):
        return Model(graph_in_events(data, path), path.name, given)
    kind: Any = GraphDef
    text = data.lstrip() if names.endswith(".pbtxt") else data
    if names in SAVED_MODEL_FILES and not text.startswith(_GRAPH_DEF):
        kind = SavedModel
    elif names.endswith(".meta"):
        kind = MetaGraphDef
    as_text = names.endswith((".pbtxt", ".txt", ".prototxt"))
    if as_text:
        return Model(_parse_text(kind, data, str(path)), path.name, given)
    message = _parse(_binary_kind(data, kind), data, str(path))
    if kind is GraphDef:
        _check_has_nodes(message, path, data)
    return Model(message, path.name, given, data)


def _check_has_nodes(message: GraphDef, path: Path, data: bytes) -> None:
    """Raise DataLossError for another message whose bytes also parse as a GraphDef."""
    if not isinstance(message, GraphDef):
        return
    nodes = message.node[:_SAMPLE]
    is_other = not any(node.name and node.op for node in nodes)
    if is_other and (nodes or not (message.HasField("versions") or message.library.function)):
        raise DataLossError.of(
            f"{path} is a protobuf message but not a graph: it has no nodes with a name and an op",
            facts={"size": f"{len(data)} bytes"},
            hint="write a graph with graph.as_graph_def().SerializeToString() or tf.io.write_graph",
        )


def _binary_kind(data: bytes, kind: Any) -> Any:
    """Return the message type of serialized data: a SavedModel starts with its version, a GraphDef with a node."""
    return SavedModel if kind is GraphDef and data.startswith(_SAVED_MODEL) else kind


def read_file(path: Path) -> tuple[bytes, str, Path]:
    """Return a file's decompressed content, its lower-case name without .gz, and its path.

    For a folder, the file of its SavedModel is read.

    Raises:
        NotFoundError, PermissionDeniedError, FailedPreconditionError: the file cannot be read.
        DataLossError, ResourceExhaustedError: the file cannot be decompressed or is too large.
    """
    with with_op_errors(path):
        if path.is_dir():
            files = [path / name for name in SAVED_MODEL_FILES if (path / name).exists()]
            if not files:
                raise NotFoundError.of(
                    f"SavedModel file does not exist at: {path}/{{{'|'.join(SAVED_MODEL_FILES)}}}",
                    hint=f"{path} is a folder; {folder_advice(path)}",
                )
            path = files[0]
        data = read_message(path)
    names = path.name.lower()
    if names.endswith(".gz"):
        names = names[: -len(".gz")]
        data = decompressed(data, str(path))
    return data, names, path


def _refuse_others(path: str | Path, data: bytes, what: str) -> None:
    """Raise DataLossError for other known kinds of files, with advice on obtaining a graph."""
    other = kind_of(path, data)
    if other is not None:
        raise DataLossError.of(f"{what} is {other.what}, not a graph", hint=other.advice)


def _parse(kind: Any, data: bytes, what: str) -> GraphDef:
    if len(data) > MAX_BYTES:
        raise too_large(what, f"{len(data)} bytes")
    _refuse_others("", data, what)
    message = kind()
    try:
        message.ParseFromString(data)
    except DecodeError as error:
        if kind is GraphDef and (text := _as_text(data)) is not None:
            return _parse_text(kind, text, what)
        raise DataLossError.of(
            f"Can't parse {what} as binary proto",
            facts={"because": str(error), "size": f"{len(data)} bytes"},
            hint="check that the file is complete; text graphs must end in .pbtxt; use gpuplace.parse_log for logs",
        ) from None
    return message


def _as_text(data: bytes) -> bytes | None:
    """Return the data if they look like protobuf's text format."""
    start = data[:64].lstrip()
    return data if start.startswith((b"node", b"versions", b"library", b"#")) else None


def _parse_text(kind: Any, data: bytes, what: str) -> GraphDef:
    try:
        return text_format.Parse(data.decode(), kind())
    except (text_format.ParseError, UnicodeDecodeError, RecursionError) as error:
        raise DataLossError.of(
            f"Can't parse {what} as text proto",
            facts={"because": str(error)[:_SHOWN]},
            hint="check that the file is complete",
        ) from None


class _LazyAttrs(Mapping[str, Any]):
    """Attributes of a node, each decoded on access."""

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
    function: str | None = None,
    clear_devices: bool = False,
    inline_all: bool = False,
) -> PlacementGraph:
    """Return the placer's view of a graph, which need not be executable here, with functional control flow inlined.

    Args:
        source: as for ``load_graph_def``.
        catalogue: op catalogue; None: that of ``release``.
        release: see ``gpuplace.release``; None: the process's release, or the release that wrote the graph. tags,
            signature, function, clear_devices: as for ``load_graph_def``.
        inline_all: whether all calls are inlined, as ``do_function_inlining`` requests.

    Raises:
        InvalidArgumentError: the graph is invalid: a duplicate name, an unknown input, an attribute of unknown type.
        Other errors: as for ``load_graph_def``.
    """
    model = open_model(source)
    release = resolve(release, model.release)
    catalogue = catalogue or default_catalogue(release)
    part = model.part(tags, signature, function, clear_devices=clear_devices)
    graph_def = _graph_def(model, part, catalogue)
    library = functions_by_name(graph_def.library.function, catalogue.ops)
    functions = {name: decode_op_def(function.signature) for name, function in library.items()}
    nodes = graph_def.node
    data, model.data = model.data, b""  # a placement keeps the model, but no longer needs the bytes
    builder = _with_nodes(graph_def, data if graph_def is model.message else b"", catalogue)
    graph = builder.build(
        functions=functions,
        node_attrs=lru_cache(_KEPT_ATTRS)(lambda index: readable_attrs(nodes[index].attr)),
        tensor_info=_TensorInfos(nodes, catalogue, functions),
        source=PlacedPart(model, part),
        part=model.text(part),
    )
    return lower(graph, function_bodies(library), catalogue, rules(release), inline_all=inline_all)


def _with_nodes(graph_def: GraphDef, data: bytes, catalogue: Catalogue) -> PlacementGraphBuilder:
    """Return a builder with the nodes of a graph.

    Args:
        graph_def: `GraphDef` message.
        data: the bytes that it was parsed from, `b""` if unknown.
        catalogue: op catalogue.
    """
    builder = PlacementGraphBuilder(catalogue)
    nodes = graph_def.node
    if len(nodes) >= _MANY:
        columns = read_columns(
            data or graph_def.SerializeToString(), builder, lambda index: _LazyAttrs(nodes[index].attr)
        )
        if columns is not None:
            builder.add_columns(columns)
            return builder
    with without_garbage_collection():
        for node in track(nodes, len(nodes), "reading nodes"):
            builder.add_node(node.name, node.op, _LazyAttrs(node.attr), node.input, (), node.device)
    return builder


class _TensorInfos:
    """Output types and shapes of nodes of a ``GraphDef``, from signatures and ``_output_shapes``."""

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
        """Return the output types of a node, computed once for nodes with the same type attributes."""
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
            except (KeyError, TypeError, InvalidArgumentError):  # an invalid node has unknown types
                types = ()
            self.types[key] = types
        return types
