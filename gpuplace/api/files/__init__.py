"""Namespaces of files, and graphs in them."""
