"""Random inputs for ops of arithmetic: elementwise ones, reductions, rearrangements, matrices and layers of nets.

Functions are as in `random_cases`. Ops whose inputs are alike share one that reads their signature.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpuplace.dtypes import as_dtype
from gpuplace.graph.op_def import op_registry
from tests.ops.cases import Case, i32
from tests.oracle.random_cases import NUMBERS, Draw

DOMAINS: dict[str, tuple[float, float]] = {
    **dict.fromkeys(("Acos", "Asin", "Atanh"), (-0.95, 0.95)),
    "Acosh": (1.1, 4),
    **dict.fromkeys(("Log", "Log1p", "Sqrt", "Rsqrt", "RsqrtGrad", "SqrtGrad"), (0.1, 4)),
    **dict.fromkeys(("Digamma", "Lgamma"), (0.2, 6)),
    **dict.fromkeys(("Inv", "Reciprocal", "InvGrad", "ReciprocalGrad", "Pow"), (0.3, 3)),
    "Tan": (-1.2, 1.2),
    **dict.fromkeys(("Igamma", "Igammac", "Polygamma", "RandomGammaGrad"), (0.3, 5)),
    "Zeta": (1.3, 5),
    "Betainc": (0.05, 0.95),
}
"""The values that an op is given where others get those of -3 to 3."""

COMPLEX = ("complex64", "complex128")


def _values(d: Draw, dtype: Any, shape: Any) -> np.ndarray:
    values = d.values(dtype, shape, *DOMAINS.get(d.op, (-3, 3)))
    if "Div" in d.op or d.op in ("Mod", "FloorMod", "TruncateMod", "Reciprocal", "Inv"):
        kind = np.asarray(values).dtype
        if kind.kind in "iu" and not d.chance(10):
            values = np.where(values == 0, np.ones_like(values), values)
    if d.op in ("LeftShift", "RightShift"):
        values = (np.abs(values.astype(np.int64)) % (8 * values.dtype.itemsize)).astype(values.dtype)
    return values


SPECIAL = frozenset(
    {"IsFinite", "IsInf", "IsNan", "Abs", "Neg", "Relu", "Relu6", "Elu", "Exp", "Tanh", "Floor", "Ceil"}
)


def _one(d: Draw) -> Case:
    """One tensor, whatever its shape."""
    exact = ("int8", "int16", "int32", "int64") if d.op == "Round" else ()  # 2.21 makes zeros of integers
    x = _values(d, d.dtype(no=exact), d.shape(0, 4))
    if x.dtype.kind == "f" and d.op in SPECIAL and x.size and d.chance(3):
        x.reshape(-1)[0] = d.pick(np.inf, -np.inf, np.nan, -0.0)
    attrs: dict[str, Any] = {}
    if d.op == "LeakyRelu":
        attrs["alpha"] = d.pick(0.2, 0.0, 1.5)
    if d.op in ("Shape", "Size", "ShapeN"):
        attrs["out_type"] = d.pick("int32", "int64")
    if d.op in ("CheckNumerics", "PreventGradient"):
        attrs["message"] = "here"
    return Case(d.op, [x], attrs)


def _real_part(d: Draw) -> Case:
    dtype = np.dtype(COMPLEX[d.index % 2])
    return Case(d.op, [d.values(dtype, d.shape(0, 3))], {"Tout": ("float32", "float64")[d.index % 2]})


def _complex(d: Draw) -> Case:
    dtype = ("float32", "float64")[d.index % 2]
    one, other = _broadcast(d)
    return Case(d.op, [d.values(dtype, one), d.values(dtype, other)], {"Tout": COMPLEX[d.index % 2]})


def _alike(d: Draw) -> Case:
    """All inputs of one type and shape."""
    shape, dtype = [*d.shape(0, 3), *([3] if d.op == "Cross" else [])], d.dtype()
    number = len(op_registry().lookup(d.op).inputs)
    inputs = [_values(d, dtype, shape) for _ in range(number)]
    if d.op in ("TanhGrad", "SigmoidGrad"):
        inputs[0] = d.values(dtype, shape, 0.05, 0.95)
    attrs: dict[str, Any] = {"alpha": d.pick(0.2, 0.0, 0.9)} if d.op == "LeakyReluGrad" else {}
    if d.op == "ApproximateEqual":
        attrs["tolerance"] = d.pick(1e-5, 1.0)
    if d.op == "Betainc":
        inputs = [*[d.values(dtype, shape, 0.3, 5) for _ in range(2)], inputs[2]]
    return Case(d.op, inputs, attrs)


def _broadcast(d: Draw) -> tuple[list[int], list[int]]:
    """Two shapes that broadcast, mostly."""
    shape = d.shape(0, 4)
    one, other = ([1 if d.chance(4) else size for size in shape] for _ in range(2))
    cut = d.int(0, len(shape)) if d.chance(3) else 0
    other = other[cut:]
    if d.chance(14):
        other = [*other, 7]
    return (one, other) if d.chance(2) else (other, one)


def _two(d: Draw) -> Case:
    """Two tensors that broadcast."""
    if d.op in ("LogicalAnd", "LogicalOr"):
        dtype: Any = np.dtype(bool)
    else:
        real = ("float16", "bfloat16", "float32", "float64")  # 2.21 truncates these too
        dtype = d.dtype(no=real if d.op == "TruncateDiv" else ("object",) if d.chance(2) else ())
    one, other = _broadcast(d)
    inputs = [_values(d, dtype, one), _values(d, dtype, other)]
    if d.op == "Pow" and dtype.kind in "iu":
        inputs = [np.abs(inputs[0]) % 4, np.abs(inputs[1]) % 4]
    if d.op == "Zeta":
        inputs[1] = d.values(dtype, other, 0.3, 4)
    if d.op == "Polygamma":
        inputs[0] = d.rng.integers(0, 4, one).astype(dtype)
    return Case(d.op, inputs)


def _reduce(d: Draw) -> Case:
    shape = d.shape(0, 4)
    rank = max(len(shape), 1)
    axes: Any = d.pick([], [0], [-1], list(range(len(shape))), [len(shape) - 1, 0], [len(shape)], 0)
    if d.op == "ReduceJoin":
        return Case(
            d.op,
            [d.values(object, shape), i32(axes)],
            {"keep_dims": d.chance(2), "separator": d.pick("", "+")},
        )
    dtype = np.dtype(bool) if d.op in ("All", "Any") else d.dtype()
    values = d.values(dtype, shape, *(-1.5, 1.5) if d.op == "Prod" else (-3, 3))
    return Case(d.op, [values, i32(axes if rank else [])], {"keep_dims": d.chance(2)})


def _arg(d: Draw) -> Case:
    shape = d.shape(1, 4, 4, 20)
    axis = d.int(-len(shape), len(shape) - 1 + d.chance(10))
    x = d.rng.permutation(int(np.prod(shape)) * 3)[: int(np.prod(shape))].reshape(shape)
    return Case(
        d.op,
        [x.astype(d.dtype()), np.asarray(axis, d.pick(np.int32, np.int64))],
        {"output_type": d.pick("int32", "int64")},
    )


def _scan(d: Draw) -> Case:
    shape = d.shape(1, 4)
    axis = np.asarray(d.int(-len(shape), len(shape) - 1 + d.chance(10)), d.pick(np.int32, np.int64))
    values = d.values(d.dtype(), shape, *(0.4, 1.6) if d.op == "Cumprod" else (-3, 3))
    return Case(d.op, [values, axis], {"exclusive": d.chance(2), "reverse": d.chance(2)})


def _segment(d: Draw) -> Case:
    rows, shape = d.int(0 if d.chance(8) else 1, 6), d.shape(0, 2, 4, 0)
    data = d.values(d.dtype(), [rows, *shape], *(0.5, 2) if d.op.endswith("Prod") else (-3, 3))
    kind = d.pick(np.int32, np.int64)
    if d.op.startswith("Unsorted"):
        ids = d.rng.integers(-1 if d.chance(4) else 0, 4 + d.chance(12), rows).astype(kind)
        return Case(d.op, [data, ids, np.asarray(4, d.pick(np.int32, np.int64))])
    ids = np.sort(d.rng.integers(0, 4, rows)).astype(kind)
    return Case(d.op, [data, ids if not d.chance(14) else ids[::-1].copy()])


# Shapes and places


def _axis(d: Draw, shape: list[int]) -> int:
    return d.int(-len(shape), len(shape) - 1) if not d.chance(16) else len(shape) + 1


def _any(d: Draw, low: int = 0, high: int = 4, attr: str = "T") -> np.ndarray:
    return d.values(d.dtype(attr), d.shape(low, high))


def _bincount(d: Draw) -> Case:
    numbers, dtype = d.rng.integers(0, 6, d.shape(1, 1, 8)).astype(np.int32), d.dtype()
    weights = d.values(dtype, numbers.shape) if d.chance(2) else d.values(dtype, [0])
    return Case(d.op, [numbers, i32(d.int(0, 8)), weights])


def _unravel(d: Draw) -> Case:
    dims, kind = d.shape(1, 4, 4, 20), d.pick(np.int32, np.int64)
    places = d.rng.integers(
        0, max(1, int(np.prod(dims))) + d.chance(10), d.shape(0, 1, 5, 0)
    )  # 2.21 refuses none
    return Case(d.op, [np.asarray(places, kind), np.asarray(dims, kind)])


def _bitcast(d: Draw) -> Case:
    numbers = ("int8", "uint8", "int16", "int32", "float32", "int64", "float64", "complex64", "float16")
    dtype, to = np.dtype(d.pick(*numbers)), d.pick(*numbers)
    ratio = np.dtype(to).itemsize // dtype.itemsize
    shape = [*d.shape(0, 3), *([ratio + d.chance(10)] if ratio > 1 else [])]
    x = d.rng.integers(0, 100, [*shape, dtype.itemsize]).astype(np.uint8).view(dtype).reshape(shape)
    return Case(d.op, [x], {"type": to})


def _sizes(d: Draw) -> Case:
    one, other = _broadcast(d)
    kind = d.pick(np.int32, np.int64)
    return Case(d.op, [np.asarray(one, kind), np.asarray(other, kind)])


def _broadcast_to(d: Draw) -> Case:
    shape = d.shape(0, 3)
    given = [1 if d.chance(3) else size for size in shape][d.pick(0, 0, 1) :]
    kind = d.pick(np.int32, np.int64)
    return Case(d.op, [d.values(d.dtype(), given), np.asarray(shape if not d.chance(12) else [5, 3], kind)])


def _cast(d: Draw) -> Case:
    names = sorted(NUMBERS - {"string"})
    source, to = names[d.index % len(names)], d.pick(*names)
    kind = as_dtype(source).numpy_dtype
    wide = not as_dtype(to).is_unsigned  # a negative number has no such value, and what comes is open
    return Case(
        d.op, [d.values(kind, d.shape(0, 3), -3 if wide else 0)], {"DstT": to, "Truncate": d.chance(6)}
    )


def _clip(d: Draw) -> Case:
    shape, dtype = d.shape(0, 3), d.dtype(no=COMPLEX)
    bounds = [d.values(dtype, d.pick([], [], shape), *ends) for ends in ((-2, -0.1), (0.1, 2))]
    return Case(d.op, [d.values(dtype, shape), *bounds])


def _concat(d: Draw) -> Case:
    shape, dtype = d.shape(1, 4), d.dtype()
    axis = d.int(-len(shape) if d.op == "ConcatV2" else 0, len(shape) - 1)
    parts = []
    for _ in range(d.int(2, 4)):
        sizes = list(shape)
        sizes[axis] = d.int(0, 3)
        if d.chance(24):
            sizes = [*sizes, 1]
        parts.append(d.values(dtype, sizes))
    if d.op == "Concat":
        return Case(d.op, [i32(axis), parts])
    return Case(d.op, [parts, np.asarray(axis, d.pick(np.int32, np.int64))])


def _concat_offset(d: Draw) -> Case:
    shape = d.shape(1, 4)
    axis = d.int(0, len(shape) - 1)
    shapes = []
    for _ in range(d.int(2, 4)):
        sizes = list(shape)
        sizes[axis] = d.int(0, 3)
        shapes.append(i32(sizes))
    return Case(d.op, [i32(axis), shapes])


def _diag(d: Draw) -> Case:
    shape = d.shape(1, 2, 3)
    if d.op == "DiagPart":
        shape = shape * 2
        if d.chance(10):
            shape[0] += 1
    return Case(d.op, [d.values(d.dtype(), shape)])


def _matrices(d: Draw) -> Case:
    """Ops that take matrices' diagonals and bands."""
    batch, rows, columns = d.shape(0, 2, 3), d.int(1, 4), d.int(1, 4)
    dtype = d.dtype()
    matrices = d.values(dtype, [*batch, rows, columns])
    if d.op == "MatrixDiag":
        return Case(d.op, [d.values(dtype, [*batch, columns])])
    if d.op == "MatrixSetDiag":
        return Case(d.op, [matrices, d.values(dtype, [*batch, min(rows, columns) + d.chance(12)])])
    if d.op == "MatrixBandPart":
        kind = d.pick(np.int32, np.int64)
        return Case(
            d.op, [matrices, *[np.asarray(d.int(-1, size), kind) for size in (rows - 1, columns - 1)]]
        )
    return Case(d.op, [matrices])


