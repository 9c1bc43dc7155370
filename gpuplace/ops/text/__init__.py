"""Strings: tensors of bytes."""
