"""A kernel registration: an op, a device type, and the attribute values that it supports.

A registration is a row of the catalogue. It states where an op can be placed and which arguments stay in host memory.
The function that computes the op is registered separately (``compute``).

>>> row = parse_kernel("AddN", "DEFAULT T=int32 host:inputs,sum")
>>> row.admits({"T": as_dtype("int32")}), row.admits({"T": as_dtype("float32")})
(True, False)
>>> row.describe()
"device='DEFAULT'; T in [DT_INT32]"

Source: tensorflow/core/framework/kernel_def.proto and kernel_def_util.cc, releases 1.15 and 2.21.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from gpuplace.dtypes import DType, as_dtype
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.op_def import OpDef
from gpuplace.graph.op_notation import value_text

DEFAULT_DEVICE_TYPE = "DEFAULT"
"""Device type of rows for all device types that have no matching row."""

Constraint = tuple[str, frozenset[Any]]
"""An attribute name with its allowed values, nearly always types."""


@dataclass(frozen=True, slots=True)
class KernelDef:
    """A row of the catalogue."""

    op: str
    device_type: str
    """``CPU``, ``GPU``, ..., or ``DEFAULT``."""
    constraints: tuple[Constraint, ...] = ()
    """All must hold, for a list attribute for each element. Types are ``DType``, strings are bytes."""
    host_memory_args: frozenset[str] = frozenset()
    """Inputs and outputs that are in host memory on any device type."""
    label: str = ""
    """Label; only nodes whose ``_kernel`` attribute names it get the row."""
    priority: int = 0
    """Device types of higher priority are chosen first for a node."""

    def admits(self, attrs: Mapping[str, Any]) -> bool:
        """Return whether a node's attributes satisfy the constraints.

        Raises:
            InvalidArgumentError: an attribute that a constraint names is missing or of another type.
        """
        for name, allowed in self.constraints:
            if name not in attrs:
                raise InvalidArgumentError.of(
                    f"OpKernel '{self.op}' has constraint on attr '{name}' not in NodeDef '{_summary(attrs)}',"
                    f" KernelDef: '{self.debug_string()}'"
                )
            value = attrs[name]
            if value in allowed if not isinstance(value, (tuple, list)) else allowed.issuperset(value):
                continue
            values = value if isinstance(value, (tuple, list)) else (value,)
            if any(isinstance(item, DType) for item in allowed) and not all(
                isinstance(item, DType) for item in values
            ):
                raise InvalidArgumentError.of(
                    f"KernelDef '{self.debug_string()}' has constraint on attr '{name}' that has value"
                    f" '{value_text(value)}' that does not have type 'type' or 'list(type)' in NodeDef"
                    f" '{_summary(attrs)}'"
                )
            return False
        return True

    def __str__(self) -> str:
        """Return the row in the notation of the data file."""
        parts = [self.device_type]
        parts += [
            f"{name}={','.join(map(_constraint_text, ordered(allowed)))}"
            for name, allowed in self.constraints
        ]
        if self.host_memory_args:
            parts.append(f"host:{','.join(sorted(self.host_memory_args))}")
        if self.priority:
            parts.append(f"priority:{self.priority}")
        if self.label:
            parts.append(f"label:{self.label}")
        return " ".join(parts)

    def describe(self) -> str:
        """Return the row as TensorFlow lists it below "Registered kernels:", without the indentation."""
        text = f"device='{self.device_type}'"
        if self.label:
            text += f"; label='{self.label}'"
        return text + "".join(
            f"; {name} in {value_text(ordered(allowed))}" for name, allowed in self.constraints
        )

    def debug_string(self) -> str:
        """Return the row as the one-line text of TensorFlow's message."""
        parts = [f'op: "{self.op}" device_type: "{self.device_type}"']
        for name, allowed in self.constraints:
            values = " ".join(map(_field_text, ordered(allowed)))
            parts.append(f'constraint {{ name: "{name}" allowed_values {{ list {{ {values} }} }} }}')
        parts += [f'host_memory_arg: "{name}"' for name in sorted(self.host_memory_args)]
        if self.label:
            parts.append(f'label: "{self.label}"')
        if self.priority:
            parts.append(f"priority: {self.priority}")
        return " ".join(parts)