def _dynamic_partition(d: Draw) -> Case:
    outer = d.shape(0, 2)
    partitions = d.rng.integers(0, 3 + d.chance(12), outer).astype(np.int32)
    return Case(d.op, [d.values(d.dtype(), [*outer, *d.shape(0, 2)]), partitions], {"num_partitions": 3})


def _stitch(d: Draw) -> Case:
    dtype, rest = d.dtype(), d.shape(0, 2, 3, 0)
    places = d.rng.permutation(6)
    parts = np.split(places, sorted(d.rng.integers(0, 7, d.int(0, 2))))
    indices = [part.astype(np.int32) for part in parts]
    return Case(d.op, [indices, [d.values(dtype, [len(part), *rest]) for part in indices]])


def _expand(d: Draw) -> Case:
    x = _any(d)
    axis = d.int(-x.ndim - 1, x.ndim + d.chance(10))
    return Case(d.op, [x, np.asarray(axis, d.pick(np.int32, np.int64))])


def _fill(d: Draw) -> Case:
    shape = np.asarray(d.shape(0, 4) if not d.chance(12) else [-1], d.pick(np.int32, np.int64))
    return Case(d.op, [shape, d.values(d.dtype(), [] if not d.chance(12) else [1])])


def _gather(d: Draw) -> Case:
    shape = d.shape(1, 4, 4, 0)
    axis = d.int(-len(shape), len(shape) - 1) if d.op == "GatherV2" else 0
    kind = d.pick(np.int32, np.int64)
    indices = d.rng.integers(0, shape[axis] + d.chance(12), d.shape(0, 3, 3)).astype(kind)
    params = d.values(d.dtype("Tparams"), shape)
    if d.op == "Gather":
        return Case(d.op, [params, indices], {"validate_indices": True})
    return Case(d.op, [params, indices, np.asarray(axis, d.pick(np.int32, np.int64))])


