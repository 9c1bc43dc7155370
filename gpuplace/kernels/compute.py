"""The functions that compute ops, and how a function is bound to an operation.

A function is registered once for an op and serves every device type: ``xp`` is numpy or cupy, depending on where the
tensors are. Signatures, types and host-memory arguments come from the catalogue and are not repeated here.

    @compute("MatMul")
    def matmul(xp, a, b, *, transpose_a, transpose_b):      # positional: the inputs; keyword-only: attributes, or ctx
        ...

    @binder("Add")
    def add(xp, attrs, op):                                 # returns the callable that a plan executes
        return xp.add

    @binder("Relu")
    def relu(xp, attrs, op, *, out=None):                   # one whose callables take ``out``, see below
        return lambda x, out=None: xp.maximum(x, 0, out=out)

    @compute("SparseThing", device_types=("GPU",))          # a variant: goes before the common function on GPUs

    @compute("Elu", elementwise=True, slow=True)            # what the op is like, see ``OpTraits``

A function takes ``xp``, then one argument for each input of the signature (a list input as a Python list), and by
keyword the attributes that it names, which are read once when a plan is compiled. The keyword ``ctx`` receives a
``KernelContext``. The function returns an array, or a tuple of arrays for several outputs. The callable of a binder
takes the tensors themselves, without gathered lists. Ops and variables share arrays, so no function changes an array in
place, with one exception: a function with the keyword ``out=None`` writes its result to that array if it is passed.
``out`` has the result's shape and type, and may be an input that nothing else needs.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from gpuplace.errors import InvalidArgumentError, UnimplementedError
from gpuplace.graph.op_def import OpDef
from gpuplace.graph.signature import signature_of
from gpuplace.lazy import import_next, import_waiting, meet_waiting

Function = TypeVar("Function", bound=Callable[..., Any])

ANY_DEVICE_TYPE = ""
"""Stands for all device types."""

CONTEXT = "ctx"
"""Keyword for the ``KernelContext``."""

OUT = "out"
"""Keyword for the array that receives the result."""


@dataclass(frozen=True, slots=True)
class KernelContext:
    """The context of functions that need more than arrays."""

    op: Any
    """The bound ``Operation``."""
    device: str
    """Full name of the device, or "" if the caller passed none."""
    device_type: str
    """``CPU``, ``GPU``, ..."""
    session: Any
    """The session's ``SessionResources``: variables, random states."""
    xp: Any
    """numpy or cupy."""


@dataclass(frozen=True, slots=True)
class OpTraits:
    """Properties of an op's computation, on every device; a plan assumes nothing that an op does not declare.

    The ``OpDef`` states whether an op is stateful or takes references; ``kernels.work`` has its amount of work.
    """

    fresh: bool = False
    """Its results are new arrays, and it keeps no input."""
    elementwise: bool = False
    """An element of the result depends on one element of each input, and the result is ``fresh``."""
    forwards: bool = False
    """Its result is its input."""
    shares: bool = False
    """Its result is the memory of an input, or memory from before the step; nothing is allocated."""
    views: bool = False
    """Its results are a view of its input's memory: a part of it, or all of it in another order."""
    slow: bool = False
    """It takes longer per element than an addition."""
    grows: bool = False
    """Its result may be far larger than its inputs."""
    reads_only: bool = False
    """It takes the handle of a variable and does not change the variable."""
    own_state: bool = False
    """It is stateful, but no other op sees its state."""
    waits: bool = False
    """It may wait for another op, in this step or another one."""
    reads_outside: bool = False
    """Its result depends on the outside, such as files."""
    calls_program: bool = False
    """It calls a function of the program."""

    def __post_init__(self) -> None:
        if self.elementwise:
            object.__setattr__(self, "fresh", True)
        if self.forwards:
            object.__setattr__(self, "shares", True)
        if self.fresh and self.shares:
            raise ValueError("an op cannot return new arrays (fresh) and share its inputs' memory (shares)")


NO_TRAITS = OpTraits()
"""Properties of an op without declarations."""


@dataclass(frozen=True, slots=True)
class ComputeDef:
    """A registered function."""

    op: str
    device_type: str
    """Device type of a variant, or ``ANY_DEVICE_TYPE``."""
    function: Callable[..., Any]
    is_binder: bool
    """Whether ``function`` returns the callable instead of being the callable."""
    attrs: tuple[str, ...]
    """Attributes that it takes by keyword."""
    wants_context: bool
    takes_out: bool
    """Whether it has the keyword ``out``."""
    traits: OpTraits = NO_TRAITS
    """Properties of the op."""

    @property
    def where(self) -> str:
        """``module.function``, for messages."""
        return _where(self.function)


