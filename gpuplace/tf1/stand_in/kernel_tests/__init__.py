"""Helpers of TensorFlow's tests of kernels that are part of its package."""
