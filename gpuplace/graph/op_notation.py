"""TensorFlow's notation for op signatures: ``"values: N * T"``, ``"T: {int32, int64} = DT_INT32"``.

The parser serves the catalogue's data files, toy ops in tests, and interactive use. An argument names a type or an
attribute, with an optional repetition (``N * T``) or reference (``Ref(T)``). An attribute has a type, and optionally
allowed values, a minimum and a default.

>>> parse_attr("strides: list(int) >= 4 = [1, 1, 1, 1]")
AttrDef(name='strides', type='list(int)', default=(1, 1, 1, 1), allowed=None, minimum=4)
>>> str(parse_arg("values: N*T", {"N": "int", "T": "type"}))
'values: N * T'

Source: tensorflow/core/framework/op_def_builder.cc, release 1.15 (the grammar, and the types of ``numbertype``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpuplace.dtypes import DType, as_dtype, ref_type
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.attr_value import FunctionRef, TensorValue
from gpuplace.graph.long_list import mapped, repeated
from gpuplace.shapes import TensorShape


class _NoDefault:
    """The type of ``NO_DEFAULT``."""

    def __repr__(self) -> str:
        return "NO_DEFAULT"

    def __reduce__(self) -> str:
        return "NO_DEFAULT"


NO_DEFAULT = _NoDefault()
"""Marks an attribute without a default; None could be a value."""

ATTR_TYPES = ("string", "int", "float", "bool", "type", "shape", "tensor", "func")
"""Attribute types; each can also be the element type of a list."""
_TYPE_GROUPS = {
    "numbertype": "float double int64 int32 uint8 uint16 int16 int8 complex64 complex128 qint8 quint8 qint32 half"
    " uint32 uint64 bfloat16",
    "realnumbertype": "float double int32 int64 uint8 int16 int8 uint16 half uint32 uint64 bfloat16",
    "quantizedtype": "qint8 quint8 qint16 quint16 qint32",
}
_TYPE_GROUPS["numbers"] = _TYPE_GROUPS["numbertype"]
_TYPE_GROUPS["realnumbers"] = _TYPE_GROUPS["realnumbertype"]


@dataclass(frozen=True, slots=True)
class ArgDef:
    """An input or output of an op; exactly one of ``type``, ``type_attr`` and ``type_list_attr`` is set."""

    name: str
    type: DType | None = None
    """Type, if the signature fixes it."""
    type_attr: str | None = None
    """Attribute that holds the type."""
    number_attr: str | None = None
    """Attribute that holds the number of tensors of that type; None for a single tensor."""
    type_list_attr: str | None = None
    """Attribute that holds a list of types, one for each tensor."""
    is_ref: bool = False
    """Whether the tensors are passed by reference."""

    @property
    def is_list(self) -> bool:
        """Whether the argument takes a list of tensors."""
        return self.number_attr is not None or self.type_list_attr is not None

    def types(self, attrs: Mapping[str, Any]) -> Sequence[DType]:
        """Return the types of the argument's tensors for a node's attributes; KeyError if one is missing.

        The types must be valid for the op already. Reference arguments give reference types. A long list is not a tuple
        (see `gpuplace.graph.long_list`).

        Raises:
            InvalidArgumentError: more tensors than a node can have, or a negative number.
        """
        types: Sequence[DType]
        if self.type_list_attr is not None:
            types = tuple(attrs[self.type_list_attr])
        else:
            one = self.type if self.type is not None else attrs[self.type_attr]  # type: ignore[index]
            types = (one,) if self.number_attr is None else repeated(one, attrs[self.number_attr])
        return mapped(types, ref_type) if self.is_ref else types

    def __str__(self) -> str:
        text = self.type_list_attr or self.type_attr or self.type.short_name  # type: ignore[union-attr]
        if self.number_attr:
            text = f"{self.number_attr} * {text}"
        return f"{self.name}: Ref({text})" if self.is_ref else f"{self.name}: {text}"


@dataclass(frozen=True, slots=True)
class AttrDef:
    """An attribute of an op."""

    name: str
    type: str
    """``int``, ``float``, ``bool``, ``string``, ``type``, ``shape``, ``tensor``, ``func``, or ``list(...)`` of one."""
    default: Any = NO_DEFAULT
    """Python value (see ``attr_value``), or ``NO_DEFAULT``."""
    allowed: tuple[Any, ...] | None = None
    """Allowed types or byte strings, for a list, those of its elements; None for any."""
    minimum: int | None = None
    """Smallest value of an int, or smallest length of a list."""

    @property
    def has_default(self) -> bool:
        """Whether a node can omit the attribute."""
        return self.default is not NO_DEFAULT

    @property
    def is_list(self) -> bool:
        """Whether its values are lists."""
        return self.type.startswith("list(")

    @property
    def element_type(self) -> str:
        """The type without ``list()``."""
        return self.type[len("list(") : -1] if self.is_list else self.type

    def __str__(self) -> str:
        text = self.type
        if self.allowed is not None:
            inner = ", ".join(v.short_name if isinstance(v, DType) else _quoted(v) for v in self.allowed)
            text = f"list({{{inner}}})" if self.is_list else f"{{{inner}}}"
        if self.minimum is not None:
            text += f" >= {self.minimum}"
        if self.has_default:
            text += f" = {value_text(self.default)}"
        return f"{self.name}: {text}"


_SHOWN = 1000
"""Maximum number of tensor elements in the text of a value."""


def value_text(value: object) -> str:
    """Return an attribute value in the notation of defaults.

    >>> value_text((b"a", True, TensorShape([None, 2])))
    '["a", true, [?,2]]'
    """
    if isinstance(value, tuple):
        return f"[{', '.join(map(value_text, value))}]"
    if isinstance(value, DType):
        return value.enum_name
    if isinstance(value, bytes):
        return _quoted(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, TensorShape):
        if value.ndims is None:
            return "<unknown>"
        return f"[{','.join('?' if size is None else str(size) for size in value.as_list())}]"
    if isinstance(value, TensorValue):
        try:
            elements = value.shown(_SHOWN + 1).reshape(-1)[: _SHOWN + 1].tolist()
        except InvalidArgumentError:
            return f"Tensor<type: {value.dtype.short_name} shape: {value_text(value.shape)} values: corrupt>"
        values = " ".join(map(str, elements[:_SHOWN])) + ("..." if len(elements) > _SHOWN else "")
        return f"Tensor<type: {value.dtype.short_name} shape: {value_text(value.shape)} values: {values}>"
    if isinstance(value, FunctionRef):
        return value.name
    return str(value)


def parse_arg(text: str, attr_types: Mapping[str, str]) -> ArgDef:
    """Parse an input or output.

    Args:
        text: ``"name: type"``, ``"name: N * T"``, ``"name: Ref(T)"``.
        attr_types: attribute name -> attribute type; distinguishes a single type from a list of types.

    Raises:
        ValueError: the text is malformed, or names neither a type nor a suitable attribute.
    """
    match = _ARG.fullmatch(text)
    if match is None:
        raise ValueError(f"Trouble parsing {text!r}: write 'name: type', 'name: N * T' or 'name: Ref(T)'")
    name, is_ref, number, type_name = match["name"], match["ref"] is not None, match["number"], match["type"]
    if number is not None and attr_types.get(number) != "int":
        raise ValueError(f"Trouble parsing {text!r}: {number!r} is not an attribute of type int")
    kind = attr_types.get(type_name)
    if kind == "type":
        return ArgDef(name, type_attr=type_name, number_attr=number, is_ref=is_ref)
    if kind == "list(type)" and number is None:
        return ArgDef(name, type_list_attr=type_name, is_ref=is_ref)
    if kind is not None:
        raise ValueError(f"Trouble parsing {text!r}: attribute {type_name!r} is {kind}, not a type")
    try:
        return ArgDef(name, type=as_dtype(type_name), number_attr=number, is_ref=is_ref)
    except TypeError:
        raise ValueError(
            f"Trouble parsing {text!r}: {type_name!r} is neither a type nor an attribute"
        ) from None


_ARG = re.compile(
    r"\s*(?P<name>[a-zA-Z]\w*)\s*:\s*(?P<ref>Ref\s*\(\s*)?(?:(?P<number>\w+)\s*\*\s*)?(?P<type>\w+)\s*(?(ref)\)\s*)"
)
_NAME = re.compile(r"\s*(\w+)\s*:\s*")
_MINIMUM = re.compile(r">=\s*(-?\d+)\s*")
_WORD = re.compile(r"(\w+)\s*")
_FUNCTION = re.compile(r"(\w*)\s*")
_STRING = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')\s*""")
_NUMBER = re.compile(r"([-+]?(?:\d[\d.]*(?:[eE][-+]?\d+)?|\.\d+|inf|nan))\s*", re.IGNORECASE)
_DIMENSION = re.compile(r"(\d+|\?|-1)\s*")
_TENSOR = re.compile(r"Tensor<type: (\w+) shape: \[([\d,]*)\] values: ([^>]*)>\s*")