_registered: dict[str, dict[str, ComputeDef]] = {}
_traits: dict[str, OpTraits] = {}
"""Cached properties of ops."""


def compute(
    *op_types: str, device_types: Iterable[str] = (ANY_DEVICE_TYPE,), **traits: Any
) -> Callable[[Function], Function]:
    """Register the decorated function as the computation of the given ops.

    Args:
        *op_types: op types that the function computes.
        device_types: device types of a variant; by default the function serves all.
        **traits: properties of the ops, by the field names of ``OpTraits``; not for a variant.

    Raises:
        TypeError: ``OpTraits`` has no such field.
        ValueError: another function is registered for the same op and device type, or a variant declares traits.
    """
    return functools.partial(_register, op_types, tuple(device_types), False, OpTraits(**traits))


def binder(
    *op_types: str, device_types: Iterable[str] = (ANY_DEVICE_TYPE,), **traits: Any
) -> Callable[[Function], Function]:
    """Register a function that creates the callable, ``function(xp, attrs, op)``; for keywords see ``compute``.

    Args:
        *op_types: op types that the function computes.
        device_types: device types of a variant; by default the function serves all.
        **traits: see ``compute``.

    Raises:
        TypeError: see ``compute``.
        ValueError: see ``compute``.
    """
    return functools.partial(_register, op_types, tuple(device_types), True, OpTraits(**traits))


def _register(
    op_types: tuple[str, ...],
    device_types: tuple[str, ...],
    is_binder: bool,
    traits: OpTraits,
    function: Function,
) -> Function:
    meet_waiting(function)
    if traits != NO_TRAITS and device_types != (ANY_DEVICE_TYPE,):
        raise ValueError(f"Declare the traits of {op_types} with the function that serves all device types")
    code = function.__code__
    keywords = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    attrs = tuple(name for name in keywords if name not in (CONTEXT, OUT))
    for op_type in op_types:
        by_type = _registered.setdefault(op_type, {})
        _traits.pop(op_type, None)
        for device_type in device_types:
            entry = ComputeDef(
                op_type, device_type, function, is_binder, attrs, CONTEXT in keywords, OUT in keywords, traits
            )
            earlier = by_type.get(device_type)
            if (
                earlier is not None and earlier.where != entry.where
            ):  # registered again from the same line: a module or cell ran again
                on = f" on {device_type}" if device_type else ""
                raise ValueError(f"Two functions compute '{op_type}'{on}: {earlier.where} and {entry.where}")
            by_type[device_type] = entry
    return function


def _where(function: Callable[..., Any]) -> str:
    return f"{function.__module__}.{function.__qualname__}"


def computed_by_none(*op_types: str) -> None:
    """Declare ops that the executor implements itself, so that no function is looked up.

    Args:
        *op_types: op types.
    """
    for op_type in op_types:
        _registered.setdefault(op_type, {})


def _of(op_type: str) -> dict[str, ComputeDef]:
    while op_type not in _registered and import_next():
        pass
    return _registered.get(op_type, {})


def find_compute(op_type: str, device_type: str) -> ComputeDef | None:
    """Return the function for an op on a device type: its variant, or the common function, or None."""
    by_type = _of(op_type)
    return by_type.get(device_type) or by_type.get(ANY_DEVICE_TYPE)


def traits_of(op_type: str) -> OpTraits:
    """Return the properties of an op, as declared with its function."""
    found = _traits.get(op_type)
    if found is None:
        entry = _of(op_type).get(ANY_DEVICE_TYPE)
        found = NO_TRAITS if entry is None else entry.traits
        if entry is not None:
            _traits[op_type] = found
    return found


def ops_that_are(trait: str) -> frozenset[str]:
    """Return the ops that declare a property, a field of ``OpTraits``.

    >>> import gpuplace.ops
    >>> "Relu" in ops_that_are("elementwise")
    True
    """
    import_waiting()
    return frozenset(op_type for op_type in _registered if getattr(traits_of(op_type), trait))


