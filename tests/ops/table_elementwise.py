"""Cases of constants, casts, arithmetic, functions of one tensor, comparisons."""

import numpy as np

from tests.ops.cases import Case, b, bf16, c64, f16, f32, f64, i8, i32, i64, ramp, s, u8

X = f32([[-2.5, -1.0, -0.0], [0.5, 1.5, 3.0]])
UNIT = f32([-0.9, -0.5, 0.0, 0.25, 0.8])
POSITIVE = f32([0.25, 0.5, 1.0, 2.0, 7.5])
SPECIAL = f32([np.nan, np.inf, -np.inf, 0.0, -1.0])
COMPLEX = c64([1 + 2j, -0.5j, 3.0, -1 - 1j])

CASES = []

# Functions of one tensor
for op in ("Abs", "Neg", "Sign", "Square", "Exp", "Expm1", "Sin", "Cos", "Atan", "Sinh", "Cosh", "Tanh", "Asinh",
           "Sigmoid", "Floor", "Ceil", "Round", "Rint", "Erf", "Erfc", "IsNan", "IsInf", "IsFinite", "ZerosLike",
           "OnesLike"):  # fmt: skip
    CASES += [
        Case(op, [X]),
        Case(op, [X.astype(np.float64)], label="double"),
        Case(op, [f32(np.zeros([0, 2]))], label="empty"),
    ]
for op in ("Tan", "Asin", "Atanh", "Acos"):
    CASES += [Case(op, [UNIT]), Case(op, [UNIT.astype(np.float64)], label="double")]
for op in ("Sqrt", "Rsqrt", "Log", "Log1p", "Reciprocal", "Inv", "Lgamma", "Digamma"):
    CASES += [Case(op, [POSITIVE]), Case(op, [POSITIVE.astype(np.float64)], label="double", rtol=1e-11)]
CASES += [
    Case("Acosh", [f32([1.0, 1.5, 7.0])]),
    Case("Acosh", [f64([1.0, 1.5, 7.0])], label="double"),
    Case("Lgamma", [f64([-2.5, -0.5, 0.1, 12.0])], label="negative", rtol=1e-10),
    Case("Digamma", [f64([-2.5, -0.5, 0.1, 12.0])], label="negative", rtol=1e-10),
    Case("Erf", [f32([-4, -1, -0.1, 0.2, 1, 5])], label="range"),
    Case("Erfc", [f32([-4, -1, -0.1, 0.2, 1, 5])], label="range", rtol=1e-5),
]
for op in (
    "Abs",
    "Exp",
    "Log",
    "Sqrt",
    "Neg",
    "Sign",
    "IsNan",
    "IsInf",
    "IsFinite",
    "Floor",
    "Round",
    "Tanh",
    "Sigmoid",
):
    CASES.append(Case(op, [SPECIAL], label="special"))
for op in ("Abs", "Neg", "Sign", "Square"):
    CASES += [Case(op, [i32([-3, 0, 5])], label="int32"), Case(op, [i64([-3, 0, 5])], label="int64")]
for op in ("Abs", "Neg", "Square", "Exp", "Sqrt", "Tanh", "Sigmoid", "Floor"):
    CASES += [
        Case(op, [f16([0.5, 1.25, 2.0])], label="half"),
        Case(op, [bf16([0.5, 1.25, 2.0])], label="bfloat16"),
    ]
for op in ("Neg", "Square", "Exp", "Sin", "Conj", "Sqrt", "Reciprocal", "Tanh"):
    CASES.append(Case(op, [COMPLEX], label="complex", rtol=1e-5))
