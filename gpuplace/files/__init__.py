"""File access as in TensorFlow: the file system with TensorFlow's errors, and record files."""
