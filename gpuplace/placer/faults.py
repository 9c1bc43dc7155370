"""Faults: the reasons why a placement fails, as records. `gpuplace.why.messages` turns them into errors.

TensorFlow stops at the first fault, in this order: nodes without a kernel or with a malformed device, in graph order;
bindings by edges; inspected calls; `_class` bindings; then nodes without any device left, generators last.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from gpuplace.device.parsed_name import ParsedName
from gpuplace.errors import OpError
from gpuplace.placer.bindings import Conflict


@dataclass(frozen=True, slots=True)
class NoDevices:
    """The machine has no device at all."""


@dataclass(frozen=True, slots=True)
class NoKernel:
    """No device type of the machine has a kernel for a node."""

    node: int


@dataclass(frozen=True, slots=True)
class AmbiguousKernel:
    """Looking up a node's kernel failed, for example because two kernels match."""

    node: int


@dataclass(frozen=True, slots=True)
class MalformedDevice:
    """A node's requested device is not a device name."""

    node: int


@dataclass(frozen=True, slots=True)
class BadAssignment:
    """A node was assigned to an impossible device before placing."""

    node: int
    device: str
    reason: str
    """`malformed`, `unknown` or `kernel`."""


@dataclass(frozen=True, slots=True)
class Unsatisfiable:
    """No device of the machine satisfies the constraints of a node's group."""

    node: int
    requested: ParsedName
    """The combined request of the group."""


@dataclass(frozen=True, slots=True)
class AssignmentClash:
    """A node's group already has an assigned device, and soft placement would choose another one."""

    node: int
    assigned: ParsedName
    """The group's assigned device."""
    device: str
    """Full name of the chosen device."""


class Frame(NamedTuple):
    """One call in a chain of nested function calls."""

    node: str
    """Name of the call."""
    function: str
    """Name of the called function."""


@dataclass(frozen=True, slots=True)
class Recursion:
    """A call returns resources and calls a function that is already being inspected."""

    node: int
    """The call."""
    stack: tuple[Frame, ...]
    """The chain of calls, outermost first; this call is the last."""


@dataclass(frozen=True, slots=True)
class FailedInside:
    """The function of a call that returns resources cannot be placed."""

    node: int
    """The call."""
    error: OpError
    """The error in the function, or in one that it calls."""


Fault = (
    NoDevices
    | NoKernel
    | AmbiguousKernel
    | MalformedDevice
    | BadAssignment
    | AssignmentClash
    | Conflict
    | Recursion
    | FailedInside
    | Unsatisfiable
)
