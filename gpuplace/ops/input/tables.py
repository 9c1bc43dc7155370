"""``tf.contrib.lookup`` and ``tf.lookup``: tables from keys to values.

Source: tensorflow/python/ops/lookup_ops.py and tensorflow/contrib/lookup/lookup_ops.py, release 1.15.
"""

from __future__ import annotations

import os
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np

from gpuplace.display import above
from gpuplace.dtypes import DType, as_dtype, int64, string
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.constant_value import constant_value
from gpuplace.graph.convert import convert_to_tensor, get_default_graph, name_scope
from gpuplace.graph.graph_keys import GraphKeys
from gpuplace.graph.op_sets import TABLE_MAKERS
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.graph.traced_graph import init_scope
from gpuplace.kernels import tables
from gpuplace.kernels.compute import KernelContext, compute
from gpuplace.kernels.resources import ResourceHandle
from gpuplace.ops.array.constant import range as range_op
from gpuplace.ops.array.gather import where_v2
from gpuplace.ops.array.reshaping import size
from gpuplace.ops.flow.control import group, no_op
from gpuplace.ops.gradients.registry import not_differentiable
from gpuplace.ops.input.queue_kernels import own_resource, resource_of
from gpuplace.ops.math.cast import cast
from gpuplace.ops.math.comparison import not_equal
from gpuplace.ops.math.elementwise import add
from gpuplace.ops.shape_rules import merge_shapes, require_rank
from gpuplace.ops.sparse.sparse_tensor import SparseTensor
from gpuplace.ops.support import no_outputs, scalar_shape
from gpuplace.ops.text.splitting import string_to_hash_bucket_fast, string_to_hash_bucket_strong
from gpuplace.ops.text.strings import as_string
from gpuplace.ops.tracking.base import Trackable
from gpuplace.shapes import SCALAR_SHAPE, UNKNOWN_SHAPE, TensorShape, brackets
from gpuplace.typing import DTypeLike, TensorLike

__all__ = [
    "FastHashSpec", "HashTable", "HasherSpec", "IdTableWithHashBuckets", "KeyValueTensorInitializer",
    "LookupInterface", "MutableHashTable", "StaticHashTable", "StaticVocabularyTable", "StrongHashSpec",
    "TextFileIdTableInitializer", "TextFileIndex", "TextFileInitializer", "TextFileStringTableInitializer",
    "index_table_from_file", "index_table_from_tensor", "index_to_string_table_from_file",
    "index_to_string_table_from_tensor", "initialize_all_tables", "tables_initializer",
]  # fmt: skip


class TextFileIndex:
    """What stands for a column of a file: all of the line, or its number."""

    WHOLE_LINE = tables.WHOLE_LINE
    LINE_NUMBER = tables.LINE_NUMBER


class HasherSpec(NamedTuple):
    """How texts become numbers of buckets."""

    hasher: str
    """``"fasthash"`` or ``"stronghash"``."""
    key: Any
    """The key of a strong hash, two integers."""


FastHashSpec = HasherSpec("fasthash", None)
"""The hash of ``string_to_hash_bucket_fast``."""


def StrongHashSpec(key: Any) -> HasherSpec:  # noqa: N802 - TensorFlow's name
    """Returns the hash of ``string_to_hash_bucket_strong``.

    Args:
        key: two integers.

    Raises:
        ValueError: there are not two.
        TypeError: they are no integers.
    """
    if len(key) != 2:
        raise ValueError(f"key must have size 2, got {len(key)}.")
    if not all(isinstance(part, int | np.integer) for part in key):
        raise TypeError(f"Invalid key {key}. Must be unsigned integer values.")
    return HasherSpec("stronghash", [int(part) for part in key])


def tables_initializer(name: str = "init_all_tables") -> Operation:
    """Returns an operation that fills all tables of the graph.

    Args:
        name: its name.
    """
    initializers = get_default_graph().get_collection(GraphKeys.TABLE_INITIALIZERS)
    return group(*initializers, name=name) if initializers else no_op(name=name)


initialize_all_tables = tables_initializer


# What fills tables


class TableInitializerBase:
    """What fills a table.

    Args:
        key_dtype: the type of keys.
        value_dtype: the type of values.
    """

    def __init__(self, key_dtype: DTypeLike, value_dtype: DTypeLike) -> None:
        self._key_dtype, self._value_dtype = as_dtype(key_dtype), as_dtype(value_dtype)

    @property
    def key_dtype(self) -> DType:
        """The type of keys."""
        return self._key_dtype

    @property
    def value_dtype(self) -> DType:
        """The type of values."""
        return self._value_dtype

    @property
    def _shared_name(self) -> str:
        """By which tables that are filled the same way are one; "": they are not."""
        return ""

    def initialize(self, table: Any) -> Operation:
        """Returns the operation that fills a table.

        Args:
            table: the table.
        """
        raise NotImplementedError