CASES += [
    Case("Round", [f32([0.5, 1.5, 2.5, -0.5, -1.5])], label="ties"),
    Case("Invert", [i32([0, 1, -7])]),
    Case("Invert", [u8([0, 1, 200])], label="uint8"),
    Case("ComplexAbs", [c64([3 + 4j, 0])]),
    Case("Real", [COMPLEX]),
    Case("Imag", [COMPLEX]),
    Case("Angle", [COMPLEX]),
    Case("Complex", [f32([1, 2]), f32([3, -4])]),
    Case("Complex", [f64([[1], [2]]), f64([3, -4])], {"Tout": "complex128"}, label="broadcast"),
    Case("LogicalNot", [b([True, False])]),
    Case("ZerosLike", [s(["a", "b"])], label="string"),
    Case("ZerosLike", [b([True])], label="bool"),
    Case("OnesLike", [i32([4, 5])], label="int32"),
]
for op in ("TanhGrad", "SigmoidGrad", "SqrtGrad", "RsqrtGrad", "ReciprocalGrad", "InvGrad"):
    CASES += [
        Case(op, [f32([0.25, 0.5, 2.0]), f32([1.0, -2.0, 0.5])]),
        Case(op, [f64([0.25]), f64([3.0])], label="double"),
    ]

# Two tensors
A, B = f32([[1.5, -2.0, 3.0], [0.5, 4.0, -1.0]]), f32([2.0, 0.5, -3.0])
for op in ("Add", "AddV2", "Sub", "Mul", "Div", "RealDiv", "FloorDiv", "FloorMod", "Mod", "TruncateMod", "Maximum",
           "Minimum", "SquaredDifference", "Atan2", "MulNoNan", "DivNoNan", "Xlogy", "Xdivy", "Less", "LessEqual",
           "Greater", "GreaterEqual", "Equal", "NotEqual"):  # fmt: skip
    CASES += [
        Case(op, [A, np.abs(B) if op == "Xlogy" else B]),
        Case(op, [A.astype(np.float64), f64(2.0)], label="double"),
        Case(op, [f32(np.zeros([0, 3])), B], label="empty"),
        Case(op, [f32([1, 2]), f32([1, 2, 3])], label="shapes", only_class=True),
        Case(op, [f32(1.5), f32(0.5)], label="scalars"),
    ]
for op in ("Add", "AddV2", "Sub", "Mul", "Div", "TruncateDiv", "FloorDiv", "FloorMod", "Mod", "TruncateMod", "Maximum",
           "Minimum", "SquaredDifference", "Less", "GreaterEqual", "Equal"):  # fmt: skip
    CASES += [
        Case(op, [i32([7, -7, 7, -7]), i32([2, 2, -2, -2])], label="int32"),
        Case(op, [i64([7, -7]), i64(3)], label="int64"),
    ]
for op in ("Div", "TruncateDiv", "FloorDiv", "FloorMod", "Mod", "TruncateMod"):
    CASES.append(Case(op, [i32([1, 2]), i32([1, 0])], label="by-zero", cpu_only=True))
for op in ("Add", "Mul", "Sub", "RealDiv", "Maximum", "AddV2", "Less"):
    CASES += [
        Case(op, [f16([1.5, 2.0]), f16([0.1, -3.0])], label="half"),
        Case(op, [bf16([1.5, 2.0]), bf16([0.1, -3.0])], label="bfloat16"),
    ]
for op in ("Add", "Mul", "Sub", "RealDiv", "Equal", "SquaredDifference"):
    CASES.append(Case(op, [COMPLEX, c64([1j, 2, 1 + 1j, -1])], label="complex", rtol=1e-5))
for op in ("MulNoNan", "DivNoNan", "RealDiv", "Xdivy"):
    CASES.append(Case(op, [f32([np.inf, 0, 1]), f32([0, 0, 2])], label="zero"))
for op in ("Maximum", "Minimum", "Less", "Equal", "NotEqual"):
    CASES.append(Case(op, [f32([np.nan, 1, np.inf]), f32([1, np.nan, np.inf])], label="nan"))
