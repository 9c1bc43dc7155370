"""Cases of ops on sparse tensors. See ``cases``."""

from __future__ import annotations

import numpy as np

from tests.ops.cases import Case, f32, f64, i32, i64, ramp, s

AT = i64([[0, 1], [1, 0], [1, 2], [2, 3]])
VALUES = f32([1.5, -2.0, 0.5, 4.0])
SHAPE = i64([3, 4])
SPARSE = [AT, VALUES, SHAPE]
CUBE = [i64([[0, 0, 1], [0, 1, 0], [1, 1, 2], [1, 1, 3]]), f64([1, 2, 3, 4]), i64([2, 2, 4])]
EMPTY = [np.zeros((0, 2), np.int64), f32([]), SHAPE]
UNORDERED = [AT[::-1].copy(), VALUES[::-1].copy(), SHAPE]
OTHER = [i64([[0, 1], [0, 3], [2, 3]]), f32([1.0, 2.0, -4.0]), SHAPE]
SETS = [i64([[0, 0], [0, 1], [1, 0], [1, 2]]), i64([1, 7, 5, 5]), i64([3, 3])]
UNION = {"set_operation": "union"}
OTHER_SETS = [i64([[0, 1], [1, 1], [2, 0]]), i64([7, 5, 6]), i64([3, 4])]

INDICES = b'\x08\t\x12\x08\x12\x02\x08\x01\x12\x02\x08\x01"\x08\x01' + bytes(7)
ONE = b'\x08\x01\x12\x04\x12\x02\x08\x01"\x04\x00\x00\xc0?'
SIZES = [b'\x08\t\x12\x04\x12\x02\x08\x01"\x08' + bytes([size]) + bytes(7) for size in (4, 3)]
PACKED = np.array([[INDICES, ONE, size] for size in SIZES], object)
"""Vectors [0, 1.5, 0, 0] and [0, 1.5, 0], as three messages each."""

