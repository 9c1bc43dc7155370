"""Rows and texts of a placement, from which pages, frames and pictures are made."""
