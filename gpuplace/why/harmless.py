"""Nodes that never run on a device type and do not need to: strings, summaries, savers, queues.

>>> from gpuplace.kernels.registry import default_catalogue
>>> from gpuplace.kernels.listing import never_on
>>> [str(gap) for gap in never_on("GPU", ["ScalarSummary", "SaveV2"], "2.21")]
['ScalarSummary on GPU: never', 'SaveV2 on GPU: never']

An op with only numeric inputs and outputs is never harmless, even without a kernel, because its inputs must be copied.
Neither is an op for which some release has a kernel.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpuplace.dtypes import string
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.long_list import different_items
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
"""Part of an op type -> a plural noun for such ops."""


def harmless_nodes(placement: Placed, device_type: str) -> tuple[list[str], np.ndarray]:
    """Return the groups of nodes that can never run on a device type, and for each node an index into that list.

    The index, [nodes] int64, is -1 for all other nodes, for nodes without a device, and if the machine has no such
    device.

    Args:
        placement: the placed graph.
        device_type: ``"GPU"``, ``"CPU"``, ...

    Returns:
        Plural nouns such as ``"summaries"``, and the index of each node.
    """
    if not any(device.device_type == device_type for device in placement.device_set):
        return [], np.full(len(placement.graph), -1, dtype=np.int64)
    group_of_signature = [_harmless_group(fact, device_type) for fact in placement.facts]
    groups = sorted({group for group in group_of_signature if group})
    number = [groups.index(group) if group else -1 for group in group_of_signature]
    of_node = np.array(number or [-1], dtype=np.int64)[placement.graph.signature]
    return groups, np.where(placement.devices == NOWHERE, -1, of_node)


def harmless_counts(placement: Placed, device_type: str = "GPU") -> tuple[tuple[str, int], ...]:
    """Return the groups of nodes that can never run on a device type with their sizes, largest first.

    Args:
        placement: the placed graph.
        device_type: ``"GPU"``, ``"CPU"``, ...
    """
    groups, of_node = harmless_nodes(placement, device_type)
    counts = np.bincount(of_node[of_node >= 0], minlength=len(groups)).tolist()
    pairs = [(group, count) for group, count in zip(groups, counts, strict=True) if count]
    return tuple(sorted(pairs, key=lambda item: -item[1]))


def harmless_text(counts: Sequence[tuple[str, int]], device_type: str = "GPU") -> str:
    """Return one line about the harmless nodes; ``""`` if there are none.

    >>> harmless_text([("string constants", 3), ("savers", 1)])
    'Harmless: 4 nodes that never run on a GPU: 3 string constants, 1 saver'

    Args:
        counts: the result of `harmless_counts`.
        device_type: ``"GPU"``, ``"CPU"``, ...
    """
    total = sum(count for _, count in counts)
    if not total:
        return ""
    nodes, never = ("node", "runs") if total == 1 else ("nodes", "run")
    parts = ", ".join(f"{count:,} {_in_number(group, count)}" for group, count in counts)
    return f"Harmless: {total:,} {nodes} that never {never} on a {device_type}: {parts}"


def _in_number(plural: str, number: int) -> str:
    if number != 1:
        return plural
    return plural.removesuffix("ies") + "y" if plural.endswith("ies") else plural.removesuffix("s")


def _harmless_group(fact: NodeFacts, device_type: str) -> str:
    """Return a plural noun for a node that can never run on a device type; ``""`` if it can, or should.

    Args:
        fact: the node's signature.
        device_type: ``"GPU"``, ``"CPU"``, ...
    """
    op_type = fact.signature.op_type
    if fact.is_function or device_type in dict(fact.supported) or _has_kernel(fact, device_type):
        return ""
    if op_type in SAVER_OPS:
        return "savers"
    for word, group in _BY_WORD.items():
        if word in op_type:
            return group
    types = different_items(fact.input_types) | different_items(fact.output_types)
    if all(dtype.base_dtype is not string for dtype in types):
        return ""
    return "string constants" if op_type in CONSTANT_OPS else "string ops"


def _has_kernel(fact: NodeFacts, device_type: str) -> bool:
    """Return whether any release may have a kernel for a signature on a device type."""
    for catalogue in every_default():
        for row in catalogue.kernels.rows(fact.signature.op_type):
            if row.device_type not in (device_type, DEFAULT_DEVICE_TYPE):
                continue
            if any(name not in fact.attrs for name, _ in row.constraints):
                continue  # an attribute that only another release has
            try:
                if row.admits(fact.attrs):
                    return True
            except InvalidArgumentError:  # an attribute of another type: no kernel can be excluded by it
                return True
    return False
