"""Matrices that are known by what they do to vectors: ``tf.linalg.LinearOperator`` and its kinds."""
