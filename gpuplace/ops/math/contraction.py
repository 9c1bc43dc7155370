"""Tensor products summed over dimensions: tensordot and einsum, from transposes, reshapes and matrix products.

Source: tensorflow/python/ops/math_ops.py, special_math_ops.py, release 1.15 (arguments, sequence of ops of tensordot).
"""

from __future__ import annotations

import math
import re
import string
from typing import Any

import numpy as np

from gpuplace.dtypes import int32
from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.convert import convert_to_tensor, make_constant, name_scope
from gpuplace.graph.operation import Tensor
from gpuplace.ops.array.constant import range as range_of
from gpuplace.ops.array.gather import gather, where
from gpuplace.ops.array.joining import concat, stack
from gpuplace.ops.array.reshaping import rank as rank_of
from gpuplace.ops.array.reshaping import reshape, transpose
from gpuplace.ops.array.reshaping import shape as shape_of
from gpuplace.ops.math.matrix import matmul, trace
from gpuplace.ops.math.reduction import reduce_prod, reduce_sum
from gpuplace.ops.support import new
from gpuplace.typing import TensorLike

__all__ = ["tensordot", "einsum"]


def tensordot(a: TensorLike, b: TensorLike, axes: TensorLike, name: str | None = None) -> Tensor:
    """Return the product of ``a`` and ``b`` summed over pairs of dimensions.

    >>> import gpuplace as tf
    >>> tf.tensordot(tf.zeros([2, 3, 4]), tf.zeros([3, 5, 2]), [[1, 0], [0, 2]]).shape.as_list()
    [4, 5]

    Args:
        a: a tensor of a type that ``matmul`` supports.
        b: a tensor of the same type.
        axes: a number ``n`` for the last ``n`` dimensions of ``a`` and the first ``n`` of ``b``, a pair of lists of
            dimensions, or an int32 tensor of two rows.
        name: name of the scope and of the last op.

    Returns:
        A tensor of that type, with the other dimensions of ``a``, then those of ``b``.

    Raises:
        ValueError: ``axes`` is malformed or out of range.
        TypeError: the types differ.
    """
    with name_scope(name, "Tensordot", [a, b, axes]) as scope:
        a = convert_to_tensor(a, name="a")
        b = convert_to_tensor(b, name="b")
        axes_a, axes_b = _pair_of_axes(a, axes)
        left, free_a, known_a = _as_matrix(a, axes_a, free_first=True)
        right, free_b, known_b = _as_matrix(b, axes_b, free_first=False)
        product = matmul(left, right)
        if isinstance(free_a, list) and isinstance(free_b, list):
            return reshape(product, make_constant([*free_a, *free_b], int32, name="shape"), name=scope)
        parts = [make_constant(part, int32) if isinstance(part, list) else part for part in (free_a, free_b)]
        result = reshape(product, concat(parts, 0), name=scope)
        if known_a is not None and known_b is not None:
            result.set_shape([*known_a, *known_b])
        return result


def _pair_of_axes(a: Tensor, axes: Any) -> tuple[Any, Any]:
    """Return the dimensions to sum over on each side: lists, or tensors if they are not static."""
    if isinstance(axes, (Tensor, np.ndarray)):
        both = convert_to_tensor(axes, int32, name="axes")
        return both[0], both[1]
    if isinstance(axes, int):
        if axes < 0:
            raise ValueError("'axes' must be at least 0.")
        if a.shape.ndims is None:
            count: Any = rank_of(a)
            return range_of(count - axes, count, dtype=int32), range_of(axes, dtype=int32)
        if axes > a.shape.ndims:
            raise ValueError(f"'axes' must not be larger than the number of dimensions of tensor {a}.")
        return list(range(a.shape.ndims - axes, a.shape.ndims)), list(range(axes))
    if not isinstance(axes, (list, tuple)) or len(axes) != 2:
        raise ValueError("'axes' must be an integer or have length 2.")
    pair = [[side] if isinstance(side, int) else [int(axis) for axis in side] for side in axes]
    if len(pair[0]) != len(pair[1]):
        raise ValueError(
            f"Different number of contraction axes 'a' and 'b', {len(pair[0])} != {len(pair[1])}."
        )
    return pair[0], pair[1]


