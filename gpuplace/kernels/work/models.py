"""The registry of work models: a function for each op, from the sizes of inputs and outputs to a ``Work``.

    @work_model("MatMul")
    def product(task):
        ...

A multiplication and an addition count as two flops. Bytes are those that TensorFlow 1.15's kernel reads and writes, in
each pass over memory. Launches are those of its GPU kernel, at least one if it computes anything. The models are here,
not with the functions that compute the ops, since two thirds of the catalogue's ops have no function, and one model may
serve ops of several modules.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from gpuplace.dtypes import DType
from gpuplace.kernels.compute import traits_of
from gpuplace.kernels.work.record import Work

STRING_BYTES = 16
"""Bytes counted for an element without a fixed size, such as a string or handle."""

Dims = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Task:
    """One execution of an op with known sizes."""

    op_type: str
    """Op type."""
    attrs: Mapping[str, Any]
    """Attributes, including defaults."""
    in_sizes: tuple[Dims, ...]
    """Shape of each input."""
    in_types: tuple[DType, ...]
    """Type of each input, without references."""
    out_sizes: tuple[Dims, ...]
    """Shape of each output."""
    out_types: tuple[DType, ...]
    """Type of each output, without references."""

    @property
    def dtype(self) -> str:
        """Type of the computation: the first numeric type of the outputs, otherwise of the inputs, last input first."""
        for dtype in (*self.out_types, *reversed(self.in_types)):
            if dtype.size:
                return dtype.name
        return "string"

    def in_count(self, at: int) -> int:
        """Return the number of elements of an input; 0 if it does not exist."""
        return math.prod(self.in_sizes[at]) if at < len(self.in_sizes) else 0

    def out_count(self, at: int = 0) -> int:
        """Return the number of elements of an output; 0 if it does not exist."""
        return math.prod(self.out_sizes[at]) if at < len(self.out_sizes) else 0

    def in_bytes(self, at: int) -> float:
        """Return the bytes of an input; 0 for a handle."""
        return float(self.in_count(at) * _item_bytes(self.in_types[at])) if at < len(self.in_sizes) else 0.0

    def out_bytes(self, at: int = 0) -> float:
        """Return the bytes of an output; 0 for a handle."""
        return (
            float(self.out_count(at) * _item_bytes(self.out_types[at])) if at < len(self.out_sizes) else 0.0
        )

    @property
    def read(self) -> float:
        """Bytes of all inputs."""
        return sum(map(self.in_bytes, range(len(self.in_sizes))))

    @property
    def written(self) -> float:
        """Bytes of all outputs."""
        return sum(map(self.out_bytes, range(len(self.out_sizes))))

    def work(
        self,
        model: str,
        flops: float = 0.0,
        read: float | None = None,
        written: float | None = None,
        launches: int = 1,
        **more: Any,
    ) -> Work:
        """Return a ``Work``; by default, its bytes are those of all inputs and outputs."""
        return Work(
            dtype=self.dtype,
            flops=float(flops),
            bytes_read=self.read if read is None else float(read),
            bytes_written=self.written if written is None else float(written),
            launches=launches,
            model=model,
            **more,
        )


def _item_bytes(dtype: DType) -> int:
    if dtype.is_handle:
        return 0
    return dtype.size or STRING_BYTES


Model = Callable[[Task], Work]

_models: dict[str, Model] = {}


def work_model(*op_types: str) -> Callable[[Model], Model]:
    """Register the decorated function for these ops; ValueError if one has a model already."""

    def register(function: Model) -> Model:
        for op_type in op_types:
            known = _models.setdefault(op_type, function)
            if known is not function:
                raise ValueError(
                    f"Op {op_type} has two work models: {known.__qualname__} and {function.__qualname__}"
                )
        return function

    return register


def registered_model(op_type: str) -> Model | None:
    """Return the work model of an op, or None."""
    return _models.get(op_type)


_flops: dict[str, float] = {}
"""Op type -> flops for each element."""


def flops_of_element(count: float, *op_types: str) -> None:
    """Register the flops of elementwise ops for each element of the result."""
    _flops.update(dict.fromkeys(op_types, float(count)))


def elementwise(task: Task) -> Work:
    """Count one read and one write of each element, for elementwise ops."""
    count = max(map(task.out_count, range(len(task.out_sizes))), default=0)
    return task.work("elementwise", flops=count * _flops.get(task.op_type, 1.0))


def is_elementwise(op_type: str) -> bool:
    """Return whether an op is declared to be elementwise, here or with its function."""
    return op_type in _flops or traits_of(op_type).elementwise
