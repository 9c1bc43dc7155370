"""What is known of ops whose functions make new arrays, and of those that may hand on the memory of an input.

A fetched value has to be the caller's alone, and a fed one stays the caller's. Where the ops around it are known to
make new arrays nothing is copied; of an op in neither set nothing is assumed.

>>> "MatMul" in FRESH_OPS, "Reshape" in FRESH_OPS
(True, False)
"""

from __future__ import annotations

__all__ = ["FRESH_OPS", "SHARING_OPS"]

FRESH_OPS = frozenset(
    """
    Abs Add AddV2 BatchMatMul BatchMatMulV2 BiasAdd Conv2D Conv2DBackpropFilter Conv2DBackpropInput Cos
    Div DivNoNan Equal Erf Exp Expm1 FloorDiv FloorMod Greater GreaterEqual Less LessEqual Log Log1p
    LogSoftmax LogicalAnd LogicalNot LogicalOr MatMul Maximum Minimum Mul Neg NotEqual Pow
    RandomStandardNormal RandomUniform RealDiv Reciprocal Relu Relu6 ReluGrad Rsqrt Shape Sigmoid
    SigmoidGrad Sin Size Rank Softmax Softplus Sqrt SqrtGrad Square SquaredDifference Sub Tan Tanh
    TanhGrad TruncatedNormal
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
