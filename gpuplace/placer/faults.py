"""What can stop a placement, as records; `messages` turns them into errors.

TensorFlow stops at the first fault, in this order: nodes without kernel or with a malformed device, in graph order;
bindings by edges; calls that it looks into; `_class` bindings; then nodes that no device is left for, generators last.
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
    """Asking for a node's kernel failed, for example because two match."""

    node: int


@dataclass(frozen=True, slots=True)
class MalformedDevice:
    """A node's requested device is not a device name."""

    node: int


@dataclass(frozen=True, slots=True)
class BadAssignment:
    """A node came with a device that it cannot have."""

    node: int
    device: str
    reason: str
    """`malformed`, `unknown` or `kernel`."""


@dataclass(frozen=True, slots=True)
class Unsatisfiable:
    """Nothing on the machine satisfies a node and its group."""

    node: int
    requested: ParsedName
    """What the whole group asks for."""


@dataclass(frozen=True, slots=True)
class AssignmentClash:
    """The group of a node has a device already, and soft placement would give the node another."""

    node: int
    assigned: ParsedName
    """Device of the group."""
    device: str
    """Full name of the device chosen."""


class Frame(NamedTuple):
    """A call on the way into functions."""

    node: str
    """Name of the call."""
    function: str
    """Name of the function that it calls."""


@dataclass(frozen=True, slots=True)
class Recursion:
    """A call gives back resources and calls a function that is being looked into."""

    node: int
    """The call."""
    stack: tuple[Frame, ...]
    """The calls that led there, the outermost first; this one is the last."""


@dataclass(frozen=True, slots=True)
class FailedInside:
    """The function of a call that gives back resources cannot be placed."""

    node: int
    """The call."""
    error: OpError
    """What is wrong with the function, or with one that it calls."""


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