def _outside_loops() -> Any:
    """A context in which what is made belongs to no control flow, where there is one."""
    return init_scope() if get_default_graph()._get_control_flow_context() is not None else nullcontext()


class KeyValueTensorInitializer(TableInitializerBase):
    """Fills a table with keys and values that are given.

    Args:
        keys: a vector.
        values: a vector of the same length.
        key_dtype: the type of keys; None: that of ``keys``.
        value_dtype: the type of values; None: that of ``values``.
        name: name of the scope.
    """

    def __init__(
        self, keys: TensorLike, values: TensorLike, key_dtype: DTypeLike | None = None,
        value_dtype: DTypeLike | None = None, name: str | None = None,
    ) -> None:  # fmt: skip
        with _outside_loops():
            self._keys = convert_to_tensor(keys, dtype=key_dtype, name="keys")
            self._values = convert_to_tensor(values, dtype=value_dtype, name="values")
        self._name = "key_value_init" if name is None else name
        super().__init__(self._keys.dtype.base_dtype, self._values.dtype.base_dtype)

    def initialize(self, table: Any) -> Operation:
        """Returns the operation that fills a table.

        Args:
            table: the table.

        Raises:
            ValueError: there are not as many values as keys.
        """
        with name_scope(None, self._name, [table.resource_handle, self._keys, self._values]):
            op = apply_op(
                "LookupTableImportV2",
                table_handle=table.resource_handle,
                keys=self._keys,
                values=self._values,
            )
        get_default_graph().add_to_collection(GraphKeys.TABLE_INITIALIZERS, op)
        return op


class TextFileInitializer(TableInitializerBase):
    """Fills a table from the lines of a file.

    Args:
        filename: its path, a string scalar.
        key_dtype: the type of keys.
        key_index: their column, or one of ``TextFileIndex``.
        value_dtype: the type of values.
        value_index: their column, or one of ``TextFileIndex``.
        vocab_size: how many lines are read; None: all.
        delimiter: stands between columns.
        name: name of the scope.

    Raises:
        ValueError: a column or its type cannot be.
    """

    def __init__(
        self, filename: Any, key_dtype: DTypeLike, key_index: int, value_dtype: DTypeLike, value_index: int,
        vocab_size: int | None = None, delimiter: str = "\t", name: str | None = None,
    ) -> None:  # fmt: skip
        if not isinstance(filename, Tensor) and not filename:
            raise ValueError("Filename required")
        super().__init__(key_dtype, value_dtype)
        for what, dtype, index in (
            ("Key", self.key_dtype, key_index),
            ("Value", self.value_dtype, value_index),
        ):
            if index < -2:
                raise ValueError(f"Invalid {what.lower()} index {index}.")
            wanted = int64 if index == TextFileIndex.LINE_NUMBER else string
            if index == TextFileIndex.LINE_NUMBER and dtype is not int64:
                raise ValueError(f"Signature mismatch. {what}s must be dtype {wanted}, got {dtype}.")
            if index == TextFileIndex.WHOLE_LINE and not (dtype.is_integer or dtype is string):
                raise ValueError(f"Signature mismatch. {what}s must be integer or string, got {dtype}.")
        if vocab_size is not None and vocab_size <= 0:
            raise ValueError(f"Invalid vocab_size {vocab_size}.")
        self._filename_arg = filename
        with get_default_graph().device("/device:CPU:*"):
            self._filename = convert_to_tensor(filename, string, name="asset_path")
        self._key_index, self._value_index = key_index, value_index
        self._vocab_size = vocab_size
        self._delimiter = delimiter
        self._name = "text_file_init" if name is None else name

    @property
    def _shared_name(self) -> str:
        size = "" if self._vocab_size is None else f"_{self._vocab_size}"
        return f"hash_table_{self._filename_arg}{size}_{self._key_index}_{self._value_index}"

    def initialize(self, table: Any) -> Operation:
        """Returns the operation that fills a table.

        Args:
            table: the table.
        """
        with name_scope(None, self._name, [table.resource_handle]):
            op = apply_op(
                "InitializeTableFromTextFileV2", table_handle=table.resource_handle, filename=self._filename,
                vocab_size=-1 if self._vocab_size is None else self._vocab_size, delimiter=self._delimiter,
                key_index=self._key_index, value_index=self._value_index,
            )  # fmt: skip
        graph = get_default_graph()
        graph.add_to_collection(GraphKeys.TABLE_INITIALIZERS, op)
        if constant_value(self._filename) is not None:
            graph.add_to_collection(GraphKeys.ASSET_FILEPATHS, self._filename)
        return op


