"""Cells of one node, and cells with projections."""
