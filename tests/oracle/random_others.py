"""Random inputs for ops of transforms, layouts, bands of matrices, random numbers and sequences of examples.

Functions are as in `random_cases`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpuplace.dtypes import as_dtype
from tests.ops.cases import Case, f32, i32, i64, s
from tests.oracle.random_basic import _pool
from tests.oracle.random_cases import Draw, _encoded

VALUES = "values"
"""The label of a case whose gradient TensorFlow does not know: of transforms that cut or pad, for example."""

# Transforms


def _fourier(d: Draw) -> Case:
    rank = int(d.op[-2]) if d.op.endswith("D") else 1
    sizes = [d.int(1, 6) for _ in range(rank)]
    shape = [*d.shape(0, 2, 3), *sizes]
    if "R" not in d.op:
        kind = (np.complex64, np.complex128)[d.index % 2]
        return Case(d.op, [d.values(kind, shape)])
    asked = [max(1, size + d.int(-2, 3)) if d.chance(2) else size for size in sizes]
    if d.op.startswith("RFFT"):
        label = "" if asked == sizes else VALUES
        return Case(d.op, [d.values(np.float32, shape), i32(asked)], label=label)
    asked = [*sizes[:-1], d.pick(2 * (sizes[-1] - 1), 2 * sizes[-1] - 1)] if not d.chance(4) else asked
    asked = [max(1, one) for one in asked]
    label = "" if [*asked[:-1], asked[-1] // 2 + 1] == sizes else VALUES
    return Case(d.op, [d.values(np.complex64, shape), i32(asked)], label=label)


# Layouts


def _format(d: Draw) -> Case:
    kind, formats = (
        (np.int32, np.int64)[d.index % 2],
        d.pick(("NHWC", "NCHW"), ("NCHW", "NHWC"), ("NHWC", "HWNC")),
    )
    attrs = {"src_format": formats[0], "dst_format": formats[1]}
    if d.op == "DataFormatDimMap":
        return Case(d.op, [d.rng.integers(-4, 4, d.shape(0, 3)).astype(kind)], attrs)
    shape = d.pick([4], [4], [4, 2], [5, 2] if d.chance(4) else [4])
    return Case(d.op, [d.values(kind, shape)], attrs)


def _crop_jpeg(d: Draw) -> Case:
    from io import BytesIO

    from PIL import Image

    data = _encoded(d, "jpeg")
    try:
        columns, rows = Image.open(BytesIO(data.item())).size
    except OSError:
        columns, rows = 4, 4
    top, left = d.int(0, rows - 1), d.int(0, columns - 1)
    window = [top, left, d.int(1, rows - top), d.int(1, columns - left)]
    if d.chance(8):
        window[2] += rows
    attrs = {"channels": d.pick(0, 1, 3), "dct_method": "INTEGER_ACCURATE", "ratio": 1}
    return Case(d.op, [data, i32(window)], attrs)


# Bands of matrices


def _bands(d: Draw) -> Case:
    dtype, batch = d.dtype(), d.shape(0, 2, 3, 0)
    rows, columns = d.int(1, 4), d.int(1, 4)
    low = d.int(1 - rows, columns - 1)
    high = d.int(low, columns - 1)
    k = i32(low) if low == high and d.chance(2) else i32([low, high])
    longest = min(rows + min(high, 0), columns - max(low, 0))
    diagonals = [*([high - low + 1] if high > low else []), longest]
    if d.op == "MatrixDiagPartV2":
        return Case(d.op, [d.values(dtype, [*batch, rows, columns]), k, d.values(dtype, [])])
    if d.op == "MatrixSetDiagV2":
        return Case(
            d.op, [d.values(dtype, [*batch, rows, columns]), d.values(dtype, [*batch, *diagonals]), k]
        )
    sizes = [i32(rows), i32(columns)] if not d.chance(3) else [i32(-1), i32(-1)]
    return Case(d.op, [d.values(dtype, [*batch, *diagonals]), k, *sizes, d.values(dtype, [])])


def _unique_along(d: Draw) -> Case:
    dtype, kind = d.dtype(), d.pick(np.int32, np.int64)
    shape = [d.int(1, 5), *d.shape(0, 2, 3, 0)]
    x = d.values(dtype, shape, -0.7, 0.7)
    x = (x.astype(np.float32).round() + 0.0).astype(dtype) if as_dtype(dtype).is_floating else x
    axis = (
        np.zeros(0, kind) if len(shape) == 1 and d.chance(2) else np.asarray([d.int(0, len(shape) - 1)], kind)
    )
    return Case(d.op, [x, axis], {"out_idx": d.pick("int32", "int64")})


# Random numbers: the same seeds give the same ones


def _seeds(d: Draw) -> dict[str, Any]:
    return {"seed": d.int(0, 99), "seed2": d.int(1, 99)}


def _random(d: Draw) -> Case:
    kind = d.pick(np.int32, np.int64)
    shape = np.asarray(d.pick(d.shape(0, 3, 9), [d.int(1, 3), d.int(100, 700)]), kind)
    if d.op == "RandomUniformInt":
        dtype = d.dtype("Tout")
        low = d.int(-99, 50)
        bounds = [np.asarray(low, dtype), np.asarray(low + d.int(1, 1000), dtype)]
        if d.chance(10):
            bounds = bounds[::-1]
        return Case(d.op, [shape, *bounds], _seeds(d))
    return Case(d.op, [shape], {**_seeds(d), "dtype": as_dtype(d.dtype("dtype")).name})


def _stateless(d: Draw) -> Case:
    """The same seed, two numbers of any size, gives the same numbers."""
    seed = d.rng.integers(-(2**31), 2**31, 2).astype(d.pick(np.int32, np.int64))
    if seed.dtype == np.int64:
        seed = seed * 2**30 + 17
    if d.chance(12):
        seed = seed[:1]
    if d.op == "StatelessMultinomial":
        logits = d.values(d.dtype(), [d.int(0 if d.chance(6) else 1, 4), d.int(1, 6)])
        return Case(d.op, [logits, i32(d.int(0, 9)), seed], {"output_dtype": d.pick("int32", "int64")})
    shape = np.asarray(d.pick(d.shape(0, 3, 9), [d.int(1, 3), d.int(100, 700)]), d.pick(np.int32, np.int64))
    dtype = d.dtype("dtype")
    if d.op == "StatelessRandomUniformInt":
        low = d.int(-99, 50)
        bounds = [np.asarray(low, dtype), np.asarray(low + d.int(-5 if d.chance(6) else 1, 1000), dtype)]
        return Case(d.op, [shape, seed, *bounds])
    return Case(d.op, [shape, seed], {"dtype": as_dtype(dtype).name})


def _drawn(d: Draw) -> Case:
    if d.op == "RandomShuffle":
        return Case(d.op, [d.values(d.dtype(), d.shape(0, 3, 9))], _seeds(d))
    logits = d.values(d.dtype(), [d.int(0 if d.chance(6) else 1, 4), d.int(1, 6)])
    attrs = {**_seeds(d), "output_dtype": d.pick("int32", "int64")}
    return Case(d.op, [logits, i32(d.int(0, 9))], attrs)


def _unigrams(d: Draw) -> Case:
    number, most = d.int(1, 3), d.int(6, 30)
    classes = d.rng.integers(0, most, (d.int(1, 4), number)).astype(np.int64)
    attrs = {
        "num_true": number, "num_sampled": d.int(1, 5), "unique": d.chance(2), "range_max": most, **_seeds(d)
    }  # fmt: skip
    if d.op == "FixedUnigramCandidateSampler":
        weights = d.rng.uniform(0.2, 3, most).round(3).tolist()
        attrs |= {"unigrams": weights, "distortion": d.pick(1.0, 0.75, 0.0), "num_reserved_ids": 0}
    return Case(d.op, [classes], attrs)


def _distributed(d: Draw) -> Case:
    """Gamma and Poisson numbers of parameters of every size."""
    if d.op == "RandomGammaGrad":
        dtype, shape = d.dtype(), d.shape(0, 3)
        alpha = [np.exp(d.rng.uniform(-2, 4, shape)).astype(dtype)]
        return Case(d.op, [*alpha, (alpha[0] * np.exp(d.rng.uniform(-1, 1, shape))).astype(dtype)])
    sizes = np.asarray(d.pick(d.shape(0, 2, 9), [d.int(1, 3), d.int(30, 90)]), d.pick(np.int32, np.int64))
    dtype = d.dtype("T" if d.op == "RandomGamma" else "R")
    given = np.exp(d.rng.uniform(-2, 5, d.shape(0, 2, 3))).astype(dtype)
    if d.chance(3):
        given = np.ones_like(given)
    attrs = _seeds(d) | ({} if d.op == "RandomGamma" else {"dtype": as_dtype(d.dtype("dtype")).name})
    return Case(d.op, [sizes, given], attrs)


# Recurrent nets


def _sequence(d: Draw) -> Case:
    """All steps count: what TensorFlow gives for others is whatever the memory held."""
    dtype = d.dtype()
    time, batch, size, units = (d.int(1, 4) for _ in range(4))

    def some(*shape: int) -> np.ndarray:
        return d.values(dtype, shape, -1.5, 1.5)

    inputs = [i64(time), some(time, batch, size)]
    inputs += [some(batch, units), some(batch, units), some(size + units, 4 * units)]
    inputs += [*[some(units) for _ in range(3)], some(4 * units)]
    attrs: dict[str, Any] = {"use_peephole": d.chance(2)}
    if d.op == "BlockLSTM":
        return Case(d.op, inputs, {**attrs, "cell_clip": d.pick(-1.0, 1.0), "forget_bias": d.pick(0.0, 1.0)})
    kept = [d.values(dtype, [time, batch, units], 0, 1) for _ in range(7)]
    return Case(d.op, [*inputs, *kept, some(time, batch, units), some(time, batch, units)], attrs)


# Quantization


def _quantized(d: Draw) -> Case:
    """Ranges that begin below zero, end below it, or are nothing at all."""
    each = "PerChannel" in d.op
    shape = d.shape(1 if each else 0, 4)
    attrs: dict[str, Any] = {"num_bits": d.int(2, 16) if not d.chance(12) else 1, "narrow_range": d.chance(2)}
    low = d.rng.uniform(-3, 1.5, shape[-1:] if each else [])
    high = low + d.rng.uniform(0.3, 4, np.shape(low))
    if d.chance(6):
        low, high = low * 0, high * 0
    given = [d.values(np.float32, shape, -4, 5)] * (1 + d.op.endswith("Gradient"))
    if len(given) > 1:
        given[0] = d.values(np.float32, shape)
    if "Args" in d.op:
        return Case(d.op, given, {**attrs, "min": float(low), "max": float(high)})
    return Case(d.op, [*given, f32(low), f32(high)], attrs)


# Examples


def _sequences(d: Draw) -> Case:
    from tensorflow.core.example import example_pb2

    count, missing = d.int(1, 3), d.chance(2)
    serialized = np.empty(count, object)
    for at in range(count):
        made = example_pb2.SequenceExample()
        made.context.feature["a"].float_list.value.extend(d.rng.uniform(-1, 1, 2).round(3).tolist())
        made.context.feature["b"].int64_list.value.extend(d.rng.integers(-5, 5, d.int(0, 3)).tolist())
        for _ in range(d.int(0 if missing else 1, 3)):
            steps = made.feature_lists.feature_list["steps"].feature.add()
            steps.float_list.value.extend(d.rng.uniform(-1, 1, 2).round(3).tolist())
            words = made.feature_lists.feature_list["words"].feature.add()
            words.bytes_list.value.extend([b"p", b"qr"][: d.int(0, 2)])
        serialized[at] = made.SerializeToString()
    if d.chance(12):
        serialized[-1] = b"\x0a\xff"
    attrs = {
        "feature_list_dense_missing_assumed_empty": ["steps"] if missing else [],
        "context_sparse_keys": ["b"], "context_dense_keys": ["a"], "feature_list_sparse_keys": ["words"],
        "feature_list_dense_keys": ["steps"], "Ncontext_sparse": 1, "Ncontext_dense": 1, "Nfeature_list_sparse": 1,
        "Nfeature_list_dense": 1, "context_sparse_types": ["int64"], "context_dense_shapes": [[2]],
        "feature_list_sparse_types": ["string"], "feature_list_dense_types": ["float32"],
        "feature_list_dense_shapes": [[2]],
    }  # fmt: skip
    names = s([f"n{at}" for at in range(count)]) if d.chance(3) else np.empty(0, object)
    return Case(d.op, [serialized, names, [f32(np.zeros(0))]], attrs)


CASES_OF: dict[str, Callable[[Draw], Case]] = {
    **dict.fromkeys(
        [f"{kind}FFT{rank}" for kind in ("", "I", "R", "IR") for rank in ("", "2D", "3D")], _fourier
    ),
    **dict.fromkeys(("DataFormatDimMap", "DataFormatVecPermute"), _format),
    "DecodeAndCropJpeg": _crop_jpeg,
    **dict.fromkeys(("MatrixDiagV2", "MatrixDiagPartV2", "MatrixSetDiagV2"), _bands),
    **dict.fromkeys(("UniqueV2", "UniqueWithCountsV2"), _unique_along),
    **dict.fromkeys(("MaxPoolV2", "MaxPoolGradV2", "MaxPoolGradGradV2"), _pool),
    **dict.fromkeys(
        ("RandomUniform", "RandomStandardNormal", "TruncatedNormal", "RandomUniformInt"), _random
    ),
    **dict.fromkeys(
        (
            *("StatelessRandomUniform", "StatelessRandomNormal", "StatelessTruncatedNormal"),
            *("StatelessRandomUniformInt", "StatelessMultinomial"),
        ),
        _stateless,
    ),
    **dict.fromkeys(("RandomShuffle", "Multinomial"), _drawn),
    **dict.fromkeys(("RandomGamma", "RandomGammaGrad", "RandomPoissonV2"), _distributed),
    **dict.fromkeys(("FixedUnigramCandidateSampler", "LearnedUnigramCandidateSampler"), _unigrams),
    **{
        f"FakeQuantWithMinMax{what}{end}": _quantized
        for what in ("Args", "Vars", "VarsPerChannel")
        for end in ("", "Gradient")
    },
    **dict.fromkeys(("BlockLSTM", "BlockLSTMGrad"), _sequence),
    "ParseSequenceExample": _sequences,
}
"""Op type to what makes its cases."""
