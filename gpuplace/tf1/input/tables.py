"""``tf.contrib.lookup`` and ``tf.lookup``: lookup tables from keys to values.

Source: tensorflow/python/ops/lookup_ops.py and tensorflow/contrib/lookup/lookup_ops.py, release 1.15.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gpuplace.display import above
from gpuplace.dtypes import DType, as_dtype, int64, string
from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.convert import convert_to_tensor, get_default_graph, name_scope
from gpuplace.graph.graph_keys import GraphKeys
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.traced_graph import init_scope
from gpuplace.ops.array.gather import where_v2
from gpuplace.ops.flow.control import group, no_op
from gpuplace.ops.math.cast import cast
from gpuplace.ops.math.comparison import not_equal
from gpuplace.ops.math.elementwise import add
from gpuplace.ops.sparse.sparse_tensor import SparseTensor
from gpuplace.ops.text.strings import as_string
from gpuplace.ops.tracking.base import Trackable
from gpuplace.shapes import SCALAR_SHAPE, TensorShape
from gpuplace.tf1.input.table_initializers import TableInitializerBase
from gpuplace.tf1.text.splitting import string_to_hash_bucket_fast, string_to_hash_bucket_strong
from gpuplace.typing import DTypeLike, TensorLike

__all__ = [
    "FastHashSpec", "HashTable", "HasherSpec", "IdTableWithHashBuckets", "LookupInterface", "MutableHashTable",
    "StaticHashTable", "StaticVocabularyTable", "StrongHashSpec", "initialize_all_tables", "tables_initializer",
]  # fmt: skip


class HasherSpec(NamedTuple):
    """A hash function from strings to buckets."""

    hasher: str
    """``"fasthash"`` or ``"stronghash"``."""
    key: Any
    """Key of a strong hash, two integers."""


FastHashSpec = HasherSpec("fasthash", None)
"""The hash of ``string_to_hash_bucket_fast``."""


def StrongHashSpec(key: Any) -> HasherSpec:  # noqa: N802 - TensorFlow's name
    """Return the hash of ``string_to_hash_bucket_strong``.

    Args:
        key: two integers.

    Raises:
        ValueError: ``key`` does not have two numbers.
        TypeError: they are not integers.
    """
    if len(key) != 2:
        raise ValueError(f"key must have size 2, got {len(key)}.")
    if not all(isinstance(part, int | np.integer) for part in key):
        raise TypeError(f"Invalid key {key}. Must be unsigned integer values.")
    return HasherSpec("stronghash", [int(part) for part in key])


def tables_initializer(name: str = "init_all_tables") -> Operation:
    """Return an operation that initializes all tables of the graph.

    Args:
        name: name of the operation.
    """
    initializers = get_default_graph().get_collection(GraphKeys.TABLE_INITIALIZERS)
    return group(*initializers, name=name) if initializers else no_op(name=name)


initialize_all_tables = tables_initializer


class LookupInterface(Trackable):
    """Base class of lookup tables.

    Args:
        key_dtype: dtype of the keys.
        value_dtype: dtype of the values.
    """

    def __init__(self, key_dtype: DTypeLike, value_dtype: DTypeLike) -> None:
        self._key_dtype, self._value_dtype = as_dtype(key_dtype), as_dtype(value_dtype)

    @property
    def key_dtype(self) -> DType:
        """Dtype of the keys."""
        return self._key_dtype

    @property
    def value_dtype(self) -> DType:
        """Dtype of the values."""
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
    """Apply a function to a tensor, or to the values of a sparse one."""
    if isinstance(keys, SparseTensor):
        return SparseTensor(keys.indices, function(keys.values), keys.dense_shape)
    return function(keys)


class StaticHashTable(LookupInterface):
    """A table that is initialized once, by ``tf.tables_initializer()``.

    >>> import gpuplace as tf
    >>> words = tf.lookup.KeyValueTensorInitializer(["one", "two"], [1, 2])
    >>> table = tf.lookup.StaticHashTable(words, -1)
    >>> with tf.Session() as session:
    ...     session.run(tf.tables_initializer())
    ...     session.run(table.lookup(tf.constant(["two", "ten"]))).tolist()
    [2, -1]

    Args:
        initializer: the table initializer.
        default_value: the value of missing keys, a scalar.
        name: name of the operation.

    Raises:
        TypeError: the default value has another dtype than the values.
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
        """The value of missing keys."""
        return self._default_value

    @property
    def initializer(self) -> Operation:
        """The operation that initializes the table."""
        return self._init_op

    init = initializer

    def export(self, name: str | None = None) -> tuple[Tensor, Tensor]:
        """Return all keys and their values.

        Args:
            name: name of the scope.

        Returns:
            ``[n]`` of the key dtype and ``[n]`` of the value dtype.
        """
        with name_scope(name, f"{self.name}_Export", [self._resource_handle]):
            op = apply_op(
                "LookupTableExportV2", table_handle=self._resource_handle, Tkeys=self._key_dtype,
                Tvalues=self._value_dtype,
            )  # fmt: skip
        op.outputs[1].set_shape(TensorShape([None]))
        return op.outputs[0], op.outputs[1]

    def size(self, name: str | None = None) -> Tensor:
        """Return the number of keys.

        Args:
            name: name of the scope.

        Returns:
            An int64 scalar.
        """
        with name_scope(name, f"{self.name}_Size", [self._resource_handle]):
            return apply_op("LookupTableSizeV2", table_handle=self._resource_handle).outputs[0]

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """Return the values of keys.

        Args:
            keys: a tensor or ``SparseTensor`` of the key dtype.
            name: name of the scope.

        Returns:
            A tensor or ``SparseTensor`` of the value dtype.

        Raises:
            TypeError: the keys have another dtype.
            FailedPreconditionError: at run time, the table is not initialized.
        """
        self._check_keys(keys)

        def find(tensor: Tensor) -> Tensor:
            with name_scope(
                name, f"{self.name}_Lookup", [self._resource_handle, tensor, self._default_value]
            ):
                values = apply_op(
                    "LookupTableFindV2", table_handle=self._resource_handle, keys=tensor,
                    default_value=self._default_value,
                ).outputs[0]  # fmt: skip
            values.set_shape(tensor.shape)
            return values

        return _on_values(keys, find)


