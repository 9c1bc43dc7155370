"""Work of matrix products: dense, batched, fused, quantized, sparse, and general contractions."""

from __future__ import annotations

import math

from gpuplace.kernels.work.models import Dims, Task, work_model
from gpuplace.kernels.work.record import Product, Work


def product_of(task: Task, left: Dims, right: Dims, transpose_a: bool, transpose_b: bool) -> Product:
    """Return the library call for a product or a batch of products."""
    k, m = (left[-2], left[-1]) if transpose_a else (left[-1], left[-2])
    n = right[-2] if transpose_b else right[-1]
    batch = max(math.prod(left[:-2]), math.prod(right[:-2]))
    if len(right) == 2 or math.prod(right[:-2]) == 1:  # one matrix for all rows
        if not transpose_a:
            m, batch = m * batch, 1
    return Product(m, n, k, batch, transpose_a, transpose_b)


def product_flops(product: Product) -> float:
    """Return the multiplications and additions of a product."""
    return 2.0 * product.m * product.n * product.k * product.batch


def _flag(task: Task, *names: str) -> bool:
    return any(bool(task.attrs.get(name)) for name in names)


@work_model("MatMul", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3", "_MklMatMul", "_MklBatchMatMul")
def _product(task: Task) -> Work:
    made = product_of(
        task,
        task.in_sizes[0],
        task.in_sizes[1],
        _flag(task, "transpose_a", "adj_x"),
        _flag(task, "transpose_b", "adj_y"),
    )
    return task.work("product", product_flops(made), kernel=made)


@work_model("_FusedMatMul", "_MklFusedMatMul", "_MklNativeFusedMatMul", "_MklFusedBatchMatMulV2")
@work_model("QuantizedMatMul", "QuantizedMatMulWithBias", "QuantizedMatMulWithBiasAndRelu")
@work_model("QuantizedMatMulWithBiasAndReluAndRequantize", "QuantizedMatMulWithBiasAndDequantize")
@work_model("QuantizedMatMulWithBiasAndRequantize", "_QuantizedMatMul", "UniformQuantizedDot")
def _fused_product(task: Task) -> Work:
    made = product_of(
        task, task.in_sizes[0], task.in_sizes[1], _flag(task, "transpose_a"), _flag(task, "transpose_b")
    )
    return task.work("product", product_flops(made) + 2 * task.out_count(), kernel=made)


@work_model("SparseMatMul")
def _product_with_zeros(task: Task) -> Work:
    """Count a dense product on the CPU; the number of zeros in the operands is unknown."""
    made = product_of(
        task, task.in_sizes[0], task.in_sizes[1], _flag(task, "transpose_a"), _flag(task, "transpose_b")
    )
    return task.work("product", product_flops(made), kernel=made)


@work_model("SparseTensorDenseMatMul")
def _sparse_product(task: Task) -> Work:
    """Count, for each stored element, reading a row of the dense matrix and adding to a row of the result."""
    stored = task.in_sizes[1][0] if task.in_sizes[1] else 1
    columns = task.out_sizes[0][-1]
    item = task.out_types[0].size
    rows = float(stored * columns * item)
    read = task.in_bytes(0) + task.in_bytes(1) + 2 * rows
    return task.work(
        "scatter", 2.0 * stored * columns, read=read, written=rows + task.out_bytes(), launches=2
    )


@work_model("SparseMatrixMatMul", "SparseMatrixSparseMatMul")
def _sparse_matrices(task: Task) -> Work:
    return task.work("guess")


@work_model("Einsum", "_MklEinsum", "XlaEinsum")
def _einsum(task: Task) -> Work:
    """Count twice the product of all sizes (each index is a loop); two operands make one batch of products."""
    equation = task.attrs.get("equation", b"")
    text = equation.decode() if isinstance(equation, bytes) else str(equation)
    operands, _, result = text.replace(" ", "").partition("->")
    sizes: dict[str, int] = {}
    terms = operands.split(",")
    for term, shape in zip(terms, task.in_sizes, strict=True):
        head, dots, tail = term.partition("...")
        rest = list(shape)
        for letter in head:
            sizes[letter] = max(sizes.get(letter, 1), rest.pop(0))
        for letter in reversed(tail):
            sizes[letter] = max(sizes.get(letter, 1), rest.pop())
        if dots:
            sizes["..."] = max(sizes.get("...", 1), math.prod(rest))
    count = math.prod(sizes.values())
    if len(terms) != 2:
        return task.work("product" if len(terms) > 1 else "reduction", float(count), launches=len(terms))
    left, right = (set(term.replace("...", "")) | ({"..."} if "..." in term else set()) for term in terms)
    kept = set(result.replace("...", "")) | ({"..."} if "..." in result else set())
    batch = math.prod(sizes[label] for label in left & right & kept)
    k = math.prod(sizes[label] for label in (left & right) - kept)
    m = math.prod(sizes[label] for label in left - right)
    n = math.prod(sizes[label] for label in right - left)
    product = Product(m, n, k, batch)
    return task.work("product", product_flops(product), kernel=product)


@work_model("Cross")
def _cross(task: Task) -> Work:
    return task.work("elementwise", 3.0 * task.out_count())
