"""Unfilled arrays, and functions that return them in place of a kernel's results.

An array that is not small does not have its own memory: all its elements are the same one (its strides are zero), so it
takes neither bytes nor addresses, whatever its shape. Slices and reshapes of it are views, as of any array. Nothing may
be computed from it, because the result would be a real array.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from copy import copy
from functools import cached_property, partial
from typing import Any

import numpy as np

from gpuplace.cost.shapes.default_sizes import most_of
from gpuplace.cost.shapes.kinds import filled_with
from gpuplace.dtypes import DType, string
from gpuplace.errors import OpError, ResourceExhaustedError
from gpuplace.graph.constant_value import Evaluated
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import infer_shapes
from gpuplace.kernels.compute import traits_of
from gpuplace.kernels.resources import ResourceHandle, VariableStorage
from gpuplace.shapes import SCALAR_SHAPE, TensorShape
from gpuplace.typing import Array

Shapes = Callable[[str, int], tuple[int | None, ...] | None]
"""Function from a node and an output to its sizes; None if unknown."""

SMALL_BYTES = 1 << 14
"""Bytes of inputs and outputs up to which a kernel simply runs."""
_ITEM_BYTES = 16
"""Bytes of the largest element type."""


def unfilled(sizes: Sequence[int], dtype: Any, byte: int = 0) -> Array:
    """Return a new array, which memory accounting treats as one even if it has no memory.

    Args:
        sizes: shape of the array.
        dtype: NumPy type.
        byte: value of every byte of every element; strings are empty.

    Raises:
        ResourceExhaustedError: The number of bytes does not fit in 63 bits.
    """
    return _maker(tuple(sizes), np.dtype(dtype), byte)()


def _maker(sizes: tuple[int, ...], dtype: Any, byte: int = 0) -> Callable[[], Any]:
    """Return a function that creates a new array in every call; arguments and errors as in `unfilled`."""
    nbytes = math.prod(sizes) * dtype.itemsize
    if dtype.hasobject:
        empty = np.full((), b"", dtype)
        return partial(np.full if nbytes <= SMALL_BYTES else _repeated, sizes, empty)
    if nbytes <= SMALL_BYTES:
        return partial(np.zeros, sizes, dtype) if not byte else partial(_bytes_as, sizes, dtype, byte)
    strides = (0,) * len(sizes)
    try:
        np.ndarray(sizes, dtype, bytearray(_ITEM_BYTES), 0, strides)
    except ValueError:
        raise ResourceExhaustedError.of(
            f"a tensor with shape{list(sizes)} and {nbytes:,} bytes is larger than the address space of a process",
            hint="feed a smaller shape",
        ) from None
    element = bytearray((byte,)) * _ITEM_BYTES
    return lambda: np.ndarray(sizes, dtype, element, 0, strides)


def _repeated(sizes: tuple[int, ...], value: Any) -> Any:
    return np.broadcast_to(value, sizes)


def _bytes_as(sizes: tuple[int, ...], dtype: Any, byte: int) -> Any:
    return np.frombuffer(bytes((byte,)) * (math.prod(sizes) * dtype.itemsize), dtype).reshape(sizes).copy()


def is_whole(array: Array) -> bool:
    """Whether an array owns its memory, and is not a view of another array."""
    return array.base is None or type(array.base) is not np.ndarray


def unfilled_like(value: Any) -> Any:
    """Return a new array like a given one, with the same values only if it is small."""
    array = np.asarray(value)
    return np.array(array) if array.nbytes <= SMALL_BYTES else unfilled(array.shape, array.dtype)


class ResultMaker:
    """Creates the outputs of an operation without computing them."""

    def __init__(self, op: Operation, shapes: Shapes) -> None:
        self.dtypes: list[DType] = [tensor.dtype.base_dtype for tensor in op.outputs]
        self.sizes = [_sizes(tensor, shapes) for tensor in op.outputs]
        data_format = op.attrs.get("data_format", b"NHWC")
        self.data_format = data_format.decode() if isinstance(data_format, bytes) else str(data_format)
        self.is_list = op.op_def is not None and bool(op.op_def.outputs) and op.op_def.outputs[0].is_list
        self.is_known = all(sizes is not None and None not in sizes for sizes in self.sizes)
        self.nbytes = sum(
            dtype.size * math.prod([size or 0 for size in sizes or ()])
            for dtype, sizes in zip(self.dtypes, self.sizes, strict=True)
        )

        self.has_text = any(tensor.dtype.base_dtype is string for tensor in (*op.inputs, *op.outputs))
        """Whether it works on strings, whose number does not bound the time."""

    @cached_property
    def _makers(self) -> list[Callable[[], Any]]:
        return [
            _array_maker(filled_with(sizes, 1), dtype)
            for sizes, dtype in zip(self.sizes, self.dtypes, strict=True)
        ]

    def new(self, *inputs: Any, out: Any = None) -> Array:
        """Return new arrays of the known sizes, or the array ``out`` if it is given."""
        if out is not None:
            return out
        return self._in_form([make() for make in self._makers])

    def _in_form(self, results: Sequence[Any]) -> Any:
        """Return results in the form in which a kernel returns them."""
        return results[0] if len(results) == 1 and not self.is_list else tuple(results)

    def if_fails(self, kernel: Callable[..., Any]) -> Callable[..., Any]:
        """Return the kernel with a fallback to new arrays if it rejects its inputs."""

        def run(*inputs: Any, **options: Any) -> Any:
            try:
                return kernel(*inputs, **options)
            except (
                ArithmeticError,
                ValueError,
                TypeError,
                IndexError,
                KeyError,
                AttributeError,
                RuntimeError,
            ):
                return self.new(*inputs)
            except ResourceExhaustedError:
                raise
            except OpError:  # caused by values that were not computed
                return self.new(*inputs)

        return run

    def unless_small(self, kernel: Callable[..., Any]) -> Callable[..., Any]:
        """Return the kernel for small numeric arrays, and new arrays otherwise."""
        if self.has_text:
            return self.new
        run, nbytes = self.if_fails(kernel), self.nbytes

        def run_or_allocate(*inputs: Any, **options: Any) -> Any:
            input_bytes = sum([getattr(value, "nbytes", 0) for value in inputs])
            if input_bytes + nbytes <= SMALL_BYTES:
                return run(*inputs, **options)
            return self.new(*inputs, **options)

        return run_or_allocate

    def unless_inferred(
        self, op: Operation, kernel: Callable[..., Any], report: Callable[[bool], None]
    ) -> Callable[..., Any]:
        """Return the kernel for small numeric arrays, and otherwise new arrays of the shapes inferred for each call.

        In the body of a function the batch is unknown to the graph; only a call knows it.

        Args:
            op: the operation.
            kernel: its kernel.
            report: callback for unknown sizes, with whether a bound replaces them.
        """
        run, grows = self.if_fails(kernel), traits_of(op.type).grows

        def run_or_allocate(*inputs: Any, **options: Any) -> Any:
            arrays = [item for value in inputs for item in (value if isinstance(value, list) else [value])]
            sizes = _inferred_sizes(op, arrays) or self.sizes
            is_known = all(shape is not None and None not in shape for shape in sizes)
            if not self.has_text and (is_known or not grows):
                counts = [
                    dtype.size * math.prod([size or 0 for size in shape or ()])
                    for dtype, shape in zip(self.dtypes, sizes, strict=True)
                ]
                if sum([getattr(value, "nbytes", 0) for value in arrays], sum(counts)) <= SMALL_BYTES:
                    return run(*inputs, **options)
            if options.get("out") is not None:
                return options["out"]
            most = None
            if not is_known:
                most = most_of(op.type, getattr(arrays[0], "shape", None) if arrays else None, len(sizes))
                report(most is not None)
            filled = [
                filled_with(shape, size) for shape, size in zip(sizes, most or [1] * len(sizes), strict=True)
            ]
            return self._in_form(
                [_new(shape, dtype) for shape, dtype in zip(filled, self.dtypes, strict=True)]
            )

        return run_or_allocate

    def probing(self, kernel: Callable[..., Any]) -> Callable[..., Any]:
        """Return the kernel run on one pixel, with full-size arrays in place of image-sized results.

        It runs once for arguments of the same shapes; later calls take their results from the same origins.
        """

        pixel = (slice(1), slice(None), slice(1), slice(1))
        if self.data_format != "NCHW":
            pixel = (slice(1), slice(1), slice(1), slice(None))
        origins: dict[Any, list[_Origin] | None] = {}

        def run(*inputs: Any) -> Any:
            shapes = tuple([getattr(value, "shape", None) for value in inputs])
            known_origins = origins.get(shapes)
            if known_origins is None:
                small = [value[pixel] if getattr(value, "ndim", 0) == 4 else value for value in inputs]
                results = list(kernel(*small))
                if shapes not in origins:
                    origins[shapes] = _origins(results, small)
                for place, value in enumerate(results):
                    if getattr(value, "ndim", 0) == 4:
                        results[place] = _new(inputs[0].shape, self.dtypes[place])
                return tuple(results)
            results = []
            for (origin, source), dtype in zip(known_origins, self.dtypes, strict=True):
                if origin == "input":
                    results.append(inputs[source])
                elif origin == "result":
                    results.append(results[source])
                else:
                    results.append(_new(inputs[0].shape if source is None else source, dtype))
            return tuple(results)

        return run


_Origin = tuple[str, Any]
"""``("input", 0)``, ``("result", 0)`` for an earlier result, or ``("new", shape)``, with None for the images' shape."""


