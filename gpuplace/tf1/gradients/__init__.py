"""Gradient tapes and Hessians."""
