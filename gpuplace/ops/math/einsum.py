"""The op ``Einsum``: sums of products in Einstein notation, with ellipses and repeated letters (`tf.einsum` adds none).

The gradient of an operand is also an ``Einsum``, of the gradient and the other operands::

    ab,bc->ac                 d/d(ab):  ac,bc->ab
    abc->b                    d/d(abc): b,ac->bac, with ones for the summed dimensions
    ...ab,bc->...ac           the ellipsis comes first, and broadcast dimensions are summed

Source: tensorflow/core/kernels/einsum_op_impl.h, release 1.15; tensorflow/python/ops/linalg_grad.py, release 2.21
(the gradients; 1.15 has none).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.kernels.compute import compute
from gpuplace.ops.array.constant import fill
from gpuplace.ops.array.gather import gather
from gpuplace.ops.array.reshaping import reshape, transpose
from gpuplace.ops.array.reshaping import shape as shape_of
from gpuplace.ops.gradients.registry import gradient
from gpuplace.ops.math.reduction import reduce_sum
from gpuplace.ops.support import conjugate, like, new
from gpuplace.typing import Array, ArrayModule

_DOTS = "..."


def _terms(equation: bytes | str) -> tuple[list[str], str]:
    text = equation.decode() if isinstance(equation, bytes) else equation
    left, _, right = text.replace(" ", "").partition("->")
    return left.split(","), right


@compute("Einsum", fresh=True)
def _einsum(xp: ArrayModule, inputs: Sequence[Any], *, equation: bytes) -> Array:
    terms, result = _terms(equation)
    if len(terms) != len(inputs):
        raise InvalidArgumentError.of(f"Expected {len(terms)} inputs but got: {len(inputs)}")
    sizes = _sizes(terms, inputs)
    dtype = inputs[0].dtype
    if _DOTS not in result and any(
        _DOTS in term and value.ndim > len(term) - 3 for term, value in zip(terms, inputs, strict=True)
    ):
        raise InvalidArgumentError.of(
            "The output needs an ellipsis, because the ellipsis of an input matches at least one dimension"
        )
    wide = [item.astype("float32") if dtype.itemsize == 2 else item for item in inputs]
    once = "".join(dict.fromkeys(result.replace(_DOTS, "")))
    dots = _DOTS if _DOTS in result else ""
    try:
        total = xp.einsum(f"{','.join(terms)}->{dots}{once}", *wide, optimize=len(wide) > 1)
    except ValueError as error:
        raise InvalidArgumentError.of(str(error)) from None
    if f"{dots}{once}" != result:
        batch = total.shape[: total.ndim - len(once)]
        head, _, tail = result.partition(_DOTS) if dots else (result, "", "")
        whole = (*(sizes[item] for item in head), *batch, *(sizes[item] for item in tail))
        spread = xp.zeros(whole, total.dtype)
        xp.einsum(f"{result}->{dots}{once}", spread)[...] = total
        total = spread
    return xp.array(total, dtype, order="C")


def _sizes(terms: Sequence[str], inputs: Sequence[Any]) -> dict[str, int]:
    """Return the size of each letter."""
    sizes: dict[str, int] = {}
    for number, (term, value) in enumerate(zip(terms, inputs, strict=True)):
        head, dots, tail = term.partition(_DOTS)
        if value.ndim < len(head + tail) or (not dots and value.ndim != len(head)):
            raise InvalidArgumentError.of(
                f"Expected input {number} to have rank {'at least ' if dots else ''}{len(head + tail)} but got: "
                f"{value.ndim}"
            )
        ends = value.shape[value.ndim - len(tail) :]
        for letter, size in zip(head + tail, (*value.shape[: len(head)], *ends), strict=True):
            if sizes.setdefault(letter, size) != size:
                raise InvalidArgumentError.of(
                    f"Expected dimension {sizes[letter]} at '{letter}' of input {number} but got dimension {size}"
                )
    return sizes


@gradient("Einsum", since="2.21")
def _einsum_grad(op: Operation, grad: Tensor) -> list[Tensor]:
    terms, result = _terms(op.attrs["equation"])
    return [_of_operand(op, terms, result, number, grad) for number in range(len(terms))]


def _of_operand(op: Operation, terms: list[str], result: str, number: int, grad: Tensor) -> Tensor:
    operand, term = op.inputs[number], terms[number]
    factors = [(grad, result)]
    factors += [
        (conjugate(item), letters)
        for index, (item, letters) in enumerate(zip(op.inputs, terms, strict=True))
        if index != number
    ]
    head, dots, tail = term.partition(_DOTS)
    letters = head + tail
    present = "".join(labels for _, labels in factors)
    rank = shape_of(new("Shape", input=operand))[0] if dots else len(letters)
    absent = [letter for letter in dict.fromkeys(letters) if letter not in present]
    lost_dots = bool(dots) and _DOTS not in present
    if absent or lost_dots:
        where = [_axis(letter, head, tail, rank) for letter in absent]
        sizes = gather(shape_of(operand), new("Pack", values=where)) if where else shape_of(operand)[:0]
        if lost_dots:
            sizes = new("ConcatV2", values=[shape_of(operand)[len(head) : rank - len(tail)], sizes], axis=0)
        factors.append((fill(sizes, like(1, operand)), (_DOTS if lost_dots else "") + "".join(absent)))
    equation = f"{','.join(labels for _, labels in factors)}->{dots}{letters}"
    total = apply_op("Einsum", inputs=[item for item, _ in factors], equation=equation).outputs[0]
    if not dots:
        return total
    count = rank - len(letters)
    # The operand's ellipsis, then its letters: extra ellipsis dimensions of the others are summed.
    numbers = new("Range", start=0, limit=rank, delta=1)
    first = new("ConcatV2", values=[numbers[len(head) : len(head) + count], numbers[: len(head)],
                                    numbers[len(head) + count :]], axis=0)  # fmt: skip
    target_shape = gather(shape_of(operand), first)
    axes = apply_op("BroadcastGradientArgs", s0=target_shape, s1=shape_of(total)).outputs[0]
    summed = reshape(reduce_sum(total, axes), target_shape)
    return transpose(summed, new("InvertPermutation", x=first))


def _axis(letter: str, head: str, tail: str, rank: Any) -> Any:
    if letter in head:
        return head.index(letter)
    return rank - len(tail) + tail.index(letter)
