"""Times of kernels on the GPUs of the catalogue: what a GPU could do, corrected by what was measured of its kin."""
