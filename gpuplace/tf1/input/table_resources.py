"""Lookup tables from keys to values, filled once or mutable.

Source: tensorflow/core/kernels/lookup_table_op.cc, lookup_util.cc and initializable_lookup_table.cc, release 1.15
(rules and sentences).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from gpuplace.dtypes import DType, string
from gpuplace.errors import FailedPreconditionError, InvalidArgumentError
from gpuplace.files import file_system
from gpuplace.kernels.number_texts import number_of
from gpuplace.shapes import TensorShape, brackets

WHOLE_LINE, LINE_NUMBER = -2, -1
"""Values that stand for a column of a file."""


class Table:
    """A lookup table.

    Args:
        key_dtype: type of the keys.
        value_dtype: type of the values.
        value_shape: shape of a value.
        is_mutable: whether it can be changed; otherwise it is filled once.
    """

    def __init__(
        self, key_dtype: DType, value_dtype: DType, value_shape: TensorShape, is_mutable: bool
    ) -> None:
        self.key_dtype, self.value_dtype, self.value_shape = key_dtype, value_dtype, value_shape
        self.is_mutable = is_mutable
        self._lock = threading.RLock()
        self._values: dict[Any, Any] = {}
        self.is_initialized = is_mutable
        """Whether it has been filled."""

    @property
    def size(self) -> int:
        """The number of keys."""
        with self._lock:
            return len(self._values)

    def initialize(self, keys: Sequence[Any], values: Sequence[Any]) -> None:
        """Fill an immutable table; further calls have no effect.

        Raises:
            FailedPreconditionError: a key has two values.
        """
        with self._lock:
            if self.is_initialized:
                return
            found: dict[Any, Any] = {}
            for key, value in zip(keys, values, strict=True):
                if found.setdefault(key, value) != value:
                    raise FailedPreconditionError.of(
                        f"HashTable has different value for same key. Key {_text(key)} has {_text(found[key])} and"
                        f" trying to add value {_text(value)}"
                    )
            self._values = found
            self.is_initialized = True

    def find(self, keys: Any, default: Any) -> Any:
        """Return the values of an array of keys, in its shape; missing keys have the default.

        Raises:
            FailedPreconditionError: the table is not filled yet.
        """
        with self._lock:
            if not self.is_initialized:
                raise FailedPreconditionError.of(
                    "Table not initialized.", hint="session.run(tf.tables_initializer())"
                )
            get = self._values.get
            missing = default.item() if not default.ndim else default
            found = [get(key, missing) for key in keys.reshape(-1).tolist()]
        return self._array(found, default.shape).reshape((*keys.shape, *default.shape))

    def _array(self, values: Sequence[Any], shape: tuple[int, ...]) -> Any:
        dtype = object if self.value_dtype is string else self.value_dtype.as_numpy_dtype
        result = np.empty((len(values), *shape), dtype)
        for row, value in enumerate(values):
            result[row] = value
        return result

    def insert(self, keys: Any, values: Any) -> None:
        """Insert keys, or replace their values.

        Raises:
            InvalidArgumentError: the number or shape of the values does not match.
        """
        wanted = (*keys.shape, *self.value_shape.known_sizes)
        if values.shape != wanted:
            raise InvalidArgumentError.of(
                f"Expected shape {brackets(wanted)} for value, got {brackets(values.shape)}"
            )
        rows = values.reshape(-1, *self.value_shape.known_sizes)
        plain = rows.tolist() if rows.ndim == 1 else list(rows.copy())
        with self._lock:
            self._values.update(zip(keys.reshape(-1).tolist(), plain, strict=True))

    def replace(self, keys: Any, values: Any) -> None:
        """Replace all keys and values."""
        with self._lock:
            self._values = {}
            self.insert(keys, values)

    def remove(self, keys: Any) -> None:
        """Remove keys; missing keys are ignored."""
        with self._lock:
            for key in keys.reshape(-1).tolist():
                self._values.pop(key, None)

    def export(self) -> tuple[Any, Any]:
        """Return all keys and their values."""
        with self._lock:
            keys, values = list(self._values), list(self._values.values())
        found = np.empty(len(keys), object if self.key_dtype is string else self.key_dtype.as_numpy_dtype)
        found[:] = keys
        return found, self._array(values, self.value_shape.known_sizes)


_MOST_FILLED = 0.8
"""Load factor above which the number of buckets of a dense table doubles."""


class DenseTable(Table):
    """A mutable table that returns its keys and values by bucket, including empty buckets.

    Keys are numbers, strings or vectors. TensorFlow places keys in buckets by its own hash. Here they are in insertion
    order, followed by deleted keys and empty buckets.

    Args:
        key_dtype: type of the keys.
        value_dtype: type of the values.
        value_shape: shape of a value.
        empty_key: key of empty buckets, an array; not allowed as a key.
        deleted_key: key of deleted buckets, an array; not allowed as a key.
        buckets: initial number of buckets, a power of two.

    Raises:
        InvalidArgumentError: ``empty_key`` and ``deleted_key`` are equal or differ in shape, or ``buckets`` is not a
            power of two.
    """

    def __init__(
        self, key_dtype: DType, value_dtype: DType, value_shape: TensorShape, empty_key: Any, deleted_key: Any,
        buckets: int,
    ) -> None:  # fmt: skip
        super().__init__(key_dtype, value_dtype, value_shape, True)
        if empty_key.shape != deleted_key.shape:
            raise InvalidArgumentError.of(
                "Empty and deleted keys must have same shape, got shapes:"
                f" {brackets(empty_key.shape)} and {brackets(deleted_key.shape)}"
            )
        self.key_shape = empty_key.shape
        self._empty, self._deleted = (_key_of(one) for one in (empty_key, deleted_key))
        if self._empty == self._deleted:
            raise InvalidArgumentError.of("Empty and deleted keys cannot be equal")
        if buckets < 1 or buckets & (buckets - 1):
            raise InvalidArgumentError.of(
                f"Number of buckets must be at least 4 and a power of 2, got: {buckets}"
            )
        self._buckets = buckets
        self._left: list[Any] = []
        """Values of deleted keys, which are still in their buckets."""

    def _keys(self, keys: Any) -> list[Any]:
        rows = keys.shape[0] if keys.ndim else 1
        wanted = (rows, *self.key_shape)
        if keys.size != np.prod(wanted):
            raise InvalidArgumentError.of(f"Expected key shape {brackets(wanted)} got {brackets(keys.shape)}")
        found = (
            [_key_of(key) for key in keys.reshape(wanted)] if self.key_shape else keys.reshape(-1).tolist()
        )
        for what, key in (("empty_key", self._empty), ("deleted_key", self._deleted)):
            if key in found:
                raise InvalidArgumentError.of(f"Using the {what} as a table key is not allowed")
        return found

    def find(self, keys: Any, default: Any) -> Any:
        """Return the values of keys; missing keys have the default.

        Raises:
            InvalidArgumentError: a key has another shape, or is the empty or deleted key.
        """
        with self._lock:
            wanted = self._keys(keys)
            missing = default.item() if not default.ndim else default
            found = [self._values.get(key, missing) for key in wanted]
        first = keys.shape[: keys.ndim - len(self.key_shape)]
        return self._array(found, default.shape).reshape((*first, *default.shape))

    def insert(self, keys: Any, values: Any) -> None:
        """Insert keys, or replace their values.

        Raises:
            InvalidArgumentError: the number or shape of the values does not match, or a key is invalid as for `find`.
        """
        with self._lock:
            wanted = self._keys(keys)
            shape = self.value_shape.known_sizes
            if values.shape != (*keys.shape[: keys.ndim - len(self.key_shape)], *shape):
                raise InvalidArgumentError.of(
                    f"Expected shape {brackets((len(wanted), *shape))} for value, got {brackets(values.shape)}"
                )
            while len(self._values) + len(wanted) > self._buckets * _MOST_FILLED:
                self._buckets *= 2
                self._left.clear()
            rows = values.reshape(-1, *shape)
            self._values.update(
                zip(wanted, rows.tolist() if rows.ndim == 1 else list(rows.copy()), strict=True)
            )
            del self._left[: max(len(self._values) + len(self._left) - self._buckets, 0)]

    def remove(self, keys: Any) -> None:
        """Remove keys; missing keys are ignored."""
        with self._lock:
            for key in self._keys(keys):
                if key in self._values:
                    self._left.append(self._values.pop(key))

    def replace(self, keys: Any, values: Any) -> None:
        """Replace all buckets."""
        with self._lock:
            sizes = self.value_shape.known_sizes
            rows = list(values.reshape(-1, *sizes)) if sizes else values.reshape(-1).tolist()
            wanted = keys.reshape(-1, *self.key_shape)
            found = [_key_of(key) for key in wanted] if self.key_shape else wanted.tolist()
            pairs = list(zip(found, rows, strict=True))
            self._values = {key: value for key, value in pairs if key not in (self._empty, self._deleted)}
            self._left = [value for key, value in pairs if key == self._deleted]
            self._buckets = len(pairs)

    def export(self) -> tuple[Any, Any]:
        """Return the keys and values of all buckets: two matrices with a row for each bucket, also for scalars."""
        with self._lock:
            keys = [*self._values, *[self._deleted] * len(self._left)]
            values = [*self._values.values(), *self._left]
            empty = self._buckets - len(keys)
        dtype = object if self.key_dtype is string else self.key_dtype.as_numpy_dtype
        found = np.empty((self._buckets, *self.key_shape), dtype)
        for row, key in enumerate(keys):
            found[row] = key
        found[len(keys) :] = self._empty
        kept = self._array(values, self.value_shape.known_sizes)
        nothing = np.zeros((empty, *kept.shape[1:]), kept.dtype)
        if self.value_dtype is string:
            nothing[...] = b""
        rows = found.shape[0]
        return found.reshape(rows, -1), np.concatenate([kept, nothing]).reshape(rows, -1)


def _key_of(key: Any) -> Any:
    """Return an array as a dictionary key."""
    return tuple(key.reshape(-1).tolist()) if key.ndim else key.item()


def _text(value: object) -> str:
    return os.fsdecode(value) if isinstance(value, bytes) else str(value)


def read_columns(
    path: str,
    key_dtype: DType,
    key_index: int,
    value_dtype: DType,
    value_index: int,
    most: int,
    delimiter: bytes,
) -> tuple[list[Any], list[Any]]:
    """Return keys and values from the lines of a file.

    Args:
        path: path of the file.
        key_dtype: type of the keys.
        key_index: key column, or ``WHOLE_LINE`` or ``LINE_NUMBER``.
        value_dtype: type of the values.
        value_index: value column.
        most: required number of lines; only these are read. -1: all lines.
        delimiter: separator of columns.

    Raises:
        InvalidArgumentError: lines or columns are missing, or a field has the wrong type.
        OpError: the file cannot be read.
    """
    lines = file_system.read_bytes(path).split(b"\n")
    if lines and not lines[-1]:
        lines.pop()
    if most >= 0:
        if len(lines) < most:
            raise InvalidArgumentError.of(
                f"Invalid vocab_size in {path}: expected {most} but got {len(lines)}"
            )
        lines = lines[:most]
    keys, values = [], []
    needed = max(key_index, value_index) + 1
    for number, raw in enumerate(lines):
        line = raw.removesuffix(b"\r")
        columns = line.split(delimiter) if needed > 0 else []
        if len(columns) < needed:
            raise InvalidArgumentError.of(
                f"Invalid number of columns in {path} line {number} ({_text(line)}) : expected {needed} got"
                f" {len(columns)}"
            )
        keys.append(_field(line, columns, number, key_index, key_dtype))
        values.append(_field(line, columns, number, value_index, value_dtype))
    return keys, values


def _field(line: bytes, columns: Sequence[bytes], number: int, index: int, dtype: DType) -> Any:
    if index == LINE_NUMBER:
        return number
    text = line if index == WHOLE_LINE else columns[index]
    if dtype is string:
        return text
    try:
        return number_of(text, dtype)
    except ValueError:
        raise InvalidArgumentError.of(
            f"Field {_text(text)} in line {number} is not a valid {dtype.short_name}."
        ) from None
