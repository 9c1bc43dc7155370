"""``KernelDef`` and ``KernelList`` messages for rows of the kernel catalogue.

>>> from gpuplace.kernels.registry import default_catalogue
>>> kernel_list(default_catalogue("1.15").kernels.rows("KernelLabel")).kernel[1].label
'overload_1'

Source: tensorflow/core/framework/kernel_def.proto, release 1.15 (names, numbers and types of the fields).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tensorboard.compat.proto.attr_value_pb2 import AttrValue

from gpuplace.graphdef.attr_values import encode_attr
from gpuplace.kernels.kernel_def import KernelDef as Row
from gpuplace.proto import FIELD, MANY, ONE, message_classes

__all__ = ["KernelDef", "KernelList", "kernel_list"]

_made = message_classes(
    "kernel_def",
    {
        "KernelDef": (
            ("op", 1, FIELD.TYPE_STRING, ONE),
            ("device_type", 2, FIELD.TYPE_STRING, ONE),
            ("constraint", 3, "gpuplace.KernelDef.AttrConstraint", MANY),
            ("host_memory_arg", 4, FIELD.TYPE_STRING, MANY),
            ("label", 5, FIELD.TYPE_STRING, ONE),
            ("priority", 6, FIELD.TYPE_INT32, ONE),
        ),
        "KernelDef.AttrConstraint": (
            ("name", 1, FIELD.TYPE_STRING, ONE),
            ("allowed_values", 2, AttrValue.DESCRIPTOR.full_name, ONE),
        ),
        "KernelList": (("kernel", 1, "gpuplace.KernelDef", MANY),),
    },
    [AttrValue],
)
KernelDef: Any = _made["KernelDef"]
KernelList: Any = _made["KernelList"]


def kernel_list(rows: Iterable[Row]) -> Any:
    """Return rows of the catalogue as a ``KernelList``.

    Args:
        rows: rows to convert.
    """
    found = KernelList()
    for row in rows:
        kernel = found.kernel.add(
            op=row.op,
            device_type=row.device_type,
            host_memory_arg=sorted(row.host_memory_args),
            label=row.label,
            priority=row.priority,
        )
        for name, allowed in row.constraints:
            values = encode_attr(tuple(sorted(allowed, key=str)))
            kernel.constraint.add(name=name, allowed_values=values)
    return found
