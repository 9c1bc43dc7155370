"""Namespaces of training and of what feeds it."""
