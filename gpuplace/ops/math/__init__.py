"""Numerical ops: arithmetic, comparisons, reductions, matrices.

``Args:`` name the types that have a kernel on some device. *Floating* is float16, float32 and float64, for some ops
also bfloat16 on the CPU; *complex* is complex64 and complex128; *real* numbers are floating or integers.
``gpuplace.kernels("MatMul")`` lists the types of an op by device.
"""
