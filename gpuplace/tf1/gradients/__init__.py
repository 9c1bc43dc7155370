"""Hessians."""
