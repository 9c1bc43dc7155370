"""TensorFlow's measurements of a graph's run."""
