"""Placements, logs and timelines as pandas DataFrames."""
