"""Modules of ``tensorflow.python.autograph.core`` that programs import, where there is no other module for them."""
