"""What 1.15 puts in place of the tags of an error: the lines of the program that made the nodes.

>>> parse_message("no {{node b}}, no {{colocation_node c}}")
(['no ', ', no ', ''], [Tag(type='node', name='b'), Tag(type='colocation_node', name='c')])

Of a node that is placed with others, the ``tf.device`` and ``colocate_with`` blocks around it are listed too. Which
operations a failing one takes from is not said: 1.15 would, but takes its own files for the program's.

Source: tensorflow/python/framework/error_interpolation.py, release 1.15 (names, texts).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gpuplace.graph.graph import Graph
from gpuplace.graph.operation import Operation
from gpuplace.graph.source_text import TraceableObject

_TAG = re.compile(r"\{\{((?:colocation_|function_)?node) ([^}]+)\}\}")


class Tag(NamedTuple):
    """``{{node x}}`` in an error."""

    type: str
    name: str


def parse_message(message: str) -> tuple[list[str], list[Tag]]:
    """An error's text before, between and after its tags, and the tags.

    Args:
        message: as the runtime writes it.
    """
    between, at, tags = [], 0, []
    for found in _TAG.finditer(message):
        between.append(message[at : found.start()])
        tags.append(Tag(found[1], found[2]))
        at = found.end()
    return [*between, message[at:]], tags


def device_summary(name: str, device_assignment_list: Sequence[TraceableObject], prefix: str = "") -> str:
    """The ``tf.device`` blocks around an operation, a line each.

    Args:
        name: the operation's.
        device_assignment_list: what each block asks for, with its line.
        prefix: what every line begins with.
    """
    if not device_assignment_list:
        return f"{prefix}No device assignments were active during op '{name}' creation."
    blocks = [_block("device", one.obj, one) for one in device_assignment_list]
    return f"\n{prefix}".join([f"{prefix}Device assignments active during op '{name}' creation:", *blocks])


def colocation_summary(name: str, colocation_dict: Mapping[str, TraceableObject], prefix: str = "") -> str:
    """The ``colocate_with`` blocks around an operation, a line each.

    Args:
        name: the operation's.
        colocation_dict: the lines of the blocks, by the names of the operations that they name.
        prefix: what every line begins with.
    """
    if not colocation_dict:
        return f"{prefix}No node-device colocations were active during op '{name}' creation."
    blocks = [_block("colocate_with", other, one) for other, one in colocation_dict.items()]
    return f"\n{prefix}".join(
        [f"{prefix}Node-device colocations active during op '{name}' creation:", *blocks]
    )


def _block(function: str, argument: str, at: TraceableObject) -> str:
    return f"  with tf.{function}({argument}): <{at.filename}:{at.lineno}>"


def interpolate(error_message: str, graph: Graph) -> str:
    """The error with the program's lines in place of its tags.

    Args:
        error_message: as the runtime writes it.
        graph: has the nodes; a tag of any other stays as it is.
    """
    between, tags = parse_message(error_message)
    text, about = between[0], list[str]()
    for tag, following in zip(tags, between[1:], strict=True):
        op = graph._by_name.get(tag.name)
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
