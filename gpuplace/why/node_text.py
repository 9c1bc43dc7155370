"""A node in one line, as TensorFlow's messages print it.

    b = Const[dtype=DT_FLOAT, value=Tensor<type: float shape: [3,2] values: 1 2 3...>, _device="/device:GPU:2"]()

Attributes are sorted by name, with the device last. The first three values of a tensor are printed, with brackets
around its rows. The releases that the guide quotes print the values in one row, without brackets.

Source: SummarizeNodeDef in tensorflow/core/framework/node_def_util.cc, SummarizeAttrValue in attr_value_util.cc and
Tensor::SummarizeValue in tensor.cc, releases 1.0, 1.4, 1.15 and 2.21.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from gpuplace.device.parsed_name import parse_name
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.attr_value import FunctionRef, TensorValue
from gpuplace.graph.op_notation import value_text
from gpuplace.graph.operation import Operation
from gpuplace.placer.placement_graph import CONTROL, PlacementGraph
from gpuplace.shapes import TensorShape

_SHOWN = 3
"""Number of values of a tensor that are printed."""

GUIDE = "guide"
"""The format of the "Using GPUs" guide: the values of a tensor in one row."""

_FLOAT_DIGITS = {"1.0": 8}
"""Digits of a single-precision number; 9 in other releases."""

_LIST_SHOWN = 10
"""A longer list attribute is shortened to its first and last five elements."""


def node_text(
    graph: PlacementGraph,
    node: int,
    release: str,
    defaults: Mapping[str, Any] | None = None,
    *,
    device: str | None = None,
) -> str:
    """Return one line about a node of a graph.

    Args:
        graph: the node's graph.
        node: its position.
        release: the release whose format is used, or ``GUIDE``.
        defaults: values of attributes that the node leaves out.
        device: the device to print; the requested one if None.
    """
    inputs = []
    for edge in graph.in_edges(node):
        source, output = graph.names[graph.src[edge]], int(graph.src_output[edge])
        inputs.append(f"^{source}" if output == CONTROL else f"{source}:{output}" if output else source)
    return summary(
        graph.names[node],
        graph.op_type(node),
        {**(defaults or {}), **graph.attrs(node)},
        graph.requested_device(node) if device is None else device,
        inputs,
        release,
    )


def summary(
    name: str, op_type: str, attrs: Mapping[str, Any], device: str, inputs: Iterable[str], release: str
) -> str:
    """Return one line for a node, from its parts.

    >>> summary("c", "MatMul", {"transpose_a": False}, "/device:GPU:2", ["a", "b"], "1.4")
    'c = MatMul[transpose_a=false, _device="/device:GPU:2"](a, b)'

    Args:
        name: name of the node.
        op_type: op type of the node.
        attrs: attributes by name.
        device: requested or assigned device; "" for none.
        inputs: inputs in the notation of a GraphDef.
        release: release whose format is used, or ``GUIDE``.
    """
    parts = [f"{key}={attr_text(attrs[key], release)}" for key in sorted(attrs) if key != "_device"]
    if device:
        parts.append(f'_device="{device}"')
    return f"{name} = {op_type}[{', '.join(parts)}]({', '.join(inputs)})"


def operation_text(op: Operation, device: str, release: str, fed: Mapping[str, str] | None = None) -> str:
    """Return one line for a node that runs, with its assigned device.

    Args:
        op: the node.
        device: full name of the device it runs on.
        release: release whose format is used.
        fed: name of a fed tensor -> the runtime's name for it.
    """
    attrs = dict(op.attrs)
    shape = attrs.get("shape")
    if release == "1.0" and op.type == "Placeholder" and shape is not None and not shape.is_fully_defined():
        attrs["shape"] = TensorShape([])  # TensorFlow's Python omits a shape that is not fully known
    inputs = [(fed or {}).get(tensor.name, tensor.name.removesuffix(":0")) for tensor in op.inputs]
    inputs += [f"^{control.name}" for control in op.control_inputs]
    return summary(op.name, op.type, attrs, device_text(device, release), inputs, release)


def short_device(device: str) -> str:
    """Return `GPU:0` for a device of this process, the full name for another task's, `no device` for "".

    >>> short_device("/job:localhost/replica:0/task:0/device:GPU:0"), short_device("/job:ps/device:CPU:0")
    ('GPU:0', '/job:ps/device:CPU:0')
    """
    return device.removeprefix("/job:localhost/replica:0/task:0/device:") or "no device"


def device_text(device: str, release: str) -> str:
    """Return a full device name as a release's messages print it: until 1.4 in lower case, without "device:".

    >>> device_text("/job:localhost/replica:0/task:0/device:GPU:0", "1.0")
    '/job:localhost/replica:0/task:0/gpu:0'
    """
    parsed = parse_name(device) if release == "1.0" else None
    return device if parsed is None else parsed.to_legacy_string()


def specification_text(text: str, release: str) -> str:
    """Return merged requests as C++ prints them: `/job:ps/GPU:0` in 1.0, later `/job:ps/device:GPU:0`."""
    return text.replace("/device:", "/") if release == "1.0" else text


def attr_text(value: object, release: str) -> str:
    """Return an attribute's value.

    >>> attr_text((1, 2), "1.15"), attr_text(True, "1.15"), attr_text(b"SAME", "1.15")
    ('[1, 2]', 'true', '"SAME"')
    """
    if isinstance(value, TensorValue):
        try:
            values = _tensor_values(value, release)
        except InvalidArgumentError as error:
            return f"<Invalid TensorProto: {error.facts.get('because', error.message)}>"
        return f"Tensor<type: {value.dtype.short_name} shape: {value_text(value.shape)} values: {values}>"
    if isinstance(value, FunctionRef):
        inner = ", ".join(f"{name}={attr_text(item, release)}" for name, item in sorted(value.attrs.items()))
        return f"{value.name}[{inner}]"
    if isinstance(value, tuple):
        pieces = [attr_text(item, release) for item in value]
        if len(pieces) > _LIST_SHOWN:
            pieces = [*pieces[: _LIST_SHOWN // 2], "...", *pieces[-_LIST_SHOWN // 2 :]]
        return f"[{', '.join(pieces)}]"
    return value_text(value)


def _tensor_values(tensor: TensorValue, release: str) -> str:
    array = tensor.shown(_SHOWN + 1)
    if array.size == 0:
        return ""
    digits = _FLOAT_DIGITS.get(release, 9)
    if release == GUIDE or array.ndim <= 1 or (release in ("1.0", "1.4") and array.dtype.kind in "OSU"):
        text = " ".join(_number(item, digits) for item in array.reshape(-1)[:_SHOWN])
        return text + "..." if array.size > _SHOWN else text
    cut = "" if release in ("1.0", "1.4") else "..."
    text = "".join(_nested(array, [_SHOWN], digits, cut))
    return text if array.size <= _SHOWN else text + "..."


def _nested(array: np.ndarray, budget: list[int], digits: int, cut: str) -> Iterator[str]:
    """Yield the rows as long as the budget of values lasts; ``cut`` ends an incomplete row."""
    if array.ndim == 1:
        shown = array[: budget[0]]
        budget[0] -= len(shown)
        values = " ".join(_number(item, digits) for item in shown)
        yield f"[{values}{cut if len(shown) < len(array) else ''}]"
        return
    for row in array:
        if budget[0] <= 0:
            return
        if array.ndim == 2:
            yield from _nested(row, budget, digits, cut)
        else:
            yield "[" + "".join(_nested(row, budget, digits, cut)) + "]"


def _number(value: Any, digits: int) -> str:
    """Format a scalar as C++ streams do, with enough digits to round-trip, at most `digits` for single precision."""
    if isinstance(value, bytes):
        return "".join(
            chr(b) if 32 <= b < 127 and b not in b"\"'\\" else _ESCAPES.get(b, f"\\{b:03o}") for b in value
        )
    if isinstance(value, str):
        return _number(value.encode(), digits)
    if isinstance(value, (bool, np.bool_)):
        return "1" if value else "0"
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, (complex, np.complexfloating)):
        return "?"
    number = float(value)
    if np.asarray(value).dtype == np.float64:
        digits = 17
    for precision in (digits - 2, digits):
        text = f"{number:.{precision}g}"
        if type(value)(float(text)) == value or number != number:
            return text
    return text


_ESCAPES = {10: "\\n", 13: "\\r", 9: "\\t", 34: '\\"', 39: "\\'", 92: "\\\\"}
