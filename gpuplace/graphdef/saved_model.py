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

SERVE = "serve"
"""The tag of what is there to be served, chosen where nobody says otherwise."""

_INLINE_ATTR = "_lower_as_multi_device_function"


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


def signature_graph(meta_graph: Any, key: str) -> Any:
    """What a signature's outputs need, as a `GraphDef` whose calls are to be inlined.

    Args:
        meta_graph: a `MetaGraphDef`.
        key: the signature, such as `serving_default`.

    Raises:
        NotFoundError: no such signature.
        InvalidArgumentError: the signature names a node that the graph does not have.
    """
    signatures = meta_graph.signature_def
    if key not in signatures:
        listed = ", ".join(sorted(signatures)) or "none"
        raise NotFoundError.of(f'Could not find signature "{key}". Please choose from: {listed}')
    signature = signatures[key]
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
    for node in _all_nodes(made):
        if node.op in CALL_OPS:
            node.attr[_INLINE_ATTR].b = True
    return made


def without_devices(graph_def: Any) -> Any:
    """A copy whose nodes ask for no device; those of its functions keep theirs, as with `import_meta_graph`."""
    made = GraphDef()
    made.CopyFrom(graph_def)
    for node in made.node:
        node.device = ""
    return made


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
