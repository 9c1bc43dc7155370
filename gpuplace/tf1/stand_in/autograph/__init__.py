"""Modules of ``tensorflow.python.autograph`` that programs import, where there is no other module for them."""
