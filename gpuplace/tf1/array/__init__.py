"""Rarely used array operations."""
