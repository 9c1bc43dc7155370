"""Cases of functions of matrices, sums of products, fractional pools, places in an order, segments of texts."""

import numpy as np

from tests.ops.cases import Case, bf16, c64, f16, f32, f64, i8, i32, i64, ramp, s, u8

REGULAR = f32([[4, 1, 0.5], [1, 3, -1], [0.25, -1, 5]])
CASES = []

for equation, *inputs in (
    ("ij,jk->ik", ramp(2, 3), ramp(3, 4)),
    ("...ij,...jk->...ik", ramp(2, 1, 2, 3), ramp(4, 3, 2)),
    ("aab->ba", ramp(3, 3, 2)),
    ("a->aa", ramp(3)),
    ("abc->", ramp(2, 3, 2)),
    ("a...,b->...ab", ramp(2, 3), ramp(2)),
):
    CASES.append(Case("Einsum", [list(inputs)], {"equation": equation}, label=equation))
CASES += [
    Case("Einsum", [[c64([[1, 2j], [3, 1 + 1j]]), c64([1j, 2])]], {"equation": "ij,j->i"}, label="complex"),
    Case("Einsum", [[ramp(2, 3), ramp(2, 3)]], {"equation": "ij,jk->ik"}, label="sizes", only_class=True),
    Case("Lu", [REGULAR]),
    Case(
        "Lu",
        [np.stack([REGULAR, REGULAR.T + 1]).astype(np.float64)],
        {"output_idx_type": "int64"},
        label="batch",
    ),
    Case("Lu", [f32(np.zeros([2, 2]))], label="singular", only_class=True),
    Case("Lu", [ramp(2, 3)], label="not-square", only_class=True),
    Case("MatrixSquareRoot", [REGULAR], rtol=1e-5, atol=1e-5),
    Case("MatrixSquareRoot", [f64([[1, 1], [0, 1]])], label="one-eigenvector", rtol=1e-7, atol=1e-7),
    Case("MatrixSquareRoot", [ramp(2, 3)], label="not-square", only_class=True),
    Case("MatrixLogarithm", [c64(REGULAR)], rtol=1e-5, atol=1e-5),
    Case("MatrixLogarithm", [c64([[1, 1], [0, 1]])], label="one-eigenvector", rtol=1e-5, atol=1e-5),
    Case("MatrixSolveLs", [REGULAR[:, :2], ramp(3, 2), f64(0)], rtol=1e-4),
    Case("MatrixSolveLs", [REGULAR[:2], ramp(2, 2), f64(0.5)], label="wide", rtol=1e-4),
    Case(
        "MatrixSolveLs",
        [f32([[1, 2], [2, 4], [3, 6]]), ramp(3, 1), f64(0)],
        {"fast": False},
        label="rank",
        rtol=1e-4,
    ),
    Case("MatrixSolveLs", [REGULAR, ramp(2, 1), f64(0)], label="sizes", only_class=True),
    Case("TridiagonalSolve", [f32([[1, 2, 0], [4, 5, 6], [0, 1, 2]]), ramp(3, 2)]),
    Case("TridiagonalSolve", [f32([[1, 2, 0], [0, 5, 6], [0, 3, 2]]), ramp(3, 1)], label="exchanged"),
    Case(
        "TridiagonalSolve",
        [f32([[1, 2, 0], [4, 5, 6], [0, 1, 2]]), ramp(3, 2)],
        {"partial_pivoting": False},
        label="thomas",
    ),
    Case("TridiagonalMatMul", [ramp(2, 1, 3), ramp(2, 1, 3) + 1, ramp(2, 1, 3) - 2, ramp(2, 3, 2)]),
    Case("CumulativeLogsumexp", [ramp(2, 3), i32(1)]),
    Case("CumulativeLogsumexp", [f64(ramp(4)), i64(-1)], {"reverse": True}, label="reverse"),
    Case("CumulativeLogsumexp", [ramp(2, 3), i32(2)], label="axis", only_class=True),
    Case("NextAfter", [f32([1, -1, 0, np.inf, np.nan]), f32([2, 0, -1, 0, 1])]),
    Case("NextAfter", [f64([[1], [2]]), f64([0, 3])], label="broadcast"),
    Case("PopulationCount", [i8([0, 1, -1, 127, -128])]),
    Case("PopulationCount", [i64([0, 255, -1, 1 << 62])], label="int64"),
    Case("PopulationCount", [u8([[7, 255]])], label="uint8"),
    Case("Bucketize", [f32([[-5, 10000], [150, 10]])], {"boundaries": [0.0, 10.0, 100.0]}),
    Case("Bucketize", [i64([0, 3, 8])], {"boundaries": [3.0]}, label="int64"),
    Case("Bucketize", [i32([1, 2])], {"boundaries": []}, label="none"),
    Case("HistogramFixedWidth", [f32([-1, 0, 1.5, 2, 5, 15]), f32([0, 5]), i32(5)]),
    Case(
        "HistogramFixedWidth", [i32([[0, 3], [7, 7]]), i32([0, 7]), i32(3)], {"dtype": "int64"}, label="int32"
    ),
    Case("HistogramFixedWidth", [f64([]), f64([0, 1]), i32(2)], label="empty"),
    Case("HistogramFixedWidth", [f32([1]), f32([5, 5]), i32(5)], label="range", only_class=True),
    Case("HistogramFixedWidth", [f32([1]), f32([5, 6]), i32(0)], label="bins", only_class=True),
    Case("InplaceUpdate", [ramp(3, 2), i32([2, -3]), ramp(2, 2) + 10]),
    Case("InplaceAdd", [ramp(3, 2), i32([1, 1]), ramp(2, 2)], label="twice"),
    Case("InplaceSub", [i32([5, 6]), i32([4]), i32([2])], label="far"),
    Case("InplaceAdd", [ramp(3, 2), i32([1]), ramp(2, 2)], label="rows", only_class=True),
    Case("InplaceAdd", [ramp(3, 2), i32([[1]]), ramp(1, 2)], label="matrix", only_class=True),
    Case("InplaceSub", [ramp(3, 2), i32([1]), ramp(1, 3)], label="width", only_class=True),
    Case("DeepCopy", [ramp(3, 2)]),
    *(
        Case(
            "StringNGrams",
            [s(["a", "b", "c", "d", "e"]), i64(splits)],
            {
                "separator": "|",
                "ngram_widths": widths,
                "left_pad": "<",
                "right_pad": ">",
                "pad_width": pad,
                "preserve_short_sequences": preserve,
            },
            label=label,
            only_class=label.startswith("wrong"),
        )
        for label, splits, widths, pad, preserve in (
            ("plain", [0, 3, 5], [2], 0, False),
            ("padded", [0, 3, 3, 5], [1, 3], -1, False),
            ("some-padding", [0, 1, 5], [4, 2], 2, False),
            ("short", [0, 1, 5], [3], 0, True),
            ("short-padded", [0, 1, 1, 5], [6], 1, True),
            ("wrong-start", [1, 5], [2], 0, False),
            ("wrong-order", [0, 4, 2, 5], [2], 0, False),
            ("wrong-end", [0, 8], [2], 0, False),
        )
    ),
    Case("UnravelIndex", [i64(5), i64([2**62, 2**62])], label="overflow", only_class=True),
    Case("NthElement", [f32([[3, 1, 2], [6, 5, 4]]), i32(1)]),
    Case("NthElement", [i32([4, 9, 7, 9]), i32(0)], {"reverse": True}, label="reverse"),
    Case("NthElement", [f16([[3, 1]]), i32(0)], label="half"),
    Case("NthElement", [bf16([[3, 1]]), i32(1)], label="bfloat16"),
    Case("NthElement", [f32([3, 1]), i32(2)], label="columns", only_class=True),
    Case("NthElement", [f32([3, 1]), i32(-1)], label="negative", only_class=True),
    Case("UnsortedSegmentJoin", [s(["a", "b", "c"]), i32([1, 0, 1]), i32(3)], {"separator": "-"}),
    Case("UnsortedSegmentJoin", [s([["a", "b"], ["c", "d"]]), i64([0, 0]), i64(1)], label="rows"),
    Case("UnsortedSegmentJoin", [s(["a", "b"]), i32([0, -1]), i32(1)], label="left-out"),
    Case("UnsortedSegmentJoin", [s(["a", "b"]), i32([0, 2]), i32(1)], label="range", only_class=True),
]

