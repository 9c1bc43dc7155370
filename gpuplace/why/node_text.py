"""A node in one line, as TensorFlow's messages print it.

    b = Const[dtype=DT_FLOAT, value=Tensor<type: float shape: [3,2] values: 1 2 3...>, _device="/device:GPU:2"]()

Attributes stand in the order of their names, the device last; of a tensor the first three values are shown, up to 1.4
in one row, later nested.

Source: SummarizeNodeDef in tensorflow/core/framework/node_def_util.cc, SummarizeAttrValue in attr_value_util.cc and
Tensor::SummarizeValue in tensor.cc, releases 1.0, 1.4, 1.15 and 2.21.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from gpuplace.dtypes import DType
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.attr_value import FunctionRef, TensorValue
from gpuplace.graph.op_notation import value_text
from gpuplace.placer.placement_graph import CONTROL, PlacementGraph

_SHOWN = 3
"""How many values of a tensor are printed."""

_LIST_SHOWN = 10
"""A list attribute longer than this is cut to its first and last five elements."""


def node_text(
    graph: PlacementGraph, node: int, release: str, defaults: Mapping[str, Any] | None = None
) -> str:
    """One line for a node.

    Args:
        graph: the node's graph.
        node: its position.
        release: whose format.
        defaults: attributes that the node left out.
    """
    attrs = dict(sorted(({**(defaults or {}), **graph.attrs(node)}).items()))
    parts = [f"{name}={attr_text(value, release)}" for name, value in attrs.items() if name != "_device"]
    if graph.requested_device(node):
        parts.append(f'_device="{device_text(graph.requested_device(node), release)}"')
    inputs = []
    for edge in graph.in_edges(node):
        source, output = graph.names[graph.src[edge]], int(graph.src_output[edge])
        inputs.append(f"^{source}" if output == CONTROL else f"{source}:{output}" if output else source)
    return f"{graph.names[node]} = {graph.op_type(node)}[{', '.join(parts)}]({', '.join(inputs)})"


def short_device(device: str) -> str:
    """`GPU:0` for a device of this process, the full name for another task's, `no device` for "".

    >>> short_device("/job:localhost/replica:0/task:0/device:GPU:0"), short_device("/job:ps/device:CPU:0")
    ('GPU:0', '/job:ps/device:CPU:0')
    """
    return device.removeprefix("/job:localhost/replica:0/task:0/device:") or "no device"


def device_text(device: str, release: str) -> str:
    """A requested device as a release writes it: 1.0 has `/gpu:2` where later ones have `/device:GPU:2`."""
    from gpuplace.device.parsed_name import parse_name

    parsed = parse_name(device) if release == "1.0" else None
    return device if parsed is None else parsed.to_legacy_string()


def attr_text(value: Any, release: str) -> str:
    """An attribute's value.

    >>> attr_text((1, 2), "1.15"), attr_text(True, "1.15"), attr_text(b"SAME", "1.15")
    ('[1, 2]', 'true', '"SAME"')
    """
    if isinstance(value, TensorValue):
        try:
            values = _tensor_values(value, nested=release not in ("1.0", "1.4"))
        except InvalidArgumentError as error:
            return f"<Invalid TensorProto: {error.facts.get('because', error.message)}>"
        return f"Tensor<type: {_type_name(value.dtype)} shape: {value_text(value.shape)} values: {values}>"
    if isinstance(value, FunctionRef):
        inner = ", ".join(f"{name}={attr_text(item, release)}" for name, item in sorted(value.attrs.items()))
        return f"{value.name}[{inner}]"
    if isinstance(value, tuple):
        pieces = [attr_text(item, release) for item in value]
        if len(pieces) > _LIST_SHOWN:
            pieces = [*pieces[: _LIST_SHOWN // 2], "...", *pieces[-_LIST_SHOWN // 2 :]]
        return f"[{', '.join(pieces)}]"
    return value_text(value)


def _type_name(dtype: DType) -> str:
    return dtype.short_name


def _tensor_values(tensor: TensorValue, *, nested: bool) -> str:
    array = tensor.shown(_SHOWN + 1)
    if array.size == 0:
        return ""
    if nested and array.ndim > 1:
        budget = [_SHOWN]
        text = "".join(_nested(array, budget))
        return text if array.size <= _SHOWN else text + "..."
    flat = array.reshape(-1)
    text = " ".join(_number(item, tensor.dtype) for item in flat[:_SHOWN])
    return text + "..." if array.size > _SHOWN else text


def _nested(array: np.ndarray, budget: list[int]) -> Iterator[str]:
    if array.ndim == 1:
        shown = array[: budget[0]]
        budget[0] -= len(shown)
        yield (
            "["
            + " ".join(_number(item, None) for item in shown)
            + ("..." if len(shown) < len(array) else "")
            + "]"
        )
        return
    for row in array:
        if budget[0] <= 0:
            return
        if array.ndim == 2:
            yield from _nested(row, budget)
        else:
            yield "[" + "".join(_nested(row, budget)) + "]"


def _number(value: Any, dtype: DType | None) -> str:
    """A scalar as C++ streams print it with enough digits to come back equal."""
    if isinstance(value, bytes):
        return "".join(
            chr(b) if 32 <= b < 127 and b not in b"\"'\\" else _ESCAPES.get(b, f"\\{b:03o}") for b in value
        )
    if isinstance(value, str):
        return _number(value.encode(), dtype)
    if isinstance(value, (bool, np.bool_)):
        return "1" if value else "0"
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, (complex, np.complexfloating)):
        return "?"
    number = float(value)
    digits = 17 if np.asarray(value).dtype == np.float64 else 9
    for precision in (digits - 2, digits):
        text = f"{number:.{precision}g}"
        if type(value)(float(text)) == value or number != number:
            return text
    return text


_ESCAPES = {10: "\\n", 13: "\\r", 9: "\\t", 34: '\\"', 39: "\\'", 92: "\\\\"}
