"""Modules of ``tensorflow.python.ops.distributions`` that help tests."""
