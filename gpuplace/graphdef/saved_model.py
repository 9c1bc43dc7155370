"""Choosing a graph of a SavedModel: by the tags of a MetaGraphDef, by the key of a signature, with or without devices.

A SavedModel holds MetaGraphDefs, told apart by their tags; each has signatures, which name tensors of its graph::

    tags "serve"      serving_default   inputs  x: "serving_default_x:0"     outputs  y: "StatefulPartitionedCall:0"
    tags "serve, gpu" ...

In a model of TensorFlow 2 a signature's nodes are in functions; a signature chosen here has them inlined.

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
"""The tag of what is there to be served, chosen where nobody says otherwise."""

SERVING = "serving_default"
"""The signature that a model is asked by where nobody names one."""

_OWN_SIGNATURES = ("__saved_model_init_op", "__saved_model_train_op")
"""The signatures that a model has for itself: to set it up, and to train it."""


def choose_meta_graph(model: Any, tags: str | Iterable[str] | None) -> Any:
    """The MetaGraphDef of a SavedModel.

    Args:
        model: a `SavedModel` message.
        tags: exactly its tags, in any order, also as one text with commas; if None, the one with the tag `serve`
            alone, else the first that has it among others, else the first.

    Raises:
        InvalidArgumentError: the model holds nothing.
        NotFoundError: no MetaGraphDef has these tags.
    """
    if not model.meta_graphs:
        raise InvalidArgumentError.of("The SavedModel holds no MetaGraphDef", hint="export it again")
    found = [(set(meta_graph.meta_info_def.tags), meta_graph) for meta_graph in model.meta_graphs]
    if tags is None:
        ranked = sorted(found, key=lambda pair: (pair[0] != {SERVE}, SERVE not in pair[0]))
        return ranked[0][1]
    wanted = tag_set(tags)
    for present, meta_graph in found:
        if present == wanted:
            return meta_graph
    raise NotFoundError.of(
        f"Could not find meta graph def matching supplied tags: {{ {' '.join(sorted(wanted))} }}",
        facts={"tags in the model": "; ".join(", ".join(sorted(present)) or "none" for present, _ in found)},
        hint="tags= takes all tags of one MetaGraphDef",
    )


def tag_set(tags: str | Iterable[str]) -> set[str]:
    """Tags as a set.

    >>> sorted(tag_set("serve, gpu")), sorted(tag_set(["serve"]))
    (['gpu', 'serve'], ['serve'])
    """
    parts = tags.split(",") if isinstance(tags, str) else list(tags)
    return {part.strip() for part in parts if part.strip()}


def tags_text(meta_graph: Any) -> str:
    """The tags of a MetaGraphDef, sorted, with commas between them."""
    return ",".join(sorted(set(meta_graph.meta_info_def.tags)))


def signature_keys(meta_graph: Any) -> tuple[str, ...]:
    """The keys of a MetaGraphDef's signatures, sorted; those that the model has for itself come last."""
    return tuple(sorted(meta_graph.signature_def, key=lambda key: (is_own_signature(key), key)))


def is_own_signature(key: str) -> bool:
    """Whether a signature is one that a model has for itself, and nobody asks it by."""
    return key in _OWN_SIGNATURES


def serving_signature(meta_graph: Any) -> str:
    """The signature that a model is asked by where nobody names one: `serving_default`, else the first by name.

    Those that the model has for itself do not count: `""` where there are no others.
    """
    keys = [key for key in signature_keys(meta_graph) if not is_own_signature(key)]
    return SERVING if SERVING in keys else keys[0] if keys else ""


def check_signature(meta_graph: Any, key: str) -> None:
    """NotFoundError, which lists those that there are, if a MetaGraphDef has no signature of this key."""
    if key not in meta_graph.signature_def:
        listed = ", ".join(sorted(meta_graph.signature_def)) or "none"
        raise NotFoundError.of(f'Could not find signature "{key}". Please choose from: {listed}')


def signature_graph(meta_graph: Any, key: str) -> Any:
    """What a signature's outputs need, as a `GraphDef` whose calls are to be inlined.

    Args:
        meta_graph: a `MetaGraphDef`.
        key: the signature, such as `serving_default`.

    Raises:
        NotFoundError: no such signature.
        InvalidArgumentError: the signature names a node that the graph does not have.
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
    made = GraphDef()
    made.versions.CopyFrom(source.versions)
    made.library.CopyFrom(source.library)
    made.node.extend(node for node in source.node if node.name in kept)
    return with_calls_inlined(made)


def with_calls_inlined(graph_def: Any) -> Any:
    """The same message, with all calls in it and in its functions marked to be inlined."""
    for node in _all_nodes(graph_def):
        if node.op in CALL_OPS:
            node.attr[CALL_ATTR].b = True
    return graph_def


def without_devices(graph_def: Any) -> Any:
    """A copy whose nodes ask for no device; those of its functions keep theirs, as with `import_meta_graph`."""
    made = GraphDef()
    made.CopyFrom(graph_def)
    for node in made.node:
        node.device = ""
    return made


def tensors_by_name(infos: Any) -> dict[str, tuple[str, ...]]:
    """Return the names of the tensors of each input or output of a signature.

    Args:
        infos: its name to a `TensorInfo`.
    """
    return {name: tuple(_tensor_names(infos[name])) for name in sorted(infos)}


def _tensor_names(info: Any) -> Iterator[str]:
    """The tensors that a `TensorInfo` stands for."""
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


def _all_nodes(graph_def: Any) -> Iterator[Any]:
    yield from graph_def.node
    for function in graph_def.library.function:
        yield from function.node_def
