"""Modules of ``tensorflow.python.data`` that programs import and that have no other counterpart."""