CASES = [
    # As messages
    Case("SerializeSparse", SPARSE, {"out_type": "string"}),
    Case("SerializeSparse", EMPTY, {"out_type": "string"}, "empty"),
    Case("SerializeSparse", [AT, VALUES[:2], SHAPE], {"out_type": "string"}, "counts", only_class=True),
    Case("SerializeManySparse", SPARSE, {"out_type": "string"}),
    Case("SerializeManySparse", CUBE, {"out_type": "string"}, "cube"),
    Case("SerializeManySparse", EMPTY, {"out_type": "string"}, "empty"),
    Case("SerializeManySparse", UNORDERED, {"out_type": "string"}, "order", only_class=True),
    Case("DeserializeSparse", [PACKED], {"dtype": "float32"}),
    Case("DeserializeSparse", [PACKED[0]], {"dtype": "float32"}, "one"),
    Case("DeserializeSparse", [PACKED[:, None]], {"dtype": "float32"}, "matrix"),
    Case("DeserializeSparse", [PACKED], {"dtype": "float64"}, "another type"),
    Case("DeserializeSparse", [PACKED[:, :2]], {"dtype": "float32"}, "two columns", only_class=True),
    Case("DeserializeManySparse", [PACKED], {"dtype": "float32"}),
    Case("DeserializeManySparse", [PACKED[:0]], {"dtype": "float32"}, "none", only_class=True),
    Case(
        "DeserializeManySparse", [s([["a", "b", "c"]])], {"dtype": "float32"}, "no messages", only_class=True
    ),
    # To dense
    Case("SparseToDense", [AT, SHAPE, VALUES, f32(0.0)]),
    Case("SparseToDense", [AT, SHAPE, f32(7.0), f32(-1.0)], label="one value"),
    Case(
        "SparseToDense",
        [i32([3, 1]), i32([5]), i32([7, 8]), i32(0)],
        {"validate_indices": False},
        "unordered",
    ),
    Case("SparseToDense", [i32(2), i32([4]), f64(1.5), f64(0.0)], label="one place"),
    Case("SparseToDense", [i64([[0], [2]]), i64([3]), s(["a", "b"]), s("-")], label="strings"),
    Case("SparseToDense", [i64([[1], [0]]), i64([3]), f32([1, 2]), f32(0.0)], label="order", only_class=True),
    Case(
        "SparseToDense", [i64([[1], [3]]), i64([3]), f32([1, 2]), f32(0.0)], label="outside", only_class=True
    ),
    Case("SparseToDense", [i64([[1], [1]]), i64([3]), f32([1, 2]), f32(0.0)], label="twice", only_class=True),
    Case("SparseToDense", [AT, i64([3]), VALUES, f32(0.0)], label="rank", only_class=True),
    # Products
    Case("SparseTensorDenseMatMul", [*SPARSE, ramp(4, 2)]),
    Case("SparseTensorDenseMatMul", [*UNORDERED, ramp(4, 2)], label="unordered"),
    Case("SparseTensorDenseMatMul", [*SPARSE, ramp(3, 5)], {"adjoint_a": True}, "adjoint a"),
    Case("SparseTensorDenseMatMul", [*SPARSE, ramp(5, 4)], {"adjoint_b": True}, "adjoint b"),
    Case("SparseTensorDenseMatMul", [*SPARSE, ramp(5, 3)], {"adjoint_a": True, "adjoint_b": True}, "both"),
    Case(
        "SparseTensorDenseMatMul", [i32(AT), VALUES.astype(np.float64), SHAPE, ramp(4, 2, dtype=np.float64)]
    ),
    Case(
        "SparseTensorDenseMatMul",
        [AT, VALUES.astype(np.complex64) * (1 + 1j), SHAPE, ramp(3, 2) * (1 - 2j)],
        {"adjoint_a": True},
        "complex",
    ),
    Case("SparseTensorDenseMatMul", [*EMPTY, ramp(4, 2)], label="empty"),
    Case("SparseTensorDenseMatMul", [*SPARSE, ramp(3, 2)], label="sizes", only_class=True),
    Case(
        "SparseTensorDenseMatMul",
        [i64([[0, 4]]), f32([1.0]), SHAPE, ramp(4, 2)],
        label="outside",
        cpu_only=True,
    ),
    Case("SparseDenseCwiseMul", [*SPARSE, ramp(3, 4)]),
    Case("SparseDenseCwiseMul", [*SPARSE, ramp(4)], label="row"),
    Case("SparseDenseCwiseMul", [*SPARSE, f32(3.0)], label="scalar"),
    Case("SparseDenseCwiseDiv", [*SPARSE, ramp(3, 1)], label="column"),
    Case("SparseDenseCwiseDiv", [AT, i32([7, 8, -9, 10]), SHAPE, i32([[2], [3], [4]])], label="integers"),
    Case("SparseDenseCwiseAdd", [*CUBE, ramp(2, 4, dtype=np.float64)], label="cube"),
    Case("SparseDenseCwiseAdd", [*SPARSE, ramp(2)], label="sizes", only_class=True),
    Case("SparseSoftmax", SPARSE),
    Case("SparseSoftmax", CUBE, label="cube"),
    Case("SparseSoftmax", EMPTY, label="empty"),
    # Reductions
    *[
        Case(op, [*SPARSE, i32(axes)], {"keep_dims": keep}, f"{axes} {keep}")
        for op in ("SparseReduceSum", "SparseReduceMax", "SparseReduceSumSparse", "SparseReduceMaxSparse")
        for axes, keep in (
            ([0], False),
            ([1], True),
            ([-1], False),
            ([0, 1], False),
            ([0, 1], True),
            ([], False),
        )
    ],
    *[
        Case(op, [*CUBE, i32(axes)], label=f"cube {axes}")
        for op in ("SparseReduceSum", "SparseReduceMax", "SparseReduceSumSparse")
        for axes in ([0, 2], [1], [2])
    ],
    Case("SparseReduceSum", [*EMPTY, i32([0])], label="empty"),
    Case("SparseReduceSum", [*SPARSE, i32([2])], label="axis", only_class=True),
    # Other places
    Case("SparseReorder", UNORDERED),
    Case("SparseReorder", EMPTY, label="empty"),
    Case("SparseReorder", [AT[::-1].copy(), s(["a", "b", "c", "d"]), SHAPE], label="strings"),
    Case("SparseReshape", [AT, SHAPE, i64([4, 3])]),
    Case("SparseReshape", [AT, SHAPE, i64([2, -1])], label="open"),
    Case("SparseReshape", [AT, SHAPE, i64([12])], label="flat"),
    Case("SparseReshape", [AT, SHAPE, i64([5, 3])], label="sizes", only_class=True),
    Case("SparseReshape", [AT, SHAPE, i64([-1, -1])], label="two open", only_class=True),
    *[
        Case(
            "SparseConcat",
            [[AT, OTHER[0]], [VALUES, OTHER[1]], [SHAPE, SHAPE]],
            {"concat_dim": dim},
            f"{dim}",
        )
        for dim in (0, 1, -1)
    ],
    Case(
        "SparseConcat",
        [[AT, AT], [VALUES, VALUES], [SHAPE, i64([3, 5])]],
        {"concat_dim": 0},
        "sizes",
        only_class=True,
    ),
    Case("SparseSlice", [*SPARSE, i64([1, 0]), i64([2, 3])]),
    Case("SparseSlice", [*SPARSE, i64([1, 2]), i64([9, 9])], label="beyond"),
    Case("SparseSlice", [*SPARSE, i64([1]), i64([2, 3])], label="length", only_class=True),
    Case("SparseSliceGrad", [f32([5.0, 6.0]), AT, i64([1, 0]), i64([[0, 0], [0, 2]])]),
    Case("SparseSplit", [i64(1), *SPARSE], {"num_split": 2}),
    Case("SparseSplit", [i64(0), *SPARSE], {"num_split": 2}, "uneven"),
    Case("SparseSplit", [i64(0), *SPARSE], {"num_split": 4}, "too many", only_class=True),
    # Two of them
    Case("SparseAdd", [*SPARSE, *OTHER, f32(0.0)]),
    Case("SparseAdd", [*SPARSE, *OTHER, f32(1.0)], label="threshold"),
    Case("SparseAdd", [*SPARSE, *EMPTY, f32(0.0)], label="empty"),
    Case("SparseAdd", [*SPARSE, AT, VALUES, i64([3, 5]), f32(0.0)], label="sizes", only_class=True),
    Case(
        "SparseAddGrad", [f32([1, 2, 3, 4, 5]), AT, OTHER[0], i64([[0, 1], [0, 3], [1, 0], [1, 2], [2, 3]])]
    ),
    Case("SparseAddGrad", [f32([1, 2]), AT, OTHER[0], i64([[0, 1], [1, 0]])], label="dropped"),
    Case("SparseSparseMaximum", [*SPARSE, *OTHER]),
    Case("SparseSparseMinimum", [*SPARSE, *OTHER]),
    # Rows without elements
    Case("SparseFillEmptyRows", [i64([[0, 1], [0, 3], [3, 2]]), f32([1, 2, 3]), i64([5, 4]), f32(9.0)]),
    Case("SparseFillEmptyRows", [*SPARSE, f32(9.0)], label="none is empty"),
    Case("SparseFillEmptyRows", [i64([[1, 0]]), s(["a"]), i64([3, 2]), s("-")], label="strings"),
    Case(
        "SparseFillEmptyRows",
        [i64([[3, 0]]), f32([1]), i64([3, 2]), f32(9.0)],
        label="outside",
        only_class=True,
    ),
    Case("SparseFillEmptyRowsGrad", [i64([0, 1, 4]), f32([1, 2, 4, 8, 16])]),
    # Segments
    *[
        Case(f"SparseSegment{how}", [ramp(4, 3), ids, i32([0, 0, 2, 2, 2])], label=label)
        for how in ("Sum", "Mean", "SqrtN")
        for ids, label in ((i32([0, 3, 1, 1, 2]), ""), (i64([0, 3, 1, 1, 2]), "int64"))
    ],
    *[
        Case(
            f"SparseSegment{how}WithNumSegments",
            [ramp(4, dtype=np.float64), i32([0, 3, 1]), i32([0, 0, 2]), i32(5)],
        )
        for how in ("Sum", "Mean", "SqrtN")
    ],
    *[
        Case(f"SparseSegment{how}Grad", [ramp(3, 2), i32([0, 3, 1, 1, 2]), i32([0, 0, 2, 2, 2]), i32(4)])
        for how in ("Mean", "SqrtN")
    ],
    Case("SparseSegmentSum", [ramp(4, 3), i32([0, 4]), i32([0, 0])], label="outside", only_class=True),
    Case("SparseSegmentSum", [ramp(4, 3), i32([0, 1]), i32([1, 0])], label="order", only_class=True),
    Case("SparseTensorDenseAdd", [*SPARSE, ramp(3, 4)]),
    # Sets
    *[
        Case("DenseToDenseSetOperation", [one, other], {"set_operation": how}, f"{how} {label}")
        for how in ("a-b", "b-a", "intersection", "union")
        for label, one, other in (
            ("rows", i64([[3, 1, 1], [2, 5, 7], [-1, 0, 4]]), i64([[1, 9], [5, 2], [3, 3]])),
            ("vectors", i32([5, 4, 4, 1]), i32([4, 0])),
            ("cubes", ramp(2, 2, 3, dtype=np.int64) % 4, ramp(2, 2, 2, dtype=np.int64) % 3),
            ("strings", s([["b", "a", "b"]]), s([["c", "a"]])),
        )
    ],
    *[
        Case("DenseToSparseSetOperation", [i64([[3, 1], [2, 5], [0, 0]]), *SETS], {"set_operation": how}, how)
        for how in ("a-b", "b-a", "intersection", "union")
    ],
    *[
        Case("SparseToSparseSetOperation", [*SETS, *OTHER_SETS], {"set_operation": how}, how)
        for how in ("a-b", "b-a", "intersection", "union")
    ],
    Case(
        "DenseToDenseSetOperation",
        [i64([[1], [2]]), i64([[1]])],
        {"set_operation": "union"},
        "groups",
        only_class=True,
    ),
    Case("SetSize", SETS),
    Case("SetSize", [i64([[0, 0, 1], [1, 1, 0], [1, 1, 1]]), i32([4, 2, 2]), i64([2, 2, 3])], label="cube"),
    Case("SetSize", [i64([[1, 1], [0, 0]]), i64([1, 2]), i64([2, 2])], label="order", only_class=True),
    Case("SetSize", [i64([[0, 1]]), s(["a"]), i64([2, 2])], label="strings"),
    *[
        Case(op, [i64(np.zeros([0, 2])), f32([]), i64([0, 4]), ramp(1, 4)], label="none", only_class=True)
        for op in ("SparseDenseCwiseMul", "SparseDenseCwiseDiv", "SparseDenseCwiseAdd")
    ],
    Case("SparseToDense", [i32(np.zeros([1, 0])), i32([]), i32([-7]), i32(2)], label="scalar"),
    *[
        Case(
            "EditDistance",
            [
                i64([[0, 0], [0, 1], [2, 0]]),
                i32([1, 2, 5]),
                i64([3, 2]),
                i64([[0, 0], [0, 2], [1, 0]]),
                i32([2, 3, 4]),
                i64([4, 3]),
            ],
            {"normalize": normalize},
        )
        for normalize in (False, True)
    ],
    Case(
        "EditDistance",
        [i64([[0, 1], [0, 0]]), i32([1, 2]), i64([1, 2]), i64([[0, 0]]), i32([2]), i64([1, 1])],
        label="order",
        only_class=True,
    ),
]
