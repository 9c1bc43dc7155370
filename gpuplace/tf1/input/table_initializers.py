"""Table initializers: tensors of keys and values, and the lines of files.

Source: tensorflow/python/ops/lookup_ops.py, release 1.15.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from gpuplace.dtypes import DType, as_dtype, int64, string
from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.constant_value import constant_value
from gpuplace.graph.convert import convert_to_tensor, get_default_graph, name_scope
from gpuplace.graph.graph_keys import GraphKeys
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.scopes import building_context
from gpuplace.graph.traced_graph import init_scope
from gpuplace.tf1.input import table_resources
from gpuplace.typing import DTypeLike, TensorLike

__all__ = [
    "KeyValueTensorInitializer", "TextFileIdTableInitializer", "TextFileIndex", "TextFileInitializer",
    "TextFileStringTableInitializer",
]  # fmt: skip


class TextFileIndex:
    """Special column indices of a file: the whole line, or its number."""

    WHOLE_LINE = table_resources.WHOLE_LINE
    LINE_NUMBER = table_resources.LINE_NUMBER


class TableInitializerBase:
    """Base class of table initializers.

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
    def _shared_name(self) -> str:
        """Shared name of tables with the same initialization; "": unshared."""
        return ""

    def initialize(self, table: Any) -> Operation:
        """Return the operation that initializes a table.

        Args:
            table: the table.
        """
        raise NotImplementedError


def _outside_loops() -> Any:
    """Return a context outside of all control flow, if there is any."""
    return init_scope() if building_context(get_default_graph()) is not None else nullcontext()


class KeyValueTensorInitializer(TableInitializerBase):
    """An initializer with given keys and values.

    Args:
        keys: a vector.
        values: a vector of the same length.
        key_dtype: dtype of the keys; None: that of ``keys``.
        value_dtype: dtype of the values; None: that of ``values``.
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
        """Return the operation that initializes a table.

        Args:
            table: the table.

        Raises:
            ValueError: the numbers of keys and values differ.
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
    """An initializer that reads the lines of a file.

    Args:
        filename: its path, a string scalar.
        key_dtype: dtype of the keys.
        key_index: their column, or a constant of ``TextFileIndex``.
        value_dtype: dtype of the values.
        value_index: their column, or a constant of ``TextFileIndex``.
        vocab_size: number of lines to read; None: all.
        delimiter: the separator of columns.
        name: name of the scope.

    Raises:
        ValueError: a column or its dtype is invalid.
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
            expected = int64 if index == TextFileIndex.LINE_NUMBER else string
            if index == TextFileIndex.LINE_NUMBER and dtype is not int64:
                raise ValueError(f"Signature mismatch. {what}s must be dtype {expected}, got {dtype}.")
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
        """Return the operation that initializes a table.

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
    """An initializer for a table from line numbers to lines.

    Args:
        filename: as for ``TextFileInitializer``.
        key_column_index: as for ``TextFileInitializer``.
        value_column_index: as for ``TextFileInitializer``.
        vocab_size: as for ``TextFileInitializer``.
        delimiter: as for ``TextFileInitializer``.
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
    """An initializer for a table from lines to their numbers.

    Args:
        filename: as for ``TextFileInitializer``.
        key_column_index: as for ``TextFileInitializer``.
        value_column_index: as for ``TextFileInitializer``.
        vocab_size: as for ``TextFileInitializer``.
        delimiter: as for ``TextFileInitializer``.
        name: name of the scope.
        key_dtype: dtype of the keys.
    """

    def __init__(
        self, filename: Any, key_column_index: int = TextFileIndex.WHOLE_LINE,
        value_column_index: int = TextFileIndex.LINE_NUMBER, vocab_size: int | None = None, delimiter: str = "\t",
        name: str = "text_file_id_table_init", key_dtype: DTypeLike = string,
    ) -> None:  # fmt: skip
        super().__init__(
            filename, key_dtype, key_column_index, int64, value_column_index, vocab_size, delimiter, name
        )
