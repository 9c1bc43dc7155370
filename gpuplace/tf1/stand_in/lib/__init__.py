"""Modules of ``tensorflow.python.lib`` that programs import, where there is no other module for them."""