def has_compute(op_type: str, device_type: str | None = None) -> bool:
    """Return whether an op has a function on ``device_type``, or on any device type without one."""
    return bool(_of(op_type)) if device_type is None else find_compute(op_type, device_type) is not None


def computable_ops() -> tuple[str, ...]:
    """Return the sorted op types that have a function."""
    import_waiting()
    return tuple(sorted(op_type for op_type, by_type in _registered.items() if by_type))


def compute_defs(op_type: str) -> tuple[ComputeDef, ...]:
    """Return all functions registered for an op, the common one first."""
    return tuple(entry for _, entry in sorted(_of(op_type).items()))


def bind(
    op_type: str, device_type: str, xp: Any, operation: Any, session: Any, device: str = ""
) -> Callable[..., Any]:
    """Return the callable that executes an operation: it takes input tensors and returns the output or a tuple.

    Args:
        op_type: op type to compute; normally the operation's.
        device_type: ``"CPU"``, ``"GPU"``, ...
        xp: numpy or cupy.
        operation: operation with ``op_def`` and ``attrs``.
        session: ``SessionResources`` of the session.
        device: full name of the device, for functions with a context.

    Raises:
        UnimplementedError: the op has no function on that device type.
        InvalidArgumentError: an attribute of the function is missing.
    """
    entry = find_compute(op_type, device_type)
    if entry is None and op_type in _library(operation):
        entry = find_compute("PartitionedCall", device_type)
    if entry is None:
        raise no_compute_error(op_type, device_type, operation)
    keywords = {name: _attr(operation, name) for name in entry.attrs}
    if entry.wants_context:
        keywords[CONTEXT] = KernelContext(operation, device, device_type, session, xp)
    if entry.is_binder:
        computation: Callable[..., Any] = entry.function(xp, operation.attrs, operation, **keywords)
        return computation
    function = functools.partial(entry.function, xp, **keywords)
    op_def: OpDef | None = operation.op_def
    if op_def is None or not signature_of(op_def).has_lists:
        return function
    return _gathering(function, op_def, operation.attrs)


def _library(operation: Any) -> Any:
    """Return the functions of an operation's graph; the type of a node may be the name of a function."""
    graph = getattr(operation, "graph", None)
    return () if graph is None else graph.functions


def _attr(operation: Any, name: str) -> Any:
    if name in operation.attrs:
        return operation.attrs[name]
    if operation.op_def is not None and name in operation.op_def.defaults:
        return operation.op_def.defaults[name]
    raise InvalidArgumentError.of(
        f"NodeDef missing attr '{name}' from Op<name={operation.type}>; NodeDef: {operation.name}",
        op=operation,
    )


def _gathering(function: Callable[..., Any], op_def: OpDef, attrs: Mapping[str, Any]) -> Callable[..., Any]:
    """Return a callable that gathers the tensors of list inputs into lists."""
    ranges = op_def.input_ranges(attrs)
    if len(op_def.inputs) == 1:
        return lambda *tensors: function(list(tensors))
    slices = tuple(
        slice(ranges[arg.name].start, ranges[arg.name].stop) if arg.is_list else ranges[arg.name].start
        for arg in op_def.inputs
    )

    def gather(*tensors: Any) -> Any:
        return function(*[list(tensors[at]) if isinstance(at, slice) else tensors[at] for at in slices])

    return gather


def no_compute_error(op_type: str, device_type: str, operation: Any = None) -> UnimplementedError:
    """Return the error for an op that can be placed but not run."""
    name = getattr(operation, "name", None)
    node = f"{{{{node {name}}}}}" if name else "the node"
    elsewhere = [entry.device_type for entry in compute_defs(op_type)]
    facts = {"op": op_type, "device type": device_type}
    if operation is not None and getattr(operation, "source", None):
        facts["created at"] = str(operation.source)
    if elsewhere:
        facts["has a function on"] = ", ".join(elsewhere)
        hint = f"place the node on a device of type {elsewhere[0]}"
    else:
        hint = (
            "gpuplace.place(graph) places the graph without running it; to run the rest, fetch tensors that do "
            f"not need this node, feed its outputs, or register a function with @compute({op_type!r})"
        )
    return UnimplementedError.of(
        f"No OpKernel was registered to support Op '{op_type}' used by {node} on {device_type}: gpuplace knows "
        "the op's signature and where it can be placed, but has no function that computes it.",
        op=operation,
        facts=facts,
        hint=hint,
    )
