"""TensorFlow's element types, and the conversion of Python values to arrays of them.

Each type is a single object: ``float32 is as_dtype("float32") is as_dtype(np.float32)``. A variable that can be
assigned to has the reference type, ``_ref``.

>>> as_dtype(np.float64), float32._as_ref, float32.size
(tf.float64, tf.float32_ref, 4)
>>> as_array([1, 2.5])
array([1. , 2.5], dtype=float32)

Source: tensorflow/core/framework/types.proto and tensorflow/python/framework/dtypes.py, releases 1.15 and 2.21
(names, numbers); tensorflow/python/framework/tensor_util.py, release 1.15 (conversion of values).
"""

from __future__ import annotations

import numbers
from builtins import bool as _python_bool
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import ml_dtypes
import numpy as np

from gpuplace import shapes
from gpuplace.display import above
from gpuplace.typing import DTypeLike, ShapeLike

__all__ = [  # the names in `tf.`; helpers are imported by name
    "bfloat16",
    "bool",
    "complex64",
    "complex128",
    "double",
    "float16",
    "float32",
    "float64",
    "half",
    "int16",
    "int32",
    "int64",
    "int8",
    "qint16",
    "qint32",
    "qint8",
    "quint16",
    "quint8",
    "resource",
    "string",
    "uint16",
    "uint32",
    "uint64",
    "uint8",
    "variant",
]

integral_types = (numbers.Integral, np.integer)
real_types = (numbers.Real, np.integer, np.floating)
complex_types = (numbers.Complex, np.number)
"""Python's and NumPy's classes of numbers, for ``isinstance``."""

_REF_OFFSET = 100
_HASH_OFFSET = 0x7F5A0000
"""Makes the hash of a type differ from that of its number: an attribute with the int 1 is not float32."""


