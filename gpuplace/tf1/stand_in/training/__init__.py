"""Modules of ``tensorflow.python.training`` that programs import and that have no other counterpart."""
