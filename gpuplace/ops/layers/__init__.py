"""Layers with their own variables, as classes and as functions."""