class DType:
    """An element type.

    Attributes:
        name: TensorFlow's name, such as ``"float32"``.
        as_datatype_enum: number in ``types.proto``.
        as_numpy_dtype: NumPy scalar type (``object`` for string, resource and variant).
        size: size of an element in bytes (1 for string, resource and variant).
        is_handle: whether values are objects instead of arrays: resource and variant.

    Args:
        type_enum: number in ``types.proto``; above 100 for a reference type.

    Raises:
        TypeError: the number is not a type.
    """

    __slots__ = (
        "name",
        "as_datatype_enum",
        "as_numpy_dtype",
        "numpy_dtype",
        "is_ref_dtype",
        "base_dtype",
        "_as_ref",
        "size",
        "is_handle",
        "_kind",
    )
    name: str
    as_datatype_enum: int
    base_dtype: DType
    _as_ref: DType

    def __new__(cls, type_enum: int) -> DType:
        """Return the type with a number."""
        found = _BY_NUMBER.get(int(type_enum))
        if found is None:
            raise TypeError(f"type_enum is not a valid types_pb2.DataType: {type_enum}")
        return found

    def _fill(self, name: str, number: int, numpy_type: Any, kind: str, size: int) -> DType:
        """Set the properties of a new type.

        Args:
            name: TensorFlow's name.
            number: number in ``types.proto``; above 100 for a reference type.
            numpy_type: NumPy scalar type.
            kind: ``"f"`` floating, ``"c"`` complex, ``"i"`` or ``"u"`` integer, ``"b"`` bool, ``"q"`` quantized; other
                types have no arithmetic.
            size: size of an element in bytes.
        """
        self.name = name
        self.as_datatype_enum = number
        self.as_numpy_dtype = numpy_type
        self.numpy_dtype = np.dtype(numpy_type)
        self.size = size
        self._kind = kind
        self.is_ref_dtype = number > _REF_OFFSET
        self.is_handle = name.removesuffix("_ref") in _HANDLES
        return self

    @property
    def enum_name(self) -> str:
        """The name in ``types.proto``: DT_FLOAT, DT_INT32_REF, ..."""
        short = {"float32": "float", "float64": "double", "float16": "half"}.get(
            self.base_dtype.name, self.base_dtype.name
        )
        return f"DT_{short.upper()}" + ("_REF" if self.is_ref_dtype else "")

    @property
    def short_name(self) -> str:
        """The name in TensorFlow's C++ messages: float, double, half, int32, ..."""
        return self.enum_name[3:].lower()

    @property
    def real_dtype(self) -> DType:
        """The type of the parts of a complex type; for other types, the type without reference."""
        return {"complex64": float32, "complex128": float64}.get(self.base_dtype.name, self.base_dtype)

    @property
    def is_floating(self) -> _python_bool:
        """Whether the type is floating point, including half and bfloat16, and not quantized."""
        return self._kind == "f"

    @property
    def is_complex(self) -> _python_bool:
        """Whether the type is complex64 or complex128."""
        return self._kind == "c"

    @property
    def is_integer(self) -> _python_bool:
        """Whether the type is a plain integer type: not quantized, not bool."""
        return self._kind in "iu"

    @property
    def is_unsigned(self) -> _python_bool:
        """Whether the type is a plain unsigned integer type."""
        return self._kind == "u"

    @property
    def is_bool(self) -> _python_bool:
        """Whether the type is bool."""
        return self._kind == "b"

    @property
    def is_quantized(self) -> _python_bool:
        """Whether the type is quantized."""
        return self._kind == "q"

    @property
    def is_numpy_compatible(self) -> _python_bool:
        """Whether arrays can contain it: not resource or variant."""
        return not self.is_handle

    @property
    def min(self) -> Any:
        """The smallest finite value; TypeError for unordered types."""
        return self._limits().min

    @property
    def max(self) -> Any:
        """The largest finite value; TypeError for unordered types."""
        return self._limits().max

    def limits(self, clip_negative: _python_bool = True) -> tuple[Any, Any]:
        """Return the intensity range of images of this type: -1 to 1 for floating types, otherwise all values.

        Args:
            clip_negative: start the range at 0.

        Raises:
            TypeError: the type is unordered.
        """
        if self.is_bool:
            return (0 if clip_negative else False), True
        least, most = (-1, 1) if self._kind == "f" else (int(self.min), int(self.max))
        return (0 if clip_negative else least), most

    def _limits(self) -> Any:
        if self._kind == "f":
            return ml_dtypes.finfo(self.numpy_dtype)  # type: ignore[no-untyped-call]
        if self._kind in "iuq":
            return ml_dtypes.iinfo(self.numpy_dtype)  # type: ignore[no-untyped-call]
        raise TypeError(f"Cannot find minimum value of {self}.")

    def is_compatible_with(self, other: DTypeLike) -> _python_bool:
        """Return whether a value of another type can be used as this type: the same type, or a reference to it.

        Args:
            other: a type that ``as_dtype`` accepts.
        """
        other = as_dtype(other)
        return self is other or self is other.base_dtype

    def __eq__(self, other: Any) -> _python_bool:
        if self is other:
            return True
        if other is None or isinstance(other, DType):
            return False
        try:
            return as_dtype(other) is self
        except TypeError:
            return False

    __hash__ = object.__hash__  # each type is a single object, so dictionary lookups run no Python code

    def __int__(self) -> int:
        return self.as_datatype_enum

    def __repr__(self) -> str:
        return f"tf.{self.name}"

    def __str__(self) -> str:
        return f"<dtype: {self.name!r}>"

    def __reduce__(self) -> Any:
        return as_dtype, (self.as_datatype_enum,)


_HANDLES = ("resource", "variant")
_BY_NUMBER: dict[int, DType] = {}
_BY_NAME: dict[str, DType] = {}
_BY_NUMPY: dict[np.dtype[Any], DType] = {}


def _define(name: str, number: int, numpy_type: Any, kind: str, size: int | None = None) -> DType:
    size = np.dtype(numpy_type).itemsize if size is None else size
    base = object.__new__(DType)._fill(name, number, numpy_type, kind, size)
    reference = object.__new__(DType)._fill(f"{name}_ref", number + _REF_OFFSET, numpy_type, kind, size)
    base.base_dtype = reference.base_dtype = base
    base._as_ref = reference._as_ref = reference
    for dtype in (base, reference):
        _BY_NUMBER[dtype.as_datatype_enum] = dtype
        _BY_NAME[dtype.name] = _BY_NAME[dtype.enum_name] = _BY_NAME[dtype.short_name] = dtype
    if kind in "fciub":
        _BY_NUMPY[base.numpy_dtype] = base
    return base


