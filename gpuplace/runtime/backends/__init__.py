"""What computes: NumPy for CPUs and simulated GPUs, CuPy for real ones."""
