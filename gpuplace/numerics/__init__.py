"""Arithmetic that kernels share: arrays in pieces, threads, reductions, fused elementwise kernels."""
