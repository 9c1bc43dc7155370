"""Models: the graphs, signatures and functions of a file or message. A `Part` selects one of them.

>>> model = Model(GraphDef(), "net.pb")
>>> model.signatures(), model.part().signature, model.text(model.part())
((), '', '')
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from gpuplace.errors import DataLossError
from gpuplace.graph.graph import GRAPH_DEF_VERSIONS, Graph
from gpuplace.graphdef.function_graph import check_function, function_graph
from gpuplace.graphdef.messages import DecodeError, EncodeError, FunctionDef, GraphDef, MetaGraphDef
from gpuplace.graphdef.saved_model import (
    check_signature,
    choose_meta_graph,
    is_own_signature,
    serving_signature,
    signature_graph,
    signature_keys,
    tags_text,
    tensors_by_name,
    with_calls_inlined,
    without_devices,
)
from gpuplace.kernels.registry import Catalogue


@dataclass(frozen=True)
class Part:
    """Selected part of a model."""

    tags: str | None = None
    """Sorted tags of a SavedModel's MetaGraphDef, separated by commas; None for other messages."""
    signature: str = ""
    """Signature key; `""`: the whole graph."""
    function: str = ""
    """Name of a function to view on its own; `""`: no function."""
    clear_devices: bool = False
    """Whether device requests are removed."""


