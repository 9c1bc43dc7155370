"""The registry of work models: one function per op, from the sizes of its inputs and outputs to a ``Work``.

    @work_model("MatMul")
    def product(task):
        ...

Flops count a multiplication and an addition as two. Bytes are those that TensorFlow's kernel of release 1.15 reads and
writes, each pass over memory counted; launches are those of its GPU kernel, at least one where something is computed.
The models stand together here, and not with the functions that compute the ops: two thirds of the ops of the catalogue
are not computed here, and one model serves ops of several modules.
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
"""Bytes that an element counts as whose type has no size of its own: a string, a handle."""

Dims = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Task:
    """One execution of an op: sizes are all known."""

    op_type: str
    """The op."""
    attrs: Mapping[str, Any]
    """Its attributes, with their defaults."""
    in_sizes: tuple[Dims, ...]
    """The shape of each input."""
    in_types: tuple[DType, ...]
    """The type of each input, reference types as their base."""
    out_sizes: tuple[Dims, ...]
    """The shape of each output."""
    out_types: tuple[DType, ...]
    """The type of each output, reference types as their base."""

    @property
    def dtype(self) -> str:
        """The type that is computed in: that of the first output, else of the last input, that is a number."""
        for dtype in (*self.out_types, *reversed(self.in_types)):
            if dtype.size:
                return dtype.name
        return "string"

    def in_count(self, at: int) -> int:
        """Elements of an input; 0 where there is none."""
        return math.prod(self.in_sizes[at]) if at < len(self.in_sizes) else 0

    def out_count(self, at: int = 0) -> int:
        """Elements of an output; 0 where there is none."""
        return math.prod(self.out_sizes[at]) if at < len(self.out_sizes) else 0

    def in_bytes(self, at: int) -> float:
        """Bytes of an input; a handle has none."""
        return float(self.in_count(at) * _item_bytes(self.in_types[at])) if at < len(self.in_sizes) else 0.0

    def out_bytes(self, at: int = 0) -> float:
        """Bytes of an output; a handle has none."""
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
        """A ``Work``; bytes are those of all inputs and outputs where nothing is said."""
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
    """Registers the decorated function for these ops; ValueError if one has a model already."""

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
    """The model of an op's own; None for an op without one."""
    return _models.get(op_type)


_flops: dict[str, float] = {}
"""Flops of an element, by op type."""


def flops_of_element(count: float, *op_types: str) -> None:
    """Says how many flops elementwise ops take for an element of their result."""
    _flops.update(dict.fromkeys(op_types, float(count)))


def elementwise(task: Task) -> Work:
    """The model of elementwise ops: every element is read and written once."""
    count = max(map(task.out_count, range(len(task.out_sizes))), default=0)
    return task.work("elementwise", flops=count * _flops.get(task.op_type, 1.0))


def is_elementwise(op_type: str) -> bool:
    """Whether an op is declared to be elementwise, here or with the function that computes it."""
    return op_type in _flops or traits_of(op_type).elementwise
