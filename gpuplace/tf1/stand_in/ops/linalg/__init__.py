"""Modules of ``tensorflow.python.ops.linalg`` that programs of their own import for tests."""