CASES += [
    Case("Add", [s(["a", "b"]), s("c")], label="string"),
    Case("Add", [s("a"), s("c")], label="string-scalar"),
    Case("Equal", [s(["a", "b"]), s("b")], label="string"),
    Case("NotEqual", [s(["a", "b"]), s("b")], label="string"),
    Case("Equal", [b([True, False]), b([True, True])], label="bool"),
    Case("Mul", [u8([200, 3]), u8([2, 3])], label="uint8"),
    Case("Add", [i8([100]), i8([100])], label="int8-wraps"),
    Case("Pow", [f32([2, 3, 0.5]), f32([3, -1, 2])]),
    Case("Pow", [f64([[2], [3]]), f64([0.5, 2])], label="broadcast"),
    Case("Pow", [i32([2, 3, -2]), i32([10, 0, 3])], label="int32"),
    Case("Pow", [i32([2]), i32([-1])], label="negative-power", cpu_only=True),
    Case("FloorDiv", [f32([1.0, 7.0, -7.0]), f32([0.1, 2.0, 2.0])], label="float"),
    Case("FloorMod", [f32([5.5, -5.5, 5.5]), f32([2, 2, -2])], label="signs"),
    Case("TruncateMod", [f32([5.5, -5.5, 5.5]), f32([2, 2, -2])], label="signs"),
    Case("LogicalAnd", [b([True, True, False]), b([True, False, False])]),
    Case("LogicalOr", [b([[True], [False]]), b([True, False])]),
    Case("ApproximateEqual", [f32([1, 2]), f32([1.000001, 2.1])]),
    Case("BitwiseAnd", [i32([12, -1]), i32([10, 7])]),
    Case("BitwiseOr", [i32([12, -1]), i32([10, 7])]),
    Case("BitwiseXor", [i32([12, -1]), i32([10, 7])]),
    Case("LeftShift", [i32([1, 3]), i32([4, 0])]),
    Case("RightShift", [i32([-16, 3]), i32([2, 1])]),
    Case("AddN", [[f32([1, 2]), f32([3, 4]), f32([5, 6])]]),
    Case("AddN", [[f64([1])]], label="one"),
    Case("AddN", [[i32([1]), i32([2])]], label="int32"),
    Case("AccumulateNV2", [[f32([1, 2]), f32([3, 4])]], {"shape": [2]}),
    Case("ClipByValue", [f32([-2, 0.5, 3]), f32(0), f32(1)]),
]

