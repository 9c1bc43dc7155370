"""Modules of ``tensorflow.python.distribute`` that programs import."""