class HashTable(StaticHashTable):
    """A table that is initialized once; ``StaticHashTable`` with the arguments of ``tf.contrib.lookup``.

    Args:
        initializer: as for ``StaticHashTable``.
        default_value: as for ``StaticHashTable``.
        shared_name: tables that share a name, in a session, are one table.
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
    """A table of ids that maps missing keys to buckets by their hash.

    Args:
        table: the table; None: only buckets.
        num_oov_buckets: number of buckets.
        hasher_spec: the hash function.
        name: its name; None: that of the table.
        key_dtype: dtype of the keys; None: that of the table, or string.

    Raises:
        TypeError: ids or keys have another dtype.
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
        """The handle of the inner table, if there is one."""
        return None if self._table is None else self._table.resource_handle

    @property
    def initializer(self) -> Operation:
        """The operation that initializes the table."""
        return no_op() if self._table is None else self._table.initializer

    init = initializer

    def size(self, name: str | None = None) -> Tensor:
        """Return the number of ids, of keys and buckets.

        Args:
            name: name of the scope.

        Returns:
            An int64 scalar.
        """
        with name_scope(name, f"{self.name}_Size"):
            table_size: Any = convert_to_tensor(0, int64) if self._table is None else self._table.size()
            return table_size + self._buckets

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """Return the ids of keys.

        Args:
            keys: a tensor or ``SparseTensor`` of the key dtype.
            name: name of the scope.

        Returns:
            A tensor or ``SparseTensor`` of int64.

        Raises:
            TypeError: the keys have another dtype.
            FailedPreconditionError: at run time, the table is not initialized.
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
    """A table from words to ids that maps missing words to buckets.

    Args:
        initializer: the table initializer, from words to ids from 0; None: only buckets.
        num_oov_buckets: number of buckets.
        lookup_key_dtype: dtype of the words; None: that of the initializer.
        name: its name.

    Raises:
        ValueError: there are no buckets.
        TypeError: ids or words have another dtype.
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
    """A mutable table.

    Args:
        key_dtype: dtype of the keys.
        value_dtype: dtype of the values.
        default_value: the value of missing keys; its shape is the shape of values.
        name: name of the operation.
        checkpoint: whether default savers also save its keys and values.
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
            op = apply_op("MutableHashTableV2", name, **arguments)
        else:
            op = apply_op("MutableHashTableOfTensorsV2", name, value_shape=self._value_shape, **arguments)
        self._resource_handle = op.outputs[0]
        self._add_saveable(name, checkpoint)

    def _add_saveable(self, name: str, checkpoint: bool) -> None:
        saveable = self._saveable_under(name)
        if checkpoint:
            get_default_graph().add_to_collection(GraphKeys.SAVEABLE_OBJECTS, saveable)

    def _saveable_under(self, name: str) -> Any:
        """Return the object that saves its keys and values under a name."""
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

    def _colocated(self, op_type: str, **arguments: Any) -> Operation:
        """Return an operation on the table, colocated with it."""
        with get_default_graph().colocate_with(self._resource_handle):
            return apply_op(op_type, table_handle=self._resource_handle, **arguments)

    def size(self, name: str | None = None) -> Tensor:
        """Return the number of keys.

        Args:
            name: name of the scope.

        Returns:
            An int64 scalar.
        """
        with name_scope(name, f"{self.name}_Size", [self._resource_handle]):
            return self._colocated("LookupTableSizeV2").outputs[0]

    def remove(self, keys: TensorLike, name: str | None = None) -> Operation:
        """Return an operation that removes keys; missing keys are ignored.

        Args:
            keys: a tensor of the key dtype.
            name: name of the scope.

        Raises:
            TypeError: the keys have another dtype.
        """
        self._check_keys(keys)
        with name_scope(name, f"{self.name}_lookup_table_remove", [self._resource_handle, keys]):
            return apply_op("LookupTableRemoveV2", table_handle=self._resource_handle, keys=keys)

    def lookup(self, keys: TensorLike, name: str | None = None) -> Tensor:
        """Return the values of keys.

        Args:
            keys: a tensor of the key dtype.
            name: name of the scope.

        Returns:
            ``[*keys.shape, *value_shape]`` of the value dtype.
        """
        with name_scope(name, f"{self.name}_lookup_table_find", [self._resource_handle, keys]):
            tensor = convert_to_tensor(keys, dtype=self._key_dtype, name="keys")
            op = self._colocated("LookupTableFindV2", keys=tensor, default_value=self._default_value)
        return op.outputs[0]

    def insert(self, keys: TensorLike, values: TensorLike, name: str | None = None) -> Operation:
        """Return an operation that inserts keys, or replaces their values.

        Args:
            keys: a tensor of the key dtype.
            values: ``[*keys.shape, *value_shape]`` of the value dtype.
            name: name of the scope.
        """
        with name_scope(name, f"{self.name}_lookup_table_insert", [self._resource_handle, keys, values]):
            keys = convert_to_tensor(keys, self._key_dtype, name="keys")
            values = convert_to_tensor(values, self._value_dtype, name="values")
            return self._colocated("LookupTableInsertV2", keys=keys, values=values)

    def export(self, name: str | None = None) -> tuple[Tensor, Tensor]:
        """Return all keys and their values.

        Args:
            name: name of the scope.

        Returns:
            ``[n]`` of the key dtype and ``[n, *value_shape]`` of the value dtype.
        """
        with name_scope(name, f"{self.name}_lookup_table_export_values", [self._resource_handle]):
            op = self._colocated("LookupTableExportV2", Tkeys=self._key_dtype, Tvalues=self._value_dtype)
        op.outputs[1].set_shape(TensorShape([None]).concatenate(self._value_shape))
        return op.outputs[0], op.outputs[1]


class DenseHashTable(MutableHashTable):
    """A mutable table with reserved keys for empty and deleted buckets.

    Args:
        key_dtype: dtype of the keys.
        value_dtype: dtype of the values.
        default_value: the value of missing keys; its shape is the shape of values.
        empty_key: a key that is never used, a scalar or a vector like all keys.
        deleted_key: another key that is never used.
        initial_num_buckets: initial number of buckets, a power of two; None: 131072.
        name: name of the operation.
        checkpoint: whether default savers also save its keys and values.
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
