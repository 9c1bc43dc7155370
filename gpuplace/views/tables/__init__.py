"""Rows and texts about a placement, from which pages, frames and pictures are built."""
