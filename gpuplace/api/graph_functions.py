"""Functions that act on the default graph: ``tf.device``, ``tf.name_scope``, collections, ...

Source: tensorflow/python/framework/ops.py, release 1.15.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from gpuplace.api.printing import print_v2 as print
from gpuplace.graph.constant_value import static_value
from gpuplace.graph.convert import OpScope, get_default_graph, name_scope
from gpuplace.graph.operation import Operation, Tensor, context_of
from gpuplace.graph.scopes import ColocationBlock, ControlDependenciesBlock, DeviceBlock, make_device_scope
from gpuplace.graph.traced_graph import init_scope
from gpuplace.ops.array.reshaping import check_numerics
from gpuplace.ops.flow.control import group
from gpuplace.ops.gradients.indexed_slices import IndexedSlices
from gpuplace.ops.sparse.sparse_tensor import SparseTensor
from gpuplace.ops.variables.variables import Variable
from gpuplace.typing import DeviceLike, OperationLike, TensorLike

__all__ = [
    "add_check_numerics_ops",
    "add_to_collection",
    "add_to_collections",
    "colocate_with",
    "container",
    "control_dependencies",
    "device",
    "get_collection",
    "get_collection_ref",
    "get_static_value",
    "init_scope",
    "is_tensor",
    "op_scope",
    "print",
]


def add_check_numerics_ops() -> Operation:
    """Return an operation that fails if a floating-point tensor of the default graph contains NaN or Inf.

    Tensors are checked one after the other, in creation order. The error is an InvalidArgumentError.

    Raises:
        ValueError: the graph contains conditionals or loops.
    """
    graph = get_default_graph()
    checks: list[Any] = []
    for op in graph.get_operations():
        for output in op.outputs:
            if output.dtype.name not in ("float16", "float32", "float64"):
                continue
            if context_of(op) is not None:
                raise ValueError(
                    "`tf.add_check_numerics_ops() is not compatible with TensorFlow control flow operations such as"
                    " `tf.cond()` or `tf.while_loop()`.\nCheck single tensors with tf.check_numerics"
                )
            with graph.control_dependencies(checks):
                checks = [check_numerics(output, message=f"{op.name}:{output.value_index}")]
    return group(*checks)


def is_tensor(x: object) -> bool:
    """Return whether a value is a tensor or variable; sparse tensors and ``IndexedSlices`` count too.

    Args:
        x: any object.
    """
    return isinstance(x, Tensor | SparseTensor | IndexedSlices | Variable)


def get_static_value(tensor: TensorLike, partial: bool = False) -> Any:
    """Return the value of a tensor as an array, or None if it depends on feeds or state.

    Args:
        tensor: tensor; an object that is not part of a graph is its own value.
        partial: for tensors stacked along the first axis, return an array of the known values, with None for the
            others.
    """
    return static_value(tensor, partial)


def device(device_name_or_function: DeviceLike) -> DeviceBlock:
    """Request this device for operations created in the ``with`` block.

    >>> import gpuplace as tf
    >>> with tf.Graph().as_default(), tf.device("/gpu:1"):
    ...     tf.no_op().device
    '/device:GPU:1'

    Args:
        device_name_or_function: a name such as ``"/gpu:1"``, a ``DeviceSpec``, a function, or None; see
            ``Graph.device``.

    Raises:
        ValueError: the name is malformed.
        TypeError: the argument is none of these.
    """
    return DeviceBlock(get_default_graph(), make_device_scope(device_name_or_function, 2))


def control_dependencies(control_inputs: Iterable[OperationLike] | None) -> ControlDependenciesBlock:
    """Run operations created in the ``with`` block after others; see ``Graph.control_dependencies``.

    Args:
        control_inputs: list of operations and tensors; None ends outer blocks.

    Raises:
        TypeError: an element is neither an operation nor a tensor.
    """
    return get_default_graph().control_dependencies(control_inputs)


def colocate_with(op: OperationLike | None, ignore_existing: bool = False) -> ColocationBlock:
    """Colocate operations created in the ``with`` block with ``op``; see ``Graph.colocate_with``.

    Args:
        op: operation, tensor or variable; None, together with ``ignore_existing``, ends outer colocations.
        ignore_existing: ignore outer colocations.

    Raises:
        ValueError: ``op`` is None without ``ignore_existing``.
    """
    return get_default_graph().colocate_with(op, ignore_existing)


def container(container_name: str) -> AbstractContextManager[str]:
    """Keep the state of stateful operations created in the block in this container; see ``Session.reset``.

    Args:
        container_name: name of the container; ``""`` is the default container.
    """
    return get_default_graph().container(container_name)


def op_scope(values: Sequence[Any], name: str | None, default_name: str | None = None) -> OpScope:
    """Deprecated ``name_scope`` with the argument order of TensorFlow 0.x.

    Args:
        values: the op's arguments, which must belong to one graph.
        name: the caller's name, or None.
        default_name: name to use if ``name`` is None.

    Raises:
        ValueError: both names are None, or the values belong to several graphs.
    """
    return name_scope(name, default_name, values)


def add_to_collection(name: Hashable, value: object) -> None:
    """Append ``value`` to a collection of the default graph.

    Args:
        name: name of the collection, such as one of ``GraphKeys``.
        value: any object.

    Raises:
        RuntimeError: the graph is finalized.
    """
    get_default_graph().add_to_collection(name, value)


def add_to_collections(names: str | Iterable[Hashable], value: object) -> None:
    """Append ``value`` once to each of several collections of the default graph.

    Args:
        names: names of the collections; a string is a single name.
        value: any object.

    Raises:
        RuntimeError: the graph is finalized.
    """
    get_default_graph().add_to_collections(names, value)


def get_collection(key: Hashable, scope: str | None = None) -> list[Any]:
    """Return a copy of a collection of the default graph, or an empty list if it does not exist.

    Args:
        key: name of the collection.
        scope: regular expression: only items whose ``name`` starts with a match. None: all items.
    """
    return get_default_graph().get_collection(key, scope)


def get_collection_ref(key: Hashable) -> list[Any]:
    """Return a collection of the default graph itself: changes to the list change the collection.

    Args:
        key: name of the collection; a missing collection is created.
    """
    return get_default_graph().get_collection_ref(key)
