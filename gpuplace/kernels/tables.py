"""Lookup tables: from keys to values, filled once or changed at will.

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
"""What stands for a column of a file."""


class Table:
    """A table.

    Args:
        key_dtype: the type of its keys.
        value_dtype: the type of its values.
        value_shape: the shape of a value.
        is_mutable: whether it can be changed; else it is filled once.
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
        """Fills a table that is filled once; again, it changes nothing.

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
        """The values of keys, an array of their shape; the default for those that are not there.

        Raises:
            FailedPreconditionError: the table was not filled yet.
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
        """Adds keys, or gives them other values.

        Raises:
            InvalidArgumentError: the values are not as many, or of another shape.
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
        """Has these keys and no others from now on."""
        with self._lock:
            self._values = {}
            self.insert(keys, values)

    def remove(self, keys: Any) -> None:
        """Drops keys; those that are not there are ignored."""
        with self._lock:
            for key in keys.reshape(-1).tolist():
                self._values.pop(key, None)

    def export(self) -> tuple[Any, Any]:
        """All keys and their values."""
        with self._lock:
            keys, values = list(self._values), list(self._values.values())
        found = np.empty(len(keys), object if self.key_dtype is string else self.key_dtype.as_numpy_dtype)
        found[:] = keys
        return found, self._array(values, self.value_shape.known_sizes)


_MOST_FILLED = 0.8
"""The part of the buckets of a dense table that may hold keys before there are twice as many buckets."""


class DenseTable(Table):
    """A table that can be changed, whose keys and values are given out by buckets, also those that are empty.

    Keys are numbers, texts or vectors. TensorFlow places keys in buckets by a hash of its own; here they come in the
    order in which they were inserted, then the deleted ones, then the empty buckets.

    Args:
        key_dtype: the type of its keys.
        value_dtype: the type of its values.
        value_shape: the shape of a value.
        empty_key: what an empty bucket has for a key, an array; no key may be equal to it.
        deleted_key: what the bucket of a deleted key has, the same.
        buckets: how many buckets there are at first, a power of two.

    Raises:
        InvalidArgumentError: ``empty_key`` and ``deleted_key`` are the same, or of different shapes, or ``buckets`` is
            no power of two.
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
        """The values that deleted keys had, which are still in their buckets."""

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
        """The values of keys; the default for those that are not there.

        Raises:
            InvalidArgumentError: a key is of another shape, or stands for buckets that are empty or deleted.
        """
        with self._lock:
            wanted = self._keys(keys)
            missing = default.item() if not default.ndim else default
            found = [self._values.get(key, missing) for key in wanted]
        first = keys.shape[: keys.ndim - len(self.key_shape)]
        return self._array(found, default.shape).reshape((*first, *default.shape))

    def insert(self, keys: Any, values: Any) -> None:
        """Adds keys, or gives them other values.

        Raises:
            InvalidArgumentError: the values are not as many, or of another shape, or as `find`.
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
        """Drops keys; those that are not there are ignored."""
        with self._lock:
            for key in self._keys(keys):
                if key in self._values:
                    self._left.append(self._values.pop(key))

    def replace(self, keys: Any, values: Any) -> None:
        """Has these buckets and no others from now on."""
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
        """The keys and values of all buckets: two matrices with a row a bucket, also of scalars."""
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
    """An array as a key of a dict."""
    return tuple(key.reshape(-1).tolist()) if key.ndim else key.item()


def _text(value: Any) -> str:
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
    """Keys and values out of the lines of a file.

    Args:
        path: of the file.
        key_dtype: the type of keys.
        key_index: their column, or ``WHOLE_LINE`` or ``LINE_NUMBER``.
        value_dtype: the type of values.
        value_index: their column.
        most: how many lines there have to be, and are read; -1: any number.
        delimiter: stands between columns.

    Raises:
        InvalidArgumentError: there are fewer lines or columns, or something is not of its type.
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
