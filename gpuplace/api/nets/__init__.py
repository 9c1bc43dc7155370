"""Namespaces of nets: layers, initializers, images, metrics."""
