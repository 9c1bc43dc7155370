"""Resources of a graph that are initialized and reported like variables: ``tensorflow.python.ops.resources``.

A resource has a ``handle``, an operation ``create`` that makes it, and a bool tensor ``is_initialized``. Shared
resources are in the collection ``resources``, those of one session in ``local_resources``; a ``Scaffold`` makes both.

Source: tensorflow/python/ops/resources.py, release 1.15.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from gpuplace.dtypes import string
from gpuplace.graph.convert import get_default_graph, name_scope
from gpuplace.graph.graph_keys import GraphKeys
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.ops.array.constant import constant
from gpuplace.ops.array.gather import boolean_mask
from gpuplace.ops.array.joining import stack
from gpuplace.ops.flow.control import group, no_op
from gpuplace.ops.math.comparison import logical_not


class Resource(NamedTuple):
    """One resource."""

    handle: Tensor
    """The resource's handle."""
    create: Operation
    """The operation that makes the resource."""
    is_initialized: Tensor
    """A bool scalar: whether the resource exists."""


def register_resource(
    handle: Tensor, create_op: Operation, is_initialized_op: Tensor, is_shared: bool = True
) -> None:
    """Register a resource of the default graph.

    Args:
        handle: the resource's handle.
        create_op: the operation that makes the resource.
        is_initialized_op: a bool scalar: whether the resource exists.
        is_shared: whether all sessions share the resource; otherwise each session has its own.
    """
    key = GraphKeys.RESOURCES if is_shared else GraphKeys.LOCAL_RESOURCES
    get_default_graph().add_to_collection(key, Resource(handle, create_op, is_initialized_op))


def shared_resources() -> list[Any]:
    """Return the resources of the default graph that all sessions share."""
    return get_default_graph().get_collection(GraphKeys.RESOURCES)


def local_resources() -> list[Any]:
    """Return the resources of the default graph of which each session has its own."""
    return get_default_graph().get_collection(GraphKeys.LOCAL_RESOURCES)


def initialize_resources(resource_list: Sequence[Any], name: str = "init") -> Operation:
    """Return an operation that makes resources.

    Args:
        resource_list: the resources, including resource variables.
        name: name of the operation.
    """
    if not resource_list:
        return no_op(name=name)
    return group(*[item.create for item in resource_list], name=name)


def report_uninitialized_resources(
    resource_list: Sequence[Any] | None = None, name: str = "report_uninitialized_resources"
) -> Tensor:
    """Return the names of resources that do not exist yet.

    Args:
        resource_list: the resources; None: all resources of the default graph.
        name: name of the scope.

    Returns:
        A string vector.
    """
    resources = [*shared_resources(), *local_resources()] if resource_list is None else resource_list
    with name_scope(name), get_default_graph().device("/cpu:0"):
        if not resources:
            return constant([], dtype=string)
        is_missing = logical_not(stack([item.is_initialized for item in resources]))
        return boolean_mask(constant([item.handle.name for item in resources]), is_missing)
