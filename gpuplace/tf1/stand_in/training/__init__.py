"""Modules of ``tensorflow.python.training`` that programs import, where there is no other module for them."""
