"""Attributes of the wrong kind, in TensorFlow's words."""

import pytest

from gpuplace.dtypes import INVALID, UnknownDType, dtype_of_number, float32
from gpuplace.graph.attr_check import kind_fault, kind_name, type_fault
from gpuplace.graph.attr_value import FunctionRef, TensorValue
from gpuplace.graph.op_notation import parse_attr
from gpuplace.shapes import TensorShape

TENSOR = TensorValue(float32, TensorShape.of(()))


@pytest.mark.parametrize(
    ("kind", "value", "fault"),
    [
        ("int", 1, None),
        ("bool", True, None),
        ("int", True, "AttrValue had value with type 'bool' when 'int' expected"),
        ("type", 1, "AttrValue had value with type 'int' when 'type' expected"),
        ("type", b"x", "AttrValue had value with type 'string' when 'type' expected"),
        ("type", TensorShape.of((2,)), "AttrValue had value with type 'shape' when 'type' expected"),
        ("type", TENSOR, "AttrValue had value with type 'tensor' when 'type' expected"),
        ("type", FunctionRef("f"), "AttrValue had value with type 'func' when 'type' expected"),
        ("type", (float32,), "AttrValue had value with type 'list(type)' when 'type' expected"),
        ("type", (), "AttrValue missing value with expected type 'type'"),
        ("type", None, "AttrValue missing value with expected type 'type'"),
        ("int", "N", "AttrValue had value with unexpected type 'placeholder'"),
        ("list(type)", (), None),
        ("list(type)", 1, "AttrValue had value with type 'int' when 'list(type)' expected"),
        ("list(type)", (float32, 1), "AttrValue had value with type 'list(int)' when 'list(type)' expected"),
    ],
)
def test_sentences_of_tensorflow(kind, value, fault):
    assert kind_fault(parse_attr(f"x: {kind}"), value) == fault


def test_types_that_no_attribute_may_hold():
    assert type_fault(float32) is None
    assert type_fault(INVALID) == "AttrValue has invalid DataType"
    assert type_fault((float32, dtype_of_number(9999))) == "AttrValue has invalid DataType enum: 9999"
    assert type_fault(float32._as_ref) == "AttrValue must not have reference type value of float_ref"


def test_numbers_that_are_no_type():
    assert dtype_of_number(1) is float32
    assert [UnknownDType(number).short_name for number in (0, 77, 100, 255, -1)] == [
        "INVALID",
        "unknown dtype enum (77)",
        "unknown dtype enum (100)",
        "unknown dtype enum (155)_ref",
        "unknown dtype enum (-1)",
    ]
    assert UnknownDType(77) == UnknownDType(77) != UnknownDType(78) and UnknownDType(0) == INVALID
    assert kind_name((INVALID,)) == "list(type)"
