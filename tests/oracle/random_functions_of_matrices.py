"""Random inputs for functions of matrices, sums of products, fractional pools and the like; as in `random_cases`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.ops.cases import Case, i32, i64
from tests.oracle.random_cases import Draw

EQUATIONS = (
    *(
        "ij,jk->ik",
        "bij,bjk->bik",
        "...ij,...jk->...ik",
        "aab,b->a",
        "abc->cb",
        "a->aa",
        "ab,bc->",
        "a...->...a",
    ),
    *(",ab->ba", "ij,kj->ik", "ba,b->", "ab...,b...->a..."),
)


def _einsum(d: Draw) -> Case:
    equation = EQUATIONS[d.index % len(EQUATIONS)]
    sizes = {letter: d.int(1, 4) for letter in "abcijk"}
    dots = d.shape(0, 2, 3, zero=0)
    inputs = []
    dtype = d.dtype(no=("float16", "bfloat16", "int32", "int64"))
    for term in equation.partition("->")[0].split(","):
        head, has_dots, tail = term.partition("...")
        middle = [1 if d.chance(4) else size for size in dots][d.int(0, len(dots)) :] if has_dots else []
        inputs.append(d.values(dtype, [*(sizes[x] for x in head), *middle, *(sizes[x] for x in tail)]))
    return Case(d.op, [inputs], {"equation": equation})


def _matrices(d: Draw) -> Case:
    batch, size = d.shape(0, 2, 3), d.int(1, 5)
    dtype = d.dtype(no=("float16", "bfloat16"))
    matrices = d.values(dtype, [*batch, size, size], -1, 1)
    if d.op == "Lu":
        kind = d.pick("int32", "int64")
        return Case(d.op, [matrices + size * np.eye(size, dtype=dtype)[::-1]], {"output_idx_type": kind})
    positive = matrices @ np.swapaxes(matrices.conj(), -1, -2) + np.eye(size, dtype=dtype)
    return Case(d.op, [(positive + 0.2 * matrices).astype(dtype)])


def _least_squares(d: Draw) -> Case:
    batch, rows, columns = d.shape(0, 2, 3), d.int(1, 5), d.int(1, 5)
    dtype = d.dtype(no=("complex64", "complex128") if d.index % 2 else ())
    matrix = d.values(dtype, [*batch, rows, columns])
    count = min(rows, columns)
    matrix[..., range(count), range(count)] += 8
    right = d.values(dtype, [*batch, rows + d.chance(14), d.int(1, 3)])
    return Case(d.op, [matrix, right, np.float64(d.pick(0, 0.5))], {"fast": not d.chance(4)})


def _tridiagonal(d: Draw) -> Case:
    batch, size, dtype = d.shape(0, 2, 3), d.int(1, 6), d.dtype()
    right = d.values(dtype, [*batch, size, d.int(1, 3)])
    if d.op == "TridiagonalMatMul":
        return Case(d.op, [*(d.values(dtype, [*batch, 1, size]) for _ in range(3)), right])
    diagonals = d.values(dtype, [*batch, 3, size])
    diagonals[..., 1, :] += 8
    return Case(d.op, [diagonals, right], {"partial_pivoting": d.chance(2)})


def _running(d: Draw) -> Case:
    shape = d.shape(1, 3)
    axis = d.int(-len(shape) - d.chance(10), len(shape) - 1)
    return Case(
        d.op, [d.values(d.dtype(), shape), i32(axis)], {"exclusive": d.chance(2), "reverse": d.chance(2)}
    )


def _next(d: Draw) -> Case:
    dtype, shape = d.dtype(), d.shape(0, 3)
    other = d.values(dtype, shape[d.int(0, len(shape)) :])
    return Case(d.op, [d.values(dtype, shape), other])


def _bits(d: Draw) -> Case:
    return Case(d.op, [d.values(d.dtype(), d.shape(0, 3))])


def _buckets(d: Draw) -> Case:
    limits = sorted(float(x) for x in d.rng.integers(-9, 10, d.int(0, 5)))
    return Case(d.op, [d.values(d.dtype(), d.shape(0, 3))], {"boundaries": limits})


def _nth(d: Draw) -> Case:
    shape = [*d.shape(0, 2), d.int(1, 5)]
    return Case(d.op, [d.values(d.dtype(), shape), i32(d.int(0, shape[-1] - 1))], {"reverse": d.chance(2)})


def _histogram(d: Draw) -> Case:
    dtype = d.dtype()
    low = int(d.rng.integers(-3, 4))
    ends = np.asarray([low, low + d.int(1, 8) - d.chance(20) * 8]).astype(dtype)
    attrs = {"dtype": d.pick("int32", "int64")}
    return Case(d.op, [d.values(dtype, d.shape(0, 3)), ends, i32(d.int(1, 9) - d.chance(20) * 9)], attrs)


def _inplace(d: Draw) -> Case:
    dtype, shape = d.dtype(), d.shape(1, 3, zero=0)
    count = d.int(1, 4)
    rows = d.rng.integers(-shape[0], 2 * shape[0], count + d.chance(20))
    if d.op == "InplaceUpdate":
        rows = np.unique(rows % shape[0])  # of two updates of a row TensorFlow takes either
        count = len(rows)
    return Case(d.op, [d.values(dtype, shape), i32(rows), d.values(dtype, [count, *shape[1:]])])


def _copied(d: Draw) -> Case:
    return Case(d.op, [d.values(d.dtype(), d.shape(0, 3))])


def _ngrams(d: Draw) -> Case:
    count, kind = d.int(1, 6), d.pick(i32, i64)
    inner = sorted(d.rng.integers(0, count + 1, d.int(0, 3)).tolist())
    attrs = {
        "separator": d.pick("", " ", "|"), "ngram_widths": [d.int(1, 4) for _ in range(d.int(1, 2))],
        "left_pad": d.pick("", "<"), "right_pad": d.pick("", ">"), "pad_width": d.int(-1, 3),
        "preserve_short_sequences": d.chance(2),
    }  # fmt: skip
    return Case(
        d.op, [d.values(object, [count]), kind([int(d.chance(20)), *inner, count + d.chance(20)])], attrs
    )


def _texts(d: Draw) -> Case:
    shape = d.shape(1, 3, zero=0)
    count, kind = d.int(1, 4), d.pick(i32, i64)
    ids = d.rng.integers(-int(d.chance(10)), count, shape[: d.int(1, len(shape))])
    return Case(d.op, [d.values(object, shape), kind(ids), kind(count)], {"separator": d.pick("", "-")})


def _fractional(d: Draw) -> Case:
    """Whole ratios: TensorFlow draws other windows else."""
    dtype = d.dtype()
    counts, factors = [d.int(1, 4), d.int(1, 4)], [d.int(1, 3), d.int(1, 3)]
    shape = [
        d.int(1, 2),
        *(count * factor for count, factor in zip(counts, factors, strict=True)),
        d.int(1, 3),
    ]
    ratios = [1.0, *map(float, factors), 1.0]
    attrs: dict[str, Any] = {"overlapping": d.chance(2)}
    values = d.rng.permutation(int(np.prod(shape))).reshape(shape).astype(dtype)
    if not d.op.endswith("Grad"):
        return Case(d.op, [values], {**attrs, "pooling_ratio": ratios, "pseudo_random": d.chance(2)})
    edges = [i64(np.arange(count + 1) * factor) for count, factor in zip(counts, factors, strict=True)]
    grads = d.values(dtype, [shape[0], *counts, shape[3]])
    if d.op == "FractionalAvgPoolGrad":
        return Case(d.op, [i64(shape), grads, *edges], attrs)
    pooled = np.zeros(grads.shape, dtype)
    for i, j in np.ndindex(*counts):
        rows, columns = (
            slice(edge[k], edge[k + 1] + attrs["overlapping"]) for edge, k in zip(edges, (i, j), strict=True)
        )
        pooled[:, i, j] = values[:, rows, columns].max(axis=(1, 2))
    return Case(d.op, [values, pooled, grads, *edges], attrs)


def _crossed(d: Draw) -> Case:
    rows = d.int(1, 3)
    sparse = [d.sparse([rows, d.int(1, 3)], d.pick(np.int64, object), 0.7) for _ in range(d.int(0, 2))]
    dense = [
        d.values(d.pick(np.int64, object), [rows, d.int(1, 2)]) for _ in range(d.int(0 if sparse else 1, 2))
    ]
    attrs: dict[str, Any] = {"num_buckets": 0, "hash_key": d.int(1, 1 << 40), "hashed_output": d.chance(2)}
    kind = "int64" if attrs["hashed_output"] else "string"
    if attrs["hashed_output"]:
        attrs["num_buckets"] = d.pick(0, 1, 1000)
    whole = any(one.dtype.kind == "i" for one in [*(one[1] for one in sparse), *dense])
    attrs |= {"out_type": kind, "internal_type": "int64" if whole else "string"}
    return Case(d.op, [[one[k] for one in sparse] for k in range(3)] + [dense], attrs)


def _transcoded(d: Draw) -> Case:
    texts = d.values(object, d.shape(0, 2))
    flat = texts.reshape(-1)
    for index in range(flat.size):
        if d.chance(2):
            flat[index] = bytes(d.rng.integers(0, 128 if d.chance(2) else 256, d.int(0, 6), dtype=np.uint8))
    attrs = {
        "input_encoding": d.pick("UTF-8", "UTF-8", "ISO-8859-1"),
        "output_encoding": d.pick("UTF-8", "UTF-16-BE", "UTF-32-BE"),
        "errors": d.pick("replace", "ignore", "strict"),
        "replacement_char": d.pick(65533, 32),
        "replace_control_characters": d.chance(2),
    }
    return Case(d.op, [texts], attrs)


CASES_OF: dict[str, Callable[[Draw], Case]] = {
    "Einsum": _einsum,
    **dict.fromkeys(("Lu", "MatrixSquareRoot", "MatrixLogarithm"), _matrices),
    "MatrixSolveLs": _least_squares,
    **dict.fromkeys(("TridiagonalSolve", "TridiagonalMatMul"), _tridiagonal),
    "CumulativeLogsumexp": _running,
    "NextAfter": _next,
    "PopulationCount": _bits,
    "Bucketize": _buckets,
    "DeepCopy": _copied,
    "HistogramFixedWidth": _histogram,
    **dict.fromkeys(("InplaceAdd", "InplaceSub", "InplaceUpdate"), _inplace),
    "NthElement": _nth,
    "StringNGrams": _ngrams,
    "UnsortedSegmentJoin": _texts,
    "SparseCross": _crossed,
    "UnicodeTranscode": _transcoded,
    **{f"Fractional{how}Pool{end}": _fractional for how in ("Max", "Avg") for end in ("", "Grad")},
}
"""Op type to what makes its cases."""
