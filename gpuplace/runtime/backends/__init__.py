"""Backends that run kernels: NumPy for CPUs and simulated GPUs, CuPy for real GPUs."""
