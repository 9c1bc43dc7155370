"""Nodes that can never run on a device type, and for which it does not matter: strings, summaries, savers, readers.

>>> from gpuplace.kernels.registry import default_catalogue
>>> from gpuplace.kernels.listing import never_on
>>> [str(gap) for gap in never_on("GPU", ["ScalarSummary", "SaveV2"], "2.21")]
['ScalarSummary on GPU: never', 'SaveV2 on GPU: never']

An op that takes or makes numbers only is never harmless, even if it has no kernel: what it reads has to be copied. Nor
is an op that some release has a kernel for.
"""

from __future__ import annotations

from gpuplace.dtypes import string
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.op_sets import CONSTANT_OPS, SAVER_OPS
from gpuplace.kernels.kernel_def import DEFAULT_DEVICE_TYPE
from gpuplace.kernels.registry import every_default
from gpuplace.placer.node_facts import NodeFacts

_BY_WORD = {"Summary": "summaries", "Reader": "readers", "Table": "lookup tables", "Dataset": "datasets"}
"""Part of an op type -> what such ops are, as TensorFlow names them."""


def harmless_kind(fact: NodeFacts, device_type: str) -> str:
    """Return what a node is that can never run on a device type: ``"summaries"``; ``""`` if it could, or should.

    Args:
        fact: the node's signature.
        device_type: ``"GPU"``, ``"CPU"``, ...
    """
    op_type = fact.signature.op_type
    if fact.is_function or device_type in dict(fact.supported) or _has_kernel(fact, device_type):
        return ""
    if op_type in SAVER_OPS:
        return "savers"
    for word, found in _BY_WORD.items():
        if word in op_type:
            return found
    types = [dtype.base_dtype for dtype in (*fact.input_types, *fact.output_types)]
    if string not in types:
        return ""
    return "string constants" if op_type in CONSTANT_OPS else "string ops"


def _has_kernel(fact: NodeFacts, device_type: str) -> bool:
    """Whether any release may have a kernel for a signature on a device type."""
    for catalogue in every_default():
        for row in catalogue.kernels.rows(fact.signature.op_type):
            if row.device_type not in (device_type, DEFAULT_DEVICE_TYPE):
                continue
            if any(name not in fact.attrs for name, _ in row.constraints):
                continue  # an attribute that only another release has
            try:
                if row.admits(fact.attrs):
                    return True
            except InvalidArgumentError:  # an attribute of another type: a kernel cannot be told by it
                return True
    return False