float32 = _define("float32", 1, np.float32, "f")
float64 = double = _define("float64", 2, np.float64, "f")
int32 = _define("int32", 3, np.int32, "i")
uint8 = _define("uint8", 4, np.uint8, "u")
int16 = _define("int16", 5, np.int16, "i")
int8 = _define("int8", 6, np.int8, "i")
string = _define("string", 7, object, "s", 1)
complex64 = _define("complex64", 8, np.complex64, "c")
int64 = _define("int64", 9, np.int64, "i")
bool = _define("bool", 10, np.bool_, "b")
qint8 = _define("qint8", 11, np.int8, "q")
quint8 = _define("quint8", 12, np.uint8, "q")
qint32 = _define("qint32", 13, np.int32, "q")
bfloat16 = _define("bfloat16", 14, ml_dtypes.bfloat16, "f")
qint16 = _define("qint16", 15, np.int16, "q")
quint16 = _define("quint16", 16, np.uint16, "q")
uint16 = _define("uint16", 17, np.uint16, "u")
complex128 = _define("complex128", 18, np.complex128, "c")
float16 = half = _define("float16", 19, np.float16, "f")
resource = _define("resource", 20, object, "r", 1)
variant = _define("variant", 21, object, "v", 1)
uint32 = _define("uint32", 22, np.uint32, "u")
uint64 = _define("uint64", 23, np.uint64, "u")
float8_e5m2 = _define("float8_e5m2", 24, ml_dtypes.float8_e5m2, "f")
float8_e4m3fn = _define("float8_e4m3fn", 25, ml_dtypes.float8_e4m3fn, "f")
float8_e4m3fnuz = _define("float8_e4m3fnuz", 26, ml_dtypes.float8_e4m3fnuz, "f")
float8_e4m3b11fnuz = _define("float8_e4m3b11fnuz", 27, ml_dtypes.float8_e4m3b11fnuz, "f")
float8_e5m2fnuz = _define("float8_e5m2fnuz", 28, ml_dtypes.float8_e5m2fnuz, "f")
int4 = _define("int4", 29, ml_dtypes.int4, "i")
uint4 = _define("uint4", 30, ml_dtypes.uint4, "u")
int2 = _define("int2", 31, ml_dtypes.int2, "i")
uint2 = _define("uint2", 32, ml_dtypes.uint2, "u")
float4_e2m1fn = _define("float4_e2m1fn", 33, ml_dtypes.float4_e2m1fn, "f")

ALL_DTYPES: tuple[DType, ...] = tuple(
    dtype for number, dtype in sorted(_BY_NUMBER.items()) if number < _REF_OFFSET
)
DTYPES_OF_1_15: tuple[DType, ...] = ALL_DTYPES[: ALL_DTYPES.index(uint64) + 1]
"""The types of release 1.15: those up to ``uint64``, number 23."""


class UnknownDType(DType):
    """Stands for an unknown type number in a file; compared by number, and printed in texts.

    Args:
        number: the number.
    """

    __slots__ = ()

    def __new__(cls, number: int) -> UnknownDType:
        """Create a type."""
        return object.__new__(cls)

    def __init__(self, number: int) -> None:
        if number == 0:
            name = "INVALID"
        elif number > _REF_OFFSET:
            name = f"unknown dtype enum ({number - _REF_OFFSET})_ref"
        else:
            name = f"unknown dtype enum ({number})"
        self._fill(name, number, object, "v", 1)
        self.base_dtype = self
        self._as_ref = UnknownDType(number + _REF_OFFSET) if 0 <= number < _REF_OFFSET else self

    @property
    def enum_name(self) -> str:
        """The name in TensorFlow's messages."""
        return self.name

    @property
    def short_name(self) -> str:
        """The name in TensorFlow's messages."""
        return self.name

    @property
    def is_numpy_compatible(self) -> _python_bool:
        """Always False."""
        return False

    def __eq__(self, other: object) -> _python_bool:
        return isinstance(other, UnknownDType) and other.as_datatype_enum == self.as_datatype_enum

    def __hash__(self) -> int:
        return self.as_datatype_enum + _HASH_OFFSET

    def __reduce__(self) -> Any:
        return UnknownDType, (self.as_datatype_enum,)


