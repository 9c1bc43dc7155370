"""Notebook views: pictures, DataFrames, rich representations and the explorer widget."""
