"""NumPy's elementwise functions as CUDA C, each with the very bits that CuPy's own kernel of that name gives.

``text_of`` gives the expression for one element. What makes it equal to CuPy's kernel, run by itself:

- The same device function with arguments of the same type. CuPy computes half precision in single precision and
  rounds every result, so that is written out.
- Where CuPy's kernel is a sum or product, the compiler may not merge it with the next one into a fused
  multiply-add, which would round once instead of twice: ``__fadd_rn`` and its like are never merged.
- Functions of the mathematics library may end in a product and begin with a sum, so the result of one that is the
  argument of the next goes through a ``volatile`` variable, as it otherwise would through memory. Numbers do so too,
  or the compiler would compute a part of such a function beforehand and merge the rest in another way.
- Integers wrap around, which C++ promises of unsigned types only.

Functions of which this cannot be said are missing: remainders and floored quotients of floating numbers,
``logaddexp``, powers of integers, complex numbers.

>>> import numpy as np
>>> single = np.dtype("float32")
>>> text_of("add", ["x0", "x1"], single), text_of("tanh", ["x0"], np.dtype("float16"))
('__fadd_rn(x0, x1)', 'float16(tanh(float(x0)))')
>>> literal(np.float32(0.1)), cast_text("x0", single, np.dtype("int8"))
('0.1f', 'static_cast<signed char>(x0)')

Source: CUDA C++ programming guide, "Single-Precision Floating-Point Functions" (which intrinsics are never merged);
CuPy 14.2, cupy/_core/_routines_math.pyx, _routines_logic.pyx, cupy/_math and include/cupy/float16.cuh.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

PREAMBLE = """
#ifndef NAN
#define NAN __int_as_float(0x7fffffff)
#endif
"""
"""What the expressions need besides CuPy's headers; its maximum has the same."""

TYPE_NAMES = {
    np.dtype(name): text
    for name, text in {
        "bool": "bool",
        "int8": "signed char",
        "uint8": "unsigned char",
        "int16": "short",
        "uint16": "unsigned short",
        "int32": "int",
        "uint32": "unsigned int",
        "int64": "long long",
        "uint64": "unsigned long long",
        "float16": "float16",
        "float32": "float",
        "float64": "double",
    }.items()
}
"""Element types that can be computed with, and their names in CUDA C."""

_HALF, _DOUBLE = np.dtype("float16"), np.dtype("float64")


@dataclass(frozen=True, slots=True)
class Function:
    """One function, by kind of argument; "" where it is not there for that kind.

    ``{0}`` and ``{1}`` stand for the arguments, ``{t}`` for their type, ``{u}`` for the unsigned type in which they are
    added, ``{r}`` for ``f`` or ``d``.
    """

    floating: str = ""
    integer: str = ""
    boolean: str = ""
    is_test: bool = False
    """Whether the result is a bool."""
    is_library: bool = False
    """Whether it is a function of the mathematics library: the compiler may merge its last operation with the next."""
    is_choice: bool = False
    """Whether the result is an argument, or its negative."""


def _wrapping(operator: str) -> str:
    return f"({{t}})(({{u}}){{0}} {operator} ({{u}}){{1}})"


def _arithmetic(operation: str, operator: str) -> Function:
    return Function(f"__{{r}}{operation}_rn({{0}}, {{1}})", _wrapping(operator))


def _extreme(function: str, operator: str) -> Function:
    chosen = f"(isnan({{0}}) | isnan({{1}})) ? {{t}}(NAN) : {{t}}({function}({{0}}, {{1}}))"
    return Function(chosen, f"{{0}} {operator} {{1}} ? {{0}} : {{1}}", is_choice=True)


def _comparison(operator: str, *, boolean: bool = False) -> Function:
    text = f"{{0}} {operator} {{1}}"
    return Function(text, text, text if boolean else "", is_test=True)


def _library(function: str, arguments: int = 1) -> Function:
    given = ", ".join(f"{{{position}}}" for position in range(arguments))
    return Function(f"{function}({given})", is_library=True)


def _test(function: str) -> Function:
    return Function(f"{function}({{0}})", is_test=True)