INVALID = UnknownDType(0)
"""Default type."""


def ref_type(dtype: DType) -> DType:
    """Return the reference type of a dtype.

    Args:
        dtype: the dtype.
    """
    return dtype._as_ref


def dtype_of_number(number: int) -> DType:
    """Return the type with a number of ``types.proto``, or an `UnknownDType`.

    Args:
        number: number such as 1 for float32.
    """
    return _BY_NUMBER.get(number) or UnknownDType(number)


def as_dtype(type_value: DTypeLike) -> DType:
    """Return the type that a value represents.

    >>> as_dtype("float32") is as_dtype(float) is as_dtype(1)
    True

    Args:
        type_value: a ``DType``, enum number, name, NumPy type or Python type.

    Raises:
        TypeError: the value represents no type.
    """
    if isinstance(type_value, DType):
        return type_value
    if isinstance(type_value, str):
        match = _BY_NAME.get(type_value)
    elif isinstance(type_value, np.dtype):
        match = None if type_value.kind in "SUO" else _BY_NUMPY.get(type_value)
    elif isinstance(type_value, (int, np.integer)) and not isinstance(type_value, _python_bool):
        match = _BY_NUMBER.get(int(type_value))
    else:
        match = None
    if match is not None:
        return match
    for python_type, dtype in (
        (float, float32),
        (int, int64),
        (_python_bool, bool),
        (str, string),
        (bytes, string),
        (object, string),
    ):
        if type_value is python_type:
            return dtype
    try:
        if type_value is None:  # float64, NumPy's default
            raise TypeError
        given: Any = type_value
        numpy_dtype: np.dtype[Any] = np.dtype(given)
    except (TypeError, ValueError):
        raise TypeError(f"Cannot convert value {type_value!r} to a TensorFlow DType.") from None
    if numpy_dtype.kind in "SUO":
        return string
    if numpy_dtype in _BY_NUMPY:
        return _BY_NUMPY[numpy_dtype]
    raise TypeError(f"Cannot convert value {type_value!r} to a TensorFlow DType.")


_MOST_DIMENSIONS = 254
"""Dimensions of a tensor, and nesting of lists. Source: tensorflow/core/framework/tensor_shape.h, release 1.15."""


def leaves(value: object) -> Iterator[Any]:
    """Return the leaves of nested lists and tuples, in order.

    Args:
        value: the lists, or a leaf.

    Raises:
        ValueError: the nesting exceeds the maximum number of dimensions, or a list contains itself.
    """
    open_lists = [iter((value,))]
    while open_lists:
        for item in open_lists[-1]:
            if isinstance(item, (list, tuple)):
                if len(open_lists) > _MOST_DIMENSIONS:
                    raise ValueError(
                        f"Cannot convert lists nested more than {_MOST_DIMENSIONS} levels deep to a tensor: does a "
                        "list contain itself?"
                    )
                open_lists.append(iter(item))
                break
            yield item
        else:
            open_lists.pop()


_PYTHON_NUMBERS = (bool, int32, int64, float32, float64, complex128)
"""Types of Python numbers, in order of width."""
_AS_PYTHON = {"b": bool, "i": int32, "u": int32, "f": float32, "c": complex128}
"""Kind of a NumPy number -> type of a Python number of that kind."""


