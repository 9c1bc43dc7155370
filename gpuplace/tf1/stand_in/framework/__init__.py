"""Modules of ``tensorflow.python.framework`` that programs import and that have no other counterpart."""
