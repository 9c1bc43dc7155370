"""Flops of elementwise functions without special hardware, rounded, and work of ops that combine several."""

from __future__ import annotations

import math

from gpuplace.kernels.work.models import Task, elementwise, flops_of_element, work_model
from gpuplace.kernels.work.record import Work

flops_of_element(
    0, "OnesLike", "ZerosLike", "Fill", "Real", "Imag", "Complex", "Conj", "Select", "SelectV2", "Where"
)
flops_of_element(
    1, "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Invert", "LeftShift", "RightShift", "PopulationCount"
)
flops_of_element(
    1, "QuantizedAdd", "QuantizedMul", "QuantizedRelu", "QuantizedRelu6", "QuantizedReluX", "NegTrain"
)
flops_of_element(2, "ClipByValue", "Relu6", "Relu6Grad", "LeakyRelu", "LeakyReluGrad", "SquaredDifference")
flops_of_element(
    2, "SqrtGrad", "InvGrad", "ReciprocalGrad", "MulNoNan", "DivNoNan", "ApproximateEqual", "BiasAddV1"
)
flops_of_element(
    3, "TanhGrad", "SigmoidGrad", "RsqrtGrad", "SoftsignGrad", "EluGrad", "SeluGrad", "QuantizedBiasAdd"
)
flops_of_element(
    4, "Div", "RealDiv", "FloorDiv", "TruncateDiv", "Inv", "Reciprocal", "Sqrt", "Rsqrt", "Softsign"
)
flops_of_element(6, "FloorMod", "Mod", "TruncateMod", "ComplexAbs", "NextAfter", "RiscRem")
flops_of_element(8, "QuantizeV2", "Dequantize", "QuantizeAndDequantize", "QuantizeAndDequantizeV2")
flops_of_element(
    8, "QuantizeAndDequantizeV3", "QuantizeAndDequantizeV4", "Requantize", "RequantizePerChannel"
)
flops_of_element(8, "FakeQuantWithMinMaxArgs", "FakeQuantWithMinMaxVars", "FakeQuantWithMinMaxVarsPerChannel")
flops_of_element(8, "FakeQuantWithMinMaxArgsGradient", "FakeQuantWithMinMaxVarsGradient")
flops_of_element(8, "FakeQuantWithMinMaxVarsPerChannelGradient", "QuantizeDownAndShrinkRange")
flops_of_element(10, "Exp", "Log", "Elu", "Selu", "Sin", "Cos", "Xlogy", "Xdivy", "Xlog1py")
flops_of_element(
    15, "Tanh", "Sigmoid", "Expm1", "Log1p", "Softplus", "SoftplusGrad", "Sinh", "Cosh", "Tan", "Angle"
)
flops_of_element(
    20, "Erf", "Erfc", "Pow", "Acos", "Asin", "Atan", "Acosh", "Asinh", "Atanh", "Atan2", "Erfinv", "Ndtri"
)
flops_of_element(
    30, "BesselI0e", "BesselI1e", "BesselI0", "BesselI1", "BesselJ0", "BesselJ1", "BesselK0", "BesselK0e"
)
flops_of_element(
    30, "BesselK1", "BesselK1e", "BesselY0", "BesselY1", "Dawsn", "Expint", "FresnelCos", "FresnelSin"
)
flops_of_element(40, "Lgamma", "Digamma", "Spence")
flops_of_element(200, "Igamma", "Igammac", "IgammaGradA", "Betainc", "Zeta", "Polygamma", "RandomGammaGrad")
flops_of_element(
    1, "Abs", "Neg", "Sign", "Add", "AddV2", "Sub", "Mul", "Square", "Relu", "ReluGrad", "BiasAdd"
)
flops_of_element(
    1, "Equal", "NotEqual", "Less", "LessEqual", "Greater", "GreaterEqual", "LogicalAnd", "LogicalOr"
)
flops_of_element(
    1, "LogicalNot", "Maximum", "Minimum", "Floor", "Ceil", "Round", "Rint", "IsNan", "IsInf", "IsFinite"
)

_MOST_ADDED = 8
"""Number of inputs that a kernel adds."""


@work_model("AddN", "AccumulateNV2")
def _sum_of_all(task: Task) -> Work:
    """Count additions of eight inputs at a time; the partial sum is read again each time.

    Source: tensorflow/core/kernels/aggregate_ops.cc, release 1.15.
    """
    count = len(task.in_sizes)
    if count <= 1:
        return task.work("none", read=0, written=0, launches=0)
    launches = 1 + math.ceil(max(0, count - _MOST_ADDED) / _MOST_ADDED)
    again = (launches - 1) * task.out_bytes()
    return task.work(
        "elementwise",
        float((count - 1) * task.out_count()),
        read=task.read + again,
        written=task.out_bytes() + again,
        launches=launches,
    )


@work_model("Cast", "_HostCast")
def _cast(task: Task) -> Work:
    if task.in_types == task.out_types:
        return task.work("none", read=0, written=0, launches=0)
    return task.work("elementwise", float(task.out_count()))


@work_model("OnesLike", "ZerosLike", "Fill")
def _fill(task: Task) -> Work:
    """Count no reads: only the shape of the input is used."""
    return task.work("elementwise", read=0)


@work_model("_UnaryOpsComposition")
def _composed(task: Task) -> Work:
    return task.work("elementwise", float(max(1, len(task.attrs.get("op_names") or ())) * task.out_count()))


@work_model("CheckNumerics", "CheckNumericsV2")
def _checked(task: Task) -> Work:
    """Count a read of all elements; the result is the input's memory."""
    return task.work("elementwise", float(task.out_count()), written=0)


@work_model("AdjustContrastv2", "AdjustContrast")
def _contrast(task: Task) -> Work:
    """Count the mean of each image's channels, then a pass over all elements."""
    return task.work("reduction", 4.0 * task.out_count(), read=2 * task.in_bytes(0), launches=3)


@work_model("AdjustHue", "AdjustSaturation", "RGBToHSV", "HSVToRGB")
def _colours(task: Task) -> Work:
    return task.work("elementwise", 15.0 * task.out_count())


@work_model("Bucketize")
def _buckets(task: Task) -> Work:
    boundaries = len(task.attrs.get("boundaries") or ())
    return task.work("elementwise", task.out_count() * math.log2(max(2, boundaries)))


@work_model("InplaceUpdate", "InplaceAdd", "InplaceSub")
def _rows_in_place(task: Task) -> Work:
    """Count a copy of the whole input first, since it may have other users."""
    return task.work("elementwise", float(task.in_count(2)), launches=2)


__all__ = ["elementwise"]