class TextFileStringTableInitializer(TextFileInitializer):
    """Fills a table from numbers of lines to lines.

    Args:
        filename: as of ``TextFileInitializer``.
        key_column_index: as of ``TextFileInitializer``.
        value_column_index: as of ``TextFileInitializer``.
        vocab_size: as of ``TextFileInitializer``.
        delimiter: as of ``TextFileInitializer``.
        name: name of the scope.
    """

    def __init__(
        self, filename: Any, key_column_index: int = TextFileIndex.LINE_NUMBER,
        value_column_index: int = TextFileIndex.WHOLE_LINE, vocab_size: int | None = None, delimiter: str = "\t",
        name: str = "text_file_string_table_init",
    ) -> None:  # fmt: skip
        super().__init__(
            filename, int64, key_column_index, string, value_column_index, vocab_size, delimiter, name
        )


class TextFileIdTableInitializer(TextFileInitializer):
    """Fills a table from lines to their numbers.

    Args:
        filename: as of ``TextFileInitializer``.
        key_column_index: as of ``TextFileInitializer``.
        value_column_index: as of ``TextFileInitializer``.
        vocab_size: as of ``TextFileInitializer``.
        delimiter: as of ``TextFileInitializer``.
        name: name of the scope.
        key_dtype: the type of keys.
    """

    def __init__(
        self, filename: Any, key_column_index: int = TextFileIndex.WHOLE_LINE,
        value_column_index: int = TextFileIndex.LINE_NUMBER, vocab_size: int | None = None, delimiter: str = "\t",
        name: str = "text_file_id_table_init", key_dtype: DTypeLike = string,
    ) -> None:  # fmt: skip
        super().__init__(
            filename, key_dtype, key_column_index, int64, value_column_index, vocab_size, delimiter, name
        )


# Tables


class LookupInterface(Trackable):
    """A table.

    Args:
        key_dtype: the type of keys.
        value_dtype: the type of values.
    """

    def __init__(self, key_dtype: DTypeLike, value_dtype: DTypeLike) -> None:
        self._key_dtype, self._value_dtype = as_dtype(key_dtype), as_dtype(value_dtype)

    @property
    def key_dtype(self) -> DType:
        """The type of keys."""
        return self._key_dtype

    @property
    def value_dtype(self) -> DType:
        """The type of values."""
        return self._value_dtype

    @property
    def name(self) -> str:
        """The table's name."""
        raise NotImplementedError

    def _check_keys(self, keys: Any) -> None:
        if keys.dtype.base_dtype is not self._key_dtype:
            raise TypeError(
                f"Signature mismatch. Keys must be dtype {self._key_dtype}, got {keys.dtype.base_dtype}."
            )


def _on_values(keys: Any, function: Any) -> Any:
    """A function of a tensor, or of the values of a sparse one."""
    if isinstance(keys, SparseTensor):
        return SparseTensor(keys.indices, function(keys.values), keys.dense_shape)
    return function(keys)


