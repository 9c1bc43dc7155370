"""Layers with variables of their own, as classes and as functions."""
