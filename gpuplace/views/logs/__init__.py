"""TensorFlow's placement logs, read."""