def _gather_nd(d: Draw) -> Case:
    shape = d.shape(1, 4, 4, 0)
    depth, outer = d.int(1, len(shape)), d.shape(0, 2, 3)
    indices = [d.rng.integers(0, shape[axis] + d.chance(20), outer) for axis in range(depth)]
    kind = d.pick(np.int32, np.int64)
    return Case(d.op, [d.values(d.dtype("Tparams"), shape), np.stack(indices, -1).astype(kind)])


def _invert_permutation(d: Draw) -> Case:
    order = d.rng.permutation(d.int(0, 6)).astype(d.pick(np.int32, np.int64))
    if len(order) > 1 and d.chance(8):
        order[0] = order[1]
    return Case(d.op, [order])


def _linspace(d: Draw) -> Case:
    dtype = d.dtype()
    return Case(
        d.op,
        [d.values(dtype, []), d.values(dtype, []), np.asarray(d.int(0 if d.chance(8) else 1, 6), np.int32)],
    )


def _list_diff(d: Draw) -> Case:
    dtype = d.dtype()
    parts = [d.values(dtype, [d.int(0, 8)], -1, 1) for _ in range(2)]
    return Case(
        d.op,
        [part.round() + part.dtype.type(0) if part.dtype.kind == "f" else part for part in parts],
        {"out_idx": d.pick("int32", "int64")},
    )


def _bounds(d: Draw) -> Case:
    rows, dtype = d.int(1, 3), d.dtype()
    ordered = np.sort(d.values(dtype, [rows, d.int(0, 5)]), axis=-1)
    return Case(d.op, [ordered, d.values(dtype, [rows, d.int(0, 4)])], {"out_type": d.pick("int32", "int64")})


def _one_hot(d: Draw) -> Case:
    dtype, shape = d.dtype(), d.shape(0, 3)
    indices = d.rng.integers(-1, 5, shape).astype(d.pick(np.int32, np.int64, np.uint8))
    values = [d.values(dtype, []) for _ in range(2)]
    return Case(d.op, [indices, i32(d.int(0, 4)), *values], {"axis": d.int(-1, len(shape))})


def _pack(d: Draw) -> Case:
    shape, dtype = d.shape(0, 3), d.dtype()
    parts = [d.values(dtype, shape if not d.chance(24) else [*shape, 2]) for _ in range(d.int(1, 4))]
    return Case(d.op, [parts], {"axis": d.int(-len(shape) - 1, len(shape))})


def _unpack(d: Draw) -> Case:
    shape = d.shape(1, 4, 4, 0)
    axis = d.int(-len(shape), len(shape) - 1)
    return Case(d.op, [d.values(d.dtype(), shape)], {"axis": axis, "num": shape[axis] + d.chance(12)})