def _infer(value: object) -> DType:
    """Return TensorFlow's type for a Python value: int32 or int64 by size, float32, complex128, bool, string.

    NumPy numbers in a list are treated like Python numbers, although NumPy makes the list int64 or float64.
    """
    if isinstance(value, (np.ndarray, np.generic)):
        return as_dtype(value.dtype)
    if hasattr(value, "__array__"):
        return as_dtype(np.asarray(value).dtype)
    inferred: DType | None = None
    has_numpy_numbers = False
    for leaf in leaves(value):
        if isinstance(leaf, _python_bool):
            kind = bool
        elif isinstance(leaf, int):
            kind = int32 if -(2**31) <= leaf < 2**31 else int64
        elif isinstance(leaf, float):
            kind = float32
        elif isinstance(leaf, complex):
            kind = complex128
        elif isinstance(leaf, (str, bytes)):
            kind = string
        elif isinstance(leaf, shapes.Dimension):
            kind = int32
        elif isinstance(leaf, (np.number, np.bool_)) and leaf.dtype.kind in _AS_PYTHON:
            kind, has_numpy_numbers = _AS_PYTHON[leaf.dtype.kind], True
        elif isinstance(leaf, (np.ndarray, np.generic)) or hasattr(leaf, "__array__"):
            kind = as_dtype(np.asarray(leaf).dtype)
        else:
            raise _not_supported(value)
        inferred = kind if inferred is None else _wider(inferred, kind, value)
    if has_numpy_numbers and inferred in _PYTHON_NUMBERS:
        with suppress(ValueError):  # ragged, which raises an error later
            return _of_numpys_choice(np.asarray(value))
    return float32 if inferred is None else inferred


def _of_numpys_choice(array: np.ndarray[Any, Any]) -> DType:
    """Return the type of a list that NumPy converts to this array."""
    if array.dtype == np.float64:
        return float32
    if array.dtype == np.int64 and (array == array.astype(np.int32)).all():
        return int32
    return as_dtype(array.dtype)


def _wider(one: DType, other: DType, value: object) -> DType:
    if one is other:
        return one
    if one in _PYTHON_NUMBERS and other in _PYTHON_NUMBERS:
        return max(one, other, key=_PYTHON_NUMBERS.index)
    raise _not_supported(value)


def _not_supported(value: object) -> TypeError:
    return TypeError(
        f"Failed to convert object of type {type(value)} to Tensor. Contents: {value}."
        " Consider casting elements to a supported type."
    )


_ACCEPTS: dict[str, tuple[tuple[type, ...], str]] = {
    "i": ((int, np.integer, shapes.Dimension), "integer"),
    "u": ((int, np.integer, shapes.Dimension), "integer"),
    "q": ((int, np.integer, tuple), "integer"),
    "f": ((int, float, np.integer, np.floating), "real number"),
    "c": ((int, float, complex, np.number), "complex number"),
    "b": ((_python_bool, np.bool_), "bool"),
    "s": ((str, bytes, np.str_, np.bytes_), "string"),
}


def _check(value: object, dtype: DType) -> None:
    accepted = _ACCEPTS.get(dtype._kind)
    if accepted is None:
        raise TypeError(f"Cannot convert Python values to {dtype}.")
    for leaf in leaves(value):
        if isinstance(leaf, np.ndarray) or type(leaf).__module__ == "ml_dtypes" or hasattr(leaf, "__array__"):
            continue
        if not isinstance(leaf, accepted[0]):
            raise TypeError(f"Expected {dtype.name}, got {leaf!r} of type '{type(leaf).__name__}' instead.")


def as_array(
    value: Any, dtype: DType | None = None, shape: Any = None, verify_shape: Any = False
) -> np.ndarray[Any, Any]:
    """Return the array of ``tf.constant(value, dtype, shape)``.

    Args:
        value: scalar, nested lists or tuples, or an array.
        dtype: element type; None: inferred (int32, or int64 for large values; float32; bool; string; complex128).
        shape: shape; if it is larger than the value, the last element fills the rest.
        verify_shape: raise an error if the value has another shape.

    Raises:
        TypeError: an element cannot be converted to the type.
        ValueError: the value is ragged, has too many elements for ``shape``, contains None, or is a shape whose size
            exceeds int32.
        OverflowError: an integer exceeds 64 bits; one that only exceeds its type keeps its lowest bits.
    """
    if value is None:
        raise ValueError("None values not supported.")
    requested = None if dtype is None else as_dtype(dtype).base_dtype
    if shape is None:
        plain = _plain_array(value, requested)
        if plain is not None:
            return plain
    if callable(getattr(value, "__array__", None)) or isinstance(
        getattr(value, "__array_interface__", None), dict
    ):
        value = np.asarray(value, None if requested is None or requested is string else requested.numpy_dtype)
    is_array = isinstance(value, (np.ndarray, np.generic))
    if not is_array and isinstance(value, shapes.TensorShape):
        value = value.as_list()
        large = next((size for size in value if size is not None and size >= 2**31), None)
        if large is not None and requested is int32:
            raise ValueError(
                f"Cannot convert a TensorShape to dtype int32; a dimension is too large ({large})"
            )
        requested = requested or (int32 if large is None else int64)
    if not is_array and shape is not None and 0 in (shapes.as_shape(shape).sizes or ()):
        return np.empty(shapes.as_shape(shape).as_list(), (requested or float32).numpy_dtype)
    wanted = requested or _infer(value)
    if not is_array:
        _check(value, wanted)
        if wanted.is_integer:
            value = _plain_integers(value)
    try:
        if wanted is string:
            array = _string_array(value)
        else:
            array = np.asarray(value)
            if wanted.is_integer and not is_array and array.size:
                array = _wrapped(value, array, wanted)
            if array.dtype == object:
                raise ValueError
            array = array.astype(wanted.numpy_dtype, copy=False)
    except ValueError:
        if requested is not None and requested is not string and isinstance(value, (list, tuple)):
            raise ValueError("setting an array element with a sequence.") from None  # NumPy's message
        raise ValueError(
            f"Argument must be a dense tensor: {value!r} - got shape {_common_sizes(value)}, but wanted"
            f" {list(_outer_shape(value))}."
        ) from None
    if shape is None:
        return array
    return _fill(array, shapes.as_shape(shape), verify_shape)


