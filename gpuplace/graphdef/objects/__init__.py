"""Objects of a TensorFlow in this process as graphs."""
