"""Modules of ``tensorflow.python.lib.io`` that programs import, where there is no other module for them."""