def _pad(d: Draw) -> Case:
    shape, kind = d.shape(0, 4, 4, 0 if "Mirror" in d.op else 12), d.pick(np.int32, np.int64)
    mode = d.pick("REFLECT", "SYMMETRIC")
    most = [size - (mode == "REFLECT") if "Mirror" in d.op else 3 for size in shape]
    paddings = np.array([[d.int(0, far), d.int(0, far)] for far in most], kind).reshape(-1, 2)
    x = d.values(d.dtype(), shape)
    if d.op == "MirrorPadGrad":
        grown = [size + int(pair.sum()) for size, pair in zip(shape, paddings, strict=True)]
        return Case(d.op, [d.values(x.dtype, grown), paddings], {"mode": mode})
    if d.op == "MirrorPad":
        return Case(d.op, [x, paddings], {"mode": mode})
    if d.chance(14):
        paddings = paddings - 1
    return Case(d.op, [x, paddings, *([d.values(x.dtype, [])] if d.op == "PadV2" else [])])


def _parallel_concat(d: Draw) -> Case:
    shape, number, dtype = d.shape(0, 2, 3, 0), d.int(1, 3), d.dtype()
    return Case(d.op, [[d.values(dtype, [1, *shape]) for _ in range(number)]], {"shape": [number, *shape]})


def _range(d: Draw) -> Case:
    dtype = d.dtype("Tidx")
    delta = (
        d.values(dtype, [], 0.3, 2)
        if dtype.kind == "f"
        else np.asarray(d.int(0 if d.chance(8) else 1, 3), dtype)
    )
    ends = [np.asarray(value, dtype) for value in sorted((d.int(-5, 5), d.int(-5, 9)))]
    if d.chance(3):
        return Case(d.op, [*ends[::-1], np.asarray(-delta, dtype)])
    return Case(d.op, [*ends, delta])


def _reshape(d: Draw) -> Case:
    x = _any(d, 0, 4)
    sizes = d.pick([-1], [1, -1], [x.size], [*x.shape[::-1]], [2, -1], [-1, -1])
    return Case(d.op, [x, np.asarray(sizes, d.pick(np.int32, np.int64))])


def _ensure_shape(d: Draw) -> Case:
    x = _any(d)
    return Case(d.op, [x], {"shape": [size + d.chance(20) if d.chance(2) else None for size in x.shape]})


def _reverse_sequence(d: Draw) -> Case:
    shape = d.shape(2, 4, 4, 0)
    seq, batch = d.rng.permutation(len(shape))[:2].tolist()
    lengths = d.rng.integers(0, shape[seq] + 1 + d.chance(10), shape[batch])
    return Case(
        d.op,
        [d.values(d.dtype(), shape), lengths.astype(d.pick(np.int32, np.int64))],
        {"seq_dim": seq, "batch_dim": batch},
    )


def _reverse(d: Draw) -> Case:
    shape = d.shape(0, 4)
    axes = d.rng.permutation(len(shape))[: d.int(0, len(shape))]
    axes = np.where(d.rng.integers(0, 2, axes.shape) > 0, axes - len(shape), axes)
    if len(axes) and d.chance(10):
        axes[0] = len(shape)
    return Case(d.op, [d.values(d.dtype(), shape), axes.astype(d.pick(np.int32, np.int64))])


def _roll(d: Draw) -> Case:
    shape = d.shape(1, 4)
    number = d.int(1, 3)
    axes = d.rng.integers(-len(shape) if d.chance(4) else 0, len(shape), number)
    kinds = [d.pick(np.int32, np.int64) for _ in range(2)]
    shifts = d.rng.integers(-5, 6, number)
    return Case(d.op, [d.values(d.dtype(), shape), shifts.astype(kinds[0]), axes.astype(kinds[1])])


def _select(d: Draw) -> Case:
    shape, dtype = d.shape(0, 4), d.dtype()
    if d.op == "SelectV2":
        shapes = [[1 if d.chance(4) else size for size in shape][d.pick(0, 0, 1) :] for _ in range(3)]
    else:
        condition = d.pick(shape, shape, shape[:1], [])
        shapes = [condition, shape, shape]
    return Case(d.op, [d.values(bool, shapes[0]), d.values(dtype, shapes[1]), d.values(dtype, shapes[2])])


def _slice(d: Draw) -> Case:
    shape, kind = d.shape(0, 4), d.pick(np.int32, np.int64)
    begin = [d.int(0, size) for size in shape]
    size = [
        -1 if d.chance(4) else d.int(0, most - start + d.chance(20))
        for most, start in zip(shape, begin, strict=True)
    ]
    return Case(d.op, [d.values(d.dtype(), shape), np.asarray(begin, kind), np.asarray(size, kind)])


def _strided(d: Draw) -> Case:
    """``StridedSlice`` and its gradient, with masks of all kinds."""
    shape, dtype, kind = d.shape(0, 4, 5, 0), d.dtype(), d.pick(np.int32, np.int64)
    begin, end, strides = [], [], []
    masks = dict.fromkeys("begin_mask end_mask ellipsis_mask new_axis_mask shrink_axis_mask".split(), 0)
    index: list[Any] = []
    rank = d.int(0, len(shape))
    hole = d.int(0, rank) if d.chance(3) else None
    position = axis = 0
    skipped = len(shape) - rank
    while axis < rank or hole == axis:
        bit = 1 << position
        position += 1
        begin.append(0)
        end.append(0)
        strides.append(1)
        if hole == axis:
            masks["ellipsis_mask"] |= bit
            index.append(Ellipsis)
            hole, rank, axis = None, rank + skipped, axis + skipped
            continue
        if d.chance(6):
            masks["new_axis_mask"] |= bit
            index.append(None)
            continue
        size = shape[axis]
        axis += 1
        if d.chance(5):
            masks["shrink_axis_mask"] |= bit
            begin[-1] = d.int(-size, size - 1 + d.chance(20))
            end[-1] = begin[-1] + 1
            index.append(begin[-1])
            continue
        step = d.pick(1, 1, 2, -1, -2)
        begin[-1], end[-1], strides[-1] = d.int(-size - 1, size + 1), d.int(-size - 1, size + 1), step
        ends = []
        for mask, value in (("begin_mask", begin[-1]), ("end_mask", end[-1])):
            masks[mask] |= bit if d.chance(4) else 0
            ends.append(None if masks[mask] & bit else value)
        index.append(slice(*ends, step))
    x = d.values(dtype, shape)
    spec = [np.asarray(one, kind) for one in (begin, end, strides)]
    if d.op == "StridedSlice":
        return Case(d.op, [x, *spec], masks)
    try:
        taken = x[tuple(index)]
    except IndexError:
        taken = x[:0] if x.ndim else x
    return Case(d.op, [np.asarray(shape, kind), *spec, d.values(dtype, taken.shape)], masks)


