r"""Errors of steps: the failed node, the line that created it, and its inputs.

The runtime names a node as ``{{node MatMul}}``. The session, which knows the program, replaces the tag with the line
that created the node (1.15), or puts the lines above the message (2.21). 1.0 and 1.4 do neither: they print the whole
node with its device, and list the line as a fact.

>>> parse_message("no {{node b}}, no {{colocation_node c}}")
(['no ', ', no ', ''], [Tag(type='node', name='b'), Tag(type='colocation_node', name='c')])
>>> with_tag("Incompatible shapes: [2] vs. [3]", "add", "1.15")
'Incompatible shapes: [2] vs. [3]\n\t [[{{node add}}]]'

Source: tensorflow/python/client/session.py, python/framework/error_interpolation.py and AttachDef in
core/framework/op_kernel.cc, releases 1.15 and 2.21. For a colocated node, the blocks of ``tf.device`` and
``colocate_with`` are listed too; the inputs of a node are not, because 1.15 attributes them to its own files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

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
from gpuplace.graph.source_text import TraceableObject
from gpuplace.numerics.complaints import tensorflow_sentence
from gpuplace.runtime.memory.allocator_text import OOM_HINT, oom_message
from gpuplace.runtime.plan.lowered_graph import LoweredGraph
from gpuplace.shapes import brackets
from gpuplace.why.node_text import operation_text

_NODE = re.compile(r"\[\[(?:Node: )?(?:\{\{node )?([^\}\s=\]]+)")

_WHOLE_NODE = ("1.0", "1.4")
"""Releases that print the whole node."""

OOM_HINT_2_21 = OOM_HINT.rstrip() + " This isn't available when running in Eager mode.\n"
OOM_HINTS = (OOM_HINT_2_21, OOM_HINT)
"""Hints that the releases add to out-of-memory errors."""

_CLASS_OF: tuple[tuple[type[BaseException], type[OpError]], ...] = (
    (MemoryError, ResourceExhaustedError),
    (NotImplementedError, UnimplementedError),
    (ValueError, InvalidArgumentError),
    (TypeError, InvalidArgumentError),
    (LookupError, InvalidArgumentError),
    (ArithmeticError, InvalidArgumentError),
)
"""Error class for a Python exception in a kernel; any other exception becomes an ``InternalError``."""


def with_tag(message: str, node: str, release: str, text: str = "") -> str:
    """Return a message followed by the line that names its node.

    Args:
        message: the message.
        node: name of the node.
        release: release of the format.
        text: the whole node, for releases that print it.
    """
    if "[[" in message:
        return message
    named = f"Node: {text or node}" if release in _WHOLE_NODE else f"{{{{node {node}}}}}"
    return f"{message}\n\t [[{named}]]"


def _fed_names(feeds: Iterable[str], release: str) -> dict[str, str]:
    """Return the names of fed tensors in 1.0 and 1.4."""
    names = {}
    for number, tensor in enumerate(sorted(feeds)):
        name, _, output = tensor.rpartition(":")
        names[tensor] = f"_recv_{name}_{output}" if release == "1.0" else f"_arg_{name}_{output}_{number}"
    return names


def node_named_in(message: str, graph: Graph) -> Operation | None:
    """Return the operation that a message names in double brackets, if any."""
    match = _NODE.search(message)
    return graph.by_name.get(match[1]) if match else None


def with_lines(message: str, graph: Graph, release: str) -> str:
    """Return a message with the program's lines that created its nodes, if the release shows them."""
    if release == "1.15":
        return interpolate(message, graph)
    return _message_2_21(message, graph) if release == "2.21" else message


def _message_2_21(message: str, graph: Graph) -> str:
    tags = [tag for tag in parse_message(message)[1] if tag.type != "function_node"]
    op = graph.by_name.get(tags[0].name) if tags else None
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
    """Return an error with its node and the lines of ``with_lines``."""
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
    """Return the error to raise, ``from error``, for an exception in a node's kernel.

    Args:
        error: the kernel's exception.
        op: the node, or the node whose output is fetched.
        device: full name of its device.
        inputs: its input values, as far as they are known.
        release: release of the format.
        node: name to report; None for the node's.
        feeds: names of the fed tensors.
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
        facts.setdefault("created at", op.source)
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
    """Return the program's graph, its operation of this name, and the name for errors.

    The operation is None if it was added by lowering.
    """
    graph: Any = op.graph
    if isinstance(graph, LoweredGraph):
        return graph.program, graph.origin_in_program(op), graph.name_in_messages(op)
    return graph, op, op.name


def _as_op_error(error: Exception, op: Operation, inputs: list[Any], device: str, release: str) -> OpError:
    """Return TensorFlow's error for any exception."""
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


