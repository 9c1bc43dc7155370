"""Nodes that can never run on a device type, and for which it does not matter: strings, summaries, savers, queues.

>>> from gpuplace.kernels.registry import default_catalogue
>>> from gpuplace.kernels.listing import never_on
>>> [str(gap) for gap in never_on("GPU", ["ScalarSummary", "SaveV2"], "2.21")]
['ScalarSummary on GPU: never', 'SaveV2 on GPU: never']

An op that takes or makes numbers only is never harmless, even if it has no kernel: what it reads has to be copied. Nor
is an op that some release has a kernel for.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpuplace.dtypes import string
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.op_sets import CONSTANT_OPS, SAVER_OPS
from gpuplace.kernels.kernel_def import DEFAULT_DEVICE_TYPE
from gpuplace.kernels.registry import every_default
from gpuplace.placer.decide import NOWHERE
from gpuplace.placer.node_facts import NodeFacts
from gpuplace.placer.placed import Placed

_BY_WORD = {
    "Summary": "summaries",
    "Reader": "readers",
    "Queue": "input queues",
    "Table": "lookup tables",
    "Dataset": "datasets",
}
"""Part of an op type -> what such ops are, as TensorFlow names them."""


def harmless_nodes(placement: Placed, device_type: str) -> tuple[list[str], np.ndarray]:
    """Return what the nodes are that can never run on a device type, and [nodes] a position in that list.

    The position is -1 for all other nodes, for nodes without a device, and if the machine has no such device.

    Args:
        placement: the graph, placed.
        device_type: ``"GPU"``, ``"CPU"``, ...
    """
    if not any(device.device_type == device_type for device in placement.device_set):
        return [], np.full(len(placement.graph), -1, dtype=np.int64)
    kinds = [_harmless_kind(fact, device_type) for fact in placement.facts]
    known = sorted({kind for kind in kinds if kind})
    number = [known.index(kind) if kind else -1 for kind in kinds]
    of_node = np.array(number or [-1], dtype=np.int64)[placement.graph.signature]
    return known, np.where(placement.devices == NOWHERE, -1, of_node)


def harmless_counts(placement: Placed, device_type: str = "GPU") -> tuple[tuple[str, int], ...]:
    """Return what the nodes are that can never run on a device type, with their number, the most frequent first.

    Args:
        placement: the graph, placed.
        device_type: ``"GPU"``, ``"CPU"``, ...
    """
    known, of_node = harmless_nodes(placement, device_type)
    counts = np.bincount(of_node[of_node >= 0], minlength=len(known)).tolist()
    found = [(kind, count) for kind, count in zip(known, counts, strict=True) if count]
    return tuple(sorted(found, key=lambda item: -item[1]))


def harmless_text(counts: Sequence[tuple[str, int]], device_type: str = "GPU") -> str:
    """Return the harmless nodes in a line; ``""`` if there are none.

    >>> harmless_text([("string constants", 3), ("savers", 1)])
    'Harmless: 4 nodes that never run on a GPU: 3 string constants, 1 saver'

    Args:
        counts: as of `harmless_counts`.
        device_type: ``"GPU"``, ``"CPU"``, ...
    """
    total = sum(count for _, count in counts)
    if not total:
        return ""
    nodes, never = ("node", "runs") if total == 1 else ("nodes", "run")
    kinds = ", ".join(f"{count:,} {_in_number(kind, count)}" for kind, count in counts)
    return f"Harmless: {total:,} {nodes} that never {never} on a {device_type}: {kinds}"


def _in_number(plural: str, number: int) -> str:
    if number != 1:
        return plural
    return plural.removesuffix("ies") + "y" if plural.endswith("ies") else plural.removesuffix("s")


def _harmless_kind(fact: NodeFacts, device_type: str) -> str:
    """What a node is that can never run on a device type: ``"summaries"``; ``""`` if it could, or should.

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
