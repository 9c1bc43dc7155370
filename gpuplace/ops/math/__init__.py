"""Ops that compute: arithmetic, comparisons, reductions, matrices.

Types in ``Args:`` are those that a kernel computes on some device. *Floating* is float16, float32 and float64, for some
ops bfloat16 on the CPU as well; *complex* is complex64 and complex128; *real* numbers are floating or integers.
``gpuplace.kernels("MatMul")`` lists the types of an op by device.
"""
