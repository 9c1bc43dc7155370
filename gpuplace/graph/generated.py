"""Functions for single ops, as TensorFlow generates them, from inputs and attributes to tensors.

Source: tensorflow/python/framework/python_op_gen.cc, release 1.15 (names, order of arguments, results).
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from functools import cache
from typing import Any

from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.op_def import OpDef, op_registry
from gpuplace.graph.op_sets import ARGUMENTS_RENAMED
from gpuplace.graph.operation import Operation


def snake_case(op_type: str) -> str:
    """Return the name of an op's function in TensorFlow's generated modules.

    >>> [snake_case(name) for name in ("MatMul", "BatchToSpaceND", "Conv2D", "VariableV2")]
    ['mat_mul', 'batch_to_space_nd', 'conv2d', 'variable_v2']

    Args:
        op_type: op type.
    """
    made = []
    for index, letter in enumerate(op_type):
        follows_lower = index > 0 and op_type[index - 1].islower()
        before_lower = 0 < index < len(op_type) - 1 and op_type[index + 1].islower()
        if letter.isupper() and (follows_lower or before_lower):
            made.append("_")
        made.append(letter.lower())
    return "".join(made)


@cache
def by_snake_case() -> dict[str, str]:
    """Name of the generated function -> op type."""
    return {snake_case(name): name for name in op_registry().names()}


def parameters(op_def: OpDef) -> list[str]:
    """Return the parameters of an op's function in order: inputs, then attributes without and with a default.

    Args:
        op_def: signature of the op; attributes that the inputs determine are not parameters.
    """
    decided: set[str | None] = set()
    for arg in op_def.inputs:
        decided.update((arg.type_attr, arg.number_attr, arg.type_list_attr))
    own = [attr for attr in op_def.attrs if attr.name not in decided]
    needed = [attr.name for attr in own if not attr.has_default]
    return [*(arg.name for arg in op_def.inputs), *needed, *(attr.name for attr in own if attr.has_default)]


def _names(op_type: str) -> dict[str, str]:
    """Return the parameters of an op's function in order, mapped to inputs and attributes."""
    own = parameters(op_registry().lookup(op_type))
    return {ARGUMENTS_RENAMED.get((op_type, name), name): name for name in own} | {"name": "name"}


def _called(op_type: str, function: str, names: dict[str, str], arguments: dict[str, Any]) -> Any:
    """Return the result of a call with keyword arguments."""
    for name in arguments:
        if name not in names:
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}")
    return results(apply_op(op_type, **{names[name]: value for name, value in arguments.items()}))


def _doc(op_type: str) -> str:
    return f"Adds a ``{op_type}``: {op_registry().lookup(op_type)}."


def results(operation: Operation) -> Any:
    """Return the result of an op's function: the operation (no outputs), its only output, or a named tuple.

    Args:
        operation: operation that the function added.
    """
    op_def = operation.op_def
    assert op_def is not None
    if not op_def.outputs:
        return operation
    ranges = op_def.output_ranges(operation.attrs)
    values = []
    for arg in op_def.outputs:
        tensors = [operation.outputs[index] for index in ranges[arg.name]]
        values.append(tensors if arg.is_list else tensors[0])
    if len(values) == 1:
        return values[0]
    return namedtuple(op_def.name, [arg.name for arg in op_def.outputs])(*values)  # noqa: PYI024 - made at run time


@cache
def op_function(op_type: str) -> Callable[..., Any]:
    """Return an op's function of TensorFlow's generated modules, which also accepts positional arguments.

    Args:
        op_type: op type.
    """
    names = _names(op_type)
    order = list(names)

    def generated(*given: Any, **arguments: Any) -> Any:
        if len(given) > len(order):
            raise TypeError(
                f"{snake_case(op_type)}() takes {len(order)} arguments but {len(given)} were given"
            )
        named = dict(zip(order, given, strict=False))
        if twice := sorted(named.keys() & arguments.keys()):
            raise TypeError(f"{snake_case(op_type)}() got multiple values for argument {twice[0]!r}")
        return _called(op_type, snake_case(op_type), names, {**named, **arguments})

    generated.__name__ = generated.__qualname__ = snake_case(op_type)
    generated.__doc__ = _doc(op_type)
    return generated


@cache
def keyword_function(op_type: str) -> Callable[..., Any]:
    """Return an op's function of ``tf.raw_ops``, which accepts keyword arguments only.

    Args:
        op_type: op type.
    """

    names = _names(op_type)

    def raw(*given: Any, **arguments: Any) -> Any:
        if given:
            raise TypeError(
                f"{op_type} only takes keyword args (possible keys: {list(names)}). Please pass these args as kwargs"
                " instead."
            )
        return _called(op_type, op_type, names, arguments)

    raw.__name__ = raw.__qualname__ = op_type
    raw.__doc__ = _doc(op_type)
    return raw
