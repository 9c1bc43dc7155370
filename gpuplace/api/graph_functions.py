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
    """An operation that fails with InvalidArgumentError where a floating tensor of the default graph has a NaN or Inf.

    Tensors are checked one after the other, in the order in which they were made.

    Raises:
        ValueError: there are conditions or loops in the graph.
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
    """Whether something is a tensor or a variable, sparse tensors and ``IndexedSlices`` included.

    Args:
        x: anything.
    """
    return isinstance(x, Tensor | SparseTensor | IndexedSlices | Variable)


def get_static_value(tensor: TensorLike, partial: bool = False) -> Any:
    """The value of a tensor if it depends on nothing fed or stored, an array; else None.

    Args:
        tensor: a tensor; anything that is not part of a graph is its own value.
        partial: of tensors stacked along the first axis, give an array of what is known, with None for the others.
    """
    return static_value(tensor, partial)


def device(device_name_or_function: DeviceLike) -> DeviceBlock:
    """Operations made in the ``with`` block request this device.

    >>> import gpuplace as tf
    >>> with tf.Graph().as_default(), tf.device("/gpu:1"):
    ...     tf.no_op().device
    '/device:GPU:1'

    Args:
        device_name_or_function: a name such as ``"/gpu:1"``, a ``DeviceSpec``, a function, or None; see
            ``Graph.device``.

    Raises:
        ValueError: the name is malformed.
        TypeError: it is nothing of the kind.
    """
    return DeviceBlock(get_default_graph(), make_device_scope(device_name_or_function, 2))


def control_dependencies(control_inputs: Iterable[OperationLike] | None) -> ControlDependenciesBlock:
    """Operations made in the ``with`` block run after others; see ``Graph.control_dependencies``.

    Args:
        control_inputs: a list of operations and tensors; None ends outer blocks.

    Raises:
        TypeError: an element is neither operation nor tensor.
    """
    return get_default_graph().control_dependencies(control_inputs)


def colocate_with(op: OperationLike | None, ignore_existing: bool = False) -> ColocationBlock:
    """Operations made in the ``with`` block are placed where ``op`` is; see ``Graph.colocate_with``.

    Args:
        op: an operation, tensor or variable; None, together with ``ignore_existing``, ends outer colocations.
        ignore_existing: forget outer colocations.

    Raises:
        ValueError: ``op`` is None without ``ignore_existing``.
    """
    return get_default_graph().colocate_with(op, ignore_existing)


def container(container_name: str) -> AbstractContextManager[str]:
    """Stateful operations made in the ``with`` block keep their state in this container; see ``Session.reset``.

    Args:
        container_name: its name; ``""`` is the default one.
    """
    return get_default_graph().container(container_name)


def op_scope(values: Sequence[Any], name: str | None, default_name: str | None = None) -> OpScope:
    """``name_scope`` with its arguments in the order of TensorFlow 0.x. Deprecated.

    Args:
        values: the op's arguments, which have to be of one graph.
        name: the caller's name, or None.
        default_name: the name where ``name`` is None.

    Raises:
        ValueError: neither name is given, or the values are of several graphs.
    """
    return name_scope(name, default_name, values)


def add_to_collection(name: Hashable, value: object) -> None:
    """Appends ``value`` to a collection of the default graph.

    Args:
        name: of the collection, such as one of ``GraphKeys``.
        value: anything.

    Raises:
        RuntimeError: the graph is finalised.
    """
    get_default_graph().add_to_collection(name, value)


def add_to_collections(names: str | Iterable[Hashable], value: object) -> None:
    """Appends ``value`` to several collections of the default graph, each once.

    Args:
        names: of the collections; one text is one name.
        value: anything.

    Raises:
        RuntimeError: the graph is finalised.
    """
    get_default_graph().add_to_collections(names, value)


def get_collection(key: Hashable, scope: str | None = None) -> list[Any]:
    """Returns a copy of a collection of the default graph; an empty list where there is none.

    Args:
        key: name of the collection.
        scope: a regular expression: only items with a ``name`` that begins with a match. None: all.
    """
    return get_default_graph().get_collection(key, scope)


def get_collection_ref(key: Hashable) -> list[Any]:
    """Returns a collection of the default graph itself; what is done to the list is done to it.

    Args:
        key: name of the collection, which is made where it does not exist.
    """
    return get_default_graph().get_collection_ref(key)
