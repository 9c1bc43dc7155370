"""Functions that act on the default graph: ``tf.device``, ``tf.name_scope``, collections, ...

Source: tensorflow/python/framework/ops.py, release 1.15.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from gpuplace.graph.convert import OpScope, get_default_graph, name_scope
from gpuplace.graph.scopes import ColocationBlock, ControlDependenciesScope, DeviceBlock, make_device_scope
from gpuplace.typing import DeviceLike, OperationLike

__all__ = [
    "add_to_collection",
    "add_to_collections",
    "colocate_with",
    "container",
    "control_dependencies",
    "device",
    "get_collection",
    "get_collection_ref",
    "op_scope",
]


def device(device_name_or_function: DeviceLike) -> DeviceBlock:
    """Operations made in the ``with`` block request this device; see ``Graph.device``.

    >>> import gpuplace as tf
    >>> with tf.Graph().as_default(), tf.device("/gpu:1"):
    ...     tf.no_op().device
    '/device:GPU:1'
    """
    return get_default_graph()._with_device_scope(make_device_scope(device_name_or_function, 2))


def control_dependencies(control_inputs: Iterable[OperationLike] | None) -> ControlDependenciesScope:
    """Operations made in the ``with`` block run after ``control_inputs``; see ``Graph.control_dependencies``."""
    return get_default_graph().control_dependencies(control_inputs)


def colocate_with(op: OperationLike | None, ignore_existing: bool = False) -> ColocationBlock:
    """Operations made in the ``with`` block are placed where ``op`` is; see ``Graph.colocate_with``."""
    return get_default_graph().colocate_with(op, ignore_existing)


def container(container_name: str) -> AbstractContextManager[str]:
    """Stateful operations made in the ``with`` block keep their state in this container."""
    return get_default_graph().container(container_name)


def op_scope(values: Sequence[Any], name: str | None, default_name: str | None = None) -> OpScope:
    """``name_scope`` with its arguments in the order of TensorFlow 0.x."""
    return name_scope(name, default_name, values)


def add_to_collection(name: Hashable, value: object) -> None:
    """Appends ``value`` to a collection of the default graph."""
    get_default_graph().add_to_collection(name, value)


def add_to_collections(names: str | Iterable[Hashable], value: object) -> None:
    """Appends ``value`` to several collections of the default graph."""
    get_default_graph().add_to_collections(names, value)


def get_collection(key: Hashable, scope: str | None = None) -> list[Any]:
    """A copy of a collection of the default graph; see ``Graph.get_collection``."""
    return get_default_graph().get_collection(key, scope)


def get_collection_ref(key: Hashable) -> list[Any]:
    """A collection of the default graph itself."""
    return get_default_graph().get_collection_ref(key)