def _as_matrix(x: Tensor, axes: Any, free_first: bool) -> tuple[Tensor, Any, list[int | None] | None]:
    """Return ``x`` with its free dimensions as rows (or columns), their sizes, and their static sizes.

    The sizes are a list, or a tensor if they are known only at run time.
    """
    rank = x.shape.ndims
    static_sizes = None
    if rank is None or isinstance(axes, Tensor):
        full_shape = shape_of(x)
        count: Any = rank_of(x)
        summed: Any = convert_to_tensor(axes, int32, name="axes")
        summed = where(summed >= 0, summed, summed + count)
        free: Any = apply_op("ListDiff", x=range_of(count), y=summed, out_idx=int32).outputs[0]
    else:
        summed = [axis + rank if axis < 0 else axis for axis in axes]
        free = [axis for axis in range(rank) if axis not in summed]
        sizes = x.shape.as_list()
        static_sizes = [sizes[axis] for axis in free]
        if None not in sizes:
            rows, columns = math.prod(static_sizes), math.prod(sizes[axis] for axis in summed)
            order = free + summed if free_first else summed + free
            target = [rows, columns] if free_first else [columns, rows]
            return reshape(transpose(x, order), target), static_sizes, static_sizes
        summed = convert_to_tensor(summed, int32, name="axes")
        free = convert_to_tensor(free, int32, name="free")
        full_shape = shape_of(x)
    sizes_of = [gather(full_shape, part) for part in (free, summed)]
    counts = [reduce_prod(part) for part in sizes_of]
    order = concat([free, summed] if free_first else [summed, free], 0)
    shape = stack(counts if free_first else counts[::-1])
    return reshape(transpose(x, order), shape), sizes_of[0], static_sizes


_EQUATION = re.compile(r"^[a-zA-Z.]+(,[a-zA-Z.]+)*(->[a-zA-Z.]*)?$")

_DOTS = "..."


def einsum(equation: str, *inputs: Any, **kwargs: Any) -> Tensor:
    """Return sums of products in Einstein notation.

    >>> import gpuplace as tf
    >>> tf.einsum("bij,bjk->bik", tf.zeros([7, 2, 3]), tf.zeros([7, 3, 4])).shape.as_list()
    [7, 2, 4]

    Args:
        equation: a letter per dimension, with commas between terms; letters missing on the right are summed over.
            Without ``->``, the result has the letters that appear once, in alphabetical order. An ellipsis ``...``
            stands for dimensions without letters, which broadcast; the ranks must then be static.
        *inputs: a tensor for each term on the left, all of one type that ``matmul`` supports.
        **kwargs: only ``name``, the name of the scope.

    Returns:
        A tensor of that type, with a dimension for each letter on the right.

    Raises:
        ValueError: the equation is malformed, has a letter twice in one term, or does not match the tensors.
        TypeError: a keyword argument is unknown, or the types differ.
    """
    name = kwargs.pop("name", None)
    if kwargs:
        raise TypeError(f"invalid keyword arguments for this function: {', '.join(sorted(kwargs))}")
    equation = equation.replace(" ", "")
    with name_scope(name, "einsum", list(inputs)):
        tensors = [convert_to_tensor(value, name=f"inputs_{index}") for index, value in enumerate(inputs)]
        terms, right = _terms(equation, [tensor.shape.ndims for tensor in tensors])
        if len(terms) == 1 and "->" not in equation and _is_trace(terms[0]):
            return trace(tensors[0])
        if not set(right) <= set("".join(terms)) or len(set(right)) < len(right):
            raise ValueError(f"Invalid equation: {equation}")
        for term, tensor in zip(terms, tensors, strict=True):
            if len(set(term)) != len(term):
                raise ValueError(f"Subscript not supported: an axis appears more than once: {term}")
            if tensor.shape.ndims not in (None, len(term)):
                raise ValueError(f"Unexpected rank: term {term} does not match shape {tensor.shape}")
        result, labels = tensors[0], terms[0]
        for index in range(1, len(tensors)):
            later = set("".join(terms[index + 1 :])) | set(right)
            result, labels = _product(result, labels, tensors[index], terms[index], later)
        summed = [axis for axis, letter in enumerate(labels) if letter not in right]
        if summed:
            result = reduce_sum(result, summed)
            labels = "".join(letter for letter in labels if letter in right)
        order = [labels.index(letter) for letter in right]
        return result if order == sorted(order) else transpose(result, order)


