"""Cases of random ops: the same numbers as TensorFlow's for the same seeds."""

from tests.ops.cases import Case, f16, f32, f64, i32, i64, ramp

TRUE = i64([[1, 4], [2, 0], [7, 7]])

CASES = []
for op, exact in (("RandomUniform", 0), ("RandomStandardNormal", None), ("TruncatedNormal", None)):
    for dtype in ("float32", "float64", "float16", "bfloat16"):
        CASES += [
            Case(op, [i32([3, 7])], {"dtype": dtype, "seed": 87654321, "seed2": 7}, label=dtype, rtol=exact),
            Case(
                op,
                [i64([150])],
                {"dtype": dtype, "seed": 5, "seed2": 2**31 - 2},
                label=f"{dtype}-more",
                rtol=exact,
            ),
        ]
    CASES.append(Case(op, [i32([0])], {"dtype": "float32", "seed": 1, "seed2": 2}, label="empty"))
CASES += [
    Case("RandomUniform", [i32([-1])], {"dtype": "float32", "seed": 1, "seed2": 2}, label="negative", only_class=True),
    Case("RandomUniformInt", [i32([9]), i32(-3), i32(11)], {"seed": 1, "seed2": 2}),
    Case("RandomUniformInt", [i32([9]), i32(-(2**31)), i32(2**31 - 1)], {"seed": 1, "seed2": 2}, label="wide"),
    Case("RandomUniformInt", [i32([9]), i64(-3), i64(11)], {"seed": 1, "seed2": 2}, label="int64"),
    Case("RandomUniformInt", [i32([5]), i64(-(2**62)), i64(2**62)], {"seed": 1, "seed2": 2}, label="int64-wide"),
    Case("RandomUniformInt", [i32([9]), i32(3), i32(3)], {"seed": 1, "seed2": 2}, label="nothing"),
    Case("RandomShuffle", [ramp(9)], {"seed": 1, "seed2": 2}),
    Case("RandomShuffle", [ramp(5, 2)], {"seed": 3, "seed2": 4}, label="rows"),
    Case("RandomShuffle", [ramp(1)], {"seed": 3, "seed2": 4}, label="one"),
    Case("Multinomial", [f32([[0, 1, 2], [3, 0, 0]]), i32(8)], {"seed": 1, "seed2": 2}, cpu_only=True),
    Case("Multinomial", [f32([[0, 0, 0]] * 5), i32(7)], {"seed": 3, "seed2": 9, "output_dtype": "int32"}, label="int32",
         cpu_only=True),
    *[
        Case(f"{kind}CandidateSampler", [TRUE], {"num_true": 2, "num_sampled": count, "unique": unique,
                                               "range_max": limit, "seed": seed, "seed2": 7},
             f"{count} of {limit} {unique}", rtol=1e-5)
        for kind in ("Uniform", "LogUniform")
        for count, limit, unique, seed in ((5, 9, True, 1), (6, 50, True, 2), (8, 16, False, 3), (8, 1000, True, 4),
                                           (7, 11, False, 5), (9, 9, True, 6))
    ],
    Case("UniformCandidateSampler", [TRUE], {"num_true": 2, "num_sampled": 10, "unique": True, "range_max": 9},
         "too many", only_class=True),
    Case("LearnedUnigramCandidateSampler", [TRUE], {"num_true": 2, "num_sampled": 5, "unique": True, "range_max": 9,
                                                  "seed": 1, "seed2": 7}, rtol=1e-5),
    Case("FixedUnigramCandidateSampler", [TRUE], {"num_true": 2, "num_sampled": 5, "unique": True, "range_max": 9,
         "unigrams": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0], "seed": 1, "seed2": 7}, rtol=1e-5),
    Case("AllCandidateSampler", [TRUE], {"num_true": 2, "num_sampled": 9, "unique": True}),
    Case("ComputeAccidentalHits", [TRUE, i64([1, 7, 3, 0, 7])], {"num_true": 2}),
    Case("ComputeAccidentalHits", [TRUE, i64([5])], {"num_true": 2}, "none"),
    Case("ComputeAccidentalHits", [TRUE, i64([5])], {"num_true": 3}, "columns", only_class=True),
]  # fmt: skip
for dtype in (f32, f64, f16):
    CASES += [
        Case("RandomGamma", [i32([9]), dtype([0.3, 1, 4])], {"seed": 3, "seed2": 5}, label=dtype.__name__),
        Case(
            "RandomPoissonV2", [i32([9]), dtype([0.3, 4, 99])], {"seed": 3, "seed2": 5}, label=dtype.__name__
        ),
    ]
CASES += [
    Case("RandomGamma", [i64([2, 3]), f32([])], {"seed": 3, "seed2": 5}, label="none"),
    Case(
        "RandomPoissonV2",
        [i64([]), i32([[2], [70]])],
        {"seed": 1, "seed2": 5, "dtype": "float32"},
        label="int32",
    ),
    Case("RandomGammaGrad", [f32([[0.5], [3]]), f32([0.2, 1, 4])]),
    Case("RandomGammaGrad", [f64([0.05, 1, 30]), f64([0.0, 2, 40])], label="double", rtol=1e-6),
]
SEED = i64([-3, 2**40 + 7])
for op, exact in (
    ("StatelessRandomUniform", 0),
    ("StatelessRandomNormal", None),
    ("StatelessTruncatedNormal", None),
):
    for dtype in ("float32", "float64", "float16"):
        CASES.append(Case(op, [i64([3, 7]), SEED], {"dtype": dtype}, label=dtype, rtol=exact))
    CASES.append(Case(op, [i32([4]), i32([-1, 5])], {"dtype": "float32"}, label="int32", rtol=exact))
CASES += [
    Case("StatelessRandomUniform", [i32([4]), i32([1])], {"dtype": "float32"}, label="one", only_class=True),
    Case("StatelessRandomUniformInt", [i32([9]), SEED, i32(-3), i32(11)]),
    Case("StatelessRandomUniformInt", [i32([9]), SEED, i64(-3), i64(11)], label="int64"),
    Case("StatelessRandomUniformInt", [i32([9]), SEED, i32(3), i32(3)], label="nothing"),
    Case("StatelessMultinomial", [f32([[0, 1, 2], [3, 0, -1]]), i32(9), SEED]),
    Case("StatelessMultinomial", [f32([0, 1]), i32(9), SEED], label="vector", only_class=True),
]
