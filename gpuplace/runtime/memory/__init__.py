"""The memory of simulated GPUs: TensorFlow's BFC allocator over virtual addresses."""