def _wrapped(value: Any, array: np.ndarray[Any, Any], wanted: DType) -> np.ndarray[Any, Any]:
    """Return Python integers as an array of a type; integers that exceed the type keep their lowest bits.

    Source: NumPy 1's conversion of Python integers, which TensorFlow 1 leaves them to; NumPy 2 raises.
    """
    if (
        array.dtype.kind in "iu"
        and int(wanted.min) <= int(array.min())
        and int(array.max()) <= int(wanted.max)
    ):
        return array
    exact = np.asarray(value, object)
    if not all(isinstance(item, (int, np.integer)) for item in exact.flat):
        return array
    if min(exact.flat) < -(2**63) or max(exact.flat) >= (2**64 if wanted is uint64 else 2**63):
        raise OverflowError("Python int too large to convert to C long")
    return np.asarray(exact & (2**64 - 1), np.uint64).astype(wanted.numpy_dtype)


def _common_sizes(value: Any) -> list[int]:
    """Return the sizes of nested lists, down to the depth where lists differ in length."""
    sizes: list[int] = []
    level = [value]
    while all(isinstance(one, (list, tuple, np.ndarray)) for one in level) and len(set(map(len, level))) == 1:
        sizes.append(len(level[0]))
        level = [part for one in level for part in one]
    return sizes


_PLAIN_TYPES: frozenset[type] = frozenset({_python_bool, *map(type, (0, 0.0, 0j, "", b"", [], ()))})
"""Classes from which NumPy always creates new arrays."""

_NUMBERS = frozenset(np.dtype(code) for code in "?bBhHiIlLefdFD")
"""Array types that need no conversion."""


def own_array(
    value: object, dtype: DType | None = None, shape: ShapeLike = None, verify_shape: Any = False
) -> np.ndarray[Any, Any]:
    """Like ``as_array``, but the array never shares memory with ``value``.

    The array is copied at most once, and only if ``as_array`` did not create a new one.
    """
    if type(value) is np.ndarray and dtype is None and shape is None and value.dtype in _NUMBERS:
        return value.copy()
    array = as_array(value, dtype, shape, verify_shape)
    if type(value) in _PLAIN_TYPES:
        return array
    if isinstance(value, np.ndarray) and array is not value and not np.may_share_memory(array, value):
        return array
    return array.copy()


_INT32 = range(-(2**31), 2**31)
_SAFE_INT = range(-(2**24), 2**24 + 1)
"""Integers that all floating types except the short ones can represent."""
_SAFE_FLOAT = 1e37
"""Maximum absolute value for a 32-bit integer."""


