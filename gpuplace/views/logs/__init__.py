"""Reading TensorFlow's placement logs."""
