"""Modules of ``tensorflow.python.autograph.core`` that programs import and that have no other counterpart."""
