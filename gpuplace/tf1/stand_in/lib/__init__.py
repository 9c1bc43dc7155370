"""Modules of ``tensorflow.python.lib`` that programs import and that have no other counterpart."""