def _described(value: object) -> str:
    """Return ``float32[2,3]`` for an array, ``variable w`` for a variable."""
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    name = getattr(value, "name", None)
    if name is not None and not isinstance(shape, tuple):
        return f"variable {name}"
    if not isinstance(shape, tuple) or dtype is None:
        return type(value).__name__
    return f"{'string' if str(dtype) == 'object' else dtype}[{','.join(map(str, shape))}]"


def missing_feed_error(op: Operation) -> InvalidArgumentError:
    """Return the error for a placeholder that is needed but not fed; the node is added where the error is raised."""
    tensor = op.outputs[0]
    dtype = tensor.dtype.base_dtype.short_name
    sentence = f"You must feed a value for placeholder tensor '{op.name}' with dtype {dtype}"
    if tensor.shape.ndims:
        sentence += f" and shape {brackets(tensor.shape)}"
    return InvalidArgumentError(
        op, op, sentence, hint=f"session.run(..., feed_dict={{{tensor.name!r}: value}})"
    )


_TAG = re.compile(r"\{\{((?:colocation_|function_)?node) ([^}]+)\}\}")


class Tag(NamedTuple):
    """A tag ``{{node x}}`` in an error."""

    type: str
    name: str


def parse_message(message: str) -> tuple[list[str], list[Tag]]:
    """Split an error message into the text around its tags, and the tags.

    Args:
        message: message of the runtime.
    """
    between, at, tags = [], 0, []
    for match in _TAG.finditer(message):
        between.append(message[at : match.start()])
        tags.append(Tag(match[1], match[2]))
        at = match.end()
    return [*between, message[at:]], tags


def device_summary(name: str, device_assignment_list: Sequence[TraceableObject], prefix: str = "") -> str:
    """Return the ``tf.device`` blocks around an operation, one per line.

    Args:
        name: name of the operation.
        device_assignment_list: request of each block, with its line.
        prefix: prefix of every line.
    """
    if not device_assignment_list:
        return f"{prefix}No device assignments were active during op '{name}' creation."
    blocks = [_block("device", traced.obj, traced) for traced in device_assignment_list]
    return f"\n{prefix}".join([f"{prefix}Device assignments active during op '{name}' creation:", *blocks])


def colocation_summary(name: str, colocation_dict: Mapping[str, TraceableObject], prefix: str = "") -> str:
    """Return the ``colocate_with`` blocks around an operation, one per line.

    Args:
        name: name of the operation.
        colocation_dict: line of each block, by name of the operation it names.
        prefix: prefix of every line.
    """
    if not colocation_dict:
        return f"{prefix}No node-device colocations were active during op '{name}' creation."
    blocks = [_block("colocate_with", other, traced) for other, traced in colocation_dict.items()]
    return f"\n{prefix}".join(
        [f"{prefix}Node-device colocations active during op '{name}' creation:", *blocks]
    )


def _block(function: str, argument: str, at: TraceableObject) -> str:
    return f"  with tf.{function}({argument}): <{at.filename}:{at.lineno}>"


def interpolate(error_message: str, graph: Graph) -> str:
    """Replace the tags in an error message with the program's lines.

    Args:
        error_message: message of the runtime.
        graph: graph with the nodes; tags of other nodes stay.
    """
    between, tags = parse_message(error_message)
    text, about = between[0], list[str]()
    for tag, following in zip(tags, between[1:], strict=True):
        op = graph.by_name.get(tag.name)
        if tag.type == "function_node":
            text += following
            continue
        if op is None:
            text += f"{{{{{tag.type} {tag.name}}}}}{following}"
            continue
        text += f"node {op.name}" + (f" (defined at {op.source})" if op.source else "")
        if tag.type == "colocation_node":
            devices = _devices_of(op)
            text += f" placed on device {devices} "
            about.append(f"{colocation_summary(op.name, op._colocation_dict)}\n{devices}")
        elif op.source:
            text += " "
        text += following
    if about:
        text += "Additional information about colocations:" + "\n".join(about)
    return text


def _devices_of(op: Operation) -> str:
    return device_summary(op.name, op._device_assignments)