# Constants and casts
CASES += [
    Case("Const", [], {"dtype": "float32", "value": f32([1, 2])}),
    Case("Const", [], {"dtype": "string", "value": s(["a", "bc"])}, label="string"),
    Case("PlaceholderWithDefault", [f32([1, 2])], {"shape": [2]}),
    Case("Fill", [i32([2, 3]), f32(1.5)]),
    Case("Fill", [i32([]), i32(7)], label="scalar"),
    Case("Fill", [i64([2]), s("x")], label="string"),
    Case("Fill", [i32([0, 2]), b(True)], label="empty"),
    Case("Fill", [i32([-1]), f32(1)], label="negative", only_class=True),
    Case("Range", [i32(0), i32(10), i32(3)]),
    Case("Range", [i32(10), i32(0), i32(-4)], label="down"),
    Case("Range", [f32(0), f32(1), f32(0.25)], label="float"),
    Case("Range", [f64(0), f64(1), f64(0.3)], label="double"),
    Case("Range", [i64(5), i64(5), i64(1)], label="empty"),
    Case("Range", [i32(0), i32(3), i32(0)], label="zero-step"),
    Case("Range", [i32(3), i32(0), i32(1)], label="wrong-way"),
    Case("LinSpace", [f32(0), f32(1), i32(5)]),
    Case("LinSpace", [f64(-1), f64(2), i64(4)], label="double"),
    Case("LinSpace", [f32(3), f32(9), i32(1)], label="one"),
    Case("LinSpace", [f32(3), f32(9), i32(0)], label="none"),
    Case("OneHot", [i32([0, 2, -1, 5]), i32(3), f32(1), f32(0)]),
    Case("OneHot", [i64([[0, 2], [1, 1]]), i32(3), f32(5), f32(-1)], {"axis": 0}, label="axis0"),
    Case("OneHot", [u8([1]), i32(2), b(True), b(False)], {"axis": 1}, label="bool"),
    Case("Cast", [X], {"DstT": "int32"}),
    Case("Cast", [X], {"DstT": "bool"}, label="to-bool"),
    Case("Cast", [X], {"DstT": "float64"}, label="to-double"),
    Case("Cast", [X], {"DstT": "float16"}, label="to-half"),
    Case("Cast", [f32([1.00390625, 3.14159, -2.5])], {"DstT": "bfloat16"}, label="to-bfloat16"),
    Case("Cast", [i32([300, -1])], {"DstT": "uint8"}, label="wraps"),
    Case("Cast", [i64([2**40 + 5])], {"DstT": "int32"}, label="narrow"),
    Case("Cast", [b([True, False])], {"DstT": "float32"}, label="from-bool"),
    Case("Cast", [COMPLEX], {"DstT": "float32"}, label="from-complex"),
    Case("Cast", [f32([1.5])], {"DstT": "complex64"}, label="to-complex"),
    Case("Cast", [bf16([1.5, -2])], {"DstT": "float32"}, label="from-bfloat16"),
    Case("Bitcast", [f32([1.0, -2.0])], {"type": "int32"}),
    Case("Bitcast", [f32([1.0, -2.0])], {"type": "uint8"}, label="narrower"),
    Case("Bitcast", [i32([[1, 2], [3, 4]])], {"type": "int64"}, label="wider"),
    Case("Identity", [ramp(2, 2)]),
    Case("StopGradient", [ramp(2)]),
    Case("PreventGradient", [ramp(2)], {"message": "m"}),
    Case("Snapshot", [ramp(2)]),
    Case("GuaranteeConst", [ramp(2)]),
    Case("IdentityN", [[ramp(2), i32([1])]]),
    Case("EnsureShape", [ramp(2, 2)], {"shape": [None, 2]}),
    Case("EnsureShape", [ramp(2, 2)], {"shape": [3, 2]}, label="wrong", only_class=True),
    Case("CheckNumerics", [ramp(3)], {"message": "fine"}),
    Case("CheckNumerics", [f32([1, np.nan])], {"message": "oops"}, label="nan"),
    Case("CheckNumerics", [f32([1, np.inf])], {"message": "oops"}, label="inf"),
    Case("FakeQuantWithMinMaxArgs", [X], {"min": -2.0, "max": 1.0, "num_bits": 3}),
    Case("FakeQuantWithMinMaxArgs", [X], {"min": 1.0, "max": 1.0}, label="nothing", only_class=True),
    Case("FakeQuantWithMinMaxArgsGradient", [ramp(2, 3), X], {"min": -2.0, "max": 1.0, "narrow_range": True}),
    Case("FakeQuantWithMinMaxVars", [X, f32(-1.7), f32(2.0)], {"num_bits": 4, "narrow_range": True}),
    Case("FakeQuantWithMinMaxVars", [X, f32(0), f32(0)], label="zero"),
    Case("FakeQuantWithMinMaxVars", [X, f32(-1), f32(0)], {"num_bits": 17}, label="bits", only_class=True),
    Case("FakeQuantWithMinMaxVarsGradient", [ramp(2, 3), X, f32(-1.7), f32(2.0)], {"num_bits": 4}),
    Case("FakeQuantWithMinMaxVarsPerChannel", [X, f32([-3, 0, 0.5]), f32([-1, 2, 2.5])], {"num_bits": 4}),
    Case(
        "FakeQuantWithMinMaxVarsPerChannel",
        [X, f32([-3, 0]), f32([-1, 2])],
        label="channels",
        only_class=True,
    ),
    Case("FakeQuantWithMinMaxVarsPerChannelGradient", [ramp(2, 3), X, f32([-3, 0, 0]), f32([-1, 2, 0])]),
    Case("NoOp", []),
    Case("Assert", [b(True), [f32([1, 2])]]),
    Case("Assert", [b(False), [f32([1, 2, 3, 4]), s("text"), i32([[1, 2], [3, 4]])]], label="fails"),
    Case("Print", [f32([1.5]), [f32([1.5])]], {"message": "print: "}),
]
