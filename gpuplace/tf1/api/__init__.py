"""Namespaces that only this library provides."""
