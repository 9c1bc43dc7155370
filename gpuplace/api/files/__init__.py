"""Namespaces for files, and for graphs in files."""
