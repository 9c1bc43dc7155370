"""Strategies that choose a variable's parameter server: ``ps_strategy`` of ``replica_device_setter``.

::

    sizes of variables   100  10  10  80        round robin, 2 servers:  110 and 90
                                                greedy:                  100 and 100

Source: tensorflow/contrib/training/python/training/device_setter.py, release 1.15.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from gpuplace.graph.operation import Operation
from gpuplace.shapes import TensorShape

__all__ = ["GreedyLoadBalancingStrategy", "RandomStrategy", "byte_size_load_fn"]


class RandomStrategy:
    """A choice of the server by a hash of the variable's name: the same in every run, evenly distributed.

    Args:
        num_ps_tasks: number of parameter servers.
        seed: changes the choice.
    """

    def __init__(self, num_ps_tasks: int, seed: int = 0) -> None:
        self._num_tasks = num_ps_tasks
        self._seed = seed

    def __call__(self, op: Operation) -> int:
        """Return the index of the server."""
        key = f"{op.name}_{self._seed}".encode()
        return int(hashlib.md5(key, usedforsecurity=False).hexdigest(), 16) % self._num_tasks


class GreedyLoadBalancingStrategy:
    """A choice of the server with the smallest load so far, and of the first in a tie.

    Args:
        num_tasks: number of parameter servers.
        load_fn: returns the load of a variable, from its operation, such as ``byte_size_load_fn``.
    """

    def __init__(self, num_tasks: int, load_fn: Callable[[Operation], float]) -> None:
        self._loads = [0.0] * num_tasks
        self._load_fn = load_fn

    def __call__(self, op: Operation) -> int:
        """Return the index of the server."""
        task = min(range(len(self._loads)), key=self._loads.__getitem__)
        self._loads[task] += self._load_fn(op)
        return task


def byte_size_load_fn(op: Operation) -> int:
    """Return the size of a variable in bytes.

    Args:
        op: its operation, with one output.

    Returns:
        Bytes.

    Raises:
        ValueError: the operation has several outputs, or its shape is unknown.
    """
    if len(op.outputs) != 1:
        raise ValueError(f"Op {op} must have a single output")
    output = op.outputs[0]
    shape = output.shape
    if not shape.is_fully_defined():
        shape = TensorShape(op.get_attr("shape"))
    shape.assert_is_fully_defined()
    elements = shape.num_elements()
    assert elements is not None
    return int(elements * output.dtype.size)
