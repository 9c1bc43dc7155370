"""The stacks of a graph under construction: device, control-dependency and name scopes.

A device scope merges its specification *below* what inner scopes have set, so the innermost scope is applied
first:

    with tf.device("/job:ps"):          applied second: /job:ps/device:GPU:1
        with tf.device("/gpu:1"):       applied first:  /device:GPU:1
            tf.constant(1.0)

``None`` ends the walk: what lies outside is ignored. A function replaces the device by what it returns.

Source: tensorflow/python/framework/ops.py, release 1.15.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from gpuplace.device.spec import DeviceSpec, MergeDevice, merge_device

if TYPE_CHECKING:
    from gpuplace.graph.graph import Graph
    from gpuplace.graph.operation import Operation, Tensor

VALID_OP_NAME = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*")
VALID_SCOPE_NAME = re.compile(r"[A-Za-z0-9_.\\/>-]*")


class DeviceScope:
    """One ``tf.device`` block: what it asks for, and the line that opened it."""

    __slots__ = ("function", "merge", "stops", "display_name", "filename", "lineno")

    def __init__(self, device: Any, filename: str, lineno: int) -> None:
        self.filename = filename
        self.lineno = lineno
        self.stops = device is None
        self.merge: MergeDevice | None = None
        self.function: Callable[[Any], Any] | None = None
        if isinstance(device, MergeDevice) or device is None:
            self.merge = device
            self.display_name = str(device)
        elif isinstance(device, (str, DeviceSpec)):
            self.merge = merge_device(device)
            self.display_name = repr(device if isinstance(device, str) else device.to_string())
        elif callable(device):
            self.function = device
            self.display_name = getattr(device, "__qualname__", repr(device))
        else:
            raise TypeError(
                f"tf.device takes a device name, a DeviceSpec, a function or None, not {device!r}"
            )

    def apply(self, op: Operation) -> str:
        """The device that ``op``, of which inner scopes have set the device, requests after this scope."""
        if self.merge is not None:
            return op.device if self.merge.is_null_merge else self.merge.shortcut_string_merge(op)
        assert self.function is not None
        device = self.function(op)
        if device is None:
            return ""
        return device.to_string() if isinstance(device, DeviceSpec) else str(device)

    def __str__(self) -> str:
        return f"with device({self.display_name}), {self.filename}:{self.lineno}"


def make_device_scope(device: Any, depth: int) -> DeviceScope:
    """A scope that names the line ``depth`` frames up as the one that opened it."""
    frame = sys._getframe(depth)
    return DeviceScope(device, frame.f_code.co_filename, frame.f_lineno)


class ControlDependenciesScope:
    """A ``control_dependencies`` block; ``new_stack`` marks ``control_dependencies(None)``, which hides outer ones."""

    def __init__(self, graph: Graph, control_inputs: Sequence[Operation] | None) -> None:
        self._graph = graph
        self.new_stack = control_inputs is None
        self.control_inputs: list[Operation] = list(control_inputs or ())
        self._seen: set[Operation] = set()
        self._outer: list[ControlDependenciesScope] = []

    def __enter__(self) -> None:
        stack = self._graph._control_stack
        if self.new_stack:
            self._outer = stack
            self._graph._control_stack = []
        else:
            stack.append(self)

    def __exit__(self, *exc: object) -> None:
        if self.new_stack:
            self._graph._control_stack = self._outer
        else:
            assert self._graph._control_stack[-1] is self, "control_dependencies blocks are not nested"
            self._graph._control_stack.pop()

    def add_op(self, op: Operation) -> None:
        """Notes an operation made inside."""
        self._seen.add(op)

    def op_in_group(self, op: Operation) -> bool:
        """Whether ``op`` was made inside, and so already waits for the control inputs."""
        return op in self._seen


def control_inputs_for(
    stack: Sequence[ControlDependenciesScope], inputs: Sequence[Tensor]
) -> list[Operation]:
    """The control inputs of an operation with these inputs; none from scopes that an input is already subject to."""
    producers = {tensor.op for tensor in inputs}
    found: dict[Operation, None] = {}
    for scope in stack:
        if not any(scope.op_in_group(op) for op in producers):
            for op in scope.control_inputs:
                if op not in producers:
                    found[op] = None
    return list(found)