def parse_attr(text: str) -> AttrDef:
    """Parse an attribute: ``"name: type"`` with optional ``>= minimum`` and ``= default``.

    Raises:
        ValueError: the text is malformed, or the default has another type.
    """
    return _AttrParser(text).parse()


class _AttrParser:
    """Parser of the text of one attribute."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def fail(self, wanted: str) -> ValueError:
        return ValueError(f"Trouble parsing attribute {self.text!r} at {self.text[self.at :]!r}: {wanted}")

    def accept(self, literal: str) -> bool:
        if not self.text.startswith(literal, self.at):
            return False
        self.at += len(literal)
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1
        return True

    def expect(self, literal: str) -> None:
        if not self.accept(literal):
            raise self.fail(f"expected {literal!r}")

    def take(self, pattern: re.Pattern[str], wanted: str) -> re.Match[str]:
        match = pattern.match(self.text, self.at)
        if match is None:
            raise self.fail(f"expected {wanted}")
        self.at = match.end()
        return match

    def parse(self) -> AttrDef:
        name = self.take(_NAME, "'name: type'")[1]
        is_list = self.accept("list(")
        element, allowed = self.element_type()
        if is_list:
            self.expect(")")
        minimum = None
        if self.text.startswith(">=", self.at):
            if not is_list and element != "int":
                raise self.fail("only an int or a list has a minimum")
            minimum = int(self.take(_MINIMUM, "a whole number")[1])
        default: Any = NO_DEFAULT
        if self.accept("="):
            default = self.sequence(element) if is_list else self.value(element)
        if self.at < len(self.text):
            raise self.fail("expected the end")
        return AttrDef(name, f"list({element})" if is_list else element, default, allowed, minimum)

    def element_type(self) -> tuple[str, tuple[Any, ...] | None]:
        """Return the type of a value or of list elements, and the allowed values."""
        if self.accept("{"):
            if self.text[self.at : self.at + 1] in ("'", '"'):
                allowed = [self.value("string")]
                while self.accept(","):
                    allowed.append(self.value("string"))
                kind = "string"
            else:
                allowed = self.type_words()
                while self.accept(","):
                    allowed += [] if self.text.startswith("}", self.at) else self.type_words()
                kind = "type"
            self.expect("}")
            return kind, tuple(allowed)
        start = self.at
        word = self.take(_WORD, "a type")[1]
        if word in ATTR_TYPES:
            return word, None
        if word in _TYPE_GROUPS:
            return "type", _group(word)
        self.at = start
        raise self.fail(
            f"expected one of {', '.join(ATTR_TYPES)}, list(...), {{...}} or a group such as numbertype"
        )

    def type_words(self) -> list[Any]:
        word = self.take(_WORD, "a type")[1]
        try:
            return list(_group(word)) if word in _TYPE_GROUPS else [as_dtype(word)]
        except TypeError:
            raise self.fail(f"there is no type {word!r}") from None

    def sequence(self, element: str) -> tuple[Any, ...]:
        self.expect("[")
        if self.accept("]"):
            return ()
        values = [self.value(element)]
        while self.accept(","):
            values.append(self.value(element))
        self.expect("]")
        return tuple(values)

    def value(self, kind: str) -> Any:
        if kind == "string":
            return _unquoted(self.take(_STRING, "a quoted string")[1])
        if kind == "bool":
            word = self.take(_WORD, "true or false")[1]
            if word not in ("true", "false"):
                raise self.fail("expected true or false")
            return word == "true"
        if kind in ("int", "float"):
            number = self.take(_NUMBER, "a number")[1]
            try:
                return int(number) if kind == "int" else float(number)
            except ValueError:
                raise self.fail(f"{number!r} is not of type {kind}") from None
        if kind == "type":
            return self.type_words()[0]
        if kind == "shape":
            return self.shape()
        if kind == "func":
            return FunctionRef(self.take(_FUNCTION, "the name of a function")[1], {})
        match = self.take(_TENSOR, "Tensor<type: T shape: [...] values: ...>")
        dtype = as_dtype(match[1])
        sizes = [int(size) for size in match[2].split(",") if size]
        values = np.array([float(v) for v in match[3].split()]).astype(dtype.numpy_dtype)
        return TensorValue.of_array(values.reshape(sizes), dtype)

    def shape(self) -> TensorShape:
        if self.accept("<unknown>"):
            return TensorShape(None)
        self.expect("[")
        sizes: list[int | None] = []
        while not self.accept("]"):
            size = self.take(_DIMENSION, "a size or '?'")[1]
            sizes.append(None if size in ("?", "-1") else int(size))
            if not self.accept(",") and not self.text.startswith("]", self.at):
                raise self.fail("expected ',' or ']'")
        return TensorShape(sizes)


def _group(word: str) -> tuple[DType, ...]:
    return tuple(as_dtype(name) for name in _TYPE_GROUPS[word].split())


def _quoted(data: bytes) -> str:
    return '"' + "".join(chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\x{b:02x}" for b in data) + '"'


def _unquoted(text: str) -> bytes:
    return text[1:-1].encode("utf-8").decode("unicode_escape").encode("latin-1")