def _split(d: Draw) -> Case:
    shape, number = d.shape(1, 4), d.int(1, 3)
    axis = d.int(-len(shape), len(shape) - 1)
    shape[axis] = d.int(0, 3) * number + d.chance(12)
    if d.op == "Split":
        return Case(d.op, [i32(axis), d.values(d.dtype(), shape)], {"num_split": number})
    sizes = d.rng.integers(0, 3, number)
    shape[axis] = int(sizes.sum())
    if d.chance(2):
        sizes[0] = -1
    kind = d.pick(np.int32, np.int64)
    return Case(d.op, [d.values(d.dtype(), shape), sizes.astype(kind), i32(axis)], {"num_split": number})


def _squeeze(d: Draw) -> Case:
    shape = [1 if d.chance(2) else size for size in d.shape(0, 4)]
    ones = [axis for axis, size in enumerate(shape) if size == 1]
    dims = d.pick([], ones[:1], [axis - len(shape) for axis in ones], ones if not d.chance(8) else [5])
    return Case(d.op, [d.values(d.dtype(), shape)], {"squeeze_dims": dims})


def _tile(d: Draw) -> Case:
    shape = d.shape(0, 4, 3)
    kind = d.pick(np.int32, np.int64)
    return Case(
        d.op,
        [d.values(d.dtype(), shape), d.rng.integers(0 if d.chance(6) else 1, 4, len(shape)).astype(kind)],
    )


def _top_k(d: Draw) -> Case:
    shape = d.shape(1, 3, 5, 0)
    x = d.rng.permutation(int(np.prod(shape))).reshape(shape).astype(d.dtype())
    k = d.int(0, shape[-1] + d.chance(10))
    if d.op == "TopK":
        return Case(d.op, [x], {"k": k, "sorted": True})
    return Case(d.op, [x, i32(k)], {"sorted": True})


def _transpose(d: Draw) -> Case:
    shape = d.shape(0, 5)
    order = d.rng.permutation(len(shape))
    if len(order) > 1 and d.chance(12):
        order[0] = order[1]
    kind = d.pick(np.int32, np.int64)
    return Case(d.op, [d.values(d.dtype(), shape), order.astype(kind)])


def _unique(d: Draw) -> Case:
    dtype = d.dtype()
    x = d.values(dtype, [d.int(0, 9)], -1, 1)
    x = (x.astype(np.float32).round() + 0.0).astype(dtype) if as_dtype(dtype).is_floating else x
    return Case(d.op, [x], {"out_idx": d.pick("int32", "int64")})


def _where(d: Draw) -> Case:
    x = d.values(d.dtype(no=("float16", "object")), d.shape(1, 4), -0.5, 0.5)
    return Case(d.op, [x.round() if x.dtype.kind in "fc" else x])


def _many(d: Draw) -> Case:
    """A list of tensors alike."""
    dtype = d.pick(np.float32, np.float64, np.int32) if d.op == "AccumulateNV2" else d.dtype()
    shape = d.shape(0, 3)
    values = [d.values(dtype, shape if not d.chance(30) else [*shape, 2]) for _ in range(d.int(1, 4))]
    return Case(d.op, [values], {"shape": shape} if d.op == "AccumulateNV2" else {})


def _identities(d: Draw) -> Case:
    parts = [d.values(d.pick(np.float32, np.int32, np.float64), d.shape(0, 3)) for _ in range(d.int(1, 3))]
    return Case(d.op, [parts], {} if d.op == "IdentityN" else {"out_type": d.pick("int32", "int64")})


def _shape_n(d: Draw) -> Case:
    dtype = d.dtype()
    return Case(
        d.op,
        [[d.values(dtype, d.shape(0, 3)) for _ in range(d.int(1, 3))]],
        {"out_type": d.pick("int32", "int64")},
    )


def _scatter_nd(d: Draw) -> Case:
    shape = d.shape(1, 4, 4, 0)
    depth, outer = d.int(1, len(shape)), d.shape(0, 2, 3)
    kind, dtype = d.pick(np.int32, np.int64), d.dtype()
    indices = np.stack([d.rng.integers(0, shape[axis] + d.chance(24), outer) for axis in range(depth)], -1)
    if d.op.endswith("Update"):
        indices, outer = indices.reshape(-1, depth)[:1], [min(1, int(np.prod(outer)))]
    outer = outer if indices.ndim > 1 else [1]
    updates = d.values(dtype, [*outer, *shape[depth:]])
    indices = indices.reshape(*outer, depth)
    if d.op == "ScatterNd":
        return Case(d.op, [indices.astype(kind), updates, np.asarray(shape, kind)])
    return Case(d.op, [d.values(dtype, shape), indices.astype(kind), updates])


# Matrices


def _products(d: Draw) -> Case:
    batch = d.shape(0, 2, 3) if d.op.startswith("Batch") else []
    rows, inner, columns = (d.int(0 if d.chance(10) else 1, 5) for _ in range(3))
    one, other = d.chance(2), d.chance(2)
    dtype = d.dtype(no=("bool", "object")) if d.op != "SparseMatMul" else None
    kinds = [np.dtype(np.float32)] * 2 if dtype is None else [dtype, dtype]  # 2.21's gradient mixes types
    more = d.chance(14)
    theirs = [1 if size > 1 and d.op == "BatchMatMulV2" and d.chance(3) else size for size in batch]
    left = d.values(kinds[0], [*batch, *([inner, rows] if one else [rows, inner])])
    right = d.values(kinds[1], [*theirs, *([columns, inner + more] if other else [inner + more, columns])])
    names = ("adj_x", "adj_y") if d.op.startswith("Batch") else ("transpose_a", "transpose_b")
    return Case(d.op, [left, right], dict(zip(names, (one, other), strict=True)))


