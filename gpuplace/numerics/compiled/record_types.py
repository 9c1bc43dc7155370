"""Named tuples of arrays as arguments of compiled functions: a table of addresses, from which fields are read.

To numba, a named tuple is the sequence of all its arrays. Each function that takes it and each field access unpacks
them, and compiling that takes most of a minute for tuples of thirty. Here it is a single address::

    packed(Pair(first, second))     table: [address of first, its length, address of second, its length]
    pair.second[3]                  reads words 2 and 3 of the table, and is an array

The table does not change while a function runs, so the compiler reads each word only once. This module needs numba;
``functions`` imports it when something is compiled.
"""

from __future__ import annotations

from typing import Annotated, Any, get_args, get_origin, get_type_hints

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typing.templates import AttributeTemplate
from numba.extending import NativeValue, infer_getattr, lower_getattr_generic, models, register_model, unbox
from numba.np.arrayobj import make_array, populate_array

# numba has no type information
_helpers: Any = cgutils
_array_of: Any = make_array
_filled: Any = populate_array
_native: Any = NativeValue
_lowered: Any = lower_getattr_generic
_taken: Any = unbox
_WORD = ir.IntType(64)
_PLAIN = {int: types.int64, float: types.float64, bool: types.boolean}


def type_of(annotation: Any) -> Any:
    """Return numba's type for an annotation.

    Args:
        annotation: int, float, bool, None, a named tuple, ``Annotated[Any, name of a dtype]`` for an array with one
            axis, or ``Annotated[Any, named tuple]`` for a value that is a list in uncompiled functions.
    """
    if annotation is None or annotation is type(None):
        return types.void
    if get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[1]
        if isinstance(annotation, str):
            return types.Array(types.float64 if annotation == "float64" else types.int64, 1, "C")
    return _PLAIN[annotation] if annotation in _PLAIN else RecordType(annotation)


class RecordType(types.Type):
    """The type of a packed named tuple.

    Args:
        record: class of the named tuple.
    """

    def __init__(self, record: Any) -> None:
        hints = get_type_hints(record, include_extras=True)
        self.fields = tuple((name, type_of(hints[name])) for name in record._fields)
        inner = ", ".join(f"{name}: {kind}" for name, kind in self.fields)
        super().__init__(name=f"{record.__module__}.{record.__qualname__}({inner})")


@register_model(RecordType)
class _Model(models.OpaqueModel):
    """The address of the table."""


@infer_getattr
class _Fields(AttributeTemplate):
    key = RecordType

    def generic_resolve(self, record: RecordType, name: str) -> Any:  # type: ignore[override]
        return dict(record.fields).get(name)


def _field(context: Any, builder: Any, record: RecordType, table: Any, name: str) -> Any:
    at = [field for field, _ in record.fields].index(name)
    kind = record.fields[at][1]
    words = builder.bitcast(table, _WORD.as_pointer())

    def word(number: int, as_type: Any = _WORD) -> Any:
        where = builder.gep(words, [ir.Constant(_WORD, number)])
        value = builder.load(builder.bitcast(where, as_type.as_pointer()))
        value.set_metadata("invariant.load", builder.module.add_metadata([]))
        return value

    if isinstance(kind, RecordType):
        return builder.inttoptr(word(2 * at), _helpers.voidptr_t)
    if not isinstance(kind, types.Array):
        return word(2 * at, ir.DoubleType() if kind == types.float64 else _WORD)
    array = _array_of(kind)(context, builder)
    width = ir.Constant(_WORD, 8)
    _filled(
        array,
        data=builder.inttoptr(word(2 * at), context.get_data_type(kind.dtype).as_pointer()),
        shape=_helpers.pack_array(builder, [word(2 * at + 1)]),
        strides=_helpers.pack_array(builder, [width]),
        itemsize=width,
        meminfo=None,
        parent=None,
    )
    return array._getvalue()


_lowered(RecordType)(_field)


def _unboxed(record: RecordType, packed: Any, c: Any) -> Any:
    address = c.pyapi.object_getattr_string(packed, "address")
    value = c.pyapi.long_as_longlong(address)
    c.pyapi.decref(address)
    failed = _helpers.is_not_null(c.builder, c.pyapi.err_occurred())
    return _native(c.builder.inttoptr(value, _helpers.voidptr_t), is_error=failed)


_taken(RecordType)(_unboxed)


class Packed:
    """A named tuple for compiled functions, which share its arrays, including later changes.

    Args:
        record: named tuple of one-axis arrays of doubles or integers, integers, floats, and such records.

    Raises:
        TypeError: a field has another type.
    """

    __slots__ = ("_numba_type_", "address", "inner", "record", "table")

    def __init__(self, record: Any) -> None:
        self._numba_type_ = RecordType(type(record))
        self.record = record  # keeps the arrays alive
        self.inner: list[Packed] = []
        self.table = np.zeros((len(record), 2), np.int64)
        self.address: int = self.table.ctypes.data
        for row, value, (name, kind) in zip(self.table, record, self._numba_type_.fields):
            if isinstance(kind, types.Array):
                if not (value.dtype == str(kind.dtype) and value.ndim == 1 and value.flags.carray):
                    raise TypeError(f"{type(record).__name__}.{name} is not a one-axis array of {kind.dtype}")
                row[:] = value.ctypes.data, len(value)
            elif isinstance(kind, RecordType):
                self.inner.append(Packed(value))
                row[0] = self.inner[-1].address
            elif kind == types.float64:
                row.view(np.float64)[0] = value
            else:
                row[0] = value