class StaticHashTable(LookupInterface):
    """A table that is filled once, by ``tf.tables_initializer()``.

    >>> import gpuplace as tf
    >>> words = tf.lookup.KeyValueTensorInitializer(["one", "two"], [1, 2])
    >>> table = tf.lookup.StaticHashTable(words, -1)
    >>> with tf.Session() as session:
    ...     session.run(tf.tables_initializer())
    ...     session.run(table.lookup(tf.constant(["two", "ten"]))).tolist()
    [2, -1]

    Args:
        initializer: what fills it.
        default_value: the value of keys that are not there, a scalar.
        name: name of the operation.

    Raises:
        TypeError: the default is of another type than the values.
    """

    def __init__(
        self, initializer: TableInitializerBase, default_value: TensorLike, name: str | None = None,
        _shared_name: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(initializer.key_dtype, initializer.value_dtype)
        self._initializer = initializer
        self._default_value = convert_to_tensor(default_value, dtype=self._value_dtype)
        self._default_value.shape.merge_with(SCALAR_SHAPE)
        with init_scope():
            self._resource_handle = apply_op(
                "HashTableV2", name or "hash_table", key_dtype=self._key_dtype, value_dtype=self._value_dtype,
                shared_name=_shared_name or initializer._shared_name,
            ).outputs[0]  # fmt: skip
            self._init_op = initializer.initialize(self)

    @property
    def resource_handle(self) -> Tensor:
        """The handle."""
        return self._resource_handle

    @property
    def name(self) -> str:
        """The table's name."""
        return self._resource_handle.op.name.rpartition("/")[2]

    @property
    def default_value(self) -> Tensor:
        """The value of keys that are not there."""
        return self._default_value

    @property
    def initializer(self) -> Operation:
        """What fills it."""
        return self._init_op

    init = initializer

    def export(self, name: str | None = None) -> tuple[Tensor, Tensor]:
        """Returns all keys and their values.

        Args:
            name: name of the scope.

        Returns:
            ``[n]`` of the type of keys and ``[n]`` of the type of values.
        """
        with name_scope(name, f"{self.name}_Export", [self._resource_handle]):
            op = apply_op(
                "LookupTableExportV2", table_handle=self._resource_handle, Tkeys=self._key_dtype,
                Tvalues=self._value_dtype,
            )  # fmt: skip
        op.outputs[1].set_shape(TensorShape([None]))
        return op.outputs[0], op.outputs[1]

    def size(self, name: str | None = None) -> Tensor:
        """Returns the number of keys.

        Args:
            name: name of the scope.

        Returns:
            An int64 scalar.
        """
        with name_scope(name, f"{self.name}_Size", [self._resource_handle]):
            return apply_op("LookupTableSizeV2", table_handle=self._resource_handle).outputs[0]

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """Returns the values of keys.

        Args:
            keys: a tensor or ``SparseTensor`` of the type of keys.
            name: name of the scope.

        Returns:
            The same of the type of values.

        Raises:
            TypeError: the keys are of another type.
            FailedPreconditionError: at run time, the table was not filled yet.
        """
        self._check_keys(keys)

        def find(tensor: Tensor) -> Tensor:
            with name_scope(
                name, f"{self.name}_Lookup", [self._resource_handle, tensor, self._default_value]
            ):
                found = apply_op(
                    "LookupTableFindV2", table_handle=self._resource_handle, keys=tensor,
                    default_value=self._default_value,
                ).outputs[0]  # fmt: skip
            found.set_shape(tensor.shape)
            return found

        return _on_values(keys, find)


class HashTable(StaticHashTable):
    """A table that is filled once; ``StaticHashTable`` with the arguments of ``tf.contrib.lookup``.

    Args:
        initializer: as of ``StaticHashTable``.
        default_value: as of ``StaticHashTable``.
        shared_name: tables of the same one, in a session, are one table.
        name: name of the operation.
    """

    def __init__(
        self, initializer: TableInitializerBase, default_value: TensorLike, shared_name: str | None = None,
        name: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(initializer, default_value, name, _shared_name=shared_name)


def _hashed(spec: HasherSpec, texts: Tensor, count: int) -> Tensor:
    if spec.hasher not in ("fasthash", "stronghash"):
        raise ValueError(f"Unknown hasher {spec.hasher}")
    if spec.hasher == "fasthash":
        return string_to_hash_bucket_fast(texts, count, name="hash_bucket")
    return string_to_hash_bucket_strong(texts, count, spec.key, name="hash_bucket")


class IdTableWithHashBuckets(LookupInterface):
    """A table of ids that gives keys which are not there the id of a bucket, by their hash.

    Args:
        table: the table; None: there are buckets only.
        num_oov_buckets: how many buckets there are.
        hasher_spec: how keys become numbers.
        name: its name; None: that of the table.
        key_dtype: the type of keys; None: that of the table, or string.

    Raises:
        TypeError: ids or keys are of another type.
        ValueError: there is neither a table nor a bucket.
    """

    def __init__(
        self, table: StaticHashTable | None, num_oov_buckets: int, hasher_spec: HasherSpec = FastHashSpec,
        name: str | None = None, key_dtype: DTypeLike | None = None,
    ) -> None:  # fmt: skip
        if table is not None:
            key_dtype = table.key_dtype if key_dtype is None else key_dtype
            if table.value_dtype is not int64:
                raise TypeError(f"Invalid value dtype, expected {int64} but got {table.value_dtype}")
        elif num_oov_buckets <= 0:
            raise ValueError(f"oov_buckets must be > 0 if no table is supplied, but is {num_oov_buckets}")
        dtype = string if key_dtype is None else as_dtype(key_dtype)
        if not (dtype.is_integer or dtype is string):
            raise TypeError(f"Invalid key_dtype, expected integer or string, but got {dtype}.")
        if not isinstance(hasher_spec, HasherSpec):
            raise TypeError(f"hasher_spec must be of type HasherSpec, got {hasher_spec}")
        super().__init__(dtype, int64)
        self._table = table
        self._buckets = num_oov_buckets
        self._spec = hasher_spec
        self._name = name.rpartition("/")[2] if name else table.name if table is not None else "hash_bucket"

    @property
    def name(self) -> str:
        """The table's name."""
        return self._name

    @property
    def resource_handle(self) -> Tensor | None:
        """The handle of the table in it, if there is one."""
        return None if self._table is None else self._table.resource_handle

    @property
    def initializer(self) -> Operation:
        """What fills it."""
        return no_op() if self._table is None else self._table.initializer

    init = initializer

    def size(self, name: str | None = None) -> Tensor:
        """Returns the number of ids: of keys and buckets.

        Args:
            name: name of the scope.

        Returns:
            An int64 scalar.
        """
        with name_scope(name, f"{self.name}_Size"):
            known: Any = convert_to_tensor(0, int64) if self._table is None else self._table.size()
            return known + self._buckets

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """Returns the ids of keys.

        Args:
            keys: a tensor or ``SparseTensor`` of the type of keys.
            name: name of the scope.

        Returns:
            The same of int64.

        Raises:
            TypeError: the keys are of another type.
            FailedPreconditionError: at run time, the table was not filled yet.
        """
        self._check_keys(keys)
        table = self._table

        def find(values: Tensor) -> Tensor:
            if table is not None and table.key_dtype is int64:
                values = cast(values, int64)
            if not self._buckets:
                assert table is not None
                return table.lookup(values, name=name)
            with name_scope(name, f"{self.name}_Lookup"):
                texts = values if values.dtype.base_dtype is string else as_string(values)
                buckets = _hashed(self._spec, texts, self._buckets)
                if table is None:
                    return buckets
                ids = table.lookup(values)
                buckets = add(buckets, table.size())
                return where_v2(not_equal(ids, table.default_value), ids, buckets)

        return _on_values(keys, find)


class StaticVocabularyTable(IdTableWithHashBuckets):
    """A table from words to ids that gives words which are not there the id of a bucket.

    Args:
        initializer: what fills it, from words to the ids from 0 on; None: there are buckets only.
        num_oov_buckets: how many buckets there are.
        lookup_key_dtype: the type of words; None: that of the initializer.
        name: its name.

    Raises:
        ValueError: there is no bucket.
        TypeError: ids or words are of another type.
    """

    def __init__(
        self, initializer: TableInitializerBase | None, num_oov_buckets: int,
        lookup_key_dtype: DTypeLike | None = None, name: str | None = None,
    ) -> None:  # fmt: skip
        if num_oov_buckets <= 0:
            raise ValueError("oov_buckets must be > 0.")
        table = None
        if initializer is not None:
            lookup_key_dtype = initializer.key_dtype if lookup_key_dtype is None else lookup_key_dtype
            table = StaticHashTable(initializer, default_value=-1)
        super().__init__(table, num_oov_buckets, FastHashSpec, name, lookup_key_dtype)


class MutableHashTable(LookupInterface):
    """A table that can be changed.

    Args:
        key_dtype: the type of keys.
        value_dtype: the type of values.
        default_value: the value of keys that are not there; its shape is that of values.
        name: name of the operation.
        checkpoint: whether savers that are not given what to save also save its keys and values.
    """

    def __init__(
        self, key_dtype: DTypeLike, value_dtype: DTypeLike, default_value: TensorLike,
        name: str = "MutableHashTable", checkpoint: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(key_dtype, value_dtype)
        self._default_value = convert_to_tensor(default_value, dtype=self._value_dtype)
        self._value_shape = self._default_value.shape
        arguments = {
            "key_dtype": self._key_dtype,
            "value_dtype": self._value_dtype,
            "use_node_name_sharing": checkpoint,
        }
        if self._value_shape.ndims == 0:
            made = apply_op("MutableHashTableV2", name, **arguments)
        else:
            made = apply_op("MutableHashTableOfTensorsV2", name, value_shape=self._value_shape, **arguments)
        self._resource_handle = made.outputs[0]
        self._add_saveable(name, checkpoint)

    def _add_saveable(self, name: str, checkpoint: bool) -> None:
        saveable = self._saveable_under(name)
        if checkpoint:
            get_default_graph().add_to_collection(GraphKeys.SAVEABLE_OBJECTS, saveable)

    def _saveable_under(self, name: str) -> Any:
        """What saves its keys and values under a name."""
        return above("gpuplace.saving.saveables", "TableSaveable")(self, *self.export(), name)

    def _gather_saveables_for_checkpoint(self) -> dict[str, Any]:
        return {"table": lambda name=self.name: self._saveable_under(name)}

    @property
    def resource_handle(self) -> Tensor:
        """The handle."""
        return self._resource_handle

    @property
    def name(self) -> str:
        """The table's name."""
        return self._resource_handle.op.name.rpartition("/")[2]

    def _beside(self, op_type: str, **arguments: Any) -> Operation:
        """An operation on the table that goes where the table is."""
        with get_default_graph().colocate_with(self._resource_handle):
            return apply_op(op_type, table_handle=self._resource_handle, **arguments)

    def size(self, name: str | None = None) -> Tensor:
        """Returns the number of keys.

        Args:
            name: name of the scope.

        Returns:
            An int64 scalar.
        """
        with name_scope(name, f"{self.name}_Size", [self._resource_handle]):
            return self._beside("LookupTableSizeV2").outputs[0]

    def remove(self, keys: TensorLike, name: str | None = None) -> Operation:
        """Returns an operation that drops keys; those that are not there are ignored.

        Args:
            keys: a tensor of the type of keys.
            name: name of the scope.

        Raises:
            TypeError: they are of another type.
        """
        self._check_keys(keys)
        with name_scope(name, f"{self.name}_lookup_table_remove", [self._resource_handle, keys]):
            return apply_op("LookupTableRemoveV2", table_handle=self._resource_handle, keys=keys)

    def lookup(self, keys: TensorLike, name: str | None = None) -> Tensor:
        """Returns the values of keys.

        Args:
            keys: a tensor of the type of keys.
            name: name of the scope.

        Returns:
            ``[*keys.shape, *value_shape]`` of the type of values.
        """
        with name_scope(name, f"{self.name}_lookup_table_find", [self._resource_handle, keys]):
            tensor = convert_to_tensor(keys, dtype=self._key_dtype, name="keys")
            found = self._beside("LookupTableFindV2", keys=tensor, default_value=self._default_value)
        return found.outputs[0]

    def insert(self, keys: TensorLike, values: TensorLike, name: str | None = None) -> Operation:
        """Returns an operation that adds keys, or gives them other values.

        Args:
            keys: a tensor of the type of keys.
            values: ``[*keys.shape, *value_shape]`` of the type of values.
            name: name of the scope.
        """
        with name_scope(name, f"{self.name}_lookup_table_insert", [self._resource_handle, keys, values]):
            keys = convert_to_tensor(keys, self._key_dtype, name="keys")
            values = convert_to_tensor(values, self._value_dtype, name="values")
            return self._beside("LookupTableInsertV2", keys=keys, values=values)

    def export(self, name: str | None = None) -> tuple[Tensor, Tensor]:
        """Returns all keys and their values.

        Args:
            name: name of the scope.

        Returns:
            ``[n]`` of the type of keys and ``[n, *value_shape]`` of the type of values.
        """
        with name_scope(name, f"{self.name}_lookup_table_export_values", [self._resource_handle]):
            op = self._beside("LookupTableExportV2", Tkeys=self._key_dtype, Tvalues=self._value_dtype)
        op.outputs[1].set_shape(TensorShape([None]).concatenate(self._value_shape))
        return op.outputs[0], op.outputs[1]


class DenseHashTable(MutableHashTable):
    """A table that can be changed, with keys that stand for empty and deleted buckets.

    Args:
        key_dtype: the type of keys.
        value_dtype: the type of values.
        default_value: the value of keys that are not there; its shape is that of values.
        empty_key: a key that is never used, a scalar or a vector as all keys are.
        deleted_key: another one.
        initial_num_buckets: how many buckets there are at first, a power of two; None: 131072.
        name: name of the operation.
        checkpoint: whether savers that are not given what to save also save its keys and values.
    """

    def __init__(
        self, key_dtype: DTypeLike, value_dtype: DTypeLike, default_value: TensorLike, empty_key: TensorLike,
        deleted_key: TensorLike, initial_num_buckets: int | None = None, name: str = "MutableDenseHashTable",
        checkpoint: bool = True,
    ) -> None:  # fmt: skip
        LookupInterface.__init__(self, key_dtype, value_dtype)
        self._default_value = convert_to_tensor(default_value, dtype=self._value_dtype, name="default_value")
        self._value_shape = self._default_value.shape
        empty = convert_to_tensor(empty_key, dtype=self._key_dtype, name="empty_key")
        deleted = convert_to_tensor(deleted_key, dtype=self._key_dtype, name="deleted_key")
        self._key_shape = empty.shape
        self._resource_handle = apply_op(
            "MutableDenseHashTableV2", name, empty_key=empty, deleted_key=deleted, value_dtype=self._value_dtype,
            value_shape=self._value_shape, initial_num_buckets=initial_num_buckets, use_node_name_sharing=checkpoint,
        ).outputs[0]  # fmt: skip
        self._add_saveable(name, checkpoint)


# Tables of words


def _checked_buckets(num_oov_buckets: int) -> None:
    if num_oov_buckets < 0:
        raise ValueError(f"num_oov_buckets must be greater or equal than 0, got {num_oov_buckets}.")


def index_table_from_tensor(
    vocabulary_list: Any, num_oov_buckets: int = 0, default_value: int = -1, hasher_spec: HasherSpec = FastHashSpec,
    dtype: DTypeLike = string, name: str | None = None,
) -> Any:  # fmt: skip
    """Returns a table from words to their numbers in a list.

    Args:
        vocabulary_list: the words, a vector.
        num_oov_buckets: how many buckets there are for other words.
        default_value: the number of other words, without buckets.
        hasher_spec: how words become numbers of buckets.
        dtype: the type of words, string or integer.
        name: name of the scope.

    Returns:
        A table with ``lookup``.

    Raises:
        ValueError: there are no words, or they are of another type.
        TypeError: there are no tables with that type of words.
    """
    if vocabulary_list is None:
        raise ValueError("vocabulary_list must be specified.")
    _checked_buckets(num_oov_buckets)
    wanted = as_dtype(dtype)
    if not wanted.is_integer and wanted.base_dtype is not string:
        raise TypeError("Only integer and string keys are supported.")
    with name_scope(name, "string_to_index"):
        keys = convert_to_tensor(vocabulary_list)
        if keys.dtype.is_integer != wanted.is_integer:
            kind = "integer" if wanted.is_integer else "non-integer"
            raise ValueError(f"Expected {kind}, got {keys.dtype}.")
        if not wanted.is_integer and keys.dtype.base_dtype is not wanted:
            raise ValueError(f"Expected {wanted}, got {keys.dtype}.")
        count = size(keys)
        values = cast(range_op(count), int64)
        with name_scope(None, "hash_table"):
            table_keys = cast(keys, int64) if keys.dtype.is_integer else keys
            fill = KeyValueTensorInitializer(
                table_keys, values, table_keys.dtype.base_dtype, int64, name="table_init"
            )
            table = StaticHashTable(fill, default_value)
        if not num_oov_buckets:
            return table
        return IdTableWithHashBuckets(table, num_oov_buckets, hasher_spec, key_dtype=wanted)


def index_table_from_file(
    vocabulary_file: Any = None, num_oov_buckets: int = 0, vocab_size: int | None = None, default_value: int = -1,
    hasher_spec: HasherSpec = FastHashSpec, key_dtype: DTypeLike = string, name: str | None = None,
    key_column_index: int = TextFileIndex.WHOLE_LINE, value_column_index: int = TextFileIndex.LINE_NUMBER,
    delimiter: str = "\t",
) -> Any:  # fmt: skip
    """Returns a table from the words in a file, one in a line, to the numbers of their lines.

    Args:
        vocabulary_file: the file's path.
        num_oov_buckets: how many buckets there are for other words.
        vocab_size: how many lines are read; None: all.
        default_value: the number of other words, without buckets.
        hasher_spec: how words become numbers of buckets.
        key_dtype: the type of words, string or integer.
        name: name of the scope.
        key_column_index: the column of the words.
        value_column_index: the column of the numbers.
        delimiter: stands between columns.

    Returns:
        A table with ``lookup``.

    Raises:
        ValueError: there is no file, or no line is to be read.
        TypeError: there are no tables with that type of words.
    """
    _check_file(vocabulary_file, vocab_size)
    _checked_buckets(num_oov_buckets)
    wanted = as_dtype(key_dtype)
    if not wanted.is_integer and wanted.base_dtype is not string:
        raise TypeError("Only integer and string keys are supported.")
    with name_scope(name, "string_to_index"):
        with name_scope(None, "hash_table"):
            fill = TextFileIdTableInitializer(
                vocabulary_file, key_column_index, value_column_index, vocab_size, delimiter, "table_init",
                int64 if wanted.is_integer else wanted,
            )  # fmt: skip
            table = StaticHashTable(fill, default_value)
        if not num_oov_buckets:
            return table
        return IdTableWithHashBuckets(table, num_oov_buckets, hasher_spec, key_dtype=wanted)


def _check_file(vocabulary_file: Any, vocab_size: int | None) -> None:
    if vocabulary_file is None or (isinstance(vocabulary_file, str | bytes) and not vocabulary_file):
        raise ValueError("vocabulary_file must be specified and must not be empty.")
    if vocab_size is not None and vocab_size < 1:
        known = constant_value(vocabulary_file) if isinstance(vocabulary_file, Tensor) else vocabulary_file
        raise ValueError(
            f"vocab_size must be greater than 0, got {vocab_size}. vocabulary_file:"
            f" {vocabulary_file if known is None else known}"
        )


def index_to_string_table_from_tensor(
    vocabulary_list: Any, default_value: str = "UNK", name: str | None = None
) -> StaticHashTable:
    """Returns a table from numbers to the words of a list.

    Args:
        vocabulary_list: the words, a string vector.
        default_value: the word of other numbers.
        name: name of the scope.

    Returns:
        A table with ``lookup``, of int64.

    Raises:
        ValueError: there are no words.
    """
    if vocabulary_list is None:
        raise ValueError("vocabulary_list must be specified.")
    with name_scope(name, "index_to_string"):
        values = convert_to_tensor(vocabulary_list, string)
        count = size(values)
        keys = cast(range_op(count), int64)
        fill = KeyValueTensorInitializer(keys, values, int64, string, name="table_init")
        return StaticHashTable(fill, default_value)


def index_to_string_table_from_file(
    vocabulary_file: Any, vocab_size: int | None = None, default_value: str = "UNK", name: str | None = None,
    key_column_index: int = TextFileIndex.LINE_NUMBER, value_column_index: int = TextFileIndex.WHOLE_LINE,
    delimiter: str = "\t",
) -> StaticHashTable:  # fmt: skip
    """Returns a table from numbers to the words in a file, one in a line.

    Args:
        vocabulary_file: the file's path.
        vocab_size: how many lines are read; None: all.
        default_value: the word of other numbers.
        name: name of the scope.
        key_column_index: the column of the numbers.
        value_column_index: the column of the words.
        delimiter: stands between columns.

    Returns:
        A table with ``lookup``, of int64.

    Raises:
        ValueError: there is no file, or no line is to be read.
    """
    _check_file(vocabulary_file, vocab_size)
    with name_scope(name, "index_to_string"):
        fill = TextFileStringTableInitializer(
            vocabulary_file, key_column_index, value_column_index, vocab_size, delimiter, "table_init"
        )
        return StaticHashTable(fill, default_value)


# Kernels

_TYPE_NAME = "N10tensorflow6lookup15LookupInterfaceE"


def _table_of(handle: Any) -> tables.Table:
    found: tables.Table = resource_of(handle, tables.Table, _TYPE_NAME)
    return found


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
        lambda _: tables.Table(attrs["key_dtype"], attrs["value_dtype"], shape, is_mutable),
        attrs["use_node_name_sharing"],
    )
    return ResourceHandle(ctx.device, container, name, _TYPE_NAME, table)


@compute("MutableDenseHashTableV2")
def _make_dense(xp: Any, empty_key: Any, deleted_key: Any, *, ctx: KernelContext) -> ResourceHandle:
    attrs = ctx.op.attrs
    table, container, name = own_resource(
        ctx,
        attrs,
        lambda _: tables.DenseTable(
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
def _find(xp: Any, table_handle: Any, keys: Any, default_value: Any) -> Any:
    return _table_of(table_handle).find(keys, default_value)


@compute("LookupTableSizeV2")
def _size(xp: Any, table_handle: Any) -> Any:
    return np.asarray(_table_of(table_handle).size, np.int64)


@compute("LookupTableImportV2", "InitializeTableV2")
def _import(xp: Any, table_handle: Any, keys: Any, values: Any) -> tuple[()]:
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
    xp: Any, table_handle: Any, filename: Any, *, key_index: int, value_index: int, vocab_size: int,
    delimiter: bytes,
) -> tuple[()]:  # fmt: skip
    table = _table_of(table_handle)
    if not table.is_initialized:
        path = os.fsdecode(filename.item())
        table.initialize(
            *tables.read_columns(
                path, table.key_dtype, key_index, table.value_dtype, value_index, vocab_size, delimiter
            )
        )
    return ()


@compute("LookupTableInsertV2")
def _insert(xp: Any, table_handle: Any, keys: Any, values: Any) -> tuple[()]:
    _table_of(table_handle).insert(keys, values)
    return ()


@compute("LookupTableRemoveV2")
def _remove(xp: Any, table_handle: Any, keys: Any) -> tuple[()]:
    _table_of(table_handle).remove(keys)
    return ()


@compute("LookupTableExportV2")
def _export(xp: Any, table_handle: Any) -> Any:
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
