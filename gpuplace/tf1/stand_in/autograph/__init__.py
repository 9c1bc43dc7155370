"""Modules of ``tensorflow.python.autograph`` that programs import and that have no other counterpart."""
