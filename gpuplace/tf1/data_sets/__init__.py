"""Data sets of introductory tutorials."""
