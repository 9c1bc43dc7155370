"""Slots: variables that belong to another variable, named after it and placed with it.

Source: tensorflow/python/training/slot_creator.py, release 1.15.
"""

from __future__ import annotations

from typing import Any

from gpuplace.graph.convert import get_default_graph
from gpuplace.ops.array import constant, reshaping
from gpuplace.ops.distribute.contexts import beside
from gpuplace.ops.variables.init_ops import Zeros
from gpuplace.ops.variables.resource_variables import ResourceVariable
from gpuplace.ops.variables.variable_scope import get_variable, get_variable_scope, variable_scope
from gpuplace.ops.variables.variables import (
    RefVariable,
    SaveSliceInfo,
    Variable,
    set_slice_info,
    slice_info_of,
)
from gpuplace.shapes import TensorShape
from gpuplace.typing import DTypeLike


def create_slot(primary: Any, val: Any, name: str, colocate_with_primary: bool = True) -> Any:
    """Return a slot of ``primary`` with the initial value ``val``.

    Args:
        primary: the variable that the slot belongs to.
        val: the initial value, a tensor.
        name: name to append to that of ``primary``.
        colocate_with_primary: whether to place it with ``primary``.

    Returns:
        A non-trainable variable of the class of ``primary``.
    """
    return _create(primary, val, None, None, name, val.get_shape().is_fully_defined(), colocate_with_primary)


def create_slot_with_initializer(
    primary: Any,
    initializer: Any,
    shape: TensorShape,
    dtype: DTypeLike,
    name: str,
    colocate_with_primary: bool = True,
) -> RefVariable | ResourceVariable:
    """Return a slot of ``primary`` of the given shape and type.

    Args:
        primary: the variable that the slot belongs to.
        initializer: a function from shape and dtype to a tensor, or a value.
        shape: its shape.
        dtype: its dtype.
        name: name to append to that of ``primary``.
        colocate_with_primary: whether to place it with ``primary``.

    Returns:
        A non-trainable variable of the class of ``primary``.
    """
    return _create(primary, initializer, shape, dtype, name, shape.is_fully_defined(), colocate_with_primary)


def create_zeros_slot(primary: Any, name: str, dtype: Any = None, colocate_with_primary: bool = True) -> Any:
    """Return a slot of zeros with the shape of ``primary``.

    Args:
        primary: the variable that the slot belongs to.
        name: name to append to that of ``primary``.
        dtype: its dtype; None: same as ``primary``.
        colocate_with_primary: whether to place it with ``primary``.

    Returns:
        A non-trainable variable of the class of ``primary``.
    """
    dtype = primary.dtype if dtype is None else dtype
    shape = primary.get_shape()
    if shape.is_fully_defined():
        return create_slot_with_initializer(primary, Zeros(), shape, dtype, name, colocate_with_primary)
    value = primary.initialized_value() if isinstance(primary, Variable) else primary
    zeros = constant.zeros(reshaping.shape(value), dtype=dtype.base_dtype)
    return create_slot(primary, zeros, name, colocate_with_primary)


def _create(
    primary: Any,
    val: Any,
    shape: TensorShape | None,
    dtype: Any,
    name: str,
    validate_shape: bool,
    colocate: bool,
) -> RefVariable | ResourceVariable:
    graph = get_default_graph()
    use_resource = None
    if isinstance(primary, (ResourceVariable, RefVariable)):
        use_resource = isinstance(primary, ResourceVariable)
    with variable_scope(None, f"{primary.op.name}/{name}"):
        scope = get_variable_scope()
        partitioner, scope.partitioner = scope.partitioner, None
        with beside(primary) if colocate else graph.colocate_with(None, ignore_existing=True):
            slot = get_variable(
                "",
                initializer=val,
                trainable=False,
                use_resource=use_resource,
                shape=shape if callable(val) else None,
                dtype=None if dtype is None else dtype.base_dtype,
                validate_shape=validate_shape,
            )
        scope.partitioner = partitioner
    whole = slice_info_of(primary) if isinstance(primary, Variable) else None
    if whole is not None:
        own_name = slot.op.name.removeprefix(f"{primary.op.name}/")
        set_slice_info(
            slot,
            SaveSliceInfo(
                f"{whole.full_name}/{own_name}", whole.full_shape, whole.var_offset, whole.var_shape
            ),
        )
    return slot
