"""Stands in for CuPy's ``ElementwiseKernel``: reads the C of a kernel's body and computes it with NumPy.

Only what the bodies are made of is understood: one definition or assignment a line, of C's operators, casts, the
functions in ``FUNCTIONS``, numbers and names. Types are C's: small integers become ``int``, a cast wraps around.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

TYPES = {
    "bool": "bool",
    "signed char": "int8",
    "unsigned char": "uint8",
    "short": "int16",
    "unsigned short": "uint16",
    "int": "int32",
    "unsigned int": "uint32",
    "long long": "int64",
    "unsigned long long": "uint64",
    "float16": "float16",
    "float": "float32",
    "double": "float64",
}
_TYPE = "|".join(sorted(TYPES, key=len, reverse=True))
_TOKEN = re.compile(
    rf"\s*(?:(?P<type>(?:{_TYPE})\b)|(?P<number>0x[0-9a-f]+|\d+\.?\d*(?:e[-+]?\d+)?)(?P<suffix>ull|ll|f)?"
    r"|(?P<name>\w+)|(?P<sign>&&|\|\||[<>=!]=|[-+*/%<>=!~?:&|^(),]))"
)
_LINE = re.compile(rf"(?:(?:volatile )?(?P<type>{_TYPE}) )?(?P<name>\w+) = (?P<text>.*);")
_LEVELS = [["||"], ["&&"], ["|"], ["^"], ["&"], ["==", "!="], ["<", "<=", ">", ">="], ["+", "-"], ["*", "/"]]
_OPERATORS: dict[str, Callable[..., Any]] = {
    "||": np.logical_or, "&&": np.logical_and, "|": np.bitwise_or, "^": np.bitwise_xor, "&": np.bitwise_and,
    "==": np.equal, "!=": np.not_equal, "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal,
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide,
}  # fmt: skip


def _floor_divide(x: Any, y: Any) -> Any:
    x, y = _usual(x, y)
    return np.where(y == 0, y.dtype.type(0), np.floor_divide(x, np.where(y == 0, y.dtype.type(1), y)))


FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{f"__{kind}{name}_rn": getattr(np, full) for kind in "fd"
       for name, full in (("add", "add"), ("sub", "subtract"), ("mul", "multiply"))},
    "fabs": np.fabs, "copysign": np.copysign, "max": np.fmax, "min": np.fmin,
    "fmax": np.fmax, "fmin": np.fmin, "pow": np.power, "atan2": np.arctan2,
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "asinh": np.arcsinh, "acosh": np.arccosh,
    "atanh": np.arctanh, "_floor_divide": _floor_divide,
    **{name: getattr(np, name) for name in
       "sqrt floor ceil rint isnan isinf isfinite exp expm1 log log1p sin cos tan sinh cosh tanh".split()},
}  # fmt: skip


def _promoted(value: Any) -> Any:
    """C computes with nothing smaller than ``int``, and with half precision not at all."""
    assert value.dtype != np.float16, "half precision has no operators"
    return value.astype(np.int32) if value.dtype.kind in "biu" and value.dtype.itemsize < 4 else value


def _usual(x: Any, y: Any) -> tuple[Any, Any]:
    """C's usual arithmetic conversions."""
    x, y = _promoted(x), _promoted(y)
    types = {x.dtype, y.dtype}
    floating = [kind for kind in types if kind.kind == "f"]
    wanted = max(floating or types, key=lambda kind: (kind.itemsize, kind.kind == "u"))
    return x.astype(wanted), y.astype(wanted)


