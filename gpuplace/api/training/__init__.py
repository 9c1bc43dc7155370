"""Namespaces for training and its input."""
