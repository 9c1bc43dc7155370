"""Modules of ``tensorflow.python.platform`` that programs import, where there is no other module for them."""