class _Expression:
    """An expression and what is left of it.

    Args:
        text: the C.
        names: the values of variables.
    """

    def __init__(self, text: str, names: dict[str, Any]) -> None:
        self.names = names
        self.tokens: list[tuple[str, str, str]] = []
        at = 0
        while at < len(text):
            match = _TOKEN.match(text, at)
            assert match is not None, f"not understood: {text[at:]}"
            self.tokens.append(
                (
                    str(match.lastgroup if match["number"] is None else "number"),
                    match[0].strip(),
                    match["suffix"] or "",
                )
            )
            at = match.end()
        self.at = 0

    def peek(self) -> str:
        return self.tokens[self.at][1] if self.at < len(self.tokens) else ""

    def take(self, expected: str = "") -> str:
        found = self.peek()
        assert found and (not expected or found == expected), f"{expected} expected, {found} found"
        self.at += 1
        return found

    def whole(self) -> Any:
        value = self.ternary()
        assert not self.peek(), f"left over: {self.tokens[self.at :]}"
        return value

    def ternary(self) -> Any:
        condition = self.binary(0)
        if self.peek() != "?":
            return condition
        self.take("?")
        first = self.ternary()
        self.take(":")
        second = self.ternary()
        if first.dtype != second.dtype:
            first, second = _usual(first, second)
        return np.where(condition, first, second)

    def binary(self, level: int) -> Any:
        if level == len(_LEVELS):
            return self.unary()
        value = self.binary(level + 1)
        while self.peek() in _LEVELS[level]:
            sign = self.take()
            other = self.binary(level + 1)
            if sign in ("&&", "||"):
                value = _OPERATORS[sign](value, other)
            else:
                x, y = _usual(value, other)
                assert sign != "/" or x.dtype.kind == "f", "integers are divided by a function"
                value = _OPERATORS[sign](x, y)
        return value

    def unary(self) -> Any:
        sign = self.peek()
        if sign in ("-", "~", "!"):
            self.take()
            value = self.unary()
            return (
                np.logical_not(value)
                if sign == "!"
                else {"-": np.negative, "~": np.invert}[sign](_promoted(value))
            )
        if sign == "(":
            self.take()
            if self.tokens[self.at][0] == "type" and self.tokens[self.at + 1][1] == ")":
                kind = self.take()
                self.take(")")
                return self.unary().astype(TYPES[kind])
            value = self.ternary()
            self.take(")")
            return value
        kind, text, suffix = self.tokens[self.at]
        self.at += 1
        if kind == "number":
            return self.number(text, suffix)
        if text == "static_cast":
            self.take("<")
            text = self.take()
            self.take(">")
        elif kind == "name" and self.peek() != "(":
            return {
                "true": np.asarray(True),
                "false": np.asarray(False),
                "NAN": np.asarray(np.float32(np.nan)),
            }.get(text, self.names.get(text))
        return self.called(text)

    @staticmethod
    def number(text: str, suffix: str) -> Any:
        if suffix in ("ull", "ll"):
            return np.asarray(int(text.removesuffix(suffix)), np.uint64 if suffix == "ull" else np.int64)
        if suffix == "f":
            return np.asarray(np.float32(text[:-1]))
        return np.asarray(float(text)) if {".", "e"} & set(text) else np.asarray(int(text), np.int32)

    def called(self, name: str) -> Any:
        self.take("(")
        arguments = [self.ternary()]
        while self.peek() == ",":
            self.take()
            arguments.append(self.ternary())
        self.take(")")
        if name in TYPES:
            (value,) = arguments
            return value.astype(TYPES[name])
        types = {argument.dtype for argument in arguments}
        if name != "_floor_divide":
            assert len(types) == 1 and types <= {np.dtype("float32"), np.dtype("float64")}, (
                f"{name} of {types}"
            )
        if name.startswith("__"):
            assert types == {np.dtype("float32" if name[2] == "f" else "float64")}, f"{name} of {types}"
        return FUNCTIONS[name](*arguments)


def run_body(body: str, names: dict[str, Any]) -> dict[str, Any]:
    """All variables after the lines of a body.

    Args:
        body: the C.
        names: the inputs, arrays of one shape.
    """
    values = dict(names)
    for line in body.splitlines():
        match = _LINE.fullmatch(line)
        assert match is not None, f"not understood: {line}"
        with np.errstate(all="ignore"):
            value = _Expression(match["text"], values).whole()
        values[match["name"]] = value.astype(TYPES[match["type"]]) if match["type"] else value
    return values


class FakeElementwiseKernel:
    """A kernel.

    Args:
        fake: the module.
        in_params: types and names of what it takes.
        out_params: types and names of what it makes.
        operation: the body.
        name: for the events.
        preamble: C before the kernel; not looked at.
    """

    def __init__(
        self, fake: Any, in_params: str, out_params: str, operation: str, *, name: str, preamble: str
    ) -> None:
        assert re.fullmatch("[a-zA-Z_][a-zA-Z_0-9]*", name)
        self.fake, self.operation, self.name = fake, operation, name
        self.inputs = [parameter.split() for parameter in in_params.split(",")]
        self.outputs = [parameter.split() for parameter in out_params.split(",")]
        assert not {"i", "n"} & {parameter for _, parameter in [*self.inputs, *self.outputs]}
        fake.events.append(("kernel", name, operation))

    def __call__(self, *arrays: Any) -> Any:
        """The outputs, a tuple of several; each is a call of its own among the module's events."""
        assert len(arrays) == len(self.inputs)
        for array, (kind, parameter) in zip(arrays, self.inputs, strict=True):
            if array.dtype != kind:
                raise TypeError(f"Type is mismatched. {parameter} {array.dtype} {kind}")
        made = tuple(
            self.fake.call(
                self.name if not position else f"{self.name} again", self._computing(position), arrays
            )
            for position in range(len(self.outputs))
        )
        return made if len(made) > 1 else made[0]

    def _computing(self, position: int) -> Callable[..., Any]:
        kind, name = self.outputs[position]

        def compute(*arrays: Any) -> Any:
            whole = np.broadcast_arrays(*arrays)
            names = {parameter: array for array, (_, parameter) in zip(whole, self.inputs, strict=True)}
            value = run_body(self.operation, names)[name]
            return np.array(np.broadcast_to(value, whole[0].shape), kind)

        return compute
