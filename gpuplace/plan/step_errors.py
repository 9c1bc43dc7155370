"""What a step's failure says: which node, made by which line, with what inputs.

The runtime names a node as ``{{node MatMul}}``. The session, which knows the program, puts the line that made the node
in place of the tag (1.15) or the lines above the sentence (2.21). 1.0 and 1.4 did neither: they print the whole node on
its device, and the line is a fact below.

>>> with_tag("Incompatible shapes: [2] vs. [3]", "add", "1.15")
'Incompatible shapes: [2] vs. [3]\\n\\t [[{{node add}}]]'

Source: tensorflow/python/client/session.py, python/framework/error_interpolation.py and AttachDef in
core/framework/op_kernel.cc, releases 1.15 and 2.21.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from gpuplace.dtypes import as_dtype
from gpuplace.errors import (
    InternalError,
    InvalidArgumentError,
    OpError,
    ResourceExhaustedError,
    UnimplementedError,
)
from gpuplace.graph.graph import Graph
from gpuplace.graph.operation import Operation
from gpuplace.memory.allocator_text import OOM_HINT, oom_message
from gpuplace.numerics.complaints import tensorflow_sentence
from gpuplace.plan.error_interpolation import interpolate, parse_message
from gpuplace.plan.lowered_graph import LoweredGraph
from gpuplace.shapes import brackets
from gpuplace.why.node_text import operation_text

_NODE = re.compile(r"\[\[(?:Node: )?(?:\{\{node )?([^\}\s=\]]+)")

_WHOLE_NODE = ("1.0", "1.4")
"""Releases that print the whole node."""

OOM_HINT_2_21 = OOM_HINT.rstrip() + " This isn't available when running in Eager mode.\n"
OOM_HINTS = (OOM_HINT_2_21, OOM_HINT)
"""What the releases add to out-of-memory errors."""

_CLASS_OF: tuple[tuple[type[BaseException], type[OpError]], ...] = (
    (MemoryError, ResourceExhaustedError),
    (NotImplementedError, UnimplementedError),
    (ValueError, InvalidArgumentError),
    (TypeError, InvalidArgumentError),
    (LookupError, InvalidArgumentError),
    (ArithmeticError, InvalidArgumentError),
)
"""Class of the error that a Python exception inside a function becomes; any other is an ``InternalError``."""


def with_tag(message: str, node: str, release: str, text: str = "") -> str:
    """A sentence followed by the line that names the node it is about.

    Args:
        message: the sentence.
        node: name of the node.
        release: whose format.
        text: the whole node, for the releases that print it.
    """
    if "[[" in message:
        return message
    named = f"Node: {text or node}" if release in _WHOLE_NODE else f"{{{{node {node}}}}}"
    return f"{message}\n\t [[{named}]]"


def _fed_names(feeds: Iterable[str], release: str) -> dict[str, str]:
    """What 1.0 and 1.4 call the tensors that a step is fed with."""
    names = {}
    for number, tensor in enumerate(sorted(feeds)):
        name, _, output = tensor.rpartition(":")
        names[tensor] = f"_recv_{name}_{output}" if release == "1.0" else f"_arg_{name}_{output}_{number}"
    return names


def node_named_in(message: str, graph: Graph) -> Operation | None:
    """The operation that a message is about, if it names one in double brackets."""
    match = _NODE.search(message)
    return graph._by_name.get(match[1]) if match else None


def with_lines(message: str, graph: Graph, release: str) -> str:
    """The message with the program's lines that made the nodes it names, where the release shows them."""
    if release == "1.15":
        return interpolate(message, graph)
    return _message_2_21(message, graph) if release == "2.21" else message


def _message_2_21(message: str, graph: Graph) -> str:
    tags = [tag for tag in parse_message(message)[1] if tag.type != "function_node"]
    op = graph._by_name.get(tags[0].name) if tags else None
    text = "Graph execution error:\n\n"
    if op is not None:
        lines = "".join(
            f'    File "{frame.filename}", line {frame.lineno}, in {frame.name}\n' for frame in op.traceback
        )
        text += (
            f"Detected at node '{op.name}' defined at (most recent call last):\n{lines}Node: '{op.name}'\n"
        )
    return text + message


def error_with_lines(error: OpError, graph: Graph, release: str) -> OpError:
    """The error with its node and the lines of ``with_lines``."""
    op = error.op if isinstance(error.op, Operation) else node_named_in(error.message, graph)
    return _like(error, op, with_lines(error.message, graph, release), error.facts, error.hint)


