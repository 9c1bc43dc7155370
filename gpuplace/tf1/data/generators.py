"""The functions that ``Dataset.from_generator`` calls: one Python generator runs for each iterator of the dataset.

Source: DatasetV2.from_generator in tensorflow/python/data/ops/dataset_ops.py, release 1.15 (messages).
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from gpuplace.dtypes import DType, as_dtype, int64, own_array, string
from gpuplace.graph.convert import convert_to_tensor
from gpuplace.graph.operation import Tensor
from gpuplace.ops.flow.python_functions import py_func
from gpuplace.shapes import TensorShape, as_shape
from gpuplace.tf1.data import structure


class _Generators:
    """The running generators, by index."""

    def __init__(self, generator: Callable[..., Any]) -> None:
        self._generator = generator
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        self._arguments: dict[int, tuple[Any, ...]] = {}
        self._running: dict[int, Iterator[Any]] = {}

    def start(self, *arguments: Any) -> Any:
        with self._lock:
            number = next(self._numbers)
            self._arguments[number] = arguments
        return np.array(number, np.int64)

    def next_of(self, number: int) -> Any:
        running = self._running.get(number)
        if running is None:
            running = self._running[number] = iter(self._generator(*self._arguments.pop(number)))
        return next(running)

    def end(self, number: int) -> Any:
        self._running.pop(number, None)
        self._arguments.pop(number, None)
        return np.array(0, np.int64)


class GeneratorFunctions(NamedTuple):
    """Functions that a generator dataset calls, to be added to the graph."""

    init: Callable[[Tensor], Tensor]
    """Starts a generator and returns its index."""
    get_next: Callable[[Tensor], Any]
    """Returns the next element of a generator."""
    finalize: Callable[[Tensor], Tensor]
    """Closes a generator."""


def generator_functions(
    generator: Callable[..., Any], output_types: Any, output_shapes: Any, args: Any
) -> GeneratorFunctions:
    """Return the functions for a generator, from the arguments of ``Dataset.from_generator``.

    Raises:
        TypeError: the generator is not callable.
    """
    if not callable(generator):
        raise TypeError("`generator` must be callable.")
    types = [as_dtype(item) for item in structure.flatten(output_types)]
    shapes = None
    if output_shapes is not None:
        shapes = [as_shape(value) for value in structure.flatten_up_to(output_types, output_shapes)]
    arg_tensors = [convert_to_tensor(value, name=f"args_{number}") for number, value in enumerate(args or ())]
    running = _Generators(generator)

    def get_next(number: Tensor) -> Any:
        values = py_func(
            lambda value: _checked(running.next_of(int(value)), output_types, types, shapes), [number], types
        )
        tensors = list(values) if isinstance(values, (list, tuple)) else [values]
        for tensor, shape in zip(tensors, shapes or (), strict=False):
            tensor.set_shape(shape)
        return structure.pack(output_types, tensors)

    return GeneratorFunctions(
        lambda dummy: py_func(running.start, arg_tensors, int64),
        get_next,
        lambda number: py_func(lambda value: running.end(int(value)), [number], int64),
    )


def _checked(
    values: Any, output_types: Any, types: list[DType], shapes: list[TensorShape] | None
) -> list[Any]:
    """Convert the values that a generator yielded to arrays, after checks."""
    try:
        flat = structure.flatten_up_to(output_types, values)
    except (TypeError, ValueError):
        raise TypeError(
            "`generator` yielded an element that did not match the expected structure. The expected structure was"
            f" {output_types}, but the yielded element was {values}."
        ) from None
    arrays = []
    for value, dtype in zip(flat, types, strict=True):
        try:
            array = _array(value, dtype)
        except (TypeError, ValueError):
            raise TypeError(
                "`generator` yielded an element that could not be converted to the expected type. The expected type"
                f" was {dtype.name}, but the yielded element was {value}."
            ) from None
        arrays.append(array)
    for array, dtype, shape in zip(arrays, types, shapes or [TensorShape(None)] * len(types), strict=True):
        if not shape.is_compatible_with(array.shape):
            raise ValueError(
                f"`generator` yielded an element of shape {array.shape} where an element of shape {shape} was expected."
            )
        if dtype is not string and array.dtype != dtype.as_numpy_dtype:
            raise TypeError(
                f"`generator` yielded an element of type {array.dtype} where an element of type"
                f" {dtype.as_numpy_dtype} was expected."
            )
    return arrays


def _array(value: Any, dtype: DType) -> Any:
    if dtype is string:
        return own_array(value)
    if isinstance(value, np.ndarray) or isinstance(value, np.generic):
        return np.asarray(value)
    return np.asarray(value, dtype.as_numpy_dtype)
