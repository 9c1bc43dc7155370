"""Kernels and shape functions of table ops.

Source: tensorflow/core/kernels/lookup_table_op.cc and core/ops/lookup_ops.cc, release 1.15.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.op_sets import TABLE_MAKERS
from gpuplace.graph.operation import Operation
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import KernelContext, compute
from gpuplace.kernels.resources import ResourceHandle
from gpuplace.ops.gradients.registry import not_differentiable
from gpuplace.ops.shape_rules import merge_shapes, require_rank
from gpuplace.ops.support import no_outputs, scalar_shape
from gpuplace.shapes import SCALAR_SHAPE, UNKNOWN_SHAPE, TensorShape, brackets
from gpuplace.tf1.input import table_resources
from gpuplace.tf1.input.queue_kernels import own_resource, resource_of
from gpuplace.typing import Array, ArrayModule

_TYPE_NAME = "N10tensorflow6lookup15LookupInterfaceE"


def _table_of(handle: Any) -> table_resources.Table:
    table: table_resources.Table = resource_of(handle, table_resources.Table, _TYPE_NAME)
    return table


@compute(*sorted(TABLE_MAKERS))
def _make(xp: Any, *, ctx: KernelContext) -> ResourceHandle:
    attrs = ctx.op.attrs
    shape = attrs.get("value_shape", SCALAR_SHAPE)
    is_mutable = ctx.op.type.startswith("Mutable")
    if ctx.op.type == "MutableHashTableOfTensorsV2" and shape.ndims != 1:
        raise InvalidArgumentError.of(f"Default value must be a vector, got shape {brackets(shape)}")
    table, container, name = own_resource(
        ctx,
        attrs,
        lambda _: table_resources.Table(attrs["key_dtype"], attrs["value_dtype"], shape, is_mutable),
        attrs["use_node_name_sharing"],
    )
    return ResourceHandle(ctx.device, container, name, _TYPE_NAME, table)


@compute("MutableDenseHashTableV2")
def _make_dense(
    xp: ArrayModule, empty_key: Array, deleted_key: Array, *, ctx: KernelContext
) -> ResourceHandle:
    attrs = ctx.op.attrs
    table, container, name = own_resource(
        ctx,
        attrs,
        lambda _: table_resources.DenseTable(
            attrs["key_dtype"],
            attrs["value_dtype"],
            attrs["value_shape"],
            empty_key,
            deleted_key,
            attrs["initial_num_buckets"],
        ),
        attrs["use_node_name_sharing"],
    )
    return ResourceHandle(ctx.device, container, name, _TYPE_NAME, table)


@compute("LookupTableFindV2")
def _find(xp: ArrayModule, table_handle: Array, keys: Array, default_value: Array) -> Array:
    return _table_of(table_handle).find(keys, default_value)


@compute("LookupTableSizeV2")
def _size(xp: ArrayModule, table_handle: Array) -> Array:
    return np.asarray(_table_of(table_handle).size, np.int64)


@compute("LookupTableImportV2", "InitializeTableV2")
def _import(xp: ArrayModule, table_handle: Array, keys: Array, values: Array) -> tuple[()]:
    table = _table_of(table_handle)
    if table.is_mutable:
        table.replace(keys, values)
    elif not keys.size or not values.size:
        raise InvalidArgumentError.of("keys and values cannot be empty tensors.")
    else:
        table.initialize(keys.tolist(), values.tolist())
    return ()


@compute("InitializeTableFromTextFileV2")
def _import_file(
    xp: ArrayModule, table_handle: Array, filename: Array, *, key_index: int, value_index: int, vocab_size: int,
    delimiter: bytes,
) -> tuple[()]:  # fmt: skip
    table = _table_of(table_handle)
    if not table.is_initialized:
        path = os.fsdecode(filename.item())
        table.initialize(
            *table_resources.read_columns(
                path, table.key_dtype, key_index, table.value_dtype, value_index, vocab_size, delimiter
            )
        )
    return ()


@compute("LookupTableInsertV2")
def _insert(xp: ArrayModule, table_handle: Array, keys: Array, values: Array) -> tuple[()]:
    _table_of(table_handle).insert(keys, values)
    return ()


@compute("LookupTableRemoveV2")
def _remove(xp: ArrayModule, table_handle: Array, keys: Array) -> tuple[()]:
    _table_of(table_handle).remove(keys)
    return ()


@compute("LookupTableExportV2")
def _export(xp: ArrayModule, table_handle: Any) -> Any:
    return _table_of(table_handle).export()


shape_function(*sorted(TABLE_MAKERS), "MutableDenseHashTableV2", "LookupTableSizeV2")(scalar_shape)


@shape_function("LookupTableFindV2")
def _found_shape(op: Operation) -> Any:
    maker, keys = op.inputs[0].op, op.inputs[1].shape
    if maker.type == "MutableDenseHashTableV2" and maker.inputs[0].shape.ndims is not None:
        rank = maker.inputs[0].shape.ndims
        first = keys[: keys.ndims - rank] if keys.ndims is not None and keys.ndims >= rank else keys
        return (first.concatenate(maker.attrs["value_shape"]),)
    if maker.type not in TABLE_MAKERS:
        return (UNKNOWN_SHAPE,)
    return (keys.concatenate(maker.attrs.get("value_shape", SCALAR_SHAPE)),)


@shape_function("LookupTableExportV2")
def _exported_shape(op: Operation) -> Any:
    return TensorShape.of((None,)), UNKNOWN_SHAPE


@shape_function("LookupTableImportV2", "InitializeTableV2")
def _imported(op: Operation) -> Any:
    if op.inputs[0].op.type == "HashTableV2":
        merge_shapes(op.inputs[1].shape, op.inputs[2].shape)
    return ()


@shape_function("InitializeTableFromTextFileV2")
def _imported_file(op: Operation) -> Any:
    require_rank(op.inputs[1].shape, 0)
    return ()


shape_function("LookupTableInsertV2", "LookupTableRemoveV2")(no_outputs)


not_differentiable(
    *sorted(TABLE_MAKERS), "MutableDenseHashTableV2", "LookupTableFindV2", "LookupTableSizeV2", "LookupTableExportV2",
)  # fmt: skip


not_differentiable("InitializeTableV2", "InitializeTableFromTextFileV2", "LookupTableInsertV2")
