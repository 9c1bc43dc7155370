"""Arrays that nobody fills, and what hands them out in place of a kernel's results.

An array that is not small has no memory of its own: all its elements are one (its strides are zero), so that it takes
neither bytes nor addresses, whatever its shape. Slices and reshapes of it are views, as of any array. Nothing may be
computed from it: the result would be a real array.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from copy import copy
from functools import cached_property, partial
from typing import Any

import numpy as np

from gpuplace.cost.shapes.kinds import filled_with
from gpuplace.cost.shapes.stand_ins import most_of
from gpuplace.dtypes import DType, string
from gpuplace.errors import OpError, ResourceExhaustedError
from gpuplace.graph.constant_value import Evaluated
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import infer_shapes
from gpuplace.kernels.compute import traits_of
from gpuplace.kernels.resources import ResourceHandle, VariableStorage
from gpuplace.shapes import SCALAR_SHAPE, TensorShape

Shapes = Callable[[str, int], tuple[int | None, ...] | None]
"""Node and output -> sizes; None where nothing is known."""

SMALL_BYTES = 1 << 14
"""Up to so many bytes a kernel just runs."""
_ITEM_BYTES = 16
"""Bytes of the largest element."""


def unfilled(sizes: Sequence[int], dtype: Any, byte: int = 0) -> Any:
    """Return a new array: to the accounting one of its own, even where it has no memory.

    Args:
        sizes: its shape.
        dtype: NumPy's type.
        byte: every byte of every element; strings are empty.

    Raises:
        ResourceExhaustedError: the number of its bytes does not fit into 63 bits.
    """
    return _maker(tuple(sizes), np.dtype(dtype), byte)()


def _maker(sizes: tuple[int, ...], kind: Any, byte: int = 0) -> Callable[[], Any]:
    """What makes a new array at every call; arguments and errors as of `unfilled`."""
    nbytes = math.prod(sizes) * kind.itemsize
    if kind.hasobject:
        empty = np.full((), b"", kind)
        return partial(np.full if nbytes <= SMALL_BYTES else _repeated, sizes, empty)
    if nbytes <= SMALL_BYTES:
        return partial(np.zeros, sizes, kind) if not byte else partial(_bytes_as, sizes, kind, byte)
    strides = (0,) * len(sizes)
    try:
        np.ndarray(sizes, kind, bytearray(_ITEM_BYTES), 0, strides)
    except ValueError:
        raise ResourceExhaustedError.of(
            f"a tensor with shape{list(sizes)} and {nbytes:,} bytes is beyond what a process can address",
            hint="a smaller shape in feeds",
        ) from None
    element = bytearray((byte,)) * _ITEM_BYTES
    return lambda: np.ndarray(sizes, kind, element, 0, strides)


def _repeated(sizes: tuple[int, ...], value: Any) -> Any:
    return np.broadcast_to(value, sizes)


def _bytes_as(sizes: tuple[int, ...], kind: Any, byte: int) -> Any:
    return np.frombuffer(bytes((byte,)) * (math.prod(sizes) * kind.itemsize), kind).reshape(sizes).copy()


def is_whole(array: Any) -> bool:
    """Whether nothing but an array itself is its memory: it shows no other array."""
    return array.base is None or type(array.base) is not np.ndarray


def unfilled_like(value: Any) -> Any:
    """A new array like another one; the same numbers only where there are few."""
    array = np.asarray(value)
    return np.array(array) if array.nbytes <= SMALL_BYTES else unfilled(array.shape, array.dtype)


class ResultMaker:
    """Makes the outputs of an operation without computing them."""

    def __init__(self, op: Operation, shapes: Shapes) -> None:
        self.dtypes: list[DType] = [tensor.dtype.base_dtype for tensor in op.outputs]
        self.sizes = [_sizes(tensor, shapes) for tensor in op.outputs]
        told = op.attrs.get("data_format", b"NHWC")
        self.data_format = told.decode() if isinstance(told, bytes) else str(told)
        self.is_list = op.op_def is not None and bool(op.op_def.outputs) and op.op_def.outputs[0].is_list
        self.is_known = all(sizes is not None and None not in sizes for sizes in self.sizes)
        self.nbytes = sum(
            dtype.size * math.prod([size or 0 for size in sizes or ()])
            for dtype, sizes in zip(self.dtypes, self.sizes, strict=True)
        )

        self.has_text = any(tensor.dtype.base_dtype is string for tensor in (*op.inputs, *op.outputs))
        """Whether it works on strings, whose number says nothing about how long that takes."""

    @cached_property
    def _makers(self) -> list[Callable[[], Any]]:
        return [
            _makes(filled_with(sizes, 1), dtype) for sizes, dtype in zip(self.sizes, self.dtypes, strict=True)
        ]

    def new(self, *inputs: Any, out: Any = None) -> Any:
        """New arrays, of the sizes that are known; the array ``out`` where it is given."""
        if out is not None:
            return out
        return self._in_form([make() for make in self._makers])

    def _in_form(self, results: Sequence[Any]) -> Any:
        """Results as a kernel gives them."""
        return results[0] if len(results) == 1 and not self.is_list else tuple(results)

    def if_fails(self, kernel: Callable[..., Any]) -> Callable[..., Any]:
        """The kernel, which may hand on its inputs; new arrays where it does not take what it gets."""

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
            except OpError:  # of values that nobody computed
                return self.new(*inputs)

        return run

    def unless_small(self, kernel: Callable[..., Any]) -> Callable[..., Any]:
        """The kernel for small arrays of numbers, new arrays otherwise."""
        if self.has_text:
            return self.new
        run, nbytes = self.if_fails(kernel), self.nbytes

        def made(*inputs: Any, **options: Any) -> Any:
            given = sum([getattr(value, "nbytes", 0) for value in inputs])
            if given + nbytes <= SMALL_BYTES:
                return run(*inputs, **options)
            return self.new(*inputs, **options)

        return made

    def unless_inferred(
        self, op: Operation, kernel: Callable[..., Any], report: Callable[[bool], None]
    ) -> Callable[..., Any]:
        """Return the kernel for small arrays of numbers, otherwise new arrays as the shape function tells for a call.

        In the body of a function the graph knows no batch: only a call does.

        Args:
            op: the operation.
            kernel: its kernel.
            report: hears of unknown sizes, and whether there is a bound that stands for them.
        """
        run, grows = self.if_fails(kernel), traits_of(op.type).grows

        def made(*inputs: Any, **options: Any) -> Any:
            given = [one for value in inputs for one in (value if isinstance(value, list) else [value])]
            sizes = _inferred_sizes(op, given) or self.sizes
            is_known = all(each is not None and None not in each for each in sizes)
            if not self.has_text and (is_known or not grows):
                counts = [
                    dtype.size * math.prod([size or 0 for size in each or ()])
                    for dtype, each in zip(self.dtypes, sizes, strict=True)
                ]
                if sum([getattr(value, "nbytes", 0) for value in given], sum(counts)) <= SMALL_BYTES:
                    return run(*inputs, **options)
            if options.get("out") is not None:
                return options["out"]
            most = None
            if not is_known:
                most = most_of(op.type, getattr(given[0], "shape", None) if given else None, len(sizes))
                report(most is not None)
            filled = [
                filled_with(each, size) for each, size in zip(sizes, most or [1] * len(sizes), strict=True)
            ]
            return self._in_form([_new(each, dtype) for each, dtype in zip(filled, self.dtypes, strict=True)])

        return made

    def probing(self, kernel: Callable[..., Any]) -> Callable[..., Any]:
        """The kernel for one pixel, with whole arrays in place of results that are as large as images.

        It is asked once for arguments of the same shapes; the next time results come from where they came from then.
        """

        pixel = (slice(1), slice(None), slice(1), slice(1))
        if self.data_format != "NCHW":
            pixel = (slice(1), slice(1), slice(1), slice(None))
        origins: dict[Any, list[_Origin] | None] = {}

        def run(*inputs: Any) -> Any:
            shapes = tuple([getattr(value, "shape", None) for value in inputs])
            known = origins.get(shapes)
            if known is None:
                small = [value[pixel] if getattr(value, "ndim", 0) == 4 else value for value in inputs]
                made = list(kernel(*small))
                if shapes not in origins:
                    origins[shapes] = _origins(made, small)
                for place, value in enumerate(made):
                    if getattr(value, "ndim", 0) == 4:
                        made[place] = _new(inputs[0].shape, self.dtypes[place])
                return tuple(made)
            made = []
            for (kind, what), dtype in zip(known, self.dtypes, strict=True):
                if kind == "input":
                    made.append(inputs[what])
                elif kind == "result":
                    made.append(made[what])
                else:
                    made.append(_new(inputs[0].shape if what is None else what, dtype))
            return tuple(made)

        return run


_Origin = tuple[str, Any]
"""``("input", 0)``, ``("result", 0)`` for that of an earlier one, or ``("new", shape)``, None for that of images."""


def _origins(results: Sequence[Any], inputs: Sequence[Any]) -> list[_Origin] | None:
    """Where the results of a kernel come from; None where one shows a part of another array."""
    found: list[_Origin] = []
    for place, value in enumerate(results):
        same = [("input", at) for at, one in enumerate(inputs) if one is value]
        same += [("result", at) for at, one in enumerate(results[:place]) if one is value]
        if same:
            found.append(same[0])
        elif type(value) is np.ndarray and value.base is None:
            found.append(("new", None if value.ndim == 4 else value.shape))
        else:
            return None
    return found


def _sizes(tensor: Any, shapes: Shapes) -> tuple[int | None, ...] | None:
    known = shapes(tensor.op.name, tensor.value_index)
    if known is not None and None not in known:
        return known
    own = tensor.shape.sizes
    return known if own is None or None in own else tuple(own)


def _inferred_sizes(op: Operation, given: Sequence[Any]) -> list[tuple[int | None, ...] | None] | None:
    """The sizes of the outputs of an operation that gets these arrays; None where its shape function cannot tell."""
    if len(given) != len(op.inputs) or not all(
        isinstance(value, np.ndarray | ResourceHandle) for value in given
    ):
        return None
    asked = copy(op)
    asked.inputs = tuple([_evaluated(tensor, value) for tensor, value in zip(op.inputs, given, strict=True)])
    try:
        return [shape.sizes for shape in infer_shapes(asked, len(op.outputs))]
    except ValueError:  # the kernel tells what is wrong
        return None


def _evaluated(tensor: Tensor, value: Any) -> Evaluated:
    """A tensor that has the shape of an array, and its value if that is small; of a handle, that of its variable."""
    if isinstance(value, ResourceHandle):
        kept, attrs = value.resource, {}
        if isinstance(kept, VariableStorage) and kept.is_initialized:
            attrs["shape"] = TensorShape.of(kept.value.shape)
        maker = Operation(None, "", "VarHandleOp", None, (), (), attrs)  # type: ignore[arg-type]
        return Evaluated(maker, 0, tensor.dtype, SCALAR_SHAPE)
    made = Evaluated(tensor.op, tensor.value_index, tensor.dtype, TensorShape.of(value.shape))
    made.evaluate = lambda: (value, None) if value.nbytes <= SMALL_BYTES else None
    return made


def _makes(sizes: tuple[int, ...], dtype: DType) -> Callable[[], Any]:
    """What makes a tensor of the type at every call."""
    return (
        object
        if dtype.is_handle
        else _maker(sizes, np.dtype(object if dtype is string else dtype.as_numpy_dtype))
    )


def _new(sizes: tuple[int, ...], dtype: DType) -> Any:
    return _makes(sizes, dtype)()