FUNCTIONS = {
    "add": _arithmetic("add", "+"),
    "subtract": _arithmetic("sub", "-"),
    "multiply": _arithmetic("mul", "*"),
    "true_divide": Function("{0} / {1}"),
    "floor_divide": Function("", "_floor_divide({0}, {1})"),
    "remainder": Function("", "({0} - _floor_divide({0}, {1}) * {1}) * ({1} != 0)"),
    "negative": Function("-{0}", "({t})(-({u}){0})", is_choice=True),
    "absolute": Function("fabs({0})", "({t})({0} > 0 ? ({u}){0} : -({u}){0})", is_choice=True),
    "sign": Function(
        "({0} < 0 || {0} > 0) ? copysign({t}(1), {0}) : __{r}sub_rn({0}, {0})", "({0} > 0) - ({0} < 0)"
    ),
    "square": Function("__{r}mul_rn({0}, {0})", "({t})(({u}){0} * ({u}){0})"),
    "sqrt": Function("sqrt({0})"),
    "reciprocal": Function("1 / {0}"),
    "floor": Function("floor({0})"),
    "ceil": Function("ceil({0})"),
    "rint": Function("rint({0})"),
    "maximum": _extreme("max", ">"),
    "minimum": _extreme("min", "<"),
    "fmax": Function("fmax({0}, {1})", is_choice=True),
    "fmin": Function("fmin({0}, {1})", is_choice=True),
    "copysign": Function("copysign({0}, {1})", is_choice=True),
    "less": _comparison("<"),
    "less_equal": _comparison("<="),
    "greater": _comparison(">"),
    "greater_equal": _comparison(">="),
    "equal": _comparison("==", boolean=True),
    "not_equal": _comparison("!=", boolean=True),
    "logical_and": Function(boolean="{0} && {1}", is_test=True),
    "logical_or": Function(boolean="{0} || {1}", is_test=True),
    "logical_not": Function(boolean="!{0}", is_test=True),
    "bitwise_and": Function("", "{0} & {1}", "{0} & {1}"),
    "bitwise_or": Function("", "{0} | {1}", "{0} | {1}"),
    "bitwise_xor": Function("", "{0} ^ {1}", "{0} ^ {1}"),
    "invert": Function("", "~{0}", "!{0}"),
    "isnan": _test("isnan"),
    "isinf": _test("isinf"),
    "isfinite": _test("isfinite"),
    "power": _library("pow", 2),
    "arctan2": _library("atan2", 2),
    **{
        name: _library(name)
        for name in ("exp", "expm1", "log", "log1p", "sin", "cos", "tan", "sinh", "cosh", "tanh")
    },
    **{f"arc{name}": _library(f"a{name}") for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
}
"""NumPy's name to the function."""


def argument_count(name: str) -> int:
    """How many arguments a function takes."""
    function = FUNCTIONS[name]
    return 2 if "{1}" in (function.floating or function.integer or function.boolean) else 1


def text_of(name: str, arguments: Sequence[str], dtype: np.dtype[Any]) -> str | None:
    """The expression of a function of arguments that all have that type; None if there is none for the type."""
    function = FUNCTIONS[name]
    kind = "integer" if dtype.kind in "iu" else "boolean" if dtype.kind == "b" else "floating"
    template: str = getattr(function, kind)
    is_half = dtype == _HALF
    if not template:
        return None
    given = [f"float({argument})" for argument in arguments] if is_half else arguments
    text = template.format(
        *given,
        t="float" if is_half else TYPE_NAMES[dtype],
        u="unsigned long long" if dtype.itemsize == 8 else "unsigned int",
        r="d" if dtype == _DOUBLE else "f",
    )
    return f"float16({text})" if is_half and not function.is_test else text


def cast_text(value: str, source: np.dtype[Any], target: np.dtype[Any]) -> str:
    """The value with another type, as CuPy's copy from one array to another converts it."""
    if source.kind == "b":
        value = f"({value} ? 1 : 0)"
    elif source == _HALF:
        value = f"float({value})"
    return f"static_cast<{TYPE_NAMES[target]}>({value})"


def literal(value: np.generic[Any]) -> str | None:
    """A number as C writes it; None for infinity and NaN."""
    if not np.isfinite(value):
        return None
    dtype = value.dtype
    if dtype.kind == "b":
        return "true" if value else "false"
    if dtype.kind in "iu":
        return f"static_cast<{TYPE_NAMES[dtype]}>({int(value) % 2**64}ull)"
    if dtype == _HALF:
        return f"float16({float(value)!r}f)"
    text = repr(float(value)) if dtype == _DOUBLE else f"{value!s}f"
    return f"({text})" if text[0] == "-" else text
