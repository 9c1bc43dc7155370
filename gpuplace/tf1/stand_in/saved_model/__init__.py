"""Modules of ``tensorflow.python.saved_model`` that programs import and that have no other counterpart."""