LISTS = [i64([[0, 0], [1, 0], [1, 1]])]
TWO = [*LISTS, i64([[0, 0], [1, 0]])]
CROSS = {"num_buckets": 0, "hash_key": 956888297470, "internal_type": "int64", "out_type": "string"}
HASHED = {
    "num_buckets": 100,
    "hash_key": 7,
    "internal_type": "int64",
    "out_type": "int64",
    "hashed_output": True,
}
CASES += [
    Case(
        "SparseCross",
        [TWO, [s(["a", "b", "c"]), i64([7, -8])], [i64([2, 2]), i64([2, 1])], []],
        {**CROSS, "hashed_output": False},
    ),
    Case(
        "SparseCross",
        [LISTS, [s(["a", "b", "c"])], [i64([2, 2])], [s([["x"], ["y"]])]],
        {**CROSS, "hashed_output": False},
        label="dense",
    ),
    Case(
        "SparseCross",
        [TWO, [s(["a", "b", "c"]), i64([7, -8])], [i64([2, 2]), i64([2, 1])], [s([["x"], ["y"]])]],
        HASHED,
        label="hashed",
    ),
    Case(
        "SparseCross",
        [LISTS, [i64([1, 2, 3])], [i64([2, 2])], [i64([[4], [5]])]],
        {**HASHED, "num_buckets": 0},
        label="whole",
    ),
    Case(
        "UnicodeTranscode",
        [s([b"a\xe2\x82\xac", b"\xffb\x00"])],
        {"input_encoding": "UTF-8", "output_encoding": "UTF-16-BE"},
    ),
    Case(
        "UnicodeTranscode",
        [s([b"a\x00\xffb", b"\xf0"])],
        {
            "input_encoding": "UTF-8",
            "output_encoding": "UTF-8",
            "errors": "ignore",
            "replace_control_characters": True,
        },
        label="ignore",
    ),
    Case(
        "UnicodeTranscode",
        [s([b"\xff\xfeb\x00", b"\x00c"])],
        {"input_encoding": "UTF-16", "output_encoding": "UTF-32-BE"},
        label="marks",
    ),
    Case(
        "UnicodeTranscode",
        [s([b"\xe9"])],
        {"input_encoding": "ISO-8859-1", "output_encoding": "UTF-8"},
        label="latin",
    ),
    Case(
        "UnicodeTranscode",
        [s([b"\xff"])],
        {"input_encoding": "UTF-8", "output_encoding": "UTF-8", "errors": "strict"},
        label="strict",
        only_class=True,
    ),
    Case(
        "UnicodeTranscode",
        [s([b"a"])],
        {"input_encoding": "none", "output_encoding": "UTF-8"},
        label="encoding",
        only_class=True,
    ),
]

