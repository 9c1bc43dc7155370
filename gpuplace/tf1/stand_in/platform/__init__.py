"""Modules of ``tensorflow.python.platform`` that programs import and that have no other counterpart."""
