"""Kernel rows for readers: which op runs where, for which types, and which ops can never run on a device type.

>>> for row in kernel_rows("Rank", "1.15")[:2]:
...     print(row.device_type, row.constraints or "any type", row.host_memory)
CPU any type output
GPU T=float output
>>> print(*never_on("GPU", ["MatMul", "StringJoin", "Add"], "1.15"), sep="\\n")
MatMul on GPU: never for T in int32, int64, bfloat16
StringJoin on GPU: never
Add on GPU: never for T in int16, int8, string, bfloat16

Source: the catalogue (``registry``); adds no rules.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gpuplace.dtypes import DType
from gpuplace.graph.op_def import OpDef
from gpuplace.kernels.compute import has_compute
from gpuplace.kernels.kernel_def import DEFAULT_DEVICE_TYPE, KernelDef, ordered
from gpuplace.kernels.registry import Catalogue, default_catalogue


@dataclass(frozen=True)
class KernelRow:
    """A kernel registration as flat texts, one for each column."""

    op: str
    device_type: str
    constraints: str
    """``T=float Tindices=int32,int64``; "" for any attributes."""
    host_memory: str
    """The arguments that stay in host memory, separated by commas."""
    priority: int
    label: str
    is_computable: bool
    """Whether gpuplace has a function that computes the op on the device type."""


@dataclass(frozen=True)
class DeviceGap:
    """A restriction of an op on a device type that holds for any values of its other attributes."""

    op: str
    device_type: str
    attr: str
    """The attribute with the unsupported types; "" if the op can never run on the device type."""
    dtypes: tuple[DType, ...]
    """The types without a kernel row for the device type; empty with an empty ``attr``."""

    def __str__(self) -> str:
        if not self.attr:
            return f"{self.op} on {self.device_type}: never"
        return f"{self.op} on {self.device_type}: never for {self.attr} in {', '.join(d.name for d in self.dtypes)}"


def kernel_rows(op: str, release: str | None = None) -> tuple[KernelRow, ...]:
    """Return the kernel registrations of an op, by device type, label and priority.

    Args:
        op: op type.
        release: release of the catalogue; None: that of the process.

    Raises:
        NotFoundError: the op does not exist.
    """
    source = default_catalogue(release)
    source.ops.lookup(op)
    return tuple(_row(kernel) for kernel in source.kernels.rows(op))


def _row(kernel: KernelDef) -> KernelRow:
    constraints = [part for part in str(kernel).split(" ")[1:] if "=" in part]
    serves = None if kernel.device_type == DEFAULT_DEVICE_TYPE else kernel.device_type
    return KernelRow(
        kernel.op,
        kernel.device_type,
        " ".join(constraints),
        ",".join(sorted(kernel.host_memory_args)),
        kernel.priority,
        kernel.label,
        has_compute(kernel.op, serves),
    )


def never_on(
    device_type: str,
    ops: Iterable[str] | None = None,
    release: str | None = None,
    catalogue: Catalogue | None = None,
) -> tuple[DeviceGap, ...]:
    """Return which of the given ops can never run on a device type, and for which types.

    Only types that the op allows and that have a kernel on some device type count. Rows with a label do not count,
    since a node must request the label. Ops without any kernel are left out: TensorFlow places them anywhere or lowers
    them to other ops.

    Args:
        device_type: ``"GPU"``, ``"CPU"``, ...
        ops: op types; all of the catalogue by default.
        release: release of the catalogue; None: that of the process.
        catalogue: catalogue to use instead of a release's.

    Raises:
        NotFoundError: an op does not exist.
    """
    source = catalogue or default_catalogue(release)
    gaps: list[DeviceGap] = []
    for name in source.ops.names() if ops is None else ops:
        op_def = source.ops.lookup(name)
        rows = [row for row in source.kernels.rows(name) if not row.label]
        if not rows:
            continue
        there = [row for row in rows if row.device_type in (device_type, DEFAULT_DEVICE_TYPE)]
        if there:
            gaps += _type_gaps(op_def, device_type, rows, there, source.dtypes)
        else:
            gaps.append(DeviceGap(name, device_type, "", ()))
    return tuple(gaps)


def _type_gaps(
    op_def: OpDef,
    device_type: str,
    rows: Iterable[KernelDef],
    there: Iterable[KernelDef],
    dtypes: Iterable[DType],
) -> Iterable[DeviceGap]:
    for attr in op_def.attrs:
        if attr.element_type != "type":
            continue
        wanted, served = _served(rows, attr.name), _served(there, attr.name)
        if served is None:
            continue
        admitted = frozenset(dtypes if attr.allowed is None else attr.allowed)
        missing = (admitted if wanted is None else admitted & wanted) - served
        if missing:
            yield DeviceGap(op_def.name, device_type, attr.name, ordered(missing))


def _served(rows: Iterable[KernelDef], attr: str) -> frozenset[DType] | None:
    """Return the types that a row supports for an attribute; None for any."""
    served: set[DType] = set()
    for row in rows:
        constraints = dict(row.constraints)
        if attr not in constraints:
            return None
        served |= constraints[attr]
    return frozenset(served)
