"""Selection of a graph of a SavedModel by tags and signature, with or without device requests.

A SavedModel contains MetaGraphDefs, identified by their tags; each has signatures, which name tensors of its graph::

    tags "serve"      serving_default   inputs  x: "serving_default_x:0"     outputs  y: "StatefulPartitionedCall:0"
    tags "serve, gpu" ...

In a TensorFlow 2 model, the nodes of a signature are in functions, which are inlined here.

Source: tensorflow/python/saved_model/loader_impl.py and tensorflow/core/common_runtime/inline_function_utils.cc,
release 2.21.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from gpuplace.errors import InvalidArgumentError, NotFoundError
from gpuplace.graph.op_sets import CALL_OPS
from gpuplace.graphdef.messages import GraphDef
from gpuplace.placer.lowering.bodies import CALL_ATTR

SERVE = "serve"
"""Tag of the graph for serving, the default."""

SERVING = "serving_default"
"""Default signature key."""

_OWN_SIGNATURES = ("__saved_model_init_op", "__saved_model_train_op")
"""Internal signatures for initialization and training."""


def choose_meta_graph(model: Any, tags: str | Iterable[str] | None) -> Any:
    """Return a MetaGraphDef of a SavedModel.

    Args:
        model: a `SavedModel` message.
        tags: all its tags, in any order, also as one text with commas; None: the graph with only the tag `serve`,
            otherwise the first graph with this tag among others, otherwise the first graph.

    Raises:
        InvalidArgumentError: the model is empty.
        NotFoundError: no MetaGraphDef has these tags.
    """
    if not model.meta_graphs:
        raise InvalidArgumentError.of("The SavedModel contains no MetaGraphDef", hint="export it again")
    candidates = [(set(meta_graph.meta_info_def.tags), meta_graph) for meta_graph in model.meta_graphs]
    if tags is None:
        ranked = sorted(candidates, key=lambda pair: (pair[0] != {SERVE}, SERVE not in pair[0]))
        return ranked[0][1]
    requested = tag_set(tags)
    for present, meta_graph in candidates:
        if present == requested:
            return meta_graph
    raise NotFoundError.of(
        f"Could not find meta graph def matching supplied tags: {{ {' '.join(sorted(requested))} }}",
        facts={
            "tags in the model": "; ".join(", ".join(sorted(present)) or "none" for present, _ in candidates)
        },
        hint="pass all tags of one MetaGraphDef as tags=",
    )


def tag_set(tags: str | Iterable[str]) -> set[str]:
    """Return tags as a set.

    >>> sorted(tag_set("serve, gpu")), sorted(tag_set(["serve"]))
    (['gpu', 'serve'], ['serve'])
    """
    parts = tags.split(",") if isinstance(tags, str) else list(tags)
    return {part.strip() for part in parts if part.strip()}


def tags_text(meta_graph: Any) -> str:
    """Return the sorted tags of a MetaGraphDef, separated by commas."""
    return ",".join(sorted(set(meta_graph.meta_info_def.tags)))


def signature_keys(meta_graph: Any) -> tuple[str, ...]:
    """Return the sorted signature keys of a MetaGraphDef; internal signatures come last."""
    return tuple(sorted(meta_graph.signature_def, key=lambda key: (is_own_signature(key), key)))


def is_own_signature(key: str) -> bool:
    """Return whether a signature is internal."""
    return key in _OWN_SIGNATURES


def serving_signature(meta_graph: Any) -> str:
    """Return the default signature: `serving_default`, otherwise the first by name.

    Internal signatures do not count; `""` if there are no others.
    """
    keys = [key for key in signature_keys(meta_graph) if not is_own_signature(key)]
    return SERVING if SERVING in keys else keys[0] if keys else ""


def check_signature(meta_graph: Any, key: str) -> None:
    """Raise NotFoundError, which lists the existing signatures, if a MetaGraphDef lacks a signature."""
    if key not in meta_graph.signature_def:
        listed = ", ".join(sorted(meta_graph.signature_def)) or "none"
        raise NotFoundError.of(f'Could not find signature "{key}". Please choose from: {listed}')


def signature_graph(meta_graph: Any, key: str) -> Any:
    """Return the nodes that a signature's outputs need as a `GraphDef` whose calls are to be inlined.

    Args:
        meta_graph: a `MetaGraphDef`.
        key: signature key, such as `serving_default`.

    Raises:
        NotFoundError: the signature does not exist.
        InvalidArgumentError: the signature names a node that is not in the graph.
    """
    check_signature(meta_graph, key)
    signature = meta_graph.signature_def[key]
    infos = [*signature.outputs.values(), *signature.inputs.values()]
    roots = [name.partition(":")[0] for info in infos for name in _tensor_names(info)]
    source = meta_graph.graph_def
    nodes = {node.name: node for node in source.node}
    kept: set[str] = set()
    waiting = roots
    while waiting:
        name = waiting.pop()
        if name in kept:
            continue
        node = nodes.get(name)
        if node is None:
            raise InvalidArgumentError.of(f"Signature '{key}' needs node '{name}', which is not in the graph")
        kept.add(name)
        waiting += [text.lstrip("^").partition(":")[0] for text in node.input]
    subgraph = GraphDef()
    subgraph.versions.CopyFrom(source.versions)
    subgraph.library.CopyFrom(source.library)
    subgraph.node.extend(node for node in source.node if node.name in kept)
    return with_calls_inlined(subgraph)


def with_calls_inlined(graph_def: GraphDef) -> GraphDef:
    """Mark all calls of a message and of its functions for inlining and return the message."""
    for node in _all_nodes(graph_def):
        if node.op in CALL_OPS:
            node.attr[CALL_ATTR].b = True
    return graph_def


def without_devices(graph_def: Any) -> Any:
    """Return a copy without device requests; nodes of functions keep theirs, as with `import_meta_graph`."""
    copy = GraphDef()
    copy.CopyFrom(graph_def)
    for node in copy.node:
        node.device = ""
    return copy


def tensors_by_name(infos: Any) -> dict[str, tuple[str, ...]]:
    """Return the names of the tensors of each input or output of a signature.

    Args:
        infos: name -> `TensorInfo`.
    """
    return {name: tuple(_tensor_names(infos[name])) for name in sorted(infos)}


def _tensor_names(info: Any) -> Iterator[str]:
    """Yield the names of the tensors of a `TensorInfo`."""
    kind = info.WhichOneof("encoding")
    if kind == "coo_sparse":
        sparse = info.coo_sparse
        yield from (
            sparse.values_tensor_name,
            sparse.indices_tensor_name,
            sparse.dense_shape_tensor_name,
        )
    elif kind == "composite_tensor":
        for component in info.composite_tensor.components:
            yield from _tensor_names(component)
    elif info.name:
        yield info.name


def _all_nodes(graph_def: GraphDef) -> Iterator[Any]:
    yield from graph_def.node
    for function in graph_def.library.function:
        yield from function.node_def
