"""``tensorflow.python.data.util.traverse``: the operations that a dataset is made by.

Source: tensorflow/python/data/util/traverse.py, release 1.15 (name).
"""

from __future__ import annotations

from typing import Any

from gpuplace.graph.operation import Operation


def obtain_all_variant_tensor_ops(dataset: Any) -> list[Operation]:
    """The operations of a dataset and of those that it takes from, each once.

    Args:
        dataset: the dataset.
    """
    found: dict[Operation, None] = {}
    left = [dataset._variant_tensor.op]
    while left:
        op = left.pop(0)
        if op not in found:
            found[op] = None
            left += [tensor.op for tensor in op.inputs if tensor.dtype.name == "variant"]
    return list(found)
