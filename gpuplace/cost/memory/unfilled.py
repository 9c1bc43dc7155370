"""Arrays that nobody fills, and what hands them out in place of a kernel's results."""

from __future__ import annotations

import math
import mmap
import sys
import threading
from collections.abc import Callable, Sequence
from copy import copy
from functools import cached_property, partial
from typing import Any

import numpy as np

from gpuplace.dtypes import DType, string
from gpuplace.errors import OpError, ResourceExhaustedError
from gpuplace.graph.constant_value import Evaluated
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import infer_shapes
from gpuplace.shapes import TensorShape

Shapes = Callable[[str, int], tuple[int | None, ...] | None]
"""Node and output -> sizes; None where nothing is known."""

SMALL_BYTES = 1 << 14
"""Up to so many bytes a kernel just runs."""

_NOT_RESERVED = (
    mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0x4000 * (sys.platform == "linux"))
)
"""Of memory of which only what is touched counts."""


class _Space:
    """Memory for arrays that nobody fills: all lie in the same bytes, of which hardly any is ever touched.

    To the accounting each is an array of its own: the memory that they show is no array.
    """

    def __init__(self) -> None:
        self._memory: Any = None
        self._nbytes = 0
        self._lock = threading.Lock()

    def array(self, sizes: Sequence[int], dtype: Any) -> Any:
        """A new array.

        Args:
            sizes: its shape.
            dtype: NumPy's type.
        """
        return self.maker(sizes, dtype)()

    def maker(self, sizes: Sequence[int], dtype: Any) -> Callable[[], Any]:
        """What makes a new array at every call; arguments as of `array`."""
        kind = np.dtype(dtype)
        nbytes = math.prod(sizes) * kind.itemsize
        if kind.hasobject:
            return partial(np.full, sizes, b"", kind)
        if nbytes <= SMALL_BYTES:
            return partial(np.zeros, sizes, kind)
        memory = self.room(nbytes, sizes)
        return lambda: np.ndarray(sizes, kind, memory)

    def room(self, nbytes: int, sizes: Sequence[int]) -> Any:
        """Memory with room for so many bytes.

        Args:
            nbytes: how many.
            sizes: the shape of the array that they are for.

        Raises:
            ResourceExhaustedError: no process can address them.
        """
        with self._lock:
            if nbytes > self._nbytes:
                more = max(2 * nbytes, 1 << 28)
                try:
                    self._memory = mmap.mmap(-1, more, flags=_NOT_RESERVED)
                except (OverflowError, OSError):
                    raise ResourceExhaustedError.of(
                        f"a tensor with shape{list(sizes)} and {nbytes:,} bytes is beyond what a process can address",
                        hint="a smaller shape in feeds",
                    ) from None
                self._nbytes = more
            return self._memory


_SPACE = _Space()


def unfilled(sizes: Sequence[int], dtype: Any) -> Any:
    """A new array: zeros where it is small, else of whatever numbers.

    Args:
        sizes: its shape.
        dtype: NumPy's type.
    """
    return _SPACE.array(sizes, dtype)


def is_whole(array: Any) -> bool:
    """Whether nothing but an array itself is its memory: it shows no other array."""
    return array.base is None or type(array.base) is not np.ndarray


def unfilled_like(value: Any) -> Any:
    """A new array like another one; the same numbers only where there are few."""
    array = np.asarray(value)
    if array.nbytes <= SMALL_BYTES or array.dtype.hasobject:
        return np.array(array)
    return np.ndarray(array.shape, array.dtype, _SPACE.room(array.nbytes, array.shape))


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

    @cached_property
    def _makers(self) -> list[Callable[[], Any]]:
        sizes = [tuple([1 if size is None else size for size in known or ()]) for known in self.sizes]
        return list(map(_maker, sizes, self.dtypes))

    def new(self, *inputs: Any, out: Any = None) -> Any:
        """New arrays, of the sizes that are known; the array ``out`` where it is given."""
        if out is not None:
            return out
        makers = self._makers
        if len(makers) == 1 and not self.is_list:
            return makers[0]()
        return tuple([make() for make in makers])

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
        """The kernel for small arrays, new arrays otherwise."""
        run, nbytes = self.if_fails(kernel), self.nbytes

        def made(*inputs: Any, **options: Any) -> Any:
            given = sum([getattr(value, "nbytes", 0) for value in inputs])
            if given + nbytes <= SMALL_BYTES:
                return run(*inputs, **options)
            return self.new(*inputs, **options)

        return made

    def unless_inferred(self, op: Operation, kernel: Callable[..., Any]) -> Callable[..., Any]:
        """Return the kernel for small arrays, otherwise new arrays as the shape function tells for what it gets.

        In the body of a function the graph knows no batch: only a call does.

        Args:
            op: the operation.
            kernel: its kernel.
        """
        run = self.if_fails(kernel)

        def made(*inputs: Any, **options: Any) -> Any:
            given = [one for value in inputs for one in (value if isinstance(value, list) else [value])]
            sizes = _inferred_sizes(op, given)
            if sizes is None or options.get("out") is not None:
                return run(*inputs, **options)
            counts = [dtype.size * math.prod(each) for dtype, each in zip(self.dtypes, sizes, strict=True)]
            if sum([getattr(value, "nbytes", 0) for value in given], sum(counts)) <= SMALL_BYTES:
                return run(*inputs, **options)
            results = tuple(map(_empty, sizes, self.dtypes))
            return results[0] if len(results) == 1 and not self.is_list else results

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
                        made[place] = _empty(inputs[0].shape, self.dtypes[place])
                return tuple(made)
            made = []
            for (kind, what), dtype in zip(known, self.dtypes, strict=True):
                if kind == "input":
                    made.append(inputs[what])
                elif kind == "result":
                    made.append(made[what])
                else:
                    made.append(_empty(inputs[0].shape if what is None else what, dtype))
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


def _inferred_sizes(op: Operation, given: Sequence[Any]) -> list[tuple[int, ...]] | None:
    """The sizes of the outputs of an operation that gets these arrays; None where its shape function cannot tell."""
    if len(given) != len(op.inputs) or not all(isinstance(value, np.ndarray) for value in given):
        return None
    asked = copy(op)
    asked.inputs = tuple([_evaluated(tensor, value) for tensor, value in zip(op.inputs, given, strict=True)])
    try:
        found = [shape.sizes for shape in infer_shapes(asked, len(op.outputs))]
    except ValueError:  # the kernel tells what is wrong
        return None
    known = [sizes for sizes in found if sizes is not None and None not in sizes]
    return known if len(known) == len(found) else None  # type: ignore[return-value]


def _evaluated(tensor: Tensor, value: Any) -> Evaluated:
    """A tensor that has the shape of an array, and its value if that is small."""
    made = Evaluated(tensor.op, tensor.value_index, tensor.dtype, TensorShape.of(value.shape))
    made.evaluate = lambda: (value, None) if value.nbytes <= SMALL_BYTES else None
    return made


def _maker(sizes: tuple[int, ...], dtype: DType) -> Callable[[], Any]:
    """What makes a tensor of the type at every call."""
    if dtype.is_handle:
        return object
    if dtype is string:
        return partial(np.full, sizes, b"", object)
    return _SPACE.maker(sizes, dtype.as_numpy_dtype)


def _empty(sizes: tuple[int, ...], dtype: DType) -> Any:
    return _maker(sizes, dtype)()
