"""The stacks of a graph under construction: device, control-dependency and name scopes.

A device scope merges its specification *below* what inner scopes have set, so the innermost scope is applied
first:

    with tf.device("/job:ps"):          applied second: /job:ps/device:GPU:1
        with tf.device("/gpu:1"):       applied first:  /device:GPU:1
            tf.constant(1.0)

``None`` ends the walk, so outer scopes are ignored. A function's result replaces the device.

Source: tensorflow/python/framework/ops.py, release 1.15.
"""

from __future__ import annotations

import contextlib
import inspect
import re
import sys
import threading
import weakref
from _thread import get_ident
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from gpuplace.device.spec import DeviceSpec, MergeDevice, merge_device
from gpuplace.display import safe_text
from gpuplace.graph.operation import Operation, Tensor, plain_attr, program_line
from gpuplace.graph.source_text import TraceableObject
from gpuplace.graph.stacks import Block
from gpuplace.typing import Graph

VALID_OP_NAME = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*")
VALID_SCOPE_NAME = re.compile(r"[A-Za-z0-9_.\\/>-]*")


class DeviceScope:
    """A ``tf.device`` block: the requested device, and the line that opened it."""

    __slots__ = (
        "_given",
        "function",
        "merge",
        "stops",
        "changes_nothing",
        "display_name",
        "filename",
        "lineno",
    )

    def __init__(self, device: Any, filename: str, lineno: int) -> None:
        self.filename = filename
        self.lineno = lineno
        self._given = device
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

        self.changes_nothing = self.merge is not None and self.merge.is_null_merge

    def apply(self, op: Operation) -> str:
        """Return the device that ``op`` requests after this scope; inner scopes have already set ``op.device``."""
        if self.merge is not None:
            return op.device if self.changes_nothing else self.merge.shortcut_string_merge(op)
        assert self.function is not None
        device = self.function(op)
        if device is None:
            return ""
        return device.to_string() if isinstance(device, DeviceSpec) else str(device)

    @property
    def shown(self) -> str:
        """The requested device as TensorFlow's errors print it: a name, or a function and its location."""
        function = self._given
        if self.function is None:
            return function.to_string() if isinstance(function, DeviceSpec) else str(function)
        function = inspect.unwrap(function)
        owner = f"{type(function.__self__).__name__}." if inspect.ismethod(function) else ""
        name = owner + function.__name__ if inspect.isroutine(function) else str(type(function))
        called = function if inspect.isroutine(function) else type(function).__call__
        code = getattr(called, "__code__", None)
        where = f"{code.co_filename}, {code.co_firstlineno}" if code is not None else "unknown, -1"
        return f"{name}<{where}>"

    def __str__(self) -> str:
        return f"with device({self.display_name}), {self.filename}:{self.lineno}"


def make_device_scope(device: Any, depth: int) -> DeviceScope:
    """Return a scope whose opening line is ``depth`` frames up."""
    frame = sys._getframe(depth)
    return DeviceScope(device, frame.f_code.co_filename, frame.f_lineno)


class Stacks:
    """The scopes for new operations of a graph, except the name scope."""

    __slots__ = ("devices", "hidden_devices", "colocations", "controls")

    def __init__(self) -> None:
        self.devices: tuple[DeviceScope, ...] = ()
        """``tf.device`` blocks, innermost first."""
        self.hidden_devices: tuple[DeviceScope, ...] | None = None
        """Device blocks that a ``colocate_with`` block hides; None outside such a block."""
        self.colocations: list[TraceableObject] = []
        """Operations of ``colocate_with`` blocks, innermost last, with the lines of the blocks."""
        self.controls: list[ControlInputs] = []
        """``control_dependencies`` blocks, innermost last."""

    def copy(self) -> Stacks:
        """Return independent copies of the stacks."""
        new = Stacks()
        new.devices, new.hidden_devices = self.devices, self.hidden_devices
        new.colocations, new.controls = list(self.colocations), list(self.controls)
        return new

    def apply_devices(self, op: Operation) -> None:
        """Set the device that an operation requests, and the ``tf.device`` blocks that it comes from."""
        for scope in self.devices:
            if scope.stops:
                break
            op._device = scope.apply(op)
        op.device_scopes = self.devices

    def control_inputs(self) -> set[Operation]:
        """Return the operations that the ``control_dependencies`` blocks name."""
        return {op for scope in self.controls for op in scope.operations}


