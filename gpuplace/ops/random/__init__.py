"""Random tensors with TensorFlow's numbers."""