def _like(
    error: OpError, op: Operation | None, message: str, facts: dict[str, str], hint: str | None
) -> OpError:
    cls: Any = type(error)
    if cls is OpError:
        return OpError(op, op, message, error.error_code, facts=facts, hint=hint)
    return cls(op, op, message, facts=facts, hint=hint)


def failed_step_error(
    error: Exception,
    op: Operation,
    device: str,
    inputs: Iterable[Any],
    release: str,
    node: str | None = None,
    feeds: Iterable[str] = (),
) -> OpError:
    """The error to raise, ``from error``, for an exception inside the function of a node.

    Args:
        error: what the function raised.
        op: the node, or the one whose output is fetched.
        device: full name of the device it ran on.
        inputs: the values it was given, as far as they are known.
        release: whose format.
        node: name to blame; the node's own if None.
        feeds: names of the tensors that the step is fed with.
    """
    inputs = list(inputs)
    if not isinstance(error, OpError):
        error = _as_op_error(error, op, inputs, device, release)
    facts = dict(error.facts)
    facts.setdefault("node", f"{op.name} ({op.type})")
    facts.setdefault("device", device)
    described = ", ".join(map(_described, inputs))
    if described:
        facts.setdefault("inputs", described)
    if op.source:
        facts.setdefault("made at", op.source)
    text, sentence = "", error.message
    if release in _WHOLE_NODE:
        if node is None:
            text = operation_text(op, device, release, _fed_names(feeds, release))
        if release == "1.0" and op.type == "Placeholder" and not op.outputs[0].shape.is_fully_defined():
            sentence = sentence.partition(" and shape ")[0]
    graph, own, name = _in_program(op)
    message = with_tag(sentence, node or name, release, text)
    if error.message.startswith("OOM when allocating") and release in ("1.15", "2.21"):
        message += OOM_HINT if release == "1.15" else OOM_HINT_2_21
    message = with_lines(message, graph, release)
    return _like(error, own if node is None else None, message, facts, error.hint)


def _in_program(op: Operation) -> tuple[Graph, Operation | None, str]:
    """The graph that the program made, the operation there of this name, and what errors call it.

    There is no such operation where one was added to be run.
    """
    graph: Any = op.graph
    if isinstance(graph, LoweredGraph):
        return graph.program, graph.origin_in_program(op), graph.name_in_messages(op)
    return graph, op, op.name


def _as_op_error(error: Exception, op: Operation, inputs: list[Any], device: str, release: str) -> OpError:
    """TensorFlow's error for any exception."""
    shape, dtype = getattr(error, "shape", None), getattr(error, "dtype", None)
    if isinstance(error, MemoryError) and shape is not None and dtype is not None:  # NumPy's own
        device_type, _, index = device.rpartition("device:")[2].partition(":")
        allocator = f"GPU_{index}_bfc" if device_type == "GPU" else "mklcpu" if release == "2.21" else "cpu"
        sentence = oom_message(shape, as_dtype(dtype), device, allocator)
        return ResourceExhaustedError(op, op, sentence, facts={"raised": str(error)})
    cls: Any = next((becomes for raised, becomes in _CLASS_OF if isinstance(error, raised)), InternalError)
    shapes = [value.shape for value in inputs if isinstance(getattr(value, "shape", None), tuple)]
    text = tensorflow_sentence(error, shapes) or (
        str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    )
    raised = f"{type(error).__name__} in the function that computes {op.type}"
    return cls(op, op, text or type(error).__name__, facts={"raised": raised})


def _described(value: Any) -> str:
    """``float32[2,3]`` for an array, ``variable w`` for a variable."""
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    name = getattr(value, "name", None)
    if name is not None and not isinstance(shape, tuple):
        return f"variable {name}"
    if not isinstance(shape, tuple) or dtype is None:
        return type(value).__name__
    return f"{'string' if str(dtype) == 'object' else dtype}[{','.join(map(str, shape))}]"


def missing_feed_error(op: Operation) -> InvalidArgumentError:
    """The error for a placeholder that a step needs and nobody feeds; the node is added where it is raised."""
    tensor = op.outputs[0]
    dtype = tensor.dtype.base_dtype.short_name
    sentence = f"You must feed a value for placeholder tensor '{op.name}' with dtype {dtype}"
    if tensor.shape.ndims:
        sentence += f" and shape {brackets(tensor.shape)}"
    return InvalidArgumentError(
        op, op, sentence, hint=f"session.run(..., feed_dict={{{tensor.name!r}: value}})"
    )
