"""Cases of reductions, segments, matrices and decompositions."""

import numpy as np

from tests.ops.cases import Case, b, bf16, c64, f16, f32, f64, i32, i64, ramp

M = f32([[1, -2, 3], [4, 5, -6]])
T = ramp(2, 3, 4, step=0.1)
CASES = []

for op in ("Sum", "Mean", "Prod", "Max", "Min", "EuclideanNorm"):
    CASES += [
        Case(op, [M, i32([0, 1])]),
        Case(op, [M, i32(1)], {"keep_dims": True}, label="rows"),
        Case(op, [T, i32([0, -1])], label="outer"),
        Case(op, [T.astype(np.float64), i64([1])], label="double"),
        Case(op, [f32(np.zeros([0, 3])), i32([0])], label="empty"),
        Case(op, [f32(7), i32([])], label="scalar"),
        Case(op, [M, i32([])], label="no-axes"),
        Case(op, [M, i32([2])], label="axis", only_class=True),
    ]
for op in ("Sum", "Mean", "Prod", "Max", "Min"):
    CASES += [
        Case(op, [i32([[1, -2], [-3, -3]]), i32([0, 1])], label="int32"),
        Case(op, [i64([[1, 2], [3, 5]]), i32([1])], label="int64"),
        Case(op, [f16([1.5, 2.25, 3]), i32([0])], label="half"),
        Case(op, [bf16([1.5, 2.25, 3]), i32([0])], label="bfloat16"),
    ]
CASES += [
    Case("Sum", [c64([1 + 1j, 2]), i32([0])], label="complex"),
    Case("Max", [f32([-np.inf, 2]), i32([0])], label="inf"),
    Case("Any", [b([[True, False], [False, False]]), i32([1])]),
    Case("Any", [b(np.zeros([0])), i32([0])], label="empty"),
    Case("All", [b([[True, False], [True, True]]), i32([1])], {"keep_dims": True}),
    Case("All", [b(np.zeros([0])), i32([0])], label="empty"),
]

IDS = i32([0, 0, 2])
for op in ("SegmentSum", "SegmentMean", "SegmentProd", "SegmentMax", "SegmentMin"):
    CASES += [
        Case(op, [ramp(3, 2), IDS]),
        Case(op, [i32([4, -5, 6]), i64([0, 1, 1])], label="int32"),
        Case(op, [ramp(3), i32([1, 0, 0])], label="unsorted", cpu_only=True),
    ]
for op in ("UnsortedSegmentSum", "UnsortedSegmentProd", "UnsortedSegmentMax", "UnsortedSegmentMin"):
    CASES += [
        Case(op, [ramp(3, 2), i32([2, 0, 2]), i32(4)]),
        Case(op, [i32([4, -5, 6]), i32([1, -1, 1]), i32(2)], label="int32"),
        Case(op, [ramp(3), i32([0, 5, 0]), i32(2)], label="range", cpu_only=True),
    ]