def _origins(results: Sequence[Any], inputs: Sequence[Any]) -> list[_Origin] | None:
    """Return the origins of a kernel's results; None if one is a view of another array."""
    origins: list[_Origin] = []
    for place, value in enumerate(results):
        same = [("input", at) for at, candidate in enumerate(inputs) if candidate is value]
        same += [("result", at) for at, candidate in enumerate(results[:place]) if candidate is value]
        if same:
            origins.append(same[0])
        elif type(value) is np.ndarray and value.base is None:
            origins.append(("new", None if value.ndim == 4 else value.shape))
        else:
            return None
    return origins


def _sizes(tensor: Any, shapes: Shapes) -> tuple[int | None, ...] | None:
    known = shapes(tensor.op.name, tensor.value_index)
    if known is not None and None not in known:
        return known
    static_sizes = tensor.shape.sizes
    return known if static_sizes is None or None in static_sizes else tuple(static_sizes)


def _inferred_sizes(op: Operation, arrays: Sequence[Any]) -> list[tuple[int | None, ...] | None] | None:
    """Return the output sizes of an operation for given inputs; None if its shape function fails."""
    if len(arrays) != len(op.inputs) or not all(
        isinstance(value, np.ndarray | ResourceHandle) for value in arrays
    ):
        return None
    called_op = copy(op)
    called_op.inputs = tuple(
        [_evaluated(tensor, value) for tensor, value in zip(op.inputs, arrays, strict=True)]
    )
    try:
        return [shape.sizes for shape in infer_shapes(called_op, len(op.outputs))]
    except ValueError:  # the kernel reports what is wrong
        return None


def _evaluated(tensor: Tensor, value: Any) -> Evaluated:
    """Return a tensor with the shape of an array, and its value if it is small; for a handle, that of its variable."""
    if isinstance(value, ResourceHandle):
        storage, attrs = value.resource, {}
        if isinstance(storage, VariableStorage) and storage.is_initialized:
            attrs["shape"] = TensorShape.of(storage.value.shape)
        creator = Operation(None, "", "VarHandleOp", None, (), (), attrs)  # type: ignore[arg-type]
        return Evaluated(creator, 0, tensor.dtype, SCALAR_SHAPE)
    evaluated = Evaluated(tensor.op, tensor.value_index, tensor.dtype, TensorShape.of(value.shape))
    evaluated.evaluate = lambda: (value, None) if value.nbytes <= SMALL_BYTES else None
    return evaluated


def _array_maker(sizes: tuple[int, ...], dtype: DType) -> Callable[[], Any]:
    """Return a function that creates a tensor of the type in every call."""
    return (
        object
        if dtype.is_handle
        else _maker(sizes, np.dtype(object if dtype is string else dtype.as_numpy_dtype))
    )


def _new(sizes: tuple[int, ...], dtype: DType) -> Any:
    return _array_maker(sizes, dtype)()
