"""Loops that numba compiles, if it is installed (``pip install gpuplace[compiled]``)."""
