"""``map_fn``, ``foldl``, ``foldr`` and ``scan``: apply a function to each row of tensors, in a loop.

Rows are read from tensor arrays and results are written to others, in one loop.

Source: tensorflow/python/ops/map_fn.py and functional_ops.py, release 1.15.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.operation import Tensor
from gpuplace.ops import nest
from gpuplace.ops.array import constant, reshaping
from gpuplace.ops.flow.arrays.tensor_arrays import TensorArray
from gpuplace.ops.flow.while_loops import while_loop
from gpuplace.ops.variables.variable_scope import get_variable_scope
from gpuplace.ops.variants import variant_of
from gpuplace.shapes import TensorShape
from gpuplace.typing import DTypeLike, InitializerLike, TensorLike

__all__ = ["foldl", "foldr", "map_fn", "scan"]


@contextlib.contextmanager
def _caching_variables() -> Iterator[None]:
    """Read variables inside the block on their own devices, once for all iterations."""
    scope = get_variable_scope()
    if scope.caching_device is not None:
        yield
        return
    scope.set_caching_device(lambda op: op.device)
    yield
    scope.set_caching_device(None)


def _pack(structure: Any, flat: Sequence[Any]) -> Any:
    return nest.pack_sequence_as(structure, flat) if nest.is_nested(structure) else flat[0]


def _rows(tensor: Tensor, or_zero: bool = True) -> Any:
    """Return the number of rows: a Python number if it is static and, unless ``or_zero``, not zero."""
    static_rows = tensor.shape[0].value if tensor.shape.ndims is not None else None
    if static_rows or (static_rows is not None and or_zero):
        return static_rows
    return reshaping.shape(tensor)[0]


def _check_callable(fn: Any) -> None:
    if not callable(fn):
        raise TypeError("fn must be callable.")


def _set_rows(results: Sequence[Tensor], elems: Sequence[Tensor]) -> None:
    """Set the static number of rows, which is that of all tensors."""
    rows = TensorShape([None])
    for elem in elems:
        rows = rows.merge_with(elem.shape.with_rank_at_least(1)[:1])
    for result in results:
        result.set_shape(rows.concatenate(result.shape[1:]))


def map_fn(
    fn: Callable[[Any], Any],
    elems: TensorLike,
    dtype: DTypeLike | None = None,
    parallel_iterations: int | None = None,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    name: str | None = None,
) -> Any:
    """Apply ``fn`` to each row of tensors and stack the results.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.map_fn(lambda row: row * row, tf.constant([1, 2, 3])))
    array([1, 4, 9], dtype=int32)

    Args:
        fn: a function of one row of each tensor, in the structure of ``elems``.
        elems: a tensor ``[rows, ...]`` of any dtype, or a structure of them with equal numbers of rows.
        dtype: the dtypes of the results of ``fn``, in its structure; None: those of ``elems``.
        parallel_iterations: stored in the loop's nodes, see ``while_loop``; None: 10.
        back_prop: whether to support gradients.
        swap_memory: as for ``while_loop``.
        infer_shape: whether all results have the same shape, which is then static.
        name: name of the scope.

    Returns:
        A tensor ``[rows, ...]``, or the structure ``dtype`` of them.

    Raises:
        TypeError: ``fn`` is not callable, or returns other types.
        ValueError: a tensor of ``elems`` is a scalar, or ``fn`` returns another structure.
        InvalidArgumentError: at run time, ``fn`` returns another dtype.
    """
    _check_callable(fn)
    with name_scope(name, "map", nest.flatten(elems)), _caching_variables():
        flat = [convert_to_tensor(elem, name="elem") for elem in nest.flatten(elems)]
        types = _pack(elems, [elem.dtype for elem in flat]) if dtype is None else dtype
        if flat[0].shape.ndims == 0:
            if len(flat) == 1:
                raise ValueError("elems must be a 1+ dimensional Tensor, not a scalar")
            raise ValueError("elements in elems must be 1+ dimensional Tensors, not scalars")
        count = _rows(flat[0], or_zero=False)
        rows = [TensorArray(elem.dtype, size=count, dynamic_size=False, infer_shape=True) for elem in flat]
        rows = [item.unstack(elem) for item, elem in zip(rows, flat, strict=True)]
        start = constant.constant(0)
        results = [
            TensorArray(kind, size=count, dynamic_size=False, infer_shape=infer_shape)
            for kind in nest.flatten(types)
        ]

        def compute(i: Tensor, arrays: Any) -> Any:
            result = fn(_pack(elems, [item.read(i) for item in rows]))
            nest.assert_same_structure(types, result)
            values = nest.flatten(result)
            arrays = [item.write(i, value) for item, value in zip(arrays, values, strict=True)]
            return i + 1, arrays

        _, results = while_loop(
            lambda i, _: i < count,
            compute,
            (start, results),
            parallel_iterations=parallel_iterations or 10,
            back_prop=back_prop,
            swap_memory=swap_memory,
            maximum_iterations=count,
        )
        stacked = [item.stack() for item in results]
        _set_rows(stacked, flat)
    return _pack(types, stacked)


def _fold(
    fn: Callable[[Any, Any], Any],
    elems: TensorLike,
    initializer: InitializerLike | None = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
    *,
    is_left: bool = True,
) -> Any:
    _check_callable(fn)
    with name_scope(name, "foldl" if is_left else "foldr", nest.flatten(elems)), _caching_variables():
        flat = [convert_to_tensor(elem, name="elem") for elem in nest.flatten(elems)]
        count = _rows(flat[0], or_zero=False)
        rows = [
            TensorArray(elem.dtype, size=count, dynamic_size=False, infer_shape=True).unstack(elem)
            for elem in flat
        ]

        def row(i: Any) -> Any:
            return _pack(elems, [item.read(i) for item in rows])

        start: Any
        if is_left:
            first = row(0) if initializer is None else initializer
            start = constant.constant(1 if initializer is None else 0)
        elif initializer is None:
            start = count - 1
            first = row(start)
        else:
            start, first = count, initializer

        def compute(i: Tensor, total: Any) -> Any:
            if is_left:
                total = fn(total, row(i))
                return [i + 1, total]
            i -= 1
            return [i, fn(total, row(i))]

        def goes_on(i: Tensor, _: Any) -> Any:
            return i < count if is_left else i > 0

        return while_loop(
            goes_on,
            compute,
            [start, first],
            parallel_iterations=parallel_iterations,
            back_prop=back_prop,
            swap_memory=swap_memory,
            maximum_iterations=count,
        )[1]


@variant_of(_fold, is_left=True)
def foldl() -> None:
    """Return ``fn(... fn(fn(initializer, first row), second row) ..., last row)``.

    >>> import gpuplace as tf
    >>> int(tf.Session().run(tf.foldl(lambda total, row: 10 * total + row, tf.constant([1, 2, 3]))))
    123

    Args:
        fn: a function of its previous result and one row of each tensor, in the structure of ``elems``.
        elems: a tensor ``[rows, ...]`` of any dtype, or a structure of them with equal numbers of rows.
        initializer: the first value, a tensor or a structure of them; None: the first row.
        parallel_iterations: stored in the loop's nodes, see ``while_loop``.
        back_prop: whether to support gradients.
        swap_memory: as for ``while_loop``.
        name: name of the scope.

    Returns:
        The last result of ``fn``, with the dtype and shape of ``initializer``.

    Raises:
        TypeError: ``fn`` is not callable.
        ValueError: ``fn`` returns another structure or shape than ``initializer``.
        IndexError: a tensor of ``elems`` is a scalar.
        InvalidArgumentError: at run time, ``fn`` returns another dtype.
    """


@variant_of(_fold, is_left=False)
def foldr() -> None:
    """Return ``fn(... fn(fn(initializer, last row), row before it) ..., first row)``.

    Args:
        fn: a function of its previous result and one row of each tensor, in the structure of ``elems``.
        elems: a tensor ``[rows, ...]`` of any dtype, or a structure of them with equal numbers of rows.
        initializer: the first value, a tensor or a structure of them; None: the last row.
        parallel_iterations: stored in the loop's nodes, see ``while_loop``.
        back_prop: whether to support gradients.
        swap_memory: as for ``while_loop``.
        name: name of the scope.

    Returns:
        The last result of ``fn``, with the dtype and shape of ``initializer``.

    Raises:
        TypeError: ``fn`` is not callable.
        ValueError: ``fn`` returns another structure or shape than ``initializer``.
        IndexError: a tensor of ``elems`` is a scalar.
        InvalidArgumentError: at run time, ``fn`` returns another dtype.
    """


def scan(
    fn: Callable[[Any, Any], Any],
    elems: TensorLike,
    initializer: InitializerLike | None = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    reverse: bool = False,
    name: str | None = None,
) -> Any:
    """Return all intermediate results of ``foldl``, stacked.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.scan(lambda total, row: total + row, tf.constant([1, 2, 3])))
    array([1, 3, 6], dtype=int32)

    Args:
        fn: a function of its previous result and one row of each tensor, in the structure of ``elems``.
        elems: a tensor ``[rows, ...]`` of any dtype, or a structure of them with equal numbers of rows.
        initializer: the first value, a tensor or a structure of them, which is not part of the result; None: the first
            row, which is.
        parallel_iterations: stored in the loop's nodes, see ``while_loop``.
        back_prop: whether to support gradients.
        swap_memory: as for ``while_loop``.
        infer_shape: whether all results have the same shape, which is then static.
        reverse: whether to go from the last row to the first; result ``i`` still belongs to row ``i``.
        name: name of the scope.

    Returns:
        A tensor ``[rows, ...]``, or a structure of them like ``initializer`` (like ``elems`` without one).

    Raises:
        TypeError: ``fn`` is not callable.
        ValueError: ``fn`` returns another structure or shape than ``initializer``.
        IndexError: a tensor of ``elems`` is a scalar.
        InvalidArgumentError: at run time, ``fn`` returns another dtype.
    """
    _check_callable(fn)
    structure = elems if initializer is None else initializer
    with name_scope(name, "scan", nest.flatten(elems)), _caching_variables():
        flat = [convert_to_tensor(elem, name="elem") for elem in nest.flatten(elems)]
        count = _rows(flat[0])
        rows = [
            TensorArray(
                elem.dtype, size=count, dynamic_size=False, element_shape=elem.shape[1:], infer_shape=True
            )
            for elem in flat
        ]
        rows = [array.unstack(elem) for array, elem in zip(rows, flat, strict=True)]
        done = 1 if initializer is None else 0
        if initializer is None:
            first = [array.read(count - 1 if reverse else 0) for array in rows]
        else:
            first = [convert_to_tensor(value) for value in nest.flatten(initializer)]
        results = [
            TensorArray(
                value.dtype,
                size=count,
                element_shape=value.shape if infer_shape else None,
                dynamic_size=False,
                infer_shape=infer_shape,
            )
            for value in first
        ]
        if initializer is None:
            results = [
                array.write(count - 1 if reverse else 0, value)
                for array, value in zip(results, first, strict=True)
            ]

        def compute(i: Tensor, values: Any, arrays: Any) -> Any:
            row = _pack(elems, [item.read(i) for item in rows])
            result = fn(_pack(structure, values), row)
            nest.assert_same_structure(structure, result)
            new_values = nest.flatten(result)
            arrays = [item.write(i, value) for item, value in zip(arrays, new_values, strict=True)]
            return (i - 1 if reverse else i + 1), new_values, arrays

        start = count - 1 - done if reverse else done

        def goes_on(i: Tensor, _: Any, __: Any) -> Any:
            return i >= 0 if reverse else i < count

        _, _, results = while_loop(
            goes_on,
            compute,
            (start, first, results),
            parallel_iterations=parallel_iterations,
            back_prop=back_prop,
            swap_memory=swap_memory,
            maximum_iterations=count,
        )
        stacked = [array.stack() for array in results]
        _set_rows(stacked, flat)
    return _pack(structure, stacked)
