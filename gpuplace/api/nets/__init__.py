"""Namespaces for neural networks: layers, initializers, images, metrics."""
