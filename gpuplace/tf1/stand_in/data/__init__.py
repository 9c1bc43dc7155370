"""Modules of ``tensorflow.python.data`` that programs import, where there is no other module for them."""
