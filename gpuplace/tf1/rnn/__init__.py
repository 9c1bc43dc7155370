"""Recurrent cells of one node, and cells with projections."""
