"""What TensorFlow measured while a graph ran."""