def _plain_array(value: Any, given: DType | None) -> np.ndarray[Any, Any] | None:
    """Return the array of a number or flat list of numbers in the common case; None for all other values."""
    kind = type(value)
    if kind is list or kind is tuple:
        kinds = {type(item) for item in value}
        if len(kinds) != 1:
            return None
        (kind,) = kinds
        if kind is int:
            least, most = min(value), max(value)
        elif kind is float:
            least, most = min(value), max(value)
            if any(item != item for item in value):
                return None
        else:
            return None
    elif kind is int or kind is float:
        least = most = value
    elif kind is _python_bool and (given is None or given is bool):
        return np.array(value)
    else:
        return None
    if kind is int:
        if given is None or given is int32 or given is int64:
            if least in _INT32 and most in _INT32:
                return np.array(value, (given or int32).numpy_dtype)
        elif (given is float32 or given is float64) and least in _SAFE_INT and most in _SAFE_INT:
            return np.array(value, given.numpy_dtype)
    elif given is None or given is float32 or given is float64:
        if -_SAFE_FLOAT < least and most < _SAFE_FLOAT:
            return np.array(value, (given or float32).numpy_dtype)
    return None


def _fill(array: np.ndarray[Any, Any], shape: shapes.TensorShape, verify_shape: Any) -> np.ndarray[Any, Any]:
    count = shape.num_elements()
    if count is None:
        raise ValueError(f"The shape of a constant must be fully defined, got {shape}.")
    sizes = shape.known_sizes
    if verify_shape and array.shape != sizes:
        raise TypeError(f"Expected Tensor's shape: {sizes}, got {array.shape}.")
    if array.size == count:
        return array.reshape(sizes)
    if array.size > count:
        raise ValueError(f"Too many elements provided. Needed at most {count}, but received {array.size}")
    if array.size == 0:
        raise ValueError(f"Cannot fill a shape of {count} elements from an empty value.")
    filled = np.empty(count, array.dtype)
    filled[: array.size] = array.ravel()
    filled[array.size :] = array.ravel()[-1]
    return filled.reshape(sizes)


def count_of(value: Any) -> int:
    """Return the number of elements of a value that ``as_array`` accepts.

    >>> count_of("text"), count_of([[1, 2], [3, 4]])
    (1, 4)
    """
    if isinstance(value, shapes.TensorShape):
        return len(value)
    if isinstance(value, (list, tuple)):
        return sum(map(count_of, value))
    return int(np.size(value))


def _plain_integers(value: object) -> Any:
    if isinstance(value, (list, tuple)):
        return [_plain_integers(item) for item in value]
    return int(value) if isinstance(value, shapes.Dimension) else value


def _outer_shape(value: object) -> Sequence[int]:
    shape: list[int] = []
    while isinstance(value, (list, tuple)):
        shape.append(len(value))
        if not value:
            break
        value = value[0]
    return shape


def _string_array(value: object) -> np.ndarray[Any, Any]:
    """Return an object array of ``bytes``; strings are encoded as UTF-8."""
    if isinstance(value, (str, bytes)):
        flat: list[Any] = [value]
        shape: tuple[int, ...] = ()
    else:
        if not isinstance(value, np.ndarray):
            flat = list(leaves(value))
            shape = tuple(_outer_shape(value)) if flat else np.array(value, object).shape
            if len(flat) != int(np.prod(shape)):
                raise ValueError
        else:
            shape, flat = value.shape, value.ravel().tolist()
    array = np.empty(len(flat), object)
    for index, item in enumerate(flat):
        if not isinstance(item, (str, bytes)):
            raise TypeError(f"Expected string, got {item!r} of type '{type(item).__name__}' instead.")
        array[index] = item.encode() if isinstance(item, str) else bytes(item)
    return array.reshape(shape)


QUANTIZED_DTYPES = frozenset(
    one for base in (qint8, quint8, qint16, quint16, qint32) for one in (base, base._as_ref)
)
"""Quantized types, and the types of variables of them."""


def __getattr__(name: str) -> Any:
    """Names of ``tf.dtypes`` that the ops provide."""
    if name == "as_string":
        return above("gpuplace.ops.text.strings", "as_string")
    if name == "cast":
        return above("gpuplace.ops.math.cast", "cast")
    if name == "complex":
        return above("gpuplace.ops.math.elementwise", "complex")
    if name == "saturate_cast":
        return above("gpuplace.ops.math.cast", "saturate_cast")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