class OfThread(threading.local):
    """The state of each thread that builds a graph."""

    def __init__(self) -> None:
        super().__init__()
        self.name_stack = ""
        """The name scope, without a trailing slash."""
        self.variable_creators: tuple[tuple[int, Any], ...] = ()
        """Functions that create variables, the last one first, with their priorities."""
        self.context: Any = None
        """The conditional branch or loop under construction, or None."""
        self.distribution: tuple[Any, ...] = ()
        """Contexts of ``tf.distribute`` strategies, innermost last."""
        self.stacks: Stacks | None = None
        """The other scopes, after ``Graph.switch_to_thread_local``."""


class Scopes:
    """The scopes that a graph's new operations are in."""

    __slots__ = (
        "of_thread", "shared", "are_thread_local", "attrs", "kernel_labels", "gradient_overrides", "container",
        "contexts",
    )  # fmt: skip

    def __init__(self) -> None:
        self.of_thread = OfThread()
        self.shared = Stacks()
        """The scopes of all threads, until ``are_thread_local``."""
        self.are_thread_local = False
        self.attrs: dict[str, Any] = {}
        """Attributes of new operations, or functions from operation to attribute."""
        self.kernel_labels: dict[str, str] = {}
        """Op type to the label of its kernels."""
        self.gradient_overrides: dict[str, str] = {}
        """Op type to the name of its gradient function."""
        self.container = ""
        """The resource container of stateful operations."""
        self.contexts: dict[Operation, Any] = {}
        """The branch or loop of each operation that is in one."""

    def stacks(self) -> Stacks:
        """Return the scopes of this thread; a thread's own scopes start as a copy of the graph's."""
        if not self.are_thread_local:
            return self.shared
        own = self.of_thread.stacks
        if own is None:
            own = self.of_thread.stacks = self.shared.copy()
        return own

    def apply_attrs(self, op: Operation) -> None:
        """Set the attributes that an operation gets from the scopes."""
        for key, value in self.attrs.items():
            if callable(value):
                value = value(op)
            if value is not None:
                op.attrs.setdefault(key, plain_attr(value))
        if op.type in self.kernel_labels:
            op.attrs.setdefault("_kernel", self.kernel_labels[op.type].encode())
        if op.type in self.gradient_overrides:
            op.attrs.setdefault("_gradient_op_type", self.gradient_overrides[op.type].encode())
        if (
            self.container
            and op.op_def is not None
            and op.op_def.is_stateful
            and op.attrs.get("container") == b""
        ):
            op.attrs["container"] = self.container.encode()


def building_context(graph: Graph) -> Any:
    """Return the branch or loop that this thread is building, or None.

    Args:
        graph: graph being built.
    """
    return graph.scopes.of_thread.context


def set_building_context(graph: Graph, context: Any) -> None:
    """Set the branch or loop that this thread is building.

    Args:
        graph: graph being built.
        context: the branch or loop, or None.
    """
    graph.scopes.of_thread.context = context


@contextlib.contextmanager
def attr_scope(graph: Graph, attrs: Mapping[str, Any]) -> Iterator[None]:
    """Add attributes to the operations made in the ``with`` block.

    Args:
        graph: the graph of the operations.
        attrs: attributes in their Python form or as ``AttrValue``, or functions from operation to attribute; None
            removes an attribute of an outer block.
    """
    scopes = graph.scopes
    outer = scopes.attrs
    scopes.attrs = {key: value for key, value in {**outer, **attrs}.items() if value is not None}
    try:
        yield
    finally:
        scopes.attrs = outer


def enter_name(graph: Graph, name: str | None) -> str:
    """Make a name scope the current one and return its name without a slash.

    The caller restores ``graph.scopes.of_thread.name_stack``.

    Args:
        graph: graph being built.
        name: as for ``Graph.name_scope``.
    """
    of_thread = graph.scopes.of_thread
    if not name:
        inner = ""
    else:
        if isinstance(name, bytes):
            name = name.decode()
        pattern = VALID_SCOPE_NAME if of_thread.name_stack else VALID_OP_NAME
        if not pattern.fullmatch(name):
            raise ValueError(f"'{safe_text(name)}' is not a valid scope name")
        inner = name[:-1] if name[-1] == "/" else graph.unique_name(name)
    of_thread.name_stack = inner
    return inner