class Model:
    """A `GraphDef`, `MetaGraphDef` or `SavedModel` with its parts.

    Args:
        message: message of one of these types.
        name: name of its file, `""` if there is none.
        path: path of the file or folder as passed by the user.
        data: the bytes that the message was read from, `b""` if unknown; for a `GraphDef`, kept until it is placed.
    """

    def __init__(self, message: GraphDef, name: str = "", path: str = "", data: bytes = b"") -> None:
        self.message = message
        self.kind: str = message.DESCRIPTOR.name
        self.data = data if self.kind == "GraphDef" else b""
        self.name = name
        self.path = path

    @property
    def tag_sets(self) -> tuple[str, ...]:
        """Tags of each graph of a SavedModel, as in `Part.tags`; empty for other messages."""
        if self.kind != "SavedModel":
            return ()
        return tuple(dict.fromkeys(map(tags_text, self.message.meta_graphs)))

    def signatures(self, tags: str | None = None) -> tuple[str, ...]:
        """Return the signature keys of a graph; internal signatures come last."""
        meta_graph = self._meta_graph(tags)
        return () if meta_graph is None else signature_keys(meta_graph)

    def serving_signature(self, tags: str | Iterable[str] | None = None) -> str:
        """Return the serving signature: `serving_default`, otherwise the first by name; `""` without one.

        Args:
            tags: as for `part`.

        Raises:
            NotFoundError, ValueError: as `part` does.
        """
        if tags is not None and self.kind != "SavedModel":
            raise ValueError(f"tags select a MetaGraphDef of a SavedModel, but this is a {self.kind}")
        meta_graph = self._meta_graph(tags)
        return "" if meta_graph is None else serving_signature(meta_graph)

    def signature_tensors(self, part: Part) -> tuple[dict[str, tuple[str, ...]], dict[str, tuple[str, ...]]]:
        """Return the inputs and outputs of a part's signature, as name -> tensor names.

        Args:
            part: part that is a signature.
        """
        signature = self._meta_graph(part.tags).signature_def[part.signature]
        return tensors_by_name(signature.inputs), tensors_by_name(signature.outputs)

    def collection(self, key: str) -> list[str]:
        """Return the names of tensors and operations in a collection of a MetaGraphDef; empty for other messages.

        Args:
            key: collection name, such as `train_op`.
        """
        if self.kind != "MetaGraphDef" or key not in self.message.collection_def:
            return []
        return list(self.message.collection_def[key].node_list.value)

    def functions(self, tags: str | None = None) -> tuple[str, ...]:
        """Return the sorted names of the functions in a graph's library."""
        return tuple(sorted({function.signature.name for function in self._graph(tags).library.function}))

    @property
    def release(self) -> str | None:
        """Release whose rules the message's writer followed, `"1.15"` or `"2.21"`; None if not recorded.

        Source: `tensorflow_version` of the MetaGraphDef; the producer version of the GraphDef, which 1.15 ends
        (tensorflow/core/public/version.h).
        """
        meta_graph = self._meta_graph(None) if self.kind != "SavedModel" or self.message.meta_graphs else None
        if meta_graph is not None and (version := meta_graph.meta_info_def.tensorflow_version):
            return "1.15" if version.startswith(("0.", "1.")) else "2.21"
        graph = self.message if self.kind == "GraphDef" else getattr(meta_graph, "graph_def", None)
        producer = 0 if graph is None else graph.versions.producer
        if not producer:
            return None
        return "1.15" if producer <= GRAPH_DEF_VERSIONS["1.15"] else "2.21"

    def part(
        self,
        tags: str | Iterable[str] | None = None,
        signature: str | None = None,
        function: str | None = None,
        *,
        clear_devices: bool = False,
    ) -> Part:
        """Return the named part, with its tags resolved.

        Args:
            tags: all tags of a graph of a SavedModel; None: the graph tagged `serve`.
            signature: signature key; `""`: the whole graph; None: the serving signature, or the whole graph of a
                message without signatures.
            function: name of a function; None or `""` for none.
            clear_devices: whether to remove device requests.

        Raises:
            NotFoundError: the tags, signature or function do not exist.
            InvalidArgumentError: the SavedModel contains no graph.
            ValueError: `tags` or `signature` for a message without them.
        """
        if signature is None and not function:
            signature = self.serving_signature(tags)
        resolved_tags = None
        if self.kind == "SavedModel":
            resolved_tags = tags_text(choose_meta_graph(self.message, tags))
        elif tags is not None:
            raise ValueError(f"tags select a MetaGraphDef of a SavedModel, but this is a {self.kind}")
        if signature and self.kind == "GraphDef":
            raise ValueError(
                "signature selects a part of a SavedModel or MetaGraphDef, but this is a GraphDef"
            )
        if signature:
            check_signature(self._meta_graph(resolved_tags), signature)
        if function:
            check_function(self.functions(resolved_tags), function)
        return Part(resolved_tags, signature or "", function or "", clear_devices)

    def library(self, part: Part) -> Any:
        """Return the function library of a part, a `FunctionDefLibrary`.

        Args:
            part: part of this model.
        """
        return own_message(self._graph(part.tags), GraphDef).library

    def options(self, part: Part) -> dict[str, Any]:
        """Return a part of the model as keyword arguments of `gpuplace.place`, without defaults.

        Args:
            part: part of this model.
        """
        options: dict[str, Any] = {"tags": part.tags} if part.tags is not None else {}
        if part.function:
            options["function"] = part.function
        elif part.signature or self.serving_signature(part.tags):
            options["signature"] = part.signature
        return {**options, "clear_devices": True} if part.clear_devices else options

    def graph_def(self, part: Part, catalogue: Catalogue) -> GraphDef:
        """Return a part as a `GraphDef`; calls in a signature or function are marked for inlining.

        Raises:
            InvalidArgumentError: the signature or the function is invalid.
        """
        if part.function:
            whole = own_message(self._graph(part.tags), GraphDef)
            graph_def = with_calls_inlined(function_graph(whole, part.function, catalogue))
        elif part.signature:
            graph_def = signature_graph(
                own_message(self._meta_graph(part.tags), MetaGraphDef), part.signature
            )
        else:
            graph_def = own_message(self._graph(part.tags), GraphDef)
        return without_devices(graph_def) if part.clear_devices else graph_def

    def text(self, part: Part) -> str:
        """Describe a part and the number of other parts; `""` for a plain graph."""
        of = f" of {self.name or f'a {self.kind}'}"
        where = f"{of}, tags {part.tags.replace(',', ', ') or 'none'}" if part.tags is not None else of
        signatures = self.signatures(part.tags)
        others = len([key for key in signatures if key != part.signature and not is_own_signature(key)])
        if part.function:
            text = f"function {part.function}{where}, as a separate graph"
        elif part.signature:
            text = f"signature {part.signature}{where}" + (f"; {_counted(others, 'other')}" if others else "")
        elif self.kind == "GraphDef" and not part.clear_devices:
            return ""
        else:
            text = f"whole graph{where}" + (f"; {_counted(others, 'signature')}" if others else "")
        sets = len(self.tag_sets) - 1
        text += f"; {_counted(sets, 'other tag set')}" if sets > 0 else ""
        return text + ("; device requests are cleared" if part.clear_devices else "")

    def _meta_graph(self, tags: str | Iterable[str] | None) -> Any:
        if self.kind == "SavedModel":
            return choose_meta_graph(self.message, tags)
        return self.message if self.kind == "MetaGraphDef" else None

    def _graph(self, tags: str | None) -> GraphDef:
        meta_graph = self._meta_graph(tags)
        return self.message if meta_graph is None else meta_graph.graph_def


def library_of(graph: Graph) -> GraphDef:
    """Return the functions of a graph in a `GraphDef` without nodes."""
    graph_def = GraphDef()
    graph_def.library.function.extend(map(FunctionDef.FromString, graph.functions.values()))
    return graph_def


@dataclass(frozen=True, eq=False)
class PlacedPart:
    """The model and part that a placed graph comes from."""

    model: Model
    part: Part


def own_message(message: GraphDef, kind: Any) -> GraphDef:
    """Convert a message of another class, such as TensorFlow's, to this package's class.

    Raises:
        DataLossError: the message cannot be copied.
    """
    if isinstance(message, kind):
        return message
    try:
        return kind.FromString(message.SerializeToString())
    except (DecodeError, EncodeError) as error:
        raise DataLossError.of(
            f"Can't copy the given {kind.DESCRIPTOR.name}", facts={"because": str(error)}
        ) from None


def _counted(number: int, what: str) -> str:
    return f"{number} {what if number == 1 else what + 's'}"