IMAGES = ramp(2, 4, 6, 2, step=0.25)
for op in ("FractionalMaxPool", "FractionalAvgPool"):
    CASES += [
        Case(op, [IMAGES], {"pooling_ratio": [1.0, 2.0, 2.0, 1.0]}),
        Case(op, [IMAGES], {"pooling_ratio": [1.0, 2.0, 3.0, 1.0], "overlapping": True}, label="overlapping"),
        Case(
            op,
            [i32(np.arange(16).reshape(1, 4, 4, 1))],
            {"pooling_ratio": [1.0, 2.0, 2.0, 1.0]},
            label="int32",
        ),
        Case(op, [IMAGES], {"pooling_ratio": [1.0, 8.0, 1.0, 1.0]}, label="ratio", only_class=True),
        Case(op, [IMAGES], {"pooling_ratio": [2.0, 1.0, 1.0, 1.0]}, label="batch", only_class=True),
    ]
ROWS, COLUMNS = i64([0, 1, 4]), i64([0, 2, 3, 6])
GRADS = ramp(2, 2, 3, 2)


def _pooled(overlapping):
    """The largest elements of the windows."""
    result = np.zeros([2, 2, 3, 2], np.float32)
    for i, j in np.ndindex(2, 3):
        rows, columns = (slice(at[k], at[k + 1] + overlapping) for at, k in ((ROWS, i), (COLUMNS, j)))
        result[:, i, j] = IMAGES[:, rows, columns].max(axis=(1, 2))
    return result


for overlapping in (False, True):
    CASES += [
        Case(
            "FractionalMaxPoolGrad",
            [IMAGES, _pooled(overlapping), GRADS, ROWS, COLUMNS],
            {"overlapping": overlapping},
        ),
        Case(
            "FractionalAvgPoolGrad", [i64([2, 4, 6, 2]), GRADS, ROWS, COLUMNS], {"overlapping": overlapping}
        ),
    ]
CASES += [
    Case("FractionalMaxPoolGrad", [IMAGES, GRADS, GRADS, ROWS, COLUMNS], label="output", only_class=True),
    Case(
        "FractionalAvgPoolGrad",
        [i64([2, 4, 6, 2]), GRADS, i64([-1, 1, 4]), COLUMNS],
        label="negative",
        only_class=True,
    ),
]
