"""``tensorflow.python.util``: helpers in plain Python that programs import from TensorFlow's internals."""
