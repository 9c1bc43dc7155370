"""What a step's failure says: which node, made by which line, with what inputs.

The runtime names a node as ``{{node MatMul}}``; the session, which knows the program, replaces the tag by the line that
made the node. Releases 1.0 and 1.4 had no tags and 2.21 keeps them in the text; there the line is a fact below.

>>> with_tag("Incompatible shapes: [2] vs. [3]", "add", "1.15")
'Incompatible shapes: [2] vs. [3]\\n\\t [[{{node add}}]]'

Source: tensorflow/python/client/session.py, python/framework/error_interpolation.py and AttachDef in
core/framework/op_kernel.cc, release 1.15.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from gpuplace.dtypes import DType
from gpuplace.errors import (
    InternalError,
    InvalidArgumentError,
    OpError,
    ResourceExhaustedError,
    UnimplementedError,
)
from gpuplace.graph.graph import Graph
from gpuplace.graph.operation import Operation
from gpuplace.kernels.complaints import tensorflow_sentence
from gpuplace.ops.shape_rules import brackets

__all__ = [
    "failed_step_error",
    "interpolated",
    "missing_feed_error",
    "node_named_in",
    "no_control_flow_error",
    "with_tag",
]

_TAG = re.compile(r"\{\{(colocation_)?node ([^}]+)\}\}")
_NODE = re.compile(r"\[\[(?:Node: )?(?:\{\{node )?([^\}\s=]+)")

_CLASS_OF: tuple[tuple[type[BaseException], type[OpError]], ...] = (
    (MemoryError, ResourceExhaustedError),
    (NotImplementedError, UnimplementedError),
    (ValueError, InvalidArgumentError),
    (TypeError, InvalidArgumentError),
    (IndexError, InvalidArgumentError),
    (KeyError, InvalidArgumentError),
    (ArithmeticError, InvalidArgumentError),
)
"""Class of the error that a Python exception inside a function becomes; any other is an ``InternalError``."""


def with_tag(message: str, node: str, release: str) -> str:
    """A sentence followed by the line that names the node it is about."""
    if "[[" in message:
        return message
    return (
        f"{message}\n\t [[Node: {node}]]"
        if release in ("1.0", "1.4")
        else f"{message}\n\t [[{{{{node {node}}}}}]]"
    )


def node_named_in(message: str, graph: Graph) -> Operation | None:
    """The operation that a message is about, if it names one in double brackets."""
    match = _NODE.search(message)
    return graph._by_name.get(match[1]) if match else None


def interpolated(message: str, graph: Graph, release: str) -> str:
    """The message with the line that made each node in place of the node's tag (release 1.15 only)."""
    if release != "1.15":
        return message

    def replaced(match: re.Match[str]) -> str:
        op = graph._by_name.get(match[2])
        source = op.source if op is not None else None
        text = f"node {match[2]} (defined at {source}) " if source else f"node {match[2]}"
        return (
            f"{text.rstrip()} placed on device {op.device or 'none requested'} " if match[1] and op else text
        )

    return _TAG.sub(replaced, message)


def failed_step_error(
    error: BaseException, op: Operation, device: str, inputs: Iterable[Any], release: str
) -> OpError:
    """The error to raise, ``from error``, for an exception inside the function of a node.

    Args:
        error: what the function raised.
        op: the node.
        device: full name of the device it ran on.
        inputs: the values it was given, as far as they are known.
        release: whose format.
    """
    inputs = list(inputs)
    if isinstance(error, OpError):
        cls, message = type(error), error.message
        facts, hint = dict(error.facts), error.hint
    else:
        cls = next((known for kind, known in _CLASS_OF if isinstance(error, kind)), InternalError)
        shapes = [value.shape for value in inputs if isinstance(getattr(value, "shape", None), tuple)]
        text = (tensorflow_sentence(error, shapes) if isinstance(error, Exception) else None) or (
            str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
        )
        message = text or type(error).__name__
        facts, hint = {"raised": f"{type(error).__name__} in the function that computes {op.type}"}, None
    facts.setdefault("node", f"{op.name} ({op.type})")
    facts.setdefault("device", device)
    if inputs:
        facts.setdefault("inputs", ", ".join(map(_described, inputs)))
    if op.source:
        facts.setdefault("made at", op.source)
    message = interpolated(with_tag(message, op.name, release), op.graph, release)
    if cls is OpError:
        assert isinstance(error, OpError)
        return OpError(op, op, message, error.error_code, facts=facts, hint=hint)
    return cls(op, op, message, facts=facts, hint=hint)  # type: ignore[call-arg]


def _described(value: Any) -> str:
    """``float[2,3]`` for an array."""
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    if shape is None or dtype is None:
        return type(value).__name__
    name = dtype.short_name if isinstance(dtype, DType) else "string" if dtype == object else str(dtype)
    sizes = shape if isinstance(shape, tuple) else getattr(shape, "sizes", None)
    return f"{name}[{','.join('?' if size is None else str(size) for size in sizes or ())}]"


def missing_feed_error(op: Operation) -> InvalidArgumentError:
    """The error for a placeholder that a step needs and nobody feeds; the node's line is added where it is raised."""
    dtype, shape = op.outputs[0].dtype, op.outputs[0].shape
    sentence = (
        f"You must feed a value for placeholder tensor '{op.name}' with dtype {dtype.base_dtype.short_name}"
    )
    if shape.ndims is not None and (shape.ndims or op.type == "PlaceholderV2"):
        sentence += f" and shape {brackets(shape)}"
    return InvalidArgumentError(
        op, op, sentence, hint=f"session.run(..., feed_dict={{{op.name + ':0'!r}: value}})"
    )


def no_control_flow_error(op: Operation) -> UnimplementedError:
    """The error for a node that only a dataflow loop or a conditional can execute."""
    return UnimplementedError(
        op,
        op,
        f"Op '{op.type}' used by {{{{node {op.name}}}}} belongs to a conditional or a loop, which gpuplace places and does"
        " not execute yet.",
        facts={"made at": op.source} if op.source else None,
        hint="fetch tensors outside the conditional or loop, or feed its results",
    )
