"""Cases of random ops: the same numbers as TensorFlow's for the same seeds."""

from tests.ops.cases import Case, f32, i32, i64, ramp

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
]  # fmt: skip