def _regular(d: Draw, dtype: Any, batch: list[int], size: int) -> np.ndarray:
    """Matrices that have an inverse by a wide margin."""
    return (d.values(dtype, [*batch, size, size], -1, 1) + np.eye(size) * 3).astype(dtype)


def _linear(d: Draw) -> Case:
    batch, size, dtype = d.shape(0, 2, 3), d.int(1, 5), d.dtype(no=("float16", "bfloat16"))
    matrices = _regular(d, dtype, batch, size)
    if d.op == "Cholesky":
        turned = np.conj(np.swapaxes(matrices, -1, -2))
        wrong = dtype.kind == "f" and d.chance(10)
        matrices = (-matrices @ turned if wrong else matrices @ turned).astype(dtype)
        return Case(d.op, [matrices])
    if d.op in ("MatrixDeterminant", "LogMatrixDeterminant"):
        return Case(d.op, [matrices])
    if d.op == "MatrixInverse":
        if d.chance(10):
            matrices = np.zeros_like(matrices)
        return Case(d.op, [matrices], {"adjoint": d.chance(2)})
    right = d.values(dtype, [*batch, size + d.chance(14), d.int(1, 3)])
    attrs: dict[str, Any] = {"adjoint": d.chance(2)}
    if d.op == "MatrixTriangularSolve":
        attrs["lower"] = d.chance(2)
    return Case(d.op, [matrices, right], attrs)


# Nets


