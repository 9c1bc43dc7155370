"""A log's ops by device: nodes and eager runs of each op type, and whether it has GPU kernels.

>>> from gpuplace.views.logs.parser import parse_log
>>> log = parse_log("a: (Neg): /job:localhost/replica:0/task:0/device:CPU:0")
>>> op_rows(log)
[OpRow(device='/job:localhost/replica:0/task:0/device:CPU:0', op='Neg', nodes=1, eager=0, reason='has GPU kernels')]
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from gpuplace.dtypes import as_dtype
from gpuplace.graph.op_sets import ENDS_OF_FUNCTIONS
from gpuplace.kernels.kernel_def import DEFAULT_DEVICE_TYPE
from gpuplace.kernels.registry import Catalogue, default_catalogue
from gpuplace.views.logs.logged_placement import LoggedPlacement
from gpuplace.views.tables.palette import device_label

_FUNCTIONS = ("__inference_", "__forward_", "__backward_")
"""Prefixes of the functions that TensorFlow traces."""
_ONEDNN = "_Mkl"
"""Prefix of the ops that TensorFlow substitutes for oneDNN, on the CPU."""
_COMMON = frozenset(map(as_dtype, ("float16", "float32", "float64", "int32", "int64", "bool", "string")))
"""Dtypes that are listed if an op has GPU kernels for other dtypes only."""


OP_COLUMNS = ("device", "op", "nodes", "ran eagerly", "about GPUs")
"""Column titles of `op_cells`."""


class OpRow(NamedTuple):
    """An op type on a device."""

    device: str
    """Full device name, as printed."""
    op: str
    """Op type, or name of a function that ran eagerly; "" if the release does not print it."""
    nodes: int
    """Number of nodes in graphs and functions."""
    eager: int
    """Number of eager runs."""
    reason: str
    """Whether the op has GPU kernels; "" on a device that is not a CPU."""


def op_rows(log: LoggedPlacement) -> list[OpRow]:
    """Return the ops of each device, the ops with most nodes first.

    Args:
        log: the log, or one session of it.
    """
    nodes = Counter((row.device, row.type) for row in log.rows)
    eager = Counter((event.device, event.op) for event in log.events)
    both = nodes + eager
    devices = sorted({device for device, _ in both})
    keys = sorted(both, key=lambda key: (devices.index(key[0]), -nodes[key], -eager[key], key[1]))
    # Only TensorFlow 2 runs ops eagerly. A graph without eager ops may still have op types that 1.15 does not know.
    catalogues = [default_catalogue("2.21" if log.events else None), default_catalogue("2.21")]
    return [
        OpRow(device, op, nodes[device, op], eager[device, op], _reason(device, op, catalogues))
        for device, op in keys
    ]


def op_cells(log: LoggedPlacement) -> list[tuple[str, ...]]:
    """Return the cells of a table of ops, with the columns `OP_COLUMNS`.

    Args:
        log: the log, or one session of it.
    """
    return [
        (device_label(row.device), row.op, f"{row.nodes:,}", f"{row.eager:,}", row.reason)
        for row in op_rows(log)
    ]


def _reason(device: str, op: str, catalogues: list[Catalogue]) -> str:
    """Describe whether an op on a CPU could run on a GPU."""
    if "CPU" not in device.upper().rpartition("/")[2] or not op:
        return ""
    if (
        op.replace("_Device", "_") in ENDS_OF_FUNCTIONS
    ):  # their values stay in the device's memory, or on the host
        return ""
    if op.startswith(_FUNCTIONS):
        return "a function; its nodes have their own rows"
    if op.startswith(_ONEDNN):
        return f"oneDNN version of {op.removeprefix(_ONEDNN)}, for CPUs only"
    candidates = ((catalogue, catalogue.ops.get(op)) for catalogue in catalogues)
    catalogue, op_def = next((pair for pair in candidates if pair[1] is not None), (None, None))
    if catalogue is None or op_def is None:
        return "a custom op, not part of TensorFlow"
    rows = [row for row in catalogue.kernels.rows(op) if row.device_type in ("GPU", DEFAULT_DEVICE_TYPE)]
    if not rows:
        return "no GPU kernel"
    types = {name: values for row in rows for name, values in row.constraints if values & _COMMON}
    attr = next((attr for attr in op_def.attrs if attr.name in types), None)
    if attr is None:
        return "has GPU kernels"
    supported = {value for row in rows for value in dict(row.constraints).get(attr.name, _COMMON)}
    missing = sorted(dtype.name for dtype in _COMMON.intersection(attr.allowed or _COMMON) - supported)
    return f"GPU kernels, but not for {', '.join(missing)}" if missing else "has GPU kernels"