def _summary(attrs: Mapping[str, Any]) -> str:
    """Return a node's attributes as messages list them, without those that start with an underscore."""
    shown = (f"{name}={value_text(attrs[name])}" for name in sorted(attrs) if not name.startswith("_"))
    return f"[{', '.join(shown)}]"


def ordered(values: frozenset[Any]) -> tuple[Any, ...]:
    """Return constraint values in a fixed order: types by number, other values by value."""
    return tuple(
        sorted(values, key=lambda value: value.as_datatype_enum if isinstance(value, DType) else value)
    )


def parse_kernel(op: str, text: str) -> KernelDef:
    """Parse a row in the notation of the data file; ValueError if it is malformed."""
    device_type, *parts = text.split(" ")
    constraints: list[Constraint] = []
    host: frozenset[str] = frozenset()
    label, priority = "", 0
    for part in parts:
        field = _FIELD.match(part)
        if field is None:
            constraints.append(_parse_constraint(part))
        elif field[1] == "host":
            host = _parse_names(field[2])
        elif field[1] == "priority":
            priority = int(field[2])
        else:
            label = field[2]
    return KernelDef(op, device_type, tuple(constraints), host, label, priority)


_FIELD = re.compile(r"(host|priority|label):(.*)")
_VALUE = re.compile(r'"[^"]*"|[^,"]+')


@cache
def _parse_names(text: str) -> frozenset[str]:
    return frozenset(text.split(","))


@cache
def _parse_constraint(text: str) -> Constraint:
    """Return a constraint; equal ones share an object, as few are distinct."""
    name, equals, values = text.partition("=")
    if not equals:
        raise ValueError(f"{text!r} is neither a constraint nor host:, priority: or label:")
    return name, frozenset(map(_parse_value, _VALUE.findall(values)))


def _parse_value(text: str) -> Any:
    if text[0] == '"':
        return text[1:-1].encode("ascii").decode("unicode_escape").encode("latin-1")
    if text in ("true", "false"):
        return text == "true"
    if text[0] == "-" or text.isdigit():
        return int(text)
    return as_dtype(text)


def _constraint_text(value: object) -> str:
    return value.short_name if isinstance(value, DType) else value_text(value)


def _field_text(value: object) -> str:
    if isinstance(value, DType):
        return f"type: {value.enum_name}"
    letter = "s" if isinstance(value, bytes) else "b" if isinstance(value, bool) else "i"
    return f"{letter}: {value_text(value)}"


def make_kernel_def(
    op_def: OpDef,
    device_type: str,
    priority: int,
    label: str,
    host_memory: tuple[str, ...],
    type_constraints: Mapping[str, Any],
) -> KernelDef:
    """Return a row after checking it against its op; ValueError for an attribute or argument that the op lacks."""
    arguments = {arg.name for arg in (*op_def.inputs, *op_def.outputs)}
    for kind, names, declared in (
        ("attr", type_constraints, op_def.attr_defs),
        ("argument", host_memory, arguments),
    ):
        for name in names:
            if name not in declared:
                raise ValueError(
                    f"Op '{op_def.name}' has no {kind} '{name}': it has {', '.join(sorted(declared)) or 'none'}"
                )
    constraints = []
    for name, allowed in type_constraints.items():
        values = (allowed,) if isinstance(allowed, (str, bytes, bool, int, DType, type)) else tuple(allowed)
        if op_def.attr_defs[name].element_type == "string":
            values = tuple(value.encode() if isinstance(value, str) else value for value in values)
        constraints.append((name, frozenset(map(_allowed_value, values))))
    return KernelDef(op_def.name, device_type, tuple(constraints), frozenset(host_memory), label, priority)


def _allowed_value(value: Any) -> Any:
    return value if isinstance(value, (bytes, bool, int)) else as_dtype(value)
