"""Templates, and initializers of kernels of convolutions."""
