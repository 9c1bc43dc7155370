"""Check that an attribute value has the declared type, with TensorFlow's error messages.

>>> from gpuplace.graph.op_notation import parse_attr
>>> kind_fault(parse_attr("N: int >= 1"), 2.5)
"AttrValue had value with type 'float' when 'int' expected"
>>> kind_fault(parse_attr("N: int >= 1"), 2) is None
True

Source: AttrValueHasType in tensorflow/core/framework/attr_value_util.cc, releases 1.15 and 2.21.
"""

from __future__ import annotations

from gpuplace.dtypes import INVALID, DType, UnknownDType
from gpuplace.graph.attr_value import FunctionRef, TensorValue
from gpuplace.graph.op_notation import AttrDef
from gpuplace.shapes import TensorShape

_KINDS: dict[str, type] = {
    "int": int,
    "float": float,
    "bool": bool,
    "string": bytes,
    "type": DType,
    "shape": TensorShape,
    "tensor": TensorValue,
    "func": FunctionRef,
}
_NAMES = (("bool", bool), *((name, kind) for name, kind in _KINDS.items() if name != "bool"))


def kind_name(value: object) -> str:
    """Return TensorFlow's name for the type of a value: `"int"`, `"list(type)"`, ...; `""` for no value."""
    if isinstance(value, tuple):
        return f"list({kind_name(value[0])})" if value else "list"
    return next((name for name, kind in _NAMES if isinstance(value, kind)), "")


def kind_fault(attr: AttrDef, value: object) -> str | None:
    """Return the error of a value whose type is wrong, or None. An empty list is valid for any list type."""
    if attr.is_list:
        if isinstance(value, tuple) and all(_is_a(attr.element_type, item) for item in value):
            return None
    elif _is_a(attr.type, value):
        return None
    if isinstance(value, str):
        return "AttrValue had value with unexpected type 'placeholder'"
    if value is None or value == ():
        return f"AttrValue missing value with expected type '{attr.type}'"
    items = value if isinstance(value, tuple) else (value,)
    other = next((item for item in items if not _is_a(attr.element_type, item)), items[0])
    found = f"list({kind_name(other)})" if isinstance(value, tuple) else kind_name(value)
    return f"AttrValue had value with type '{found}' when '{attr.type}' expected"


def type_fault(value: object) -> str | None:
    """Return the error of a type or list of types, or None. Reference types and unknown types are invalid."""
    for item in value if isinstance(value, tuple) else (value,):
        if isinstance(item, UnknownDType):
            if item == INVALID:
                return "AttrValue has invalid DataType"
            return f"AttrValue has invalid DataType enum: {item.as_datatype_enum}"
        if isinstance(item, DType) and item.is_ref_dtype:
            return f"AttrValue must not have reference type value of {item.short_name}"
    return None


def _is_a(kind: str, value: object) -> bool:
    wanted = _KINDS.get(kind)
    return (
        wanted is not None and isinstance(value, wanted) and (kind == "bool" or not isinstance(value, bool))
    )
