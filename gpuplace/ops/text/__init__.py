"""Texts: tensors of bytes."""
