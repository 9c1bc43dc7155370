"""The work of an op's kernel for the sizes of its inputs and outputs: flops, bytes, launches."""