class NameScope(Block):
    """A ``name_scope`` block."""

    def __init__(self, graph: Graph, name: str | None) -> None:
        self._graph = graph
        self._name = name
        self._outer = ""

    def _recreate_cm(self) -> NameScope:
        return NameScope(self._graph, self._name)

    def __enter__(self) -> str:
        graph = self._graph
        names = [graph.scopes.of_thread.name_stack]
        self._outer = names[0]
        self._ending = partial(end_name, get_ident(), graph.scopes.of_thread, names)
        inner = enter_name(graph, self._name)
        names.append(inner)
        return inner + "/" if self._name else ""

    def __exit__(self, *exc: object) -> None:
        self._graph.scopes.of_thread.name_stack = self._outer
        self._ending = bool


def end_name(thread: int, of_thread: OfThread, names: Sequence[str]) -> None:
    """End a name scope, if it still exists.

    Args:
        thread: the thread that is in the scope.
        of_thread: the state with the scope.
        names: the outer scope, and this one if it is known.
    """
    outer, now = names[0], of_thread.name_stack
    if thread == get_ident() and (now == names[1] if len(names) > 1 else now.startswith(outer)):
        of_thread.name_stack = outer


class _OpenBlocks(threading.local):
    """The ``tf.device`` blocks that a thread is in, innermost last."""

    def __init__(self) -> None:
        self.blocks: list[weakref.ref[DeviceBlock]] = []


_open = _OpenBlocks()


class DeviceBlock(Block):
    """Enter and leave a ``tf.device`` block."""

    def __init__(self, graph: Graph, scope: DeviceScope) -> None:
        self._graph = graph
        self._scope = scope
        self._depth = 0

    def _recreate_cm(self) -> DeviceBlock:
        return DeviceBlock(self._graph, self._scope)

    def __enter__(self) -> None:
        self._depth, block = len(_open.blocks), weakref.ref(self)
        self._ending = partial(_end_device, get_ident(), self._graph, self._scope, self._depth, block)
        stacks = self._graph.scopes.stacks()
        stacks.devices = (self._scope, *stacks.devices)
        _open.blocks.append(block)

    def __exit__(self, kind: Any = None, *exc: object) -> None:
        inner = _open.blocks[self._depth :]
        if kind is None and [block() for block in inner] != [self]:
            raise RuntimeError("Exiting device scope without proper scope nesting.")
        self._ending()
        self._ending = bool


def _end_device(
    thread: int, graph: Graph, scope: DeviceScope, depth: int, block: weakref.ref[DeviceBlock]
) -> None:
    """End a ``tf.device`` block, if it still exists."""
    if thread != get_ident():
        return
    if len(_open.blocks) > depth and _open.blocks[depth] is block:
        del _open.blocks[depth:]
    stacks = graph.scopes.stacks()
    devices = stacks.devices
    for at, one in enumerate(devices):  # the first one, unless another thread shares the graph's stack
        if one is scope:
            stacks.devices = devices[:at] + devices[at + 1 :]
            break


class ColocationBlock(Block):
    """A block that colocates operations with others; outer device scopes do not apply.

    Args:
        graph: graph being built.
        operations: the operations to colocate with.
        ignore_existing: whether outer colocations end.
    """

    def __init__(self, graph: Graph, operations: Sequence[Operation], ignore_existing: bool = False) -> None:
        self._graph = graph
        self._operations = operations
        self._ignores = ignore_existing
        self._outer: tuple[Any, Any, list[TraceableObject]] = ((), None, [])

    def _recreate_cm(self) -> ColocationBlock:
        return ColocationBlock(self._graph, self._operations, self._ignores)

    def __enter__(self) -> None:
        stacks = self._graph.scopes.stacks()
        self._outer = outer = stacks.devices, stacks.hidden_devices, stacks.colocations
        kept = [] if self._ignores else stacks.colocations
        inner = [*kept, *map(program_line, self._operations)]
        self._ending = partial(_end_colocation, stacks, outer, inner)
        stacks.colocations = inner
        if stacks.hidden_devices is None:
            stacks.hidden_devices = stacks.devices
        stacks.devices = ()

    def __exit__(self, *exc: object) -> None:
        stacks = self._graph.scopes.stacks()
        stacks.devices, stacks.hidden_devices, stacks.colocations = self._outer
        self._ending = bool


