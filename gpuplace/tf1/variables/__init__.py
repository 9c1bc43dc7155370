"""Templates, and initializers of convolution kernels."""
