"""Modules of ``tensorflow.python.lib.io`` that programs import and that have no other counterpart."""