def _end_colocation(
    stacks: Stacks, outer: tuple[Any, Any, list[TraceableObject]], inner: list[TraceableObject]
) -> None:
    """End a colocation block, if it still exists; ``tf.device`` blocks around it may have ended before."""
    if stacks.colocations is inner:
        devices, hidden, colocations = outer
        opened = {id(block._scope) for reference in _open.blocks if (block := reference()) is not None}
        stacks.devices = tuple([scope for scope in devices if id(scope) in opened])
        stacks.hidden_devices = hidden and tuple([scope for scope in hidden if id(scope) in opened])
        stacks.colocations = colocations


class OuterDevices(Block):
    """A block that restores device scopes hidden by a colocation, unless the other op has a device.

    TensorFlow 1.15 creates variables in this way.

    Args:
        graph: graph being built.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._outer: tuple[DeviceScope, ...] = ()

    def __enter__(self) -> None:
        stacks = self._graph.scopes.stacks()
        self._outer = outer = stacks.devices
        if not outer and stacks.hidden_devices and not any(one.obj.device for one in stacks.colocations):
            inner = (*stacks.hidden_devices,)  # a unique object, which identifies the block
            self._ending = partial(_end_outer_devices, stacks, outer, inner)
            stacks.devices = inner

    def __exit__(self, *exc: object) -> None:
        self._graph.scopes.stacks().devices = self._outer
        self._ending = bool


def _end_outer_devices(
    stacks: Stacks, outer: tuple[DeviceScope, ...], inner: tuple[DeviceScope, ...]
) -> None:
    """End a block with restored device scopes, if it still exists."""
    if stacks.devices is inner:
        stacks.devices = outer


class ControlInputs:
    """The control inputs of a ``control_dependencies`` block, and the operations created in it."""

    def __init__(self, operations: Sequence[Operation]) -> None:
        self.operations = list(operations)
        self._seen: set[Operation] = set()

    def add_op(self, op: Operation) -> None:
        """Record an operation created in the block."""
        self._seen.add(op)

    def has_none_of(self, operations: set[Operation]) -> bool:
        """Return whether no input was created in the block: an input from the block already waits."""
        return self._seen.isdisjoint(operations)


class ControlDependenciesBlock(Block):
    """A ``control_dependencies`` block; ``control_dependencies(None)`` hides outer ones.

    It also hides the conditional branch or loop under construction: operations in the block are not part of it.
    """

    def __init__(self, graph: Graph, control_inputs: Sequence[Operation] | None) -> None:
        self._graph = graph
        self._inputs = None if control_inputs is None else ControlInputs(control_inputs)
        self._outer: tuple[list[ControlInputs], Any] = ([], None)
        self._inner: list[ControlInputs] = []

    @property
    def control_inputs(self) -> list[Operation]:
        """Return the operations that new operations in the block wait for."""
        return [] if self._inputs is None else self._inputs.operations

    def __enter__(self) -> None:
        stacks, of_thread = self._graph.scopes.stacks(), self._graph.scopes.of_thread
        self._outer = outer = stacks.controls, of_thread.context
        self._inner = inner = [] if self._inputs is None else [*stacks.controls, self._inputs]
        self._ending = partial(_end_controls, get_ident(), stacks, of_thread, outer, inner)
        stacks.controls = inner
        if self._inputs is None:
            of_thread.context = None

    def __exit__(self, kind: Any = None, *exc: object) -> None:
        stacks, of_thread = self._graph.scopes.stacks(), self._graph.scopes.of_thread
        is_innermost = stacks.controls is self._inner
        if self._inputs is None or kind is not None:  # an inner block may have been interrupted
            of_thread.context = self._outer[1]
        stacks.controls = self._outer[0]
        self._ending = bool
        assert is_innermost or kind is not None, "control_dependencies blocks are not nested"


def _end_controls(
    thread: int,
    stacks: Stacks,
    of_thread: OfThread,
    outer: tuple[list[ControlInputs], Any],
    inner: list[ControlInputs],
) -> None:
    """End a ``control_dependencies`` block, if it still exists."""
    if thread == get_ident() and stacks.controls is inner:
        of_thread.context = outer[1]
        stacks.controls = outer[0]


def control_inputs_for(stack: Sequence[ControlInputs], inputs: Sequence[Tensor]) -> list[Operation]:
    """Return the control inputs for an operation; blocks that one of its inputs already waits for add none."""
    producers = {tensor.op for tensor in inputs}
    found: dict[Operation, None] = {}
    for scope in stack:
        if scope.has_none_of(producers):
            for op in scope.operations:
                if op not in producers:
                    found[op] = None
    return list(found)