def _terms(equation: str, ranks: list[int | None]) -> tuple[list[str], str]:
    """Return the letters of each tensor and of the result, with letters in place of an ellipsis.

    Raises:
        ValueError: the equation is malformed, or the number of dimensions of an ellipsis is unknown.
    """
    if not _EQUATION.match(equation):
        raise ValueError(f"Indices have incorrect format: {equation}")
    left, _, right = equation.partition("->")
    terms = left.split(",")
    if len(terms) != len(ranks):
        raise ValueError(f'Got {len(ranks)} arguments for equation "{equation}", expecting {len(terms)}')
    counts = [
        _count_of_dots(term, rank) if _DOTS in term else 0 for term, rank in zip(terms, ranks, strict=True)
    ]
    unused = [letter for letter in string.ascii_letters if letter not in left]
    most = max(counts)
    if most > len(unused):
        raise ValueError("Unable to resolve ellipsis, too many distinct labels.")
    dots = "".join(unused[:most])
    terms = [term.replace(_DOTS, dots[most - count :]) for term, count in zip(terms, counts, strict=True)]
    if "->" in equation:
        right = right.replace(_DOTS, dots)
        if "." in right:
            raise ValueError('period "." found outside of ellipsis')
        return terms, right
    named = "".join(terms)
    alone = sorted(letter for letter in set(named) - set(dots) if named.count(letter) == 1)
    return terms, dots + "".join(alone)


def _count_of_dots(term: str, rank: int | None) -> int:
    if term.count(_DOTS) > 1:
        raise ValueError("Unable to resolve ellipsis. Excess number found.")
    if rank is None:
        raise ValueError("Unable to statically infer ellipsis axes.")
    count = rank - len(term) + len(_DOTS)
    if count < 0:
        raise ValueError("Ellipses lengths do not match.")
    return count


def _is_trace(term: str) -> bool:
    """Return whether a term is a non-empty palindrome in which every letter occurs twice."""
    return term == term[::-1] and any(term.count(letter) == 2 for letter in term)


def _product(a: Tensor, la: str, b: Tensor, lb: str, later: set[str]) -> tuple[Tensor, str]:
    """Return the product of two terms, summed over the letters that occur in no other term."""
    own = [axis for axis, letter in enumerate(la) if letter not in lb and letter not in later]
    if own:
        a, la = reduce_sum(a, own), "".join(letter for axis, letter in enumerate(la) if axis not in own)
    own = [axis for axis, letter in enumerate(lb) if letter not in la and letter not in later]
    if own:
        b, lb = reduce_sum(b, own), "".join(letter for axis, letter in enumerate(lb) if axis not in own)
    shared = [letter for letter in la if letter in lb]
    batch = [letter for letter in shared if letter in later]
    summed = [letter for letter in shared if letter not in later]
    rows = [letter for letter in la if letter not in lb]
    columns = [letter for letter in lb if letter not in la]
    left = _grouped(a, la, batch, rows, summed)
    right = _grouped(b, lb, batch, summed, columns)
    product = matmul(left, right)
    if len(batch) + len(rows) + len(columns) == product.shape.ndims and len(rows) == len(columns) == 1:
        return product, "".join(batch + rows + columns)
    sizes = [_size(a, la, x) for x in batch + rows] + [_size(b, lb, x) for x in columns]
    return reshape(product, _vector(sizes)), "".join(batch + rows + columns)


def _grouped(x: Tensor, labels: str, batch: list[str], first: list[str], second: list[str]) -> Tensor:
    """Return ``x`` as ``[*batch, first, second]``, the last two groups each flattened to one dimension."""
    order = [labels.index(letter) for letter in (*batch, *first, *second)]
    moved = x if order == sorted(order) else transpose(x, order)
    if len(first) == len(second) == 1:
        return moved
    sizes = [_size(x, labels, letter) for letter in batch]
    for group in (first, second):
        parts = [_size(x, labels, letter) for letter in group]
        if all(isinstance(part, int) for part in parts):
            sizes.append(math.prod(parts))
        else:
            total = parts[0]
            for part in parts[1:]:
                total = total * part
            sizes.append(total)
    return reshape(moved, _vector(sizes))


def _size(x: Tensor, labels: str, letter: str) -> Any:
    axis = labels.index(letter)
    size = None if x.shape.sizes is None else x.shape.sizes[axis]
    if size is not None:
        return size
    return new(
        "StridedSlice", input=shape_of(x), begin=[axis], end=[axis + 1], strides=[1], shrink_axis_mask=1
    )


def _vector(sizes: list[Any]) -> Any:
    return sizes if all(isinstance(size, int) for size in sizes) else new("Pack", values=sizes)
