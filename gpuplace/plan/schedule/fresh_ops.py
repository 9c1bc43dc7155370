"""What is known of ops whose functions make new arrays, and of those that may hand on the memory of an input.

A fetched value has to be the caller's alone, and a fed one stays the caller's. Where the ops around it are known to
make new arrays nothing is copied; of an op in neither set nothing is assumed.

>>> "MatMul" in FRESH_OPS, "Reshape" in FRESH_OPS
(True, False)
"""

from __future__ import annotations

from collections.abc import Sequence

from gpuplace.graph.operation import Tensor

__all__ = ["FRESH_OPS", "SHARING_OPS", "has_room_for_result", "is_known_small"]

REUSED_BYTES = 1 << 14
"""Arrays that are known to be smaller are not written over: a new one costs no more."""

FRESH_OPS = frozenset(
    """
    Abs Add AddV2 All Any AvgPool AvgPoolGrad BatchMatMul BatchMatMulV2 BiasAdd BiasAddGrad Conv2D
    Conv2DBackpropFilter Conv2DBackpropInput Cos DepthwiseConv2dNative DepthwiseConv2dNativeBackpropFilter
    DepthwiseConv2dNativeBackpropInput Div DivNoNan Equal Erf Exp Expm1 FloorDiv FloorMod Greater GreaterEqual
    Less LessEqual Log Log1p LogSoftmax LogicalAnd LogicalNot LogicalOr MatMul Max MaxPool MaxPoolGrad Maximum
    Mean Min Minimum Mul Neg NotEqual Pow Prod RandomStandardNormal RandomUniform RealDiv Reciprocal Relu Relu6
    ReluGrad Rsqrt Shape Sigmoid SigmoidGrad Sin Size Rank Softmax SoftmaxCrossEntropyWithLogits Softplus
    SparseSoftmaxCrossEntropyWithLogits Sqrt SqrtGrad Square SquaredDifference Sub Sum Tan Tanh TanhGrad
    TruncatedNormal
    """.split()
)
"""Results are new arrays, and no input is kept."""

SHARING_OPS = frozenset(
    """
    CheckNumerics Const EnsureShape ExpandDims Identity IdentityN Placeholder PlaceholderWithDefault
    PreventGradient Reshape Snapshot Squeeze StopGradient VariableV2 Variable
    """.split()
)
"""The result is an input's memory again, or some that exists before the step: none is allocated for it."""


def is_known_small(tensor: Tensor) -> bool:
    """Whether a tensor is known to be too small to be written over."""
    elements = tensor.shape.num_elements()
    return elements is not None and elements * tensor.dtype.size < REUSED_BYTES


def has_room_for_result(tensor: Tensor, inputs: Sequence[Tensor], result: Tensor) -> bool:
    """Whether an elementwise result is sure to be shaped like one of the inputs, worth its memory, and of its type.

    >>> import gpuplace as tf
    >>> x, bias = tf.placeholder(tf.float32, [None, 4096]), tf.placeholder(tf.float32, [4096])
    >>> total = x + bias
    >>> [has_room_for_result(tensor, [x, bias], total) for tensor in (x, bias)]
    [True, False]
    """
    sizes = tensor.shape.sizes
    if not sizes or tensor.dtype.base_dtype is not result.dtype.base_dtype:
        return False
    if is_known_small(tensor):
        return False
    for other in inputs:
        theirs = other.shape.sizes
        if other is tensor:
            continue
        if theirs is None or len(theirs) > len(sizes):
            return False
        aligned = zip(theirs[::-1], sizes[::-1], strict=False)
        if any(size != 1 and (size is None or size != mine) for size, mine in aligned):
            return False
    return True