def _image_attrs(d: Draw, taps: list[int]) -> tuple[dict[str, Any], list[int], list[int]]:
    strides, padding = [d.int(1, 3) for _ in range(2)], d.pick("SAME", "VALID")
    sizes = [d.int(1, 6) if padding == "SAME" else tap + d.int(0, 4) for tap in taps]
    out = [
        -(-size // step) if padding == "SAME" else (size - tap) // step + 1
        for size, step, tap in zip(sizes, strides, taps, strict=True)
    ]
    return {"strides": [1, *strides, 1], "padding": padding}, sizes, out


def _pool(d: Draw) -> Case:
    taps = [d.int(1, 3) for _ in range(2)]
    attrs, sizes, out = _image_attrs(d, taps)
    attrs["ksize"] = [1, *taps, 1]
    dtype, batch, channels = d.dtype(), d.int(1, 3), d.int(1, 3)
    count = batch * int(np.prod(sizes)) * channels
    x = (d.rng.permutation(count).reshape(batch, *sizes, channels) % 100).astype(dtype)
    made = d.values(dtype, [batch, *out, channels])
    if d.op in ("MaxPool", "AvgPool"):
        return Case(d.op, [x], attrs)
    if d.op == "MaxPoolV2":
        return Case(d.op, [x, i32(attrs.pop("ksize")), i32(attrs.pop("strides"))], attrs)
    if d.op == "MaxPoolWithArgmax":
        return Case(
            d.op, [x], {**attrs, "include_batch_in_index": d.chance(2), "Targmax": d.pick("int32", "int64")}
        )
    if d.op == "AvgPoolGrad":
        return Case(d.op, [i32(x.shape), made], attrs)
    import tensorflow.compat.v1 as v1

    with v1.Graph().as_default(), v1.Session() as session:
        wide = x.astype(np.float32)
        pooled = session.run(v1.nn.max_pool(wide, attrs["ksize"], attrs["strides"], attrs["padding"]))
    grad = made if "GradGrad" not in d.op else d.values(dtype, x.shape)
    if d.op.endswith("V2"):
        return Case(
            d.op, [x, pooled.astype(dtype), grad, i32(attrs.pop("ksize")), i32(attrs.pop("strides"))], attrs
        )
    return Case(d.op, [x, pooled.astype(dtype), grad], attrs)


def _patches(d: Draw) -> Case:
    taps = [d.int(1, 3) for _ in range(2)]
    attrs, sizes, out = _image_attrs(d, taps)
    batch, channels = d.int(1, 2), d.int(1, 3)
    real = ("float32", "float64", "int32", "int64")
    if d.op == "ExtractImagePatches":
        rates = [d.int(1, 2) for _ in range(2)]
        if attrs["padding"] == "VALID":
            sizes = [size + 2 for size in sizes]
        x = d.values(real[d.index % 4], [batch, *sizes, channels])
        return Case(d.op, [x], {**attrs, "ksizes": [1, *taps, 1], "rates": [1, *rates, 1]})
    attrs |= {"ksize": [1, *taps, 1], "include_batch_in_index": d.chance(2)}
    shape = [batch, *sizes, channels]
    x = d.rng.permutation(int(np.prod(shape))).reshape(shape).astype(real[d.index % 4])
    if d.op == "MaxPoolWithArgmax":
        return Case(d.op, [x - 9], {**attrs, "Targmax": "int64"})
    most = x.size if attrs["include_batch_in_index"] else x[0].size
    places = d.rng.integers(0, most, [batch, *out, channels])
    return Case(d.op, [x, d.values(x.dtype, places.shape), places], attrs)


def _bias(d: Draw) -> Case:
    shape, dtype = [*d.shape(1, 3, 4, 0), d.int(1, 4)], d.dtype(no=("bool", "object"))
    format = d.pick("NHWC", "NHWC", "NCHW")
    channels = shape[1 if format == "NCHW" and len(shape) > 2 else -1]
    if format == "NCHW" and len(shape) < 3:
        format, channels = "NHWC", shape[-1]
    attrs = {"data_format": format}
    if d.op == "BiasAddGrad":
        return Case(d.op, [d.values(dtype, shape)], attrs)
    bias = d.values(dtype, [channels + d.chance(14)])
    return Case(d.op, [d.values(dtype, shape), bias], attrs if d.op == "BiasAdd" else {})


def _convolution(d: Draw) -> Case:
    taps = [d.int(1, 3) for _ in range(2)]
    attrs, sizes, out = _image_attrs(d, taps)
    if "Depthwise" in d.op:
        attrs["strides"] = [1, attrs["strides"][1], attrs["strides"][1], 1]
        step = attrs["strides"][1]
        out = [
            -(-size // step) if attrs["padding"] == "SAME" else (size - tap) // step + 1
            for size, tap in zip(sizes, taps, strict=True)
        ]
    dtype = d.dtype(no=("int32", "int64"))
    batch, channels, filters = d.int(1, 3), d.int(1, 3), d.int(1, 3)
    x, filter = d.values(dtype, [batch, *sizes, channels]), d.values(dtype, [*taps, channels, filters])
    grad = d.values(dtype, [batch, *out, channels * filters if "Depthwise" in d.op else filters])
    if d.op.endswith("BackpropInput"):
        return Case(d.op, [i32(x.shape), filter, grad], attrs)
    if d.op.endswith("BackpropFilter"):
        return Case(d.op, [x, i32(filter.shape), grad], attrs)
    return Case(d.op, [x, filter if not d.chance(12) else filter[:, :, :0]], attrs)


def _norm(d: Draw) -> Case:
    shape = [d.int(1, 3), d.int(1, 4), d.int(2, 4), d.int(1, 4)]
    dtype: Any = (
        np.dtype(np.float32)
        if d.op in ("FusedBatchNorm", "FusedBatchNormGrad")
        else d.dtype(no=("bfloat16",))
    )
    format, training = "NHWC", d.chance(2)
    channels = shape[-1]
    attrs = {"epsilon": d.pick(1e-4, 1e-2), "data_format": format, "is_training": training}

    def each(low: float = -2, high: float = 2) -> np.ndarray:
        return d.values(np.float32, [channels], low, high)

    x = d.values(dtype, shape)
    if "Grad" in d.op:
        inputs = [d.values(dtype, shape), x, each(0.5, 2)]
        mean = x.astype(np.float32).mean((0, 1, 2))
        spread = x.astype(np.float32).var((0, 1, 2))
        inputs += [mean, spread]
        if d.op.endswith("V3"):
            inputs.append(each())
        return Case(d.op, inputs, attrs)
    given = [d.values(np.float32, [0])] * 2 if training else [each(), each(0.5, 2)]
    return Case(d.op, [x, each(0.5, 2), each(), *given], attrs)


def _lrn(d: Draw) -> Case:
    shape, dtype = [d.int(1, 3), d.int(1, 3), d.int(1, 3), d.int(1, 6)], d.dtype()
    attrs = {
        "depth_radius": d.int(0, 3),
        "bias": d.pick(1.0, 2.0),
        "alpha": d.pick(0.1, 1.0),
        "beta": d.pick(0.5, 0.75),
    }
    x = d.values(dtype, shape, -1, 1)
    if d.op == "LRN":
        return Case(d.op, [x], attrs)
    squares = np.square(x.astype(np.float64))
    radius = attrs["depth_radius"]
    sums = np.stack(
        [squares[..., max(0, at - radius) : at + radius + 1].sum(-1) for at in range(shape[-1])], -1
    )
    made = x.astype(np.float64) / (attrs["bias"] + attrs["alpha"] * sums) ** attrs["beta"]
    return Case(d.op, [d.values(dtype, shape), x, made.astype(dtype)], attrs)


def _in_top_k(d: Draw) -> Case:
    rows, classes, kind = d.int(0 if d.chance(8) else 1, 4), d.int(1, 5), d.dtype()
    predictions = d.values(np.float32, [rows, classes])
    if d.chance(4) and predictions.size:
        predictions.reshape(-1)[0] = d.pick(np.inf, np.nan)
    targets = d.rng.integers(0, classes + d.chance(8), rows).astype(kind)
    k = d.int(0, classes)
    if d.op == "InTopK":
        return Case(d.op, [predictions, targets], {"k": k})
    return Case(d.op, [predictions, targets, np.asarray(k, kind)])


def _softmax(d: Draw) -> Case:
    return Case(d.op, [d.values(d.dtype(), [*d.shape(0, 3), d.int(1, 5)])])


def _entropy(d: Draw) -> Case:
    rows, classes, dtype = d.int(0 if d.chance(10) else 1, 4), d.int(1, 5), d.dtype("T")
    logits = d.values(dtype, [rows, classes])
    if d.op.startswith("Sparse"):
        return Case(
            d.op, [logits, d.rng.integers(0, classes, rows + d.chance(14)).astype(d.pick(np.int32, np.int64))]
        )
    labels = d.values(dtype, d.pick([rows, classes], [rows, classes], [1, classes]), 0, 1)
    return Case(d.op, [logits, labels])


def _blocks(d: Draw) -> Case:
    block = d.int(2, 3)
    sizes = [d.int(1, 3), d.int(1, 3)]
    channels = d.int(1, 3)
    if d.op == "SpaceToDepth":
        shape = [d.int(1, 2), sizes[0] * block + d.chance(12), sizes[1] * block, channels]
    else:
        shape = [d.int(1, 2), *sizes, channels * block**2 + d.chance(12)]
    return Case(d.op, [d.values(d.dtype(), shape)], {"block_size": block, "data_format": "NHWC"})


def _sparse_dense_add(d: Draw) -> Case:
    shape, dtype, kind = d.shape(1, 4), d.dtype(), d.pick(np.int32, np.int64)
    indices, values, sizes = d.sparse(shape, dtype)
    return Case(d.op, [indices.astype(kind), values, sizes.astype(kind), d.values(dtype, shape)])


def _placeholder_default(d: Draw) -> Case:
    x = d.values(d.pick(np.float32, np.int32, np.float64), d.shape(0, 3))
    return Case(d.op, [x], {"shape": list(x.shape)})


ONE = (
    "Abs Acos Acosh Asin Asinh Atan Atanh Ceil Conj Cos Cosh Digamma Elu Erf Erfc Exp Expm1 Floor Inv Invert IsFinite "
    "IsInf IsNan L2Loss LeakyRelu Lgamma Log Log1p Neg OnesLike Reciprocal Relu Relu6 Rint Round Rsqrt Selu Sigmoid "
    "Sign Sin Sinh Softplus Softsign Sqrt Square Tan Tanh ZerosLike Identity Snapshot StopGradient PreventGradient "
    "GuaranteeConst Shape Size Rank CheckNumerics BesselI0e BesselI1e"
).split()
ALIKE = (
    "EluGrad InvGrad LeakyReluGrad ReciprocalGrad Relu6Grad ReluGrad RsqrtGrad SeluGrad SigmoidGrad SoftplusGrad "
    "SoftsignGrad SqrtGrad TanhGrad Cross ApproximateEqual Betainc"
).split()
TWO = (
    "Add AddV2 Atan2 BitwiseAnd BitwiseOr BitwiseXor Div DivNoNan Equal FloorDiv FloorMod Greater GreaterEqual "
    "LeftShift Less LessEqual LogicalAnd LogicalOr Maximum Minimum Mod Mul MulNoNan NotEqual Pow RealDiv RightShift "
    "SquaredDifference Sub TruncateDiv TruncateMod Xdivy Xlogy Zeta Polygamma Igamma Igammac IgammaGradA"
).split()

CASES_OF: dict[str, Callable[[Draw], Case]] = {
    **dict.fromkeys(ONE, _one),
    "LogicalNot": lambda d: Case(d.op, [d.values(bool, d.shape(0, 4))]),
    **dict.fromkeys(("Real", "Imag", "Angle", "ComplexAbs"), _real_part),
    "Complex": _complex,
    **dict.fromkeys(ALIKE, _alike),
    **dict.fromkeys(TWO, _two),
    **dict.fromkeys("All Any EuclideanNorm Max Mean Min Prod Sum ReduceJoin".split(), _reduce),
    **dict.fromkeys(("ArgMax", "ArgMin"), _arg),
    **dict.fromkeys(("Cumprod", "Cumsum"), _scan),
    **dict.fromkeys(
        (
            *(f"Segment{what}" for what in ("Max", "Mean", "Min", "Prod", "Sum")),
            *(f"UnsortedSegment{what}" for what in ("Max", "Min", "Prod", "Sum")),
        ),
        _segment,
    ),
    "Bincount": _bincount,
    "Bitcast": _bitcast,
    **dict.fromkeys(("BroadcastArgs", "BroadcastGradientArgs"), _sizes),
    "UnravelIndex": _unravel,
    "BroadcastTo": _broadcast_to,
    "Cast": _cast,
    "ClipByValue": _clip,
    **dict.fromkeys(("Concat", "ConcatV2"), _concat),
    "ConcatOffset": _concat_offset,
    **dict.fromkeys(("Diag", "DiagPart"), _diag),
    **dict.fromkeys(("MatrixDiag", "MatrixDiagPart", "MatrixSetDiag", "MatrixBandPart"), _matrices),
    "DynamicPartition": _dynamic_partition,
    **dict.fromkeys(("DynamicStitch", "ParallelDynamicStitch"), _stitch),
    "EnsureShape": _ensure_shape,
    "ExpandDims": _expand,
    "Fill": _fill,
    **dict.fromkeys(("Gather", "GatherV2"), _gather),
    "GatherNd": _gather_nd,
    "InvertPermutation": _invert_permutation,
    "LinSpace": _linspace,
    "ListDiff": _list_diff,
    **dict.fromkeys(("LowerBound", "UpperBound"), _bounds),
    "OneHot": _one_hot,
    "Pack": _pack,
    "Unpack": _unpack,
    **dict.fromkeys(("Pad", "PadV2", "MirrorPad", "MirrorPadGrad"), _pad),
    "ParallelConcat": _parallel_concat,
    "Range": _range,
    "Reshape": _reshape,
    "ReverseSequence": _reverse_sequence,
    "ReverseV2": _reverse,
    "Roll": _roll,
    **dict.fromkeys(("Select", "SelectV2"), _select),
    "Slice": _slice,
    **dict.fromkeys(("StridedSlice", "StridedSliceGrad"), _strided),
    **dict.fromkeys(("Split", "SplitV"), _split),
    "Squeeze": _squeeze,
    "Tile": _tile,
    "TopKV2": _top_k,
    **dict.fromkeys(("Transpose", "ConjugateTranspose"), _transpose),
    **dict.fromkeys(("Unique", "UniqueWithCounts"), _unique),
    "Where": _where,
    **dict.fromkeys(("AddN", "AccumulateNV2"), _many),
    "IdentityN": _identities,
    "ShapeN": _shape_n,
    **dict.fromkeys(
        (
            "ScatterNd",
            "ScatterNdNonAliasingAdd",
            "TensorScatterAdd",
            "TensorScatterSub",
            "TensorScatterUpdate",
        ),
        _scatter_nd,
    ),
    **dict.fromkeys(("MatMul", "BatchMatMul", "BatchMatMulV2", "SparseMatMul"), _products),
    **dict.fromkeys(
        (
            "Cholesky",
            "LogMatrixDeterminant",
            "MatrixDeterminant",
            "MatrixInverse",
            "MatrixSolve",
            "MatrixTriangularSolve",
        ),
        _linear,
    ),  # fmt: skip
    **dict.fromkeys(("MaxPool", "MaxPoolGrad", "MaxPoolGradGrad", "AvgPool", "AvgPoolGrad"), _pool),
    **dict.fromkeys(("ExtractImagePatches", "MaxPoolWithArgmax", "MaxPoolGradWithArgmax"), _patches),
    **dict.fromkeys(("BiasAdd", "BiasAddGrad"), _bias),
    **{
        f"{kind}{what}": _convolution
        for kind, names in (
            ("Conv2D", ("", "BackpropInput", "BackpropFilter")),
            ("DepthwiseConv2dNative", ("", "BackpropInput", "BackpropFilter")),
        )
        for what in names
    },
    **{f"FusedBatchNorm{grad}{version}": _norm for grad in ("", "Grad") for version in ("", "V2", "V3")},
    **dict.fromkeys(("LRN", "LRNGrad"), _lrn),
    **dict.fromkeys(("InTopK", "InTopKV2"), _in_top_k),
    **dict.fromkeys(("Softmax", "LogSoftmax"), _softmax),
    **dict.fromkeys(("SoftmaxCrossEntropyWithLogits", "SparseSoftmaxCrossEntropyWithLogits"), _entropy),
    **dict.fromkeys(("SpaceToDepth", "DepthToSpace"), _blocks),
    "SparseTensorDenseAdd": _sparse_dense_add,
    "PlaceholderWithDefault": _placeholder_default,
}
"""Op type to what makes its cases."""
