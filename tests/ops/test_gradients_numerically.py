"""Every gradient function of arrays and arithmetic, against differences of the function itself, in float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.ops.gradients import registry as gradient_registry
from gpuplace.ops.support import new

Program = Callable[..., Any]

RANDOM = np.random.default_rng(7)
M = RANDOM.uniform(0.3, 0.9, (2, 3))
N = RANDOM.uniform(1.1, 1.9, (2, 3))
V = RANDOM.uniform(0.3, 0.9, 3)
SQUARE = RANDOM.uniform(0.1, 0.9, (3, 3)) + 3 * np.eye(3)
CUBE = RANDOM.uniform(0.3, 0.9, (2, 3, 4))


def unary(op_type: str, argument: str = "x") -> tuple[Program, list[np.ndarray]]:
    return (lambda x: new(op_type, **{argument: x})), [M]


def binary(op_type: str) -> tuple[Program, list[np.ndarray]]:
    return (lambda x, y: new(op_type, x=x, y=y)), [M, V + 0.05]


PROGRAMS: dict[str, tuple[Program, list[np.ndarray]]] = {
    op: unary(op)
    for op in (
        "Abs Neg Sign Reciprocal Inv Square Sqrt Rsqrt Exp Expm1 Log Log1p Sin Cos Tan Asin Acos Atan Sinh Cosh Tanh"
        " Asinh Atanh Sigmoid Erf Erfc Lgamma"
    ).split()
}
PROGRAMS |= {
    op: binary(op)
    for op in (
        "Add AddV2 Sub Mul MulNoNan Div RealDiv DivNoNan Pow Maximum Minimum SquaredDifference Xlogy Xdivy FloorMod"
    ).split()
}
PROGRAMS |= {
    "Acosh": (lambda x: new("Acosh", x=x), [N]),
    "Angle": (lambda x, y: tf.angle(tf.complex(x, y)), [M, N]),
    "Digamma": (lambda x: tf.digamma(x), [N]),
    "Cholesky": (lambda x: tf.cholesky(x + tf.transpose(x)), [SQUARE]),
    "LogMatrixDeterminant": (lambda x: tf.linalg.slogdet(x)[1], [SQUARE]),
    "MatrixTriangularSolve": (lambda x, y: tf.matrix_triangular_solve(x, y), [SQUARE, N.T]),
    "SegmentProd": (lambda x: tf.segment_prod(x, [0, 1, 1]), [SQUARE]),
    "ClipByValue": (
        lambda x, low, high: new("ClipByValue", t=x, clip_value_min=low, clip_value_max=high),
        [np.array([0.1, 0.5, 0.9]), np.array(0.3), np.array(0.7)],
    ),
    "Atan2": (lambda y, x: new("Atan2", y=y, x=x), [M, N]),
    "Atan2 broadcast": (lambda y, x: new("Atan2", y=y, x=x), [M, V]),
    "equal shapes": (lambda x, y: x * y + x / y - x, [M, N]),
    "TanhGrad": (lambda y, dy: new("TanhGrad", y=y, dy=dy), [M, N]),
    "SigmoidGrad": (lambda y, dy: new("SigmoidGrad", y=y, dy=dy), [M, N]),
    "SqrtGrad": (lambda y, dy: new("SqrtGrad", y=y, dy=dy), [M, N]),
    "RsqrtGrad": (lambda y, dy: new("RsqrtGrad", y=y, dy=dy), [M, N]),
    "ReciprocalGrad": (lambda y, dy: new("ReciprocalGrad", y=y, dy=dy), [M, N]),
    "InvGrad": (lambda y, dy: new("InvGrad", y=y, dy=dy), [M, N]),
    "AccumulateNV2": (lambda x, y: tf.accumulate_n([x, y]), [M, N]),
    "AddN": (lambda x, y: tf.add_n([x, y, x]), [M, N]),
    "Cast": (lambda x: tf.cast(tf.cast(x, tf.complex128), tf.float64), [M]),
    "complex": (
        lambda x, y: tf.abs(tf.conj(tf.complex(x, y))) + tf.imag(tf.complex(y, x)) * tf.real(tf.complex(x, x)), [M, N],
    ),
    "complex broadcast": (lambda x, y: tf.real(tf.complex(x, y) * tf.complex(y, x)), [M, V]),
    "PlaceholderWithDefault": (lambda x: tf.placeholder_with_default(x, [2, 3]) * 2.0, [M]),
    "Fill": (lambda x: tf.fill([2, 2], x), [np.float64(1.5)]),
    "Reshape": (lambda x: tf.reshape(x, [3, -1]) * tf.constant(N.reshape(3, 2)), [M]),
    "ExpandDims": (lambda x: tf.squeeze(tf.expand_dims(x, 1)), [M]),
    "Transpose": (lambda x: tf.transpose(x, [2, 0, 1]), [CUBE]),
    "ConjugateTranspose": (lambda x: tf.real(tf.transpose(tf.complex(x, x), conjugate=True)), [M]),
    "Identity": (lambda x: tf.identity(tf.ensure_shape(tf.check_numerics(x, "m"), [2, None])), [M]),
    "IdentityN": (lambda x, y: tf.identity_n([x, y])[0] * tf.identity_n([x, y])[1], [M, N]),
    "BroadcastTo": (lambda x: tf.broadcast_to(x, [2, 3]), [V]),
    "Tile": (lambda x: tf.tile(x, [2, 3]), [M]),
    "Pad": (lambda x: tf.pad(x, [[1, 0], [0, 2]]), [M]),
    "PadV2": (lambda x: tf.pad(x, [[1, 0], [0, 2]], constant_values=2.0), [M]),
    "MirrorPad": (lambda x: tf.pad(x, [[1, 1], [2, 1]], "REFLECT"), [M]),
    "MirrorPadGrad": (
        lambda x: new("MirrorPadGrad", input=x, paddings=[[1, 0], [1, 1]], mode="SYMMETRIC"),
        [RANDOM.uniform(0, 1, (3, 4))],
    ),
    "Concat": (lambda x, y: new("Concat", concat_dim=1, values=[x, y, x]), [M, N]),
    "ConcatV2": (lambda x, y: tf.concat([x, y], -1), [M, N]),
    "Pack": (lambda x, y: tf.stack([x, y], axis=1), [M, N]),
    "Unpack": (lambda x: tf.unstack(x, axis=1)[1] * tf.unstack(x, axis=1)[0], [M]),
    "Split": (lambda x: tf.split(x, 3, axis=1)[1] * tf.split(x, 3, axis=1)[2], [M]),
    "SplitV": (lambda x: tf.split(x, [1, 2], axis=1)[1], [M]),
    "DynamicPartition": (lambda x: tf.dynamic_partition(x, [1, 0, 1], 2)[1] * 2.0, [V]),
    "DynamicStitch": (lambda x, y: tf.dynamic_stitch([[0, 2], [1, 3]], [x, y]), [V[:2], V[1:]]),
    "ParallelDynamicStitch": (
        lambda x, y: new("ParallelDynamicStitch", indices=[[0, 2], [1, 3]], data=[x, y]), [V[:2], V[1:]],
    ),
    "SpaceToDepth": (lambda x: tf.space_to_depth(x, 2), [RANDOM.uniform(0, 1, (1, 2, 2, 2))]),
    "DepthToSpace": (lambda x: tf.depth_to_space(x, 2), [RANDOM.uniform(0, 1, (1, 1, 2, 4))]),
    "Slice": (lambda x: tf.slice(x, [0, 1], [2, -1]), [M]),
    "StridedSlice": (lambda x: x[:, ::2] * x[0, 1:], [M]),
    "StridedSliceGrad": (
        lambda x: new("StridedSliceGrad", shape=[4], begin=[0], end=[4], strides=[2], dy=x), [V[:2]],
    ),
    "Gather": (lambda x: new("Gather", params=x, indices=[1, 0, 1]), [M]),
    "GatherV2": (lambda x: tf.gather(x, [[2, 0], [1, 2]], axis=1), [M]),
    "GatherNd": (lambda x: tf.gather_nd(x, [[0, 1], [1, 2], [0, 1]]), [M]),
    "ScatterNd": (lambda x: tf.scatter_nd([[1], [3], [1]], x, [5]), [V]),
    "TensorScatterUpdate": (lambda x, y: tf.tensor_scatter_update(x, [[1]], y), [V, V[:1]]),
    "TensorScatterAdd": (lambda x, y: tf.tensor_scatter_add(x, [[1]], y), [V, V[:1]]),
    "TensorScatterSub": (lambda x, y: new("TensorScatterSub", tensor=x, indices=[[1]], updates=y), [V, V[:1]]),
    "ScatterNdNonAliasingAdd": (
        lambda x, y: new("ScatterNdNonAliasingAdd", input=x, indices=[[1]], updates=y), [V, V[:1]]),
    "Select": (lambda x, y: tf.where(tf.constant([True, False]), x, y), [M, N]),
    "SelectV2": (lambda x, y: tf.where_v2(tf.constant([[True], [False]]), x, y), [M, V]),
    "ReverseV2": (lambda x: tf.reverse(x, [1]), [M]),
    "ReverseSequence": (lambda x: tf.reverse_sequence(x, [2, 3], seq_axis=1), [M]),
    "Roll": (lambda x: tf.roll(x, 1, 1), [M]),
    "Cumsum": (lambda x: tf.cumsum(x, 1, exclusive=True, reverse=True), [M]),
    "CumulativeLogsumexp": (lambda x: tf.math.cumulative_logsumexp(x, 1, reverse=True), [M]),
    "Cumprod": (lambda x: tf.cumprod(x, 1), [M]),
    "Print": (lambda x: tf.Print(x, [], first_n=0), [M]),
    "Sum": (lambda x: tf.reduce_sum(x, [0, 2]), [CUBE]),
    "Sum of all": (lambda x: tf.reduce_sum(x), [CUBE]),
    "Mean": (lambda x: tf.reduce_mean(x, 1, keepdims=True), [CUBE]),
    "Prod": (lambda x: tf.reduce_prod(x, [0, 2]), [CUBE]),
    "Max": (lambda x: tf.reduce_max(x, 1), [M]),
    "Min": (lambda x: tf.reduce_min(x), [M]),
    "EuclideanNorm": (lambda x: tf.reduce_euclidean_norm(x, 1), [M]),
    "logsumexp": (lambda x: tf.reduce_logsumexp(x, 1), [M]),
    "variance": (lambda x: new("Sqrt", x=tf.norm(x, ord=3)), [M]),
    "SegmentSum": (lambda x: tf.segment_sum(x, [0, 0, 2]), [SQUARE]),
    "SegmentMean": (lambda x: tf.segment_mean(x, [0, 0, 1]), [SQUARE]),
    "SegmentMax": (lambda x: tf.segment_max(x, [0, 0, 1]), [SQUARE]),
    "SegmentMin": (lambda x: tf.segment_min(x, [0, 0, 1]), [SQUARE]),
    "UnsortedSegmentSum": (lambda x: tf.unsorted_segment_sum(x, [1, -1, 1], 2), [SQUARE]),
    "UnsortedSegmentProd": (lambda x: tf.unsorted_segment_prod(x, [1, 0, 1], 2), [SQUARE]),
    "UnsortedSegmentMax": (lambda x: tf.unsorted_segment_max(x, [1, 0, 1], 2), [SQUARE]),
    "UnsortedSegmentMin": (lambda x: tf.unsorted_segment_min(x, [1, 0, 1], 2), [SQUARE]),
    "MatMul": (lambda a, b: tf.matmul(a, b), [M, SQUARE]),
    "MatMul transpose a": (lambda a, b: tf.matmul(a, b, transpose_a=True), [SQUARE, SQUARE + 1]),
    "MatMul transpose b": (lambda a, b: tf.matmul(a, b, transpose_b=True), [M, SQUARE]),
    "MatMul transpose both": (lambda a, b: tf.matmul(a, b, transpose_a=True, transpose_b=True), [SQUARE, M]),
    "BatchMatMul": (lambda a, b: tf.batch_matmul(a, b, adj_x=True), [CUBE, CUBE]),
    "BatchMatMulV2": (lambda a, b: tf.matmul(a, b, transpose_b=True), [CUBE, CUBE[:1]]),
    "MatrixDiag": (lambda x: tf.matrix_diag(x), [M]),
    "MatrixDiagPart": (lambda x: tf.matrix_diag_part(x), [M]),
    "MatrixSetDiag": (lambda x, y: tf.matrix_set_diag(x, y), [M, V[:2]]),
    "MatrixBandPart": (lambda x: tf.matrix_band_part(x, 1, 0), [SQUARE]),
    "Diag": (lambda x: tf.diag(x), [V]),
    "DiagPart": (lambda x: tf.diag_part(x), [SQUARE]),
    "Cross": (lambda x, y: tf.cross(x, y), [M, N]),
    "MatrixInverse": (lambda x: tf.matrix_inverse(x), [SQUARE]),
    "MatrixInverse adjoint": (lambda x: tf.matrix_inverse(x, adjoint=True), [SQUARE]),
    "MatrixDeterminant": (lambda x: tf.matrix_determinant(x), [SQUARE]),
    "MatrixSolve": (lambda x, y: tf.matrix_solve(x, y), [SQUARE, M.T.copy()]),
    "MatrixSolve adjoint": (lambda x, y: tf.matrix_solve(x, y, adjoint=True), [SQUARE, M.T.copy()]),
    "SparseTensorDenseAdd": (
        lambda v, b: new("SparseTensorDenseAdd", a_indices=[[0], [2], [0]], a_values=v, a_shape=[3], b=b), [V, V + 1],
    ),
    "tensordot": (lambda x, y: tf.tensordot(x, y, [[1], [0]]), [M, SQUARE]),
    "einsum": (lambda x, y: tf.einsum("bij,bik->bjk", x, y), [CUBE, CUBE]),
}  # fmt: skip

SINGLE_PRECISION = {
    "SparseMatMul": (lambda a, b: new("SparseMatMul", a=a, b=b, transpose_a=True), [SQUARE, SQUARE + 1])
}
"""Ops that have no float64 kernel."""

WITHOUT_DIFFERENCES = {"Floor", "Ceil", "Round", "Rint"}
"""Gradients that are no gradient: a step has none."""


def check(
    program: Program, values: list[np.ndarray], dtype: Any, step: float, tolerance: float, known: bool
) -> tf.Graph:
    graph = tf.Graph()
    with graph.as_default():
        inputs = [tf.placeholder(dtype, np.shape(value) if known else None) for value in values]
        output = program(*inputs)
        weights = tf.placeholder(output.dtype, output.shape)
        total = tf.reduce_sum(output * weights)
        grads = tf.gradients(total, inputs)
        with tf.Session(graph=graph) as session:
            feeds = dict(zip(inputs, [np.asarray(value, dtype) for value in values], strict=True))
            shape = session.run(output, feeds).shape
            feeds[weights] = np.random.default_rng(3).uniform(0.5, 1.5, shape).astype(dtype)
            dense = [tf.convert_to_tensor(grad) for grad in grads]
            results = session.run(dense, feeds)
            for tensor, value, result in zip(inputs, values, results, strict=True):
                assert result.shape == np.shape(value)
                assert result.dtype == np.dtype(dtype)
                expected = np.zeros(np.shape(value))
                for index in np.ndindex(np.shape(value)):
                    sides = []
                    for sign in (1, -1):
                        moved = np.array(value, dtype)
                        moved[index] += sign * step
                        sides.append(float(session.run(total, {**feeds, tensor: moved})))
                    expected[index] = (sides[0] - sides[1]) / (2 * step)
                np.testing.assert_allclose(result, expected, rtol=tolerance, atol=tolerance)


OF_TENSORFLOW_2 = ("SegmentProd", "ClipByValue", "EuclideanNorm", "Atan2 broadcast")
"""Those that release 1.15 has no gradient for, or a wrong one."""


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradient_is_the_slope(name: str) -> None:
    program, values = PROGRAMS[name]
    if name in OF_TENSORFLOW_2:
        tf.set_release("2.21")
    check(program, values, np.float64, 1e-6, 2e-7, known=True)


DYNAMIC = [
    "Add", "Mul", "Pow", "Maximum", "SquaredDifference", "Reshape", "Tile", "Pad", "ConcatV2", "Slice", "Sum", "Mean",
    "Max",     "StridedSlice", "BatchMatMulV2", "UnsortedSegmentMax", "BroadcastTo", "MatMul",
]  # fmt: skip


@pytest.mark.parametrize("name", DYNAMIC)
def test_gradient_is_the_slope_where_shapes_are_unknown(name: str) -> None:
    program, values = PROGRAMS[name]
    if name.startswith("UnsortedSegment"):
        tf.set_release("2.21")
    check(program, values, np.float64, 1e-6, 2e-7, known=False)


@pytest.mark.parametrize("name", SINGLE_PRECISION)
def test_gradient_in_single_precision(name: str) -> None:
    program, values = SINGLE_PRECISION[name]
    check(program, values, np.float32, 1e-2, 2e-3, known=True)


@pytest.mark.parametrize("name", ["SegmentProd", "ClipByValue"])
def test_gradients_of_tensorflow_2_are_missing_in_1_15(name: str) -> None:
    program, values = PROGRAMS[name]
    fed = [tf.placeholder(tf.float64, value.shape) for value in values]
    with pytest.raises(LookupError, match=rf"No gradient defined for operation '{name}' .*set_release"):
        tf.gradients(program(*fed), fed)


def test_gradients_that_1_15_refuses_say_what_to_declare() -> None:
    x = tf.placeholder(tf.float32)
    with pytest.raises(TypeError, match="set_shape"):
        tf.gradients(tf.unsorted_segment_sum(x, [0, 1], 2), x)
    with pytest.raises(ValueError, match="set_shape"):
        tf.gradients(new("MatrixSolveLs", matrix=x, rhs=[[1.0]], l2_regularizer=np.float64(0)), x)
    with pytest.raises(TypeError, match="set_shape"):
        tf.gradients(tf.svd(x), x)
    with pytest.raises(TypeError, match="set_shape"):
        tf.gradients(tf.gather(x, tf.placeholder(tf.int32), axis=1, batch_dims=1), x)
    with pytest.raises(ValueError, match="Incompatible shapes"):
        vector = tf.ones([3])
        tf.gradients(tf.atan2(tf.ones([2, 3]), vector), vector)


def test_steps_have_no_gradient() -> None:
    for op_type in WITHOUT_DIFFERENCES:
        x = tf.placeholder(tf.float32, [2])
        assert tf.gradients(new(op_type, x=x), [x]) == [None]


def test_prevented_gradient_says_why() -> None:
    x = tf.placeholder(tf.float32, [2])
    y = new("PreventGradient", input=x, message="because")
    with pytest.raises(LookupError, match="because"):
        tf.gradients(y, [x])


MODULES = (
    "array cast comparison constant contraction control elementwise gather joining linalg matrix padding random"
    " clip_ops confusion_matrix division rearranging reduction segments sequence slicing special strings unary"
).split()


def _is_checked(module: str) -> bool:
    """Whether the gradients of a module are; those of sparse tensors are beside TensorFlow's."""
    return module.rpartition(".")[2] in MODULES and ".sparse." not in module


