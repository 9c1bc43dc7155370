"""What the kernels of ops have to do, by the sizes of their inputs and outputs: flops, bytes, launches."""
