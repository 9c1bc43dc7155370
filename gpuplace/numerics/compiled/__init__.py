"""Loops that numba compiles, where it is installed (``pip install gpuplace[compiled]``)."""
