"""Code generation: a schedule as the source text of Python functions."""
