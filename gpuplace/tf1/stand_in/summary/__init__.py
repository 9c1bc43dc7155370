"""Modules of ``tensorflow.python.summary`` that programs import and that have no other counterpart."""