def test_every_gradient_is_checked() -> None:
    """Each op type with a gradient function in these modules is in the graph of some program above."""
    used: set[str] = set()
    for program, values in (*PROGRAMS.values(), *SINGLE_PRECISION.values()):
        with tf.Graph().as_default() as graph:
            single = any(program is one for one, _ in SINGLE_PRECISION.values())
            program(
                *[tf.placeholder(tf.float32 if single else tf.float64, np.shape(value)) for value in values]
            )
            used |= {op.type for op in graph.get_operations()}
    wanted = {
        op_type
        for op_type in gradient_registry.gradient_op_types()
        if _is_checked(gradient_registry._functions[op_type].__module__)
    }
    unchecked = wanted - used - WITHOUT_DIFFERENCES - {"RefIdentity"}
    assert not unchecked, sorted(unchecked)


def test_a_reduction_of_known_shape_leaves_how_its_shapes_were_found() -> None:
    """Once for each shape and axes, as TensorFlow does."""
    x = tf.placeholder(tf.float32, [3, 5])
    for count in (1, 1):
        tf.gradients(tf.reduce_sum(x, [1]) + tf.reduce_mean(x, [1]), x)
        types = [op.type for op in tf.get_default_graph().get_operations()]
        assert types.count("DynamicStitch") == count
    tf.gradients(tf.reduce_sum(x, [0]), x)
    assert [op.type for op in tf.get_default_graph().get_operations()].count("DynamicStitch") == 2


def test_rows_of_a_gradient_fit_those_of_the_variable() -> None:
    v = tf.Variable(tf.zeros([3, 2]))
    with pytest.raises(ValueError, match="must be equal"):
        tf.raw_ops.SparseApplyMomentum(
            var=v._ref(), accum=v._ref(), lr=0.1, grad=tf.zeros([1, 4]), indices=[0], momentum=0.9
        )
