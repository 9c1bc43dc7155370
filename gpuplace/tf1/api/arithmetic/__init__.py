"""Namespaces of distributions, sets, signals, sparse tensors and quantized numbers."""
