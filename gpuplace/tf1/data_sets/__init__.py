"""Data sets that tutorials begin with."""
