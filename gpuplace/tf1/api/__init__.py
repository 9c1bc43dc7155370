"""Namespaces that belong to this library alone."""