A, B = ramp(2, 3), ramp(3, 4, start=-1)
CASES += [
    Case("MatMul", [A, B]),
    Case("MatMul", [A.T.copy(), B], {"transpose_a": True}, label="transpose-a"),
    Case("MatMul", [A, B.T.copy()], {"transpose_b": True}, label="transpose-b"),
    Case("MatMul", [A.T.copy(), B.T.copy()], {"transpose_a": True, "transpose_b": True}, label="both"),
    Case("MatMul", [f64(A), f64(B)], label="double"),
    Case("MatMul", [i32([[1, 2]]), i32([[3], [4]])], label="int32"),
    Case("MatMul", [f16([[1, 2]]), f16([[3], [4]])], label="half"),
    Case("MatMul", [bf16([[1, 2]]), bf16([[3], [4]])], label="bfloat16"),
    Case("MatMul", [c64([[1j, 2]]), c64([[3], [4j]])], label="complex"),
    Case("MatMul", [f32(np.zeros([2, 0])), f32(np.zeros([0, 3]))], label="empty"),
    Case("MatMul", [A, A], label="wrong"),
    Case("MatMul", [f32([1, 2]), A], label="rank", only_class=True),
    Case("SparseMatMul", [A, B], {"a_is_sparse": True}),
    Case("SparseMatMul", [bf16(A), B], label="bfloat16"),
    Case("BatchMatMul", [ramp(2, 2, 3), ramp(2, 3, 2)]),
    Case("BatchMatMul", [ramp(2, 3, 2), ramp(2, 3, 2)], {"adj_x": True}, label="adjoint"),
    Case("BatchMatMulV2", [ramp(2, 2, 3), ramp(3, 2)]),
    Case("BatchMatMulV2", [ramp(1, 2, 3), ramp(4, 2, 3)], {"adj_y": True}, label="broadcast"),
    Case("BatchMatMulV2", [c64([[[1j, 2]]]), c64([[[3, 1j]]])], {"adj_y": True}, label="complex"),
    Case("BatchMatMulV2", [ramp(2, 2, 3), ramp(2, 2, 3)], label="wrong", only_class=True),
    Case("MatrixDiag", [f32([[1, 2], [3, 4]])]),
    Case("MatrixDiagPart", [ramp(2, 2, 3)]),
    Case("MatrixSetDiag", [ramp(2, 3), f32([8, 9])]),
    Case("MatrixDiagV2", [f32([[1, 2, 3], [4, 5, 6]]), i32(1), i32(-1), i32(-1), f32(9)]),
    Case("MatrixDiagV2", [f32([[1, 2], [4, 5]]), i32([-1, 0]), i32(2), i32(3), f32(0)], label="band"),
    Case("MatrixDiagPartV2", [ramp(2, 2, 3), i32([-1, 1]), f32(9)]),
    Case("MatrixSetDiagV2", [ramp(2, 3), f32([8, 9]), i32(1)]),
    Case("MatrixSetDiag", [ramp(2, 3), f32([8])], label="wrong", only_class=True),
    Case("MatrixBandPart", [ramp(4, 4), i64(1), i64(0)]),
    Case("MatrixBandPart", [ramp(2, 3, 4), i64(-1), i64(1)], label="upper"),
    Case("MatrixBandPart", [i32([[1, 2], [3, 4]]), i32(0), i32(-1)], label="int32"),
    Case("Diag", [f32([1, 2])]),
    Case("Diag", [ramp(2, 2)], label="matrix"),
    Case("DiagPart", [ramp(2, 2)]),
    Case("DiagPart", [ramp(2, 3, 2, 3)], label="4d"),
    Case("DiagPart", [ramp(2, 3)], label="wrong", only_class=True),
    Case("SparseTensorDenseAdd", [i64([[0, 1], [1, 0], [0, 1]]), f32([1, 2, 4]), i64([2, 2]), ramp(2, 2)]),
    Case(
        "SparseTensorDenseAdd",
        [i64([[0, 1]]), i32([1]), i64([3, 2]), i32([[1, 2]])],
        label="wrong",
        only_class=True,
    ),
    Case("Cross", [f32([1, 2, 3]), f32([4, 5, 6])]),
    Case("Cross", [i32([[1, 0, 0], [0, 1, 0]]), i32([[0, 1, 0], [0, 0, 1]])], label="int32"),
    Case("MatrixInverse", [f32([[4, 1], [2, 3]])], rtol=1e-5),
    Case("MatrixInverse", [f64([[[4, 1], [2, 3]]])], {"adjoint": True}, label="adjoint"),
    Case("MatrixInverse", [f32([[1, 2], [2, 4]])], label="singular", cpu_only=True),
    Case("MatrixDeterminant", [f32([[[4, 1], [2, 3]], [[1, 0], [0, 1]]])], rtol=1e-5),
    Case("Cholesky", [f32([[4, 2], [2, 3]])], rtol=1e-5),
    Case("MatrixSolve", [f32([[4, 1], [2, 3]]), f32([[1], [2]])], rtol=1e-5),
    Case("MatrixSolve", [f64([[4, 1], [2, 3]]), f64([[1, 0], [2, 1]])], {"adjoint": True}, label="adjoint"),
]
