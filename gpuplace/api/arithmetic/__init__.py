"""Namespaces of arithmetic."""
